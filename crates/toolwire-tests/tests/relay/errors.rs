//! Errors, cancellations and capabilities that pass through a relay.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::relay::Relay;
use toolwire_tests::peer::{Peer, modern_with};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

fn details() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "prompts": {}},
        "serverInfo": {"name": "old", "version": "1"},
    })
}

/// Sends a modern request of a client that can be asked to a legacy server, and returns the session of the request.
async fn asking(
    relay: &Relay,
    connections: &mut RawUpstream,
    request: Value,
) -> (Peer, RawConnection, Value) {
    let client = Peer::connect(relay.server());
    client.send(request).await;
    let mut shared = connections.accept().await;
    let discover = shared.receive().await;
    let error = r#"{"code":-32601,"message":"unknown method"}"#;
    shared.reject(&discover, error).await;
    let initialize = shared.receive().await;
    shared.respond(&initialize, &details().to_string()).await;
    shared.receive().await;
    let (mut session, _) = connections.accept_legacy(&details().to_string()).await;
    session.receive().await;
    let request = session.receive().await;
    // The session without capabilities has to stay open.
    tokio::spawn(async move { while shared.next().await.is_some() {} });
    (client, session, request)
}

#[tokio::test(start_paused = true)]
async fn retry_of_a_dropped_prompt_is_an_error() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let request =
        |id: i64, params: Value| modern_with(id, "prompts/get", params, json!({"roots": {}}));
    let first = request(1, json!({"name": "p"}));
    let (mut client, mut session, _) = asking(&relay, &mut connections, first).await;
    session
        .send(json!({"jsonrpc": "2.0", "id": "s", "method": "roots/list"}))
        .await;
    let state = client.receive().await["result"]["requestState"].clone();
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(session.receive().await["method"], "notifications/cancelled");
    let responses = json!({"q1": {"roots": []}});
    let retry = json!({"name": "p", "requestState": state, "inputResponses": responses});
    client.send(request(2, retry)).await;
    let error = client.expect_error(2, -32602).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("no longer open"), "{message}");
}
