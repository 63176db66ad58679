//! The listeners for every message of a client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use toolwire::testing::ScriptedServer;
use toolwire::{Client, ClientBuilder, ProtocolVersion};

type Seen = Arc<Mutex<Vec<(bool, Value)>>>;

fn lock(seen: &Seen) -> MutexGuard<'_, Vec<(bool, Value)>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listening() -> (ClientBuilder, Seen) {
    let seen = Seen::default();
    let listener = Arc::clone(&seen);
    let builder = Client::builder("test", "1.0.0").on_wire_message(move |message| {
        let body = serde_json::from_slice(message.bytes).unwrap_or_default();
        lock(&listener).push((message.is_sent, body));
    });
    (builder, seen)
}

/// Returns the methods of the messages, or their ids, with the direction.
fn outline(seen: &Seen) -> Vec<String> {
    let seen = lock(seen);
    let line = |(is_sent, body): &(bool, Value)| {
        let what = body["method"].as_str().unwrap_or("response");
        format!("{} {what}", if *is_sent { "sent" } else { "received" })
    };
    seen.iter().map(line).collect()
}

#[tokio::test]
async fn listener_gets_every_message_in_both_directions() {
    let (builder, seen) = listening();
    let (client, mut server) = ScriptedServer::connect(builder, ProtocolVersion::V2025_11_25).await;
    let call = tokio::spawn(client.call_tool("add", json!({"a": 1})).into_future());
    let request = server.expect("tools/call").await;
    server.ask(7, "roots/list", json!({})).await;
    server.expect_response(7).await.unwrap_err();
    server.send("not a message").await;
    server.respond(&request, json!({"content": []})).await;
    call.await.unwrap().unwrap();
    let cancelled = tokio::spawn(client.call_tool("slow", json!({})).into_future());
    server.expect("tools/call").await;
    cancelled.abort();
    server.expect_notification("notifications/cancelled").await;
    let expected = [
        "sent server/discover",
        "received response",
        "sent initialize",
        "received response",
        "sent notifications/initialized",
        "sent tools/call",
        "received roots/list",
        "sent response",
        "received response",
        "received response",
        "sent tools/call",
        "sent notifications/cancelled",
    ];
    assert_eq!(outline(&seen), expected);
    let unreadable = &seen.lock().unwrap()[8];
    assert_eq!(*unreadable, (false, Value::Null));
}

#[tokio::test]
async fn panic_of_a_listener_affects_no_call_and_no_other_listener() {
    let (builder, first) = listening();
    let later = Seen::default();
    let listener = Arc::clone(&later);
    let builder = builder
        .on_wire_message(|_| panic!("the listener"))
        .on_wire_message(move |message| lock(&listener).push((message.is_sent, Value::Null)));
    let (client, mut server) = ScriptedServer::connect(builder, ProtocolVersion::V2026_07_28).await;
    let call = tokio::spawn(client.call_tool("add", json!({})).into_future());
    let request = server.expect("tools/call").await;
    server.respond(&request, json!({"content": []})).await;
    call.await.unwrap().unwrap();
    let count = lock(&first).len();
    assert!(count > 0);
    assert_eq!(lock(&later).len(), count);
}
