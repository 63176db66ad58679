//! Taking a call back: by closing its stream in the modern era, by a message in the legacy one.

use std::time::Duration;

use serde_json::json;
use toolwire::Client;

use super::double::Double;
use super::fake::Fake;
use super::script::{Reply, Seen, legacy, modern};
use crate::peer::within;

/// Answers to a call that leave it waiting: before the head, within a stream, within a JSON body.
fn waiting() -> [Reply; 3] {
    [
        Reply::never(),
        Reply::events(": working\n\n").left_open(),
        Reply::json(200, "{").left_open(),
    ]
}

fn leaving(reply: Reply, rest: fn(&Seen) -> Reply) -> impl Fn(&Seen) -> Reply {
    move |seen| match seen.method() {
        "tools/call" if seen.nth == 0 => reply.clone(),
        _ => rest(seen),
    }
}

async fn drop_one_call(server: &Fake, client: &Client) {
    let call = tokio::spawn(client.call_tool("act", json!({})).into_future());
    server.record.nth("POST", "tools/call", 0).await;
    call.abort();
    drop(within(call).await);
}

#[tokio::test]
async fn dropping_a_modern_call_closes_its_stream_and_says_nothing() {
    for reply in waiting() {
        let server = Fake::start(leaving(reply, modern)).await;
        let client = server.connect().await.unwrap();
        drop_one_call(&server, &client).await;
        server.abandoned(1).await;
        within(client.call_tool("act", json!({})).into_future())
            .await
            .unwrap();
        let said = server.record.of("POST", "notifications/cancelled");
        assert!(said.is_empty(), "{said:?}");
        assert_eq!(client.pending_operations(), 0);
    }
}

#[tokio::test]
async fn dropping_a_legacy_call_is_said() {
    for reply in waiting() {
        let server = Fake::start(leaving(reply, legacy)).await;
        let client = server.connect().await.unwrap();
        drop_one_call(&server, &client).await;
        let said = server
            .record
            .nth("POST", "notifications/cancelled", 0)
            .await;
        let call = &server.record.of("POST", "tools/call")[0];
        assert_eq!(said.body["params"]["requestId"], call.body["id"]);
        assert_eq!(said.header("mcp-session-id"), Some("session-1"));
        within(client.call_tool("act", json!({})).into_future())
            .await
            .unwrap();
        assert_eq!(server.record.of("POST", "notifications/cancelled").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_taken_back() {
    let server = Double::new(leaving(Reply::never(), legacy));
    let client = server.connect().await.unwrap();
    let call = client.call_tool("act", json!({}));
    let error = call.with_timeout(Duration::from_secs(5)).await.unwrap_err();
    assert!(error.is_timeout());
    server
        .record
        .nth("POST", "notifications/cancelled", 0)
        .await;
}

#[tokio::test]
async fn an_answered_call_is_not_taken_back() {
    let server = Double::new(legacy);
    let client = server.connect().await.unwrap();
    client.call_tool("act", json!({})).await.unwrap();
    client.close().await;
    assert!(
        server
            .record
            .of("POST", "notifications/cancelled")
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn initialize_is_never_taken_back() {
    let server = Double::new(|seen| match seen.method() {
        "initialize" => Reply::never(),
        _ => legacy(seen),
    });
    server.connect().await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(
        server
            .record
            .of("POST", "notifications/cancelled")
            .is_empty()
    );
}
