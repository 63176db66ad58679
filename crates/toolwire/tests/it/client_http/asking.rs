//! What legacy servers ask and tell on their streams, and how the answers get back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use toolwire::types::{ElicitResult, Root};
use toolwire::{Client, ClientBuilder};

use super::double::Double;
use super::fake::{Fake, builder};
use super::script::{Reply, Seen, event, legacy};
use crate::peer::within;

/// The answers of the client that are there, by id.
fn answers(record: &super::script::Record) -> Vec<Value> {
    let all = record.of("POST", "").into_iter().map(|seen| seen.body);
    all.collect()
}

fn asking(id: impl Into<Value>, method: &str, params: Value) -> String {
    let id = id.into();
    event(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
}

fn form() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    })
}

fn answering() -> ClientBuilder {
    builder()
        .with_roots([Root::new("file:///project")])
        .on_elicitation(|_| async { Ok(ElicitResult::accept().with_content([("name", "Ann")])) })
}

#[tokio::test]
async fn questions_on_the_standing_stream_are_answered_by_post() {
    let server = Fake::start(|seen| match &*seen.verb {
        "GET" => Reply::events(
            asking(7, "ping", json!({}))
                + &asking("a", "elicitation/create", form())
                + &asking(8, "roots/list", json!({}))
                + &asking(9, "acme/unknown", json!({})),
        )
        .left_open(),
        _ => legacy(seen),
    });
    let server = server.await;
    let client = server.connect_with(answering()).await.unwrap();
    server.record.nth("POST", "", 3).await;
    for answer in server.record.of("POST", "") {
        assert_eq!(answer.header("mcp-session-id"), Some("session-1"));
    }
    let answers = answers(&server.record);
    let answer = |id: Value| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(answer(json!(7))["result"], json!({}));
    assert_eq!(answer(json!("a"))["result"]["content"]["name"], "Ann");
    assert_eq!(
        answer(json!(8))["result"]["roots"][0]["uri"],
        "file:///project"
    );
    assert_eq!(answer(json!(9))["error"]["code"], -32601);
    // The last of them is over once the server has taken it.
    within(async {
        while client.pending_operations() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    client.close().await;
    // Closing ends the stream, too.
    server.abandoned(1).await;
}

#[tokio::test]
async fn questions_on_the_stream_of_a_call_are_answered_while_it_runs() {
    let answered = Arc::new(Notify::new());
    let open = Arc::clone(&answered);
    let server = Fake::start(move |seen| match seen.method() {
        "tools/call" => Reply::events(asking(1, "elicitation/create", form()))
            .wait(&answered)
            .with(event(seen.result(seen.done()))),
        "" if seen.verb == "POST" => {
            answered.notify_one();
            Reply::status(202)
        }
        _ => legacy(seen),
    });
    let server = server.await;
    drop(open);
    let client = server.connect_with(answering()).await.unwrap();
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    let answers = answers(&server.record);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["result"]["action"], "accept");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_stream_its_questions_may_come_on_but_not_for_long() {
    let open = Arc::new(Notify::new());
    let gate = Arc::clone(&open);
    let server = Double::new(move |seen| match &*seen.verb {
        "GET" => Reply::events("").left_open().held(&gate),
        _ => legacy(seen),
    });
    let client = server.connect_with(answering()).await.unwrap();
    let call = tokio::spawn(client.call_tool("act", json!({})).into_future());
    server.record.nth("GET", "", 0).await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(server.record.of("POST", "tools/call").len(), 0);
    open.notify_one();
    call.await.unwrap().unwrap();

    // A server that keeps its head back costs one second, once.
    let server = Double::new(|seen| match &*seen.verb {
        "GET" => Reply::never(),
        _ => legacy(seen),
    });
    let client = server.connect_with(answering()).await.unwrap();
    let start = tokio::time::Instant::now();
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 1);
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn changes_are_heard_on_the_standing_stream() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let server = Double::new(|seen| match &*seen.verb {
        "GET" => {
            let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            // An answer has no place here, and junk has none anywhere.
            let stray = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
            Reply::events(event(stray) + &event("junk") + &event(change.to_string())).left_open()
        }
        _ => legacy(seen),
    });
    let builder = ClientBuilder::new("test", "1").on_change(move |change| drop(tell.send(change)));
    let client = server.connect_with(builder).await.unwrap();
    within(told.recv()).await.unwrap();
    assert_eq!(client.ignored_messages(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_a_standing_stream_is_asked_once() {
    for reply in [
        Reply::status(405),
        Reply::status(404),
        Reply::status(400),
        Reply::status(200)
            .with_header("content-type", "text/html")
            .with("<p>"),
        Reply::status(204),
    ] {
        let server = Double::new(move |seen| match &*seen.verb {
            "GET" => reply.clone(),
            _ => legacy(seen),
        });
        let client = server.connect().await.unwrap();
        tokio::time::sleep(Duration::from_secs(600)).await;
        client.call_tool("act", json!({})).await.unwrap();
        assert_eq!(server.record.of("GET", "").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_standing_stream_that_brings_nothing_is_given_up() {
    let check = async |reply: fn(&Seen) -> Reply, opened: usize| {
        let server = Double::new(move |seen| match &*seen.verb {
            "GET" => reply(seen),
            _ => legacy(seen),
        });
        let client = server.connect().await.unwrap();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(server.record.of("GET", "").len(), opened);
        client.call_tool("act", json!({})).await.unwrap();
    };
    check(|_| Reply::events("id: 1\ndata:\n\n"), 6).await;
    check(|_| Reply::events("retry: 0\n\n"), 6).await;
    check(|_| Reply::status(503), 6).await;
    check(|_| Reply::events(": ping\n\n").left_open(), 1).await;
}

#[tokio::test(start_paused = true)]
async fn the_standing_stream_goes_on_after_its_last_event() {
    let server = Double::new(|seen| match &*seen.verb {
        "GET" if seen.nth == 0 => Reply::events("id: seven\ndata: junk\n\n").cut(),
        "GET" => Reply::events("").left_open(),
        _ => legacy(seen),
    });
    let _client = server.connect().await.unwrap();
    let again = server.record.nth("GET", "", 1).await;
    assert_eq!(again.header("last-event-id"), Some("seven"));
}

#[tokio::test]
async fn a_flood_of_questions_is_answered_a_few_at_a_time() {
    const QUESTIONS: usize = 2000;
    let open = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (counted, highest) = (Arc::clone(&open), Arc::clone(&most));
    // The server never takes an answer, so that each that is on its way stays there.
    let server = Double::new(move |seen| match (&*seen.verb, seen.method()) {
        ("GET", _) => {
            let pings = (0..QUESTIONS).map(|id| asking(id, "ping", json!({})));
            Reply::events(pings.collect::<String>()).left_open()
        }
        ("POST", "") => {
            highest.fetch_max(
                counted.fetch_add(1, Ordering::Relaxed) + 1,
                Ordering::Relaxed,
            );
            Reply::never()
        }
        _ => legacy(seen),
    });
    let client: Client = server.connect().await.unwrap();
    server.record.nth("GET", "", 0).await;
    for _ in 0..QUESTIONS {
        tokio::task::yield_now().await;
    }
    let most = most.load(Ordering::Relaxed);
    assert!(
        (1..=256).contains(&most),
        "{most} answers on their way at once"
    );
    // Calls are still served.
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_taken_is_not_kept_for_ever() {
    let server = Double::new(|seen| match (&*seen.verb, seen.method()) {
        ("GET", _) => Reply::events(asking(1, "elicitation/create", form())).left_open(),
        ("POST", "") => Reply::never(),
        _ => legacy(seen),
    });
    let builder =
        ClientBuilder::new("test", "1").on_elicitation(|_| async { Ok(ElicitResult::decline()) });
    let client = server.connect_with(builder).await.unwrap();
    server.record.nth("POST", "", 0).await;
    let before = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let after = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    assert!(after < before, "{before} tasks, then {after}");
    drop(client);
}
