//! How many connections calls take.

use serde_json::json;
use toolwire::ProtocolVersion;

use super::fake::Fake;
use super::script::{Reply, event, legacy, modern};
use crate::peer::within;

const CALLS: usize = 20;

#[tokio::test]
async fn calls_in_a_row_share_a_connection() {
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
async fn calls_in_a_row_whose_answers_are_streams_share_a_connection() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        let server = Fake::start(|seen| match seen.method() {
            "tools/call" => Reply::events(": hello\n\n")
                .with(event(seen.result(seen.done())))
                .with(": bye\n\n"),
            _ if seen.header("mcp-protocol-version") == Some("2026-07-28") => modern(seen),
            _ => legacy(seen),
        });
        let server = server.await;
        let client = server.connect_as(version).await;
        if version != ProtocolVersion::LATEST {
            // It takes a connection for as long as it is not answered.
            server.record.nth("GET", "", 0).await;
        }
        for _ in 0..CALLS {
            within(client.call_tool("act", json!({})).into_future())
                .await
                .unwrap();
        }
        // The rest of a stream is read beside the next call, so two connections may take turns.
        assert!(
            server.connections() <= 2,
            "{version}: {}",
            server.connections()
        );
    }
}

#[tokio::test]
async fn a_stream_that_stays_open_after_its_answer_is_closed() {
    let server = Fake::start(|seen| match seen.method() {
        "tools/call" => Reply::events(event(seen.result(seen.done()))).left_open(),
        _ => modern(seen),
    });
    let server = server.await;
    let client = server.connect().await.unwrap();
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    server.abandoned(1).await;
}

#[tokio::test]
async fn refusals_and_notifications_leave_the_connection_usable() {
    let server = Fake::start(|seen| match seen.method() {
        "tools/call" => Reply::status(500).with("broken"),
        "notifications/acme" => Reply::status(202),
        _ => modern(seen),
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
