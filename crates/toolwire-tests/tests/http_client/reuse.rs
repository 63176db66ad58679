//! The number of connections that calls use, and what happens if a reused connection closes.

use serde_json::{Value, json};
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

/// Returns the messages of this method that the server received. All but the last got no response.
fn bodies(server: &Fake, method: &str) -> Vec<Value> {
    let requests = server.record.of("POST", method).into_iter();
    requests.map(|request| request.body).collect()
}

#[tokio::test]
async fn reads_and_initialize_are_sent_again_after_a_reused_connection_closes() {
    let server = Fake::start(|request| match request.method() {
        "initialize" | "notifications/initialized" | "tools/list" if request.nth == 0 => {
            Reply::closed()
        }
        _ => legacy(request),
    });
    let server = server.await;
    let client = server.connect().await.unwrap();
    // The request for the server stream uses a connection until its response arrives.
    server.record.nth("GET", "", 0).await;
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    within(client.list_tools().into_future()).await.unwrap();
    for method in ["initialize", "notifications/initialized", "tools/list"] {
        let sent = bodies(&server, method);
        assert_eq!(sent.len(), 2, "{method}: {sent:?}");
        assert_eq!(sent[0], sent[1], "{method}");
    }
}

#[tokio::test]
async fn calls_are_not_sent_again_after_a_reused_connection_closes() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        let server = Fake::start(|request| match request.method() {
            "tools/call" => Reply::closed(),
            _ if request.header("mcp-protocol-version") == Some("2026-07-28") => modern(request),
            _ => legacy(request),
        });
        let server = server.await;
        let client = server.connect_as(version).await;
        within(client.list_tools().into_future()).await.unwrap();
        within(client.call_tool("act", json!({})).into_future())
            .await
            .unwrap_err();
        assert_eq!(bodies(&server, "tools/call").len(), 1, "{version}");
    }
}
