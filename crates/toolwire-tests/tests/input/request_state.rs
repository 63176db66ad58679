//! Sealed request state: it can be opened only for the request that it was created for.

use serde_json::{Value, json};
use toolwire::types::InputRequests;
use toolwire::{CallToolResult, RequestContext, Server, ToolHandler, ToolResponse};
use toolwire::{KeyRing, StateKey};
use toolwire_tests::peer::{Peer, complete, modern, plain, server, text};

/// Returns a tool that returns a state, and on the second call the text of the state.
fn stateful_tool(name: &str) -> ToolHandler {
    plain(name, |ctx: RequestContext| async move {
        if ctx.has_request_state() {
            return CallToolResult::text(ctx.request_state()).into();
        }
        ToolResponse::input_required(InputRequests::new(), Some("a secret plan".to_owned()))
    })
}

fn stateful_server() -> Server {
    server()
        .tool(stateful_tool("stateful"))
        .tool(stateful_tool("other"))
}

fn request(tool: &str, arguments: &Value, state: Option<&str>) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments});
    if let Some(state) = state {
        params["requestState"] = json!(state);
    }
    modern(1, "tools/call", params)
}

/// Returns the state of an `input_required` result of the tool `stateful`.
async fn state_for(peer: &mut Peer, arguments: &Value) -> String {
    let input_required = peer.result_of(request("stateful", arguments, None)).await;
    let state = input_required["requestState"].as_str().expect("a state");
    state.to_owned()
}

#[tokio::test]
async fn state_opens_for_the_same_request() {
    let mut peer = Peer::connect(&stateful_server());
    let arguments = json!({"a": 1, "b": [true, "x"]});
    let state = state_for(&mut peer, &arguments).await;
    assert!(!state.contains("secret"));
    // The order of members does not matter.
    let reordered = r#"{"b": [true, "x"], "a": 1}"#;
    for arguments in [arguments.to_string(), reordered.to_owned()] {
        let template = request("stateful", &json!("ARGUMENTS"), Some(&state)).to_string();
        peer.send(template.replace("\"ARGUMENTS\"", &arguments))
            .await;
        peer.expect(complete(1, text("a secret plan"))).await;
    }
}

#[tokio::test]
async fn equal_states_are_sealed_differently() {
    let mut peer = Peer::connect(&stateful_server());
    let first = state_for(&mut peer, &json!({})).await;
    let second = state_for(&mut peer, &json!({})).await;
    assert_ne!(first, second);
}

#[tokio::test]
async fn every_invalid_state_gets_the_same_error() {
    let mut peer = Peer::connect(&stateful_server());
    let arguments = json!({"a": 1});
    let state = state_for(&mut peer, &arguments).await;
    let mut messages = Vec::new();
    let mut check_rejected = async |tool: &str, arguments: Value, state: &str| {
        let error = peer
            .error_of(request(tool, &arguments, Some(state)), -32602)
            .await;
        assert_eq!(error.get("data"), None);
        messages.push(error["message"].clone());
    };
    check_rejected("other", arguments.clone(), &state).await;
    check_rejected("stateful", json!({"a": 2}), &state).await;
    check_rejected("stateful", json!({}), &state).await;
    for position in [0, 1, state.len() / 2, state.len() - 1] {
        let mut forged = state.clone().into_bytes();
        forged[position] = if forged[position] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).expect("the state is ASCII");
        check_rejected("stateful", arguments.clone(), &forged).await;
    }
    for forged in [
        "",
        "a secret plan",
        &state[1..],
        &state[..state.len() - 1],
        &format!("{state}A"),
        &state.repeat(2),
    ] {
        check_rejected("stateful", arguments.clone(), forged).await;
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
}

#[tokio::test]
async fn state_of_another_server_opens_only_with_the_same_keys() {
    let key = |byte: u8| StateKey::new([byte; 32]);
    let sealing = stateful_server().with_request_state_keys(KeyRing::new(key(1)));
    let state = state_for(&mut Peer::connect(&sealing), &json!({})).await;
    let check = async |server: Server, opens: bool| {
        let mut peer = Peer::connect(&server);
        let response = peer
            .call(request("stateful", &json!({}), Some(&state)))
            .await;
        assert_eq!(response.get("result").is_some(), opens, "{response}");
    };
    check(sealing.clone(), true).await;
    let same = stateful_server().with_request_state_keys(KeyRing::new(key(1)));
    check(same, true).await;
    let rotated = KeyRing::new(key(2)).with_older(key(1));
    check(stateful_server().with_request_state_keys(rotated), true).await;
    let other = stateful_server().with_request_state_keys(KeyRing::new(key(2)));
    check(other, false).await;
    check(stateful_server(), false).await;
    let renamed = Server::new("another", "1.0.0")
        .tool(stateful_tool("stateful"))
        .with_request_state_keys(KeyRing::new(key(1)));
    check(renamed, false).await;
}

#[tokio::test]
async fn unsealed_state_is_the_text_of_the_handler() {
    let server = stateful_server().without_sealed_request_state();
    let mut peer = Peer::connect(&server);
    assert_eq!(state_for(&mut peer, &json!({})).await, "a secret plan");
    peer.send(request("other", &json!({}), Some("anything")))
        .await;
    peer.expect(complete(1, text("anything"))).await;
}
