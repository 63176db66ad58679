//! The number of connections that calls use.

use serde_json::json;
use toolwire::ProtocolVersion;
use toolwire_tests::peer::within;

use super::fake::Fake;
use super::script::{Reply, event, legacy, modern};

const CALLS: usize = 20;

#[tokio::test]
async fn consecutive_calls_share_a_connection() {
    let server = Fake::start(modern).await;
    let client = server.connect().await.unwrap();
    for _ in 0..CALLS {
        within(client.call_tool("act", json!({})).into_future())
            .await
            .unwrap();
    }
    assert_eq!(server.record.all().len(), 1 + CALLS);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn consecutive_calls_with_stream_responses_share_connections() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        let server = Fake::start(|request| match request.method() {
            "tools/call" => Reply::events(": hello\n\n")
                .with(event(request.result(request.done())))
                .with(": bye\n\n"),
            _ if request.header("mcp-protocol-version") == Some("2026-07-28") => modern(request),
            _ => legacy(request),
        });
        let server = server.await;
        let client = server.connect_as(version).await;
        if version != ProtocolVersion::LATEST {
            // The request for the server stream uses a connection until its response arrives.
            server.record.nth("GET", "", 0).await;
        }
        for _ in 0..CALLS {
            within(client.call_tool("act", json!({})).into_future())
                .await
                .unwrap();
        }
        // The rest of a stream is read while the next call runs, so two connections may alternate.
        assert!(
            server.connections() <= 2,
            "{version}: {}",
            server.connections()
        );
    }
}

#[tokio::test]
async fn stream_that_stays_open_after_the_response_is_closed() {
    let server = Fake::start(|request| match request.method() {
        "tools/call" => Reply::events(event(request.result(request.done()))).left_open(),
        _ => modern(request),
    });
    let server = server.await;
    let client = server.connect().await.unwrap();
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    server.wait_for_disconnects(1).await;
}

#[tokio::test]
async fn connection_is_reused_after_errors_and_notifications() {
    let server = Fake::start(|request| match request.method() {
        "tools/call" => Reply::status(500).with("broken"),
        "notifications/acme" => Reply::status(202),
        _ => modern(request),
    });
    let server = server.await;
    let client = server.connect().await.unwrap();
    for _ in 0..CALLS {
        within(client.call_tool("act", json!({})).into_future())
            .await
            .unwrap_err();
        within(client.notify("notifications/acme", None))
            .await
            .unwrap();
    }
    assert_eq!(server.connections(), 1);
}
