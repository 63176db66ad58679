//! Many concurrent clients of both eras with equal request ids: each response reaches its client, and nothing leaks.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::{RawJson, RequestContext, Server, Tool, ToolHandler};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::Events;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{REVISIONS, Session};
use toolwire_tests::http::socket::Connection;
use toolwire_tests::peer::{cancel, legacy, modern, server};

const CLIENTS: u64 = 200;
const CALLS_PER_CLIENT: usize = 6;

/// A small random number generator: the same seed gives the same numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Returns a server whose tool reports its argument as progress and returns it after a delay.
fn secret_server() -> Server {
    let schema = json!({
        "type": "object",
        "properties": {"secret": {"type": "string"}, "delay": {"type": "integer"}},
    });
    let tool = Tool::new("secret", schema);
    server().tool(ToolHandler::raw(
        tool,
        |ctx: RequestContext, arguments: RawJson| async move {
            let arguments = arguments.to_value().expect("the arguments are validated");
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

/// Checks that a message belongs to this call, and returns `true` if it is the response.
fn is_own_response(message: &Value, secret: &str) -> bool {
    let (received, done) = match message.get("result") {
        Some(result) => (&result["content"][0]["text"], true),
        None => (&message["params"]["message"], false),
    };
    assert_eq!(received, secret, "{message}");
    if done {
        assert_eq!(message["id"], 1, "{message}");
    }
    done
}

/// Reads until the response, or at most this many messages. Returns `true` if the response was read.
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
        if is_own_response(&message, secret) {
            return true;
        }
        seen += 1;
    }
    false
}

async fn send(endpoint: &Endpoint, request: &Request) -> Connection {
    let mut connection = endpoint.connect().await;
    connection.send(request.bytes()).await;
    connection
}

async fn modern_call(endpoint: &Endpoint, random: &mut Random, secret: &str) {
    let with_progress = random.below(2) == 0;
    let delay = random.below(8);
    let message = modern(1, "tools/call", params(secret, delay, with_progress));
    let request = Request::modern(&message);
    match random.below(3) {
        // Disconnects before the response.
        0 => {
            let connection = send(endpoint, &request).await;
            tokio::time::sleep(Duration::from_millis(random.below(10))).await;
            connection.reset();
        }
        1 if with_progress => {
            let mut events = endpoint.open(&request).await;
            // Disconnects before the end of the stream.
            read(&mut events, secret, 2).await;
            events.disconnect();
        }
        _ if with_progress => {
            let mut events = endpoint.open(&request).await;
            assert!(
                read(&mut events, secret, 10).await,
                "{secret} got no response"
            );
            events.expect_end().await;
        }
        _ => {
            let response = endpoint.call(message).await;
            assert!(is_own_response(&response, secret));
        }
    }
}

async fn legacy_call(endpoint: &Endpoint, session: &Session, random: &mut Random, secret: &str) {
    let with_progress = random.below(2) == 0;
    let delay = random.below(8);
    let message = legacy(1, "tools/call", params(secret, delay, with_progress));
    let request = session.post_request(&message);
    match random.below(4) {
        0 => {
            // Cancels the request. It may still get its own response.
            let mut connection = send(endpoint, &request).await;
            tokio::time::sleep(Duration::from_millis(random.below(10))).await;
            session.send(cancel(1)).await;
            let headers = connection.headers().await;
            if headers.is_event_stream() {
                read(&mut Events::new(connection, headers), secret, 10).await;
            }
        }
        1 if with_progress => {
            let mut events = endpoint.open(&request).await;
            // Disconnects, resumes the stream, and receives the rest.
            read(&mut events, secret, 1).await;
            let last = events.last_id.clone().expect("an event id");
            events.disconnect();
            let mut events = session.resume(&last).await;
            assert!(
                read(&mut events, secret, 10).await,
                "{secret} got no response"
            );
        }
        2 => {
            // Disconnects and does not return. The handler runs to its end.
            let connection = send(endpoint, &request).await;
            connection.reset();
        }
        _ if with_progress => {
            let mut events = endpoint.open(&request).await;
            assert!(
                read(&mut events, secret, 10).await,
                "{secret} got no response"
            );
        }
        _ => {
            let response = session.call(message).await;
            assert!(is_own_response(&response, secret));
        }
    }
}

async fn client(endpoint: &Endpoint, number: u64) {
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    if number.is_multiple_of(2) {
        for call in 0..CALLS_PER_CLIENT {
            modern_call(endpoint, &mut random, &format!("modern {number}.{call}")).await;
        }
        return;
    }
    let version = REVISIONS[usize::try_from(random.below(3)).expect("the number is small")];
    let session = Session::open(endpoint, version).await;
    let pushed = match random.below(2) {
        0 => Some(session.listen().await),
        _ => None,
    };
    for call in 0..CALLS_PER_CLIENT {
        legacy_call(
            endpoint,
            &session,
            &mut random,
            &format!("legacy {number}.{call}"),
        )
        .await;
    }
    if pushed.is_some() || random.below(2) == 0 {
        assert_eq!(session.end().await.status(), 204);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_response_reaches_its_client_and_nothing_leaks() {
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
    endpoint.wait_until_idle().await;
}
