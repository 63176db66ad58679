//! The transport of 2024-11-05, against servers that misuse it.

use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;
use toolwire::proto::negotiate::{DetectedEra, LegacyTransport};
use toolwire::{ClientBuilder, ProtocolVersion};

use super::double::Double;
use super::fake::{Fake, builder};
use super::script::{Reply, event};
use crate::peer::within;

const VERDICT: DetectedEra = DetectedEra::Legacy {
    version: ProtocolVersion::V2024_11_05,
    transport: LegacyTransport::HttpWithSse,
};

fn knowing() -> ClientBuilder {
    builder().with_detected_era(VERDICT)
}

fn endpoint(address: &str) -> String {
    format!("event: endpoint\ndata: {address}\n\n")
}

/// The answer to `initialize`, whose id is the first one.
fn welcome() -> String {
    event(
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }})
        .to_string(),
    )
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_refused_and_hears_nothing() {
    let elsewhere = Fake::start(|_| Reply::status(202)).await;
    let address = elsewhere.address;
    for target in [
        format!("http://{address}/m"),
        format!("//{address}/m"),
        format!("http:\\\\{address}/m"),
    ] {
        let server = Fake::start(move |seen| match &*seen.verb {
            "GET" => Reply::events(endpoint(&target)).left_open(),
            _ => Reply::status(404),
        });
        let server = server.await;
        let knowing = knowing().with_bearer_token("secret").unwrap();
        let error = server.connect_with(knowing).await.unwrap_err();
        assert!(
            error.is_protocol_violation() || error.http_status() == Some(404),
            "{error:?}"
        );
        assert!(elsewhere.record.all().is_empty());
    }
}

#[tokio::test]
async fn relative_endpoints_are_understood() {
    let check = async |named: &'static str, expected: &str| {
        let server = Double::new(move |seen| match &*seen.verb {
            "GET" => Reply::events(endpoint(named) + &welcome()).left_open(),
            _ => Reply::status(202),
        });
        let client = ClientBuilder::new("test", "1").with_detected_era(VERDICT);
        let client = client.with_http_client(server.clone());
        within(client.connect("http://made.up/api/sse?key=1"))
            .await
            .unwrap();
        let post = server.record.nth("POST", "initialize", 0).await;
        assert_eq!(post.target, expected, "{named}");
    };
    check("/messages?session=1", "http://made.up/messages?session=1").await;
    check("messages", "http://made.up/api/messages").await;
    check("?session=1", "http://made.up/api/sse?session=1").await;
    check("http://made.up/m", "http://made.up/m").await;
    check("http://made.up:80/m", "http://made.up:80/m").await;
    check("../m", "http://made.up/m").await;
    check("m?next=http://x/y", "http://made.up/api/m?next=http://x/y").await;
}

#[tokio::test]
async fn a_stream_that_ends_fails_every_call_that_waits() {
    let gate = Arc::new(Notify::new());
    let end = Arc::clone(&gate);
    let server = Fake::start(move |seen| match &*seen.verb {
        "GET" => Reply::events(endpoint("/m") + &welcome()).wait(&gate).cut(),
        _ => Reply::status(202),
    });
    let server = server.await;
    let client = server.connect_with(knowing()).await.unwrap();
    let calls: Vec<_> = (0..10)
        .map(|_| tokio::spawn(client.call_tool("act", json!({})).into_future()))
        .collect();
    server.record.nth("POST", "tools/call", 9).await;
    end.notify_one();
    for call in calls {
        assert!(within(call).await.unwrap().unwrap_err().is_closed());
    }
    let error = within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap_err();
    assert!(error.is_closed());
    assert_eq!(server.record.of("POST", "tools/call").len(), 10);
}

#[tokio::test]
async fn a_stream_without_an_endpoint_fails_the_connection() {
    let check = async |reply: Reply| {
        let server = Double::new(move |seen| match &*seen.verb {
            "GET" => reply.clone(),
            _ => Reply::status(404),
        });
        within(server.connect_with(knowing())).await.unwrap_err();
    };
    check(Reply::events("")).await;
    check(Reply::events(event("{}")).cut()).await;
    check(
        Reply::status(200)
            .with_header("content-type", "text/html")
            .with("<p>"),
    )
    .await;
    check(Reply::events(endpoint("http://[")).left_open()).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_never_names_its_endpoint_is_given_up() {
    let server = Double::new(|seen| match &*seen.verb {
        "GET" => Reply::events(": still here\n\n").left_open(),
        _ => Reply::status(404),
    });
    assert!(server.connect().await.is_err());
}

#[tokio::test]
async fn closing_ends_the_stream() {
    let server = Fake::start(|seen| match &*seen.verb {
        "GET" => Reply::events(endpoint("/m") + &welcome()).left_open(),
        _ => Reply::status(202),
    });
    let server = server.await;
    let client = server.connect_with(knowing()).await.unwrap();
    client.close().await;
    server.abandoned(1).await;
}

#[tokio::test]
async fn a_refused_message_fails_its_call_only() {
    let server = Double::new(|seen| match (&*seen.verb, seen.method()) {
        ("GET", _) => Reply::events(endpoint("/m") + &welcome()).left_open(),
        ("POST", "tools/call") if seen.nth == 0 => Reply::status(500),
        _ => Reply::status(202),
    });
    let client = within(server.connect_with(knowing())).await.unwrap();
    let error = client.call_tool("act", json!({})).await.unwrap_err();
    assert_eq!(error.http_status(), Some(500), "{error:?}");
    let call = tokio::spawn(client.call_tool("act", json!({})).into_future());
    server.record.nth("POST", "tools/call", 1).await;
    call.abort();
    server
        .record
        .nth("POST", "notifications/cancelled", 0)
        .await;
}
