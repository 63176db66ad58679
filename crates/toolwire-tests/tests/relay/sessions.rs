//! The sessions of legacy clients: their order, their loss and their end.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire_tests::http::direct::{InProcessClient, in_session};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::peer::{Peer, legacy, within};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

const VERSION: &str = "2025-11-25";

/// The result of `initialize` of the upstream server.
fn details() -> String {
    json!({
        "protocolVersion": VERSION,
        "capabilities": {"tools": {"listChanged": true}, "prompts": {}},
        "serverInfo": {"name": "old", "version": "1"},
    })
    .to_string()
}

fn initialize(id: i64) -> Value {
    let params = json!({
        "protocolVersion": VERSION,
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "peer", "version": "9"},
    });
    legacy(id, "initialize", params)
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {"x": 1}})
}

#[tokio::test]
async fn request_does_not_overtake_an_earlier_notification() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(initialize(1)).await;
    let (mut server, _) = connections.accept_legacy(&details()).await;
    client.receive().await;
    // A request that arrives with others is polled before the task of a notification runs.
    let burst = [
        initialized(),
        legacy(2, "tools/list", json!({})),
        legacy(3, "ping", json!({})),
    ];
    let lines: Vec<String> = burst.iter().map(|message| format!("{message}\n")).collect();
    client.send_bytes(lines.concat()).await;
    assert_eq!(
        server.receive().await["method"],
        "notifications/initialized"
    );
    assert_eq!(server.receive().await["method"], "tools/list");
    assert_eq!(server.receive().await["method"], "ping");
}

/// Returns the HTTP service of a relay, and the upstream server of its first session.
async fn http_session(limits: HttpLimits) -> (InProcessClient, String, RawUpstream, RawConnection) {
    let (upstream, mut connections) = raw_upstream();
    let options = HttpOptions::new().with_limits(limits);
    let service = HttpService::new(upstream.relay().server().clone(), options);
    let client = InProcessClient::new(&service);
    let opening = {
        let client = client.clone();
        tokio::spawn(async move { client.initialize().await })
    };
    let (server, _) = connections.accept_legacy(&details()).await;
    let session = within(opening).await.expect("the request ends");
    (client, session, connections, server)
}

#[tokio::test]
async fn second_initialize_in_a_session_opens_no_upstream_session() {
    let (client, session, mut connections, mut server) = http_session(HttpLimits::default()).await;
    let again = initialize_request(VERSION).in_session(&session, VERSION);
    let response = client.request(again).await;
    assert_eq!(response.status, 200, "{}", response.body);
    assert_eq!(response.session.as_deref(), Some(&*session));
    assert!(
        response.body.contains(r#""name":"old""#),
        "{}",
        response.body
    );
    assert!(connections.is_quiet());
    // The session is the first one.
    let calling = tokio::spawn(async move {
        let ping = in_session(&session, &legacy(1, "ping", json!({})));
        client.request(ping).await
    });
    let ping = server.receive().await;
    server.respond(&ping, "{}").await;
    assert_eq!(within(calling).await.unwrap().status, 200);
}

#[tokio::test]
async fn deleted_session_ends_its_upstream_session() {
    let (client, session, _connections, mut server) = http_session(HttpLimits::default()).await;
    let deleted = client.request(Request::delete(&session, VERSION)).await;
    assert_eq!(deleted.status, 204);
    server.expect_end().await;
}

#[tokio::test(start_paused = true)]
async fn expired_session_ends_its_upstream_session() {
    // The client sends nothing after `initialize`.
    let (_client, _session, _connections, mut server) = http_session(HttpLimits::default()).await;
    let expired = tokio::time::timeout(Duration::from_secs(120), async {
        while server.next().await.is_some() {}
    });
    assert!(expired.await.is_ok());
}
