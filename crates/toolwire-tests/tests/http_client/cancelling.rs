//! Cancellation of calls: by closing the stream in the modern era, by a notification in the legacy era.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;
use toolwire::{Client, ClientLimits};
use toolwire_tests::peer::within;

use super::double::Double;
use super::fake::Fake;
use super::script::{Record, RecordedRequest, Reply, legacy, modern};

/// Returns incomplete responses: without headers, with a partial stream, with a partial JSON body.
fn incomplete_responses() -> [Reply; 3] {
    [
        Reply::never(),
        Reply::events(": working\n\n").left_open(),
        Reply::json(200, "{").left_open(),
    ]
}

/// Returns a script that sends `reply` to the first call, and uses `rest` for all other requests.
fn first_call(
    reply: Reply,
    rest: fn(&RecordedRequest) -> Reply,
) -> impl Fn(&RecordedRequest) -> Reply {
    move |request| match request.method() {
        "tools/call" if request.nth == 0 => reply.clone(),
        _ => rest(request),
    }
}

async fn drop_one_call(server: &Fake, client: &Client) {
    let call = tokio::spawn(client.call_tool("act", json!({})).into_future());
    server.record.nth("POST", "tools/call", 0).await;
    call.abort();
    drop(within(call).await);
}

#[tokio::test]
async fn dropping_a_modern_call_closes_its_stream_without_a_notification() {
    for reply in incomplete_responses() {
        let server = Fake::start(first_call(reply, modern)).await;
        let client = server.connect().await.unwrap();
        drop_one_call(&server, &client).await;
        server.wait_for_disconnects(1).await;
        within(client.call_tool("act", json!({})).into_future())
            .await
            .unwrap();
        let cancelled = server.record.of("POST", "notifications/cancelled");
        assert!(cancelled.is_empty(), "{cancelled:?}");
        assert_eq!(client.pending_operations(), 0);
    }
}

#[tokio::test]
async fn dropping_a_legacy_call_sends_a_cancellation() {
    for reply in incomplete_responses() {
        let server = Fake::start(first_call(reply, legacy)).await;
        let client = server.connect().await.unwrap();
        drop_one_call(&server, &client).await;
        let cancelled = server
            .record
            .nth("POST", "notifications/cancelled", 0)
            .await;
        let call = &server.record.of("POST", "tools/call")[0];
        assert_eq!(cancelled.body["params"]["requestId"], call.body["id"]);
        assert_eq!(cancelled.header("mcp-session-id"), Some("session-1"));
        within(client.call_tool("act", json!({})).into_future())
            .await
            .unwrap();
        assert_eq!(server.record.of("POST", "notifications/cancelled").len(), 1);
    }
}

/// Checks that the cancellation arrived in the session, before the session was deleted.
fn check_order(server: &Fake) {
    let all = server.record.all();
    let position = |http_method, method| {
        all.iter()
            .position(|request| request.is(http_method, method))
    };
    let cancelled = position("POST", "notifications/cancelled").expect("a cancellation");
    let deleted = position("DELETE", "").expect("a deleted session");
    assert!(cancelled < deleted, "{all:?}");
    assert_eq!(all[cancelled].header("mcp-session-id"), Some("session-1"));
}

#[tokio::test]
async fn closing_delivers_the_cancellation_of_a_dropped_call_first() {
    for reply in incomplete_responses() {
        let gate = Arc::new(Notify::new());
        let accepted = Arc::clone(&gate);
        let script = first_call(reply, legacy);
        let server = Fake::start(move |request| match request.method() {
            "notifications/cancelled" => Reply::status(202).gated_by(&accepted),
            _ => script(request),
        });
        let server = server.await;
        let client = server.connect().await.unwrap();
        let not_deleted = |record: &Record| assert!(record.of("DELETE", "").is_empty());
        server
            .close_after_dropped_call(&client, &gate, not_deleted)
            .await;
        check_order(&server);
    }
}

#[tokio::test]
async fn dropping_the_client_delivers_the_cancellation_of_a_dropped_call_first() {
    let server = Fake::start(first_call(Reply::never(), legacy)).await;
    let client = server.connect().await.unwrap();
    drop_one_call(&server, &client).await;
    drop(client);
    server.record.nth("DELETE", "", 0).await;
    check_order(&server);
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_a_cancellation_no_longer_than_the_grace_period() {
    let server = Double::new(|request| match request.method() {
        "tools/call" | "notifications/cancelled" => Reply::never(),
        _ => legacy(request),
    });
    let client = server.connect().await.unwrap();
    let call = client.call_tool("act", json!({}));
    call.with_timeout(Duration::from_secs(5)).await.unwrap_err();
    let start = Instant::now();
    client.close().await;
    assert_eq!(start.elapsed(), ClientLimits::default().exit_grace);
    assert_eq!(server.record.of("DELETE", "").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn call_that_times_out_is_cancelled() {
    let server = Double::new(first_call(Reply::never(), legacy));
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
async fn completed_call_is_not_cancelled() {
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
async fn initialize_is_never_cancelled() {
    let server = Double::new(|request| match request.method() {
        "initialize" => Reply::never(),
        _ => legacy(request),
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
