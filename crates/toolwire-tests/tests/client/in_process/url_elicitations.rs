//! The completion of URL elicitations: the listener is called once for each id that the server announced.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolwire::testing::{ScriptedServer, assert_rpc_error};
use toolwire::types::ElicitResult;
use toolwire::{Client, ErrorObject};

use super::{LEGACY, builder, expect_call, outcome_of, spawn_tool_call};

/// Connects a client that records the completed ids.
async fn connected() -> (Client, ScriptedServer, mpsc::UnboundedReceiver<String>) {
    let (completed, ids) = mpsc::unbounded_channel();
    let builder = builder()
        .on_url_elicitation(|_| async { Ok(ElicitResult::accept()) })
        .on_elicitation_complete(move |complete| {
            // The test may have dropped the receiver.
            let _ = completed.send(complete.elicitation_id);
        });
    let (client, server) = ScriptedServer::connect(builder, LEGACY).await;
    (client, server, ids)
}

fn elicitation(id: &str) -> Value {
    json!({
        "mode": "url",
        "message": "Log in",
        "url": "https://example.com/login",
        "elicitationId": id,
    })
}

async fn complete(server: &ScriptedServer, id: &str) {
    let method = "notifications/elicitation/complete";
    server.notify(method, json!({"elicitationId": id})).await;
}

#[tokio::test]
async fn completion_of_an_id_in_an_error_is_forwarded_once() {
    let (client, mut server, mut ids) = connected().await;
    let call = spawn_tool_call(&client, "mail");
    let request = expect_call(&mut server, "mail").await;
    complete(&server, "a").await;
    let data = json!({"elicitations": [elicitation("a"), elicitation("b")]});
    server
        .respond_error(&request, -32042, "log in first", data)
        .await;
    // Sent directly after the error, before the caller can process it.
    for id in ["a", "unknown", "a", "b", "b"] {
        complete(&server, id).await;
    }
    let outcome = outcome_of(call).await;
    assert_rpc_error(&outcome, -32042);
    let urls = outcome.expect_err("an error").url_elicitations();
    assert_eq!(urls.map(|urls| urls.len()), Some(2));
    server.expect_silence().await;
    let forwarded: Vec<_> = std::iter::from_fn(|| ids.try_recv().ok()).collect();
    assert_eq!(forwarded, ["a", "b"]);
}

#[tokio::test]
async fn completion_of_a_requested_elicitation_is_forwarded_once() {
    let (client, mut server, mut ids) = connected().await;
    let before = client.ignored_messages();
    server.ask(1, "elicitation/create", elicitation("e")).await;
    let response: Result<Value, Value> = server.expect_response(1).await;
    assert_eq!(response, Ok(json!({"action": "accept"})));
    for id in ["e", "e", "other"] {
        complete(&server, id).await;
    }
    server.expect_silence().await;
    assert_eq!(ids.try_recv().as_deref(), Ok("e"));
    assert!(ids.try_recv().is_err());
    assert_eq!(client.ignored_messages() - before, 2);
}

#[tokio::test]
async fn other_errors_announce_no_ids() {
    let (client, mut server, mut ids) = connected().await;
    let call = spawn_tool_call(&client, "mail");
    let request = expect_call(&mut server, "mail").await;
    let data = json!({"elicitations": [elicitation("a")]});
    let code = ErrorObject::invalid_params("").code;
    server.respond_error(&request, code, "no", data).await;
    complete(&server, "a").await;
    assert_rpc_error(&outcome_of(call).await, code);
    server.expect_silence().await;
    assert!(ids.try_recv().is_err());
}
