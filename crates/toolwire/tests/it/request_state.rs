//! Sealed request state: it opens for the request it was made for, and for nothing else.

use serde_json::{Value, json};
use toolwire::proto::request_state::{KeyRing, StateKey};
use toolwire::types::InputRequests;
use toolwire::{CallToolResult, RequestContext, Server, ToolHandler, ToolResponse};

use crate::peer::{Peer, complete, modern, plain, server, text};

/// Hands out a state, and tells what comes back.
fn keeper(name: &str) -> ToolHandler {
    plain(name, |ctx: RequestContext| async move {
        if ctx.has_request_state() {
            return CallToolResult::text(ctx.request_state()).into();
        }
        ToolResponse::input_required(InputRequests::new(), Some("a secret plan".to_owned()))
    })
}

fn keepers() -> Server {
    server().tool(keeper("keep")).tool(keeper("other"))
}

fn request(tool: &str, arguments: &Value, state: Option<&str>) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments});
    if let Some(state) = state {
        params["requestState"] = json!(state);
    }
    modern(1, "tools/call", params)
}

/// The state the server hands out for a call of `keep`.
async fn state_for(peer: &mut Peer, arguments: &Value) -> String {
    let wish = peer.result_of(request("keep", arguments, None)).await;
    let state = wish["requestState"].as_str().expect("a state");
    state.to_owned()
}

#[tokio::test]
async fn state_comes_back_to_the_same_request() {
    let mut peer = Peer::connect(&keepers());
    let arguments = json!({"a": 1, "b": [true, "x"]});
    let state = state_for(&mut peer, &arguments).await;
    assert!(!state.contains("secret"));
    // The order of members is not part of the arguments.
    let reordered = r#"{"b": [true, "x"], "a": 1}"#;
    for arguments in [arguments.to_string(), reordered.to_owned()] {
        let template = request("keep", &json!("ARGUMENTS"), Some(&state)).to_string();
        peer.send(template.replace("\"ARGUMENTS\"", &arguments))
            .await;
        peer.expect(complete(1, text("a secret plan"))).await;
    }
}

#[tokio::test]
async fn each_state_is_sealed_anew() {
    let mut peer = Peer::connect(&keepers());
    let first = state_for(&mut peer, &json!({})).await;
    let second = state_for(&mut peer, &json!({})).await;
    assert_ne!(first, second);
}

#[tokio::test]
async fn whatever_is_wrong_with_a_state_the_answer_is_the_same() {
    let mut peer = Peer::connect(&keepers());
    let arguments = json!({"a": 1});
    let state = state_for(&mut peer, &arguments).await;
    let mut messages = Vec::new();
    let mut refused = async |tool: &str, arguments: Value, state: &str| {
        let error = peer
            .refusal_of(request(tool, &arguments, Some(state)), -32602)
            .await;
        assert_eq!(error.get("data"), None);
        messages.push(error["message"].clone());
    };
    refused("other", arguments.clone(), &state).await;
    refused("keep", json!({"a": 2}), &state).await;
    refused("keep", json!({}), &state).await;
    for position in [0, 1, state.len() / 2, state.len() - 1] {
        let mut forged = state.clone().into_bytes();
        forged[position] = if forged[position] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).expect("it stays ASCII");
        refused("keep", arguments.clone(), &forged).await;
    }
    for forged in [
        "",
        "a secret plan",
        &state[1..],
        &state[..state.len() - 1],
        &format!("{state}A"),
        &state.repeat(2),
    ] {
        refused("keep", arguments.clone(), forged).await;
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
}

#[tokio::test]
async fn servers_open_each_other_s_state_only_with_the_same_keys() {
    let key = |byte: u8| StateKey::new([byte; 32]);
    let sealing = keepers().with_request_state_keys(KeyRing::new(key(1)));
    let state = state_for(&mut Peer::connect(&sealing), &json!({})).await;
    let check = async |server: Server, opens: bool| {
        let mut peer = Peer::connect(&server);
        let answer = peer.call(request("keep", &json!({}), Some(&state))).await;
        assert_eq!(answer.get("result").is_some(), opens, "{answer}");
    };
    check(sealing.clone(), true).await;
    let same = keepers().with_request_state_keys(KeyRing::new(key(1)));
    check(same, true).await;
    let rotated = KeyRing::new(key(2)).with_older(key(1));
    check(keepers().with_request_state_keys(rotated), true).await;
    let other = keepers().with_request_state_keys(KeyRing::new(key(2)));
    check(other, false).await;
    check(keepers(), false).await;
    let renamed = Server::new("another", "1.0.0")
        .tool(keeper("keep"))
        .with_request_state_keys(KeyRing::new(key(1)));
    check(renamed, false).await;
}

#[tokio::test]
async fn unsealed_state_is_the_author_s_own_text() {
    let server = keepers().without_sealed_request_state();
    let mut peer = Peer::connect(&server);
    assert_eq!(state_for(&mut peer, &json!({})).await, "a secret plan");
    peer.send(request("other", &json!({}), Some("anything")))
        .await;
    peer.expect(complete(1, text("anything"))).await;
}
