//! The log level of a session with a legacy upstream server that modern clients share.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire_tests::peer::{Peer, modern, modern_with, notification};

use crate::raw_upstream::{RawConnection, raw_upstream};

/// The level that a request asks for, and the level that the upstream server gets because of it.
const REQUESTS: [(Option<&str>, Option<&str>); 5] = [
    (None, None),
    (Some("warning"), Some("warning")),
    (Some("error"), None),
    (Some("debug"), Some("debug")),
    (Some("warning"), None),
];

async fn legacy_session(server: &mut RawConnection) {
    let discover = server.receive().await;
    server
        .reject(&discover, r#"{"code":-32601,"message":"unknown method"}"#)
        .await;
    let initialize = server.receive().await;
    server.respond(&initialize, &details()).await;
    server.receive().await;
}

fn details() -> String {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "old", "version": "1"},
    })
    .to_string()
}

#[tokio::test]
async fn shared_session_has_the_most_verbose_level_and_requests_get_their_own() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let mut server = None;
    for (asked, expected) in REQUESTS {
        let mut call = modern(1, "tools/call", json!({"name": "x", "arguments": {}}));
        if let Some(level) = asked {
            call["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = level.into();
        }
        client.send(call).await;
        if server.is_none() {
            let mut accepted = connections.accept().await;
            legacy_session(&mut accepted).await;
            server = Some(accepted);
        }
        let server = server.as_mut().expect("a connection");
        if let Some(level) = expected {
            let set = server.receive().await;
            assert_eq!(set["method"], "logging/setLevel");
            assert_eq!(set["params"]["level"], level);
            server.respond(&set, "{}").await;
        }
        let call = server.receive().await;
        assert_eq!(call["method"], "tools/call", "{asked:?}");
        for level in ["debug", "warning"] {
            let message = json!({"level": level, "data": level});
            server
                .send(notification("notifications/message", message))
                .await;
        }
        server.respond(&call, r#"{"content":[]}"#).await;
        let mut levels = Vec::new();
        loop {
            let message: Value = client.receive().await;
            if message["method"] != "notifications/message" {
                break;
            }
            levels.push(message["params"]["level"].clone());
        }
        match asked {
            Some("debug") => assert_eq!(levels, ["debug", "warning"]),
            Some("warning") => assert_eq!(levels, ["warning"]),
            _ => assert!(levels.is_empty(), "{asked:?} {levels:?}"),
        }
    }
}

#[tokio::test]
async fn level_that_the_server_did_not_accept_is_requested_again() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let mut call = modern(1, "tools/call", json!({"name": "x", "arguments": {}}));
    call["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = "info".into();
    client.send(&call).await;
    let mut server = connections.accept().await;
    legacy_session(&mut server).await;
    let set = server.receive().await;
    assert_eq!(set["method"], "logging/setLevel");
    let error = r#"{"code":-32603,"message":"try again"}"#;
    server.reject(&set, error).await;
    let first = server.receive().await;
    server.respond(&first, r#"{"content":[]}"#).await;
    client.receive().await;
    client.send(&call).await;
    assert_eq!(server.receive().await["method"], "logging/setLevel");
}

/// Returns the next request. The relay cancels the one that it does not wait for any more.
async fn next_request(server: &mut RawConnection) -> Value {
    loop {
        let message = server.receive().await;
        if message["method"] != "notifications/cancelled" {
            return message;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_ignores_a_level_delays_one_call_by_two_seconds() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let with_level = |capabilities: Value| {
        let params = json!({"name": "x", "arguments": {}});
        let mut call = modern_with(1, "tools/call", params, capabilities);
        call["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = "info".into();
        call
    };
    client.send(with_level(json!({}))).await;
    let mut server = connections.accept().await;
    legacy_session(&mut server).await;
    assert_eq!(server.receive().await["method"], "logging/setLevel");
    let start = Instant::now();
    let call = next_request(&mut server).await;
    assert_eq!(call["method"], "tools/call");
    let waited = start.elapsed();
    assert!(
        waited >= Duration::from_secs(2) && waited < Duration::from_secs(3),
        "{waited:?}"
    );
    server.respond(&call, r#"{"content":[]}"#).await;
    client.receive().await;
    // The server gets no level for a minute, whichever session a call has.
    client.send(with_level(json!({}))).await;
    let call = next_request(&mut server).await;
    assert_eq!(call["method"], "tools/call");
    server.respond(&call, r#"{"content":[]}"#).await;
    client.receive().await;
    client.send(with_level(json!({"elicitation": {}}))).await;
    let (mut session, _) = connections.accept_legacy(&details()).await;
    assert_eq!(
        session.receive().await["method"],
        "notifications/initialized"
    );
    assert_eq!(session.receive().await["method"], "tools/call");
}

#[tokio::test(start_paused = true)]
async fn server_that_ignored_a_level_gets_one_again_after_a_minute() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let mut call = modern(1, "tools/call", json!({"name": "x", "arguments": {}}));
    call["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = "info".into();
    client.send(&call).await;
    let mut server = connections.accept().await;
    legacy_session(&mut server).await;
    assert_eq!(server.receive().await["method"], "logging/setLevel");
    let first = next_request(&mut server).await;
    assert_eq!(first["method"], "tools/call");
    server.respond(&first, r#"{"content":[]}"#).await;
    client.receive().await;
    tokio::time::advance(Duration::from_secs(60)).await;
    client.send(&call).await;
    let again = next_request(&mut server).await;
    assert_eq!(again["method"], "logging/setLevel");
}
