//! A legacy client of a modern command, whose connection the relay opens once.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire_tests::peer::{Peer, legacy, modern};

use crate::raw_upstream::{RawConnection, modern_details, raw_upstream};

fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    });
    legacy(1, "initialize", params)
}

/// Checks that a client uses this connection.
async fn expect_connected(client: &mut Peer, server: &mut RawConnection, request: Value) {
    client.send(request).await;
    let list = server.receive().await;
    assert_eq!(list["method"], "tools/list", "{list}");
    let result = r#"{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}"#;
    server.respond(&list, result).await;
    assert_eq!(client.receive().await["result"]["tools"], json!([]));
}

#[tokio::test]
async fn connection_that_rejects_a_session_serves_clients_of_both_eras() {
    let (upstream, mut connections) = raw_upstream();
    // The connection counts once.
    let relay = upstream.with_max_sessions(1).relay();
    let mut first = Peer::connect(relay.server());
    first.send(initialize()).await;
    let mut server = connections.accept_rejecting(&modern_details()).await;
    assert!(first.receive().await.get("result").is_some());
    let list = || legacy(2, "tools/list", json!({}));
    expect_connected(&mut first, &mut server, list()).await;
    // The server is not asked for a session again.
    let mut second = Peer::connect(relay.server());
    second.send(initialize()).await;
    assert!(second.receive().await.get("result").is_some());
    expect_connected(&mut second, &mut server, list()).await;
    let mut third = Peer::connect(relay.server());
    let list = modern(3, "tools/list", json!({}));
    expect_connected(&mut third, &mut server, list).await;
    assert!(connections.is_quiet());
}

#[tokio::test(start_paused = true)]
async fn connection_that_rejects_a_session_is_closed_if_another_is_open() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut new = Peer::connect(relay.server());
    new.send(modern(1, "tools/list", json!({}))).await;
    let mut lost = connections.accept_modern().await;
    let listed = lost.receive().await;
    lost.respond(&listed, r#"{"tools":[]}"#).await;
    assert_eq!(new.receive().await["id"], 1);
    // After this time, the loss causes no pause.
    tokio::time::sleep(Duration::from_secs(11)).await;
    drop(lost);
    let mut old = Peer::connect(relay.server());
    old.send(initialize()).await;
    let mut rejecting = connections.accept().await;
    let request = rejecting.receive().await;
    // Meanwhile, the modern client connects again.
    new.send(modern(2, "tools/list", json!({}))).await;
    let mut server = connections.accept_modern().await;
    let listed = server.receive().await;
    server.respond(&listed, r#"{"tools":[]}"#).await;
    assert_eq!(new.receive().await["id"], 2);
    let error = r#"{"code":-32601,"message":"unknown method"}"#;
    rejecting.reject(&request, error).await;
    let discover = rejecting.receive().await;
    assert_eq!(discover["method"], "server/discover");
    rejecting.respond(&discover, &modern_details()).await;
    assert!(old.receive().await.get("result").is_some());
    rejecting.expect_end().await;
    let list = legacy(2, "tools/list", json!({}));
    expect_connected(&mut old, &mut server, list).await;
    assert!(connections.is_quiet());
}

#[tokio::test]
async fn connection_that_rejects_both_eras_is_closed() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(initialize()).await;
    let error = r#"{"code":-32601,"message":"unknown method"}"#;
    let mut methods = Vec::new();
    // The relay tries a new connection, too, because the first one may have failed because of `initialize`.
    for _ in 0..2 {
        let mut server = connections.accept().await;
        while let Some(request) = server.next().await {
            methods.push(request["method"].clone());
            server.reject(&request, error).await;
        }
    }
    assert_eq!(
        methods,
        [
            "initialize",
            "server/discover",
            "initialize",
            "server/discover",
            "initialize"
        ]
    );
    client.expect_error(1, -32601).await;
    assert!(connections.is_quiet());
}
