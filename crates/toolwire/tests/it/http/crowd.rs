//! Many clients of both eras at once, all with the same ids: every answer reaches its asker, and nothing stays behind.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::{RawJson, RequestContext, Server, Tool, ToolHandler};

use crate::http::endpoint::Endpoint;
use crate::http::events::Events;
use crate::http::request::Request;
use crate::http::session::{REVISIONS, Session};
use crate::http::socket::Wire;
use crate::peer::{cancel, legacy, modern, server};

const CLIENTS: u64 = 200;
const TURNS: usize = 6;

/// A number generator of a few lines: the same seed gives the same test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Returns the secret it was given, and mentions it in its progress, after a while.
fn secret_server() -> Server {
    let schema = json!({
        "type": "object",
        "properties": {"secret": {"type": "string"}, "delay": {"type": "integer"}},
    });
    let tool = Tool::new("secret", schema);
    server().tool(ToolHandler::raw(
        tool,
        |ctx: RequestContext, arguments: RawJson| async move {
            let arguments = arguments.to_value().expect("they were checked");
            let secret = arguments["secret"].as_str().unwrap_or_default().to_owned();
            let delay = Duration::from_millis(arguments["delay"].as_u64().unwrap_or(0));
            for step in 1..=3 {
                ctx.report_steps(step, 3, Some(&secret));
                tokio::time::sleep(delay).await;
            }
            secret
        },
    ))
}

fn params(secret: &str, delay: u64, with_progress: bool) -> Value {
    let mut params = json!({
        "name": "secret",
        "arguments": {"secret": secret, "delay": delay},
    });
    if with_progress {
        params["_meta"] = json!({"progressToken": 1});
    }
    params
}

/// A message that somebody got: an answer or progress, and never of somebody else.
fn is_mine(message: &Value, secret: &str) -> bool {
    let (said, done) = match message.get("result") {
        Some(result) => (&result["content"][0]["text"], true),
        None => (&message["params"]["message"], false),
    };
    assert_eq!(said, secret, "{message}");
    if done {
        assert_eq!(message["id"], 1, "{message}");
    }
    done
}

/// Reads to the answer, or for a few messages.
async fn read(events: &mut Events, secret: &str, at_most: usize) -> bool {
    let mut seen = 0;
    while seen < at_most {
        let Ok(event) = events.next().await else {
            return false;
        };
        if event.data.is_empty() {
            continue;
        }
        let message = serde_json::from_str(&event.data).expect("messages are JSON");
        if is_mine(&message, secret) {
            return true;
        }
        seen += 1;
    }
    false
}

async fn send(endpoint: &Endpoint, request: &Request) -> Wire {
    let mut wire = endpoint.connect().await;
    wire.send(request.bytes()).await;
    wire
}

async fn modern_turn(endpoint: &Endpoint, dice: &mut Dice, secret: &str) {
    let with_progress = dice.below(2) == 0;
    let delay = dice.below(8);
    let message = modern(1, "tools/call", params(secret, delay, with_progress));
    let request = Request::modern(&message);
    match dice.below(3) {
        // Leaves before the answer.
        0 => {
            let wire = send(endpoint, &request).await;
            tokio::time::sleep(Duration::from_millis(dice.below(10))).await;
            wire.reset();
        }
        1 if with_progress => {
            let mut events = endpoint.open(&request).await;
            // Leaves in the middle.
            read(&mut events, secret, 2).await;
            events.cut();
        }
        _ if with_progress => {
            let mut events = endpoint.open(&request).await;
            assert!(
                read(&mut events, secret, 10).await,
                "{secret} got no answer"
            );
            events.expect_end().await;
        }
        _ => {
            let answer = endpoint.call(message).await;
            assert!(is_mine(&answer, secret));
        }
    }
}

async fn legacy_turn(endpoint: &Endpoint, session: &Session, dice: &mut Dice, secret: &str) {
    let with_progress = dice.below(2) == 0;
    let delay = dice.below(8);
    let message = legacy(1, "tools/call", params(secret, delay, with_progress));
    let request = session.request(&message);
    match dice.below(4) {
        0 => {
            // Changes its mind. Both outcomes are fine, but not somebody else's.
            let mut wire = send(endpoint, &request).await;
            tokio::time::sleep(Duration::from_millis(dice.below(10))).await;
            session.tell(cancel(1)).await;
            let head = wire.head().await;
            if head.is_event_stream() {
                read(&mut Events::new(wire, head), secret, 10).await;
            }
        }
        1 if with_progress => {
            let mut events = endpoint.open(&request).await;
            // Is cut off, comes back for the rest, and gets it.
            read(&mut events, secret, 1).await;
            let last = events.last_id.clone().expect("an id to come back with");
            events.cut();
            let mut events = session.resume(&last).await;
            assert!(
                read(&mut events, secret, 10).await,
                "{secret} got no answer"
            );
        }
        2 => {
            // Leaves for good; the handler finishes for nobody.
            let wire = send(endpoint, &request).await;
            wire.reset();
        }
        _ if with_progress => {
            let mut events = endpoint.open(&request).await;
            assert!(
                read(&mut events, secret, 10).await,
                "{secret} got no answer"
            );
        }
        _ => {
            let answer = session.call(message).await;
            assert!(is_mine(&answer, secret));
        }
    }
}

async fn client(endpoint: &Endpoint, number: u64) {
    let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    if number.is_multiple_of(2) {
        for turn in 0..TURNS {
            modern_turn(endpoint, &mut dice, &format!("modern {number}.{turn}")).await;
        }
        return;
    }
    let version = REVISIONS[usize::try_from(dice.below(3)).expect("it is small")];
    let session = Session::open(endpoint, version).await;
    let pushed = match dice.below(2) {
        0 => Some(session.listen().await),
        _ => None,
    };
    for turn in 0..TURNS {
        legacy_turn(
            endpoint,
            &session,
            &mut dice,
            &format!("legacy {number}.{turn}"),
        )
        .await;
    }
    if pushed.is_some() || dice.below(2) == 0 {
        assert_eq!(session.end().await.status(), 204);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_answer_reaches_its_asker_and_nothing_stays_behind() {
    let endpoint = Endpoint::serve(&secret_server()).await;
    let endpoint = std::sync::Arc::new(endpoint);
    let clients: Vec<_> = (1..=CLIENTS)
        .map(|number| {
            let endpoint = std::sync::Arc::clone(&endpoint);
            tokio::spawn(async move { client(&endpoint, number).await })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    endpoint.idle().await;
}
