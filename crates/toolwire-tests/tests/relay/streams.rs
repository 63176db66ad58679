//! Progress that passes through a relay.

use serde_json::{Value, json};
use toolwire::relay::Relay;
use toolwire_tests::peer::{Peer, modern, modern_with, notification};

use crate::raw_http::raw_http;
use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

/// Returns a relay to a legacy server, a client, and the session without capabilities.
async fn legacy_upstream() -> (Relay, Peer, RawUpstream, RawConnection) {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(modern(1, "server/discover", json!({}))).await;
    let mut server = connections.accept().await;
    let discover = server.receive().await;
    server
        .reject(&discover, r#"{"code":-32601,"message":"unknown method"}"#)
        .await;
    accept_initialize(&mut server).await;
    assert_eq!(client.receive().await["id"], 1);
    (relay, client, connections, server)
}

/// Serves the handshake of a legacy session.
async fn accept_initialize(server: &mut RawConnection) {
    let initialize = server.receive().await;
    assert_eq!(initialize["method"], "initialize");
    let details = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}},
        "serverInfo": {"name": "old", "version": "1"},
    });
    server.respond(&initialize, &details.to_string()).await;
    let initialized = server.receive().await;
    assert_eq!(initialized["method"], "notifications/initialized");
}

fn call(id: i64, token: impl Into<Value>) -> Value {
    let mut request = modern(id, "tools/call", json!({"name": "slow"}));
    request["params"]["_meta"]["progressToken"] = token.into();
    request
}

/// Returns a call of a client that can be asked.
fn ask(id: i64, mut params: Value, token: &str) -> Value {
    params["name"] = "ask".into();
    let mut request = modern_with(id, "tools/call", params, json!({"roots": {}}));
    request["params"]["_meta"]["progressToken"] = token.into();
    request
}

fn progress(token: &Value, progress: i64) -> Value {
    let params = json!({"progressToken": token, "progress": progress});
    notification("notifications/progress", params)
}

#[tokio::test]
async fn equal_progress_tokens_differ_on_a_shared_http_connection() {
    let (upstream, mut posts) = raw_http();
    let relay = upstream.relay();
    for token in [json!(7), json!("seven")] {
        let mut clients = [Peer::connect(relay.server()), Peer::connect(relay.server())];
        let mut calls = Vec::new();
        for client in &clients {
            client.send(call(1, token.clone())).await;
            if calls.is_empty() && token == 7 {
                posts.accept_modern().await;
            }
            calls.push(posts.expect("tools/call").await);
        }
        let tokens: Vec<Value> = calls
            .iter()
            .map(|call| call.message["params"]["_meta"]["progressToken"].clone())
            .collect();
        assert_ne!(tokens[0], tokens[1]);
        for ((client, call), upstream) in clients.iter_mut().zip(calls).zip(tokens) {
            assert_eq!(upstream.is_string(), token.is_string(), "{upstream}");
            let stream = call.stream();
            stream.send(&progress(&upstream, 1));
            client.expect(progress(&token, 1)).await;
            stream.respond(json!({"resultType": "complete", "content": []}));
            assert_eq!(client.receive().await["id"], 1);
        }
    }
}

#[tokio::test]
async fn progress_of_a_later_round_has_the_token_of_its_request() {
    let (_relay, mut client, mut connections, _shared) = legacy_upstream().await;
    client.send(ask(2, json!({}), "first")).await;
    let mut session = connections.accept().await;
    accept_initialize(&mut session).await;
    let call = session.receive().await;
    let token = call["params"]["_meta"]["progressToken"].clone();
    session.send(progress(&token, 1)).await;
    client.expect(progress(&json!("first"), 1)).await;
    let roots = json!({"jsonrpc": "2.0", "id": "s1", "method": "roots/list"});
    session.send(roots).await;
    let state = client.receive().await["result"]["requestState"].clone();
    // Of the progress while the call is parked, the client gets the newest with its next request.
    session.send(progress(&token, 2)).await;
    session.send(progress(&token, 3)).await;
    let mark = json!({"jsonrpc": "2.0", "id": "s2", "method": "roots/list"});
    session.send(mark).await;
    let retry = json!({"requestState": state, "inputResponses": {"q1": {"roots": []}}});
    client.send(ask(3, retry, "second")).await;
    client.expect(progress(&json!("second"), 3)).await;
    session.receive().await;
    let state = client.receive().await["result"]["requestState"].clone();
    let retry = json!({"requestState": state, "inputResponses": {"q2": {"roots": []}}});
    client.send(ask(4, retry, "third")).await;
    session.receive().await;
    session.send(progress(&token, 4)).await;
    client.expect(progress(&json!("third"), 4)).await;
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 4);
}
