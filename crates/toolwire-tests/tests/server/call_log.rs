//! The span and the log line of each call.

use serde_json::{Value, json};
use toolwire::{ErrorObject, ResourceHandler, Server, ToolError};
use toolwire_tests::peer::{Peer, call, cancel, modern, plain, server};
use toolwire_tests::traces::Traces;

fn logged_server() -> Server {
    let fails = plain("fails", |_| async {
        Err::<&str, _>(ToolError::failed("no"))
    });
    let rejects = plain("rejects", |_| async {
        Err::<&str, _>(ErrorObject::invalid_params("no"))
    });
    let waits = plain("waits", |_| async { std::future::pending::<&str>().await });
    server()
        .tool(plain("works", |_| async { "well" }))
        .tool(fails)
        .tool(rejects)
        .tool(waits)
        .resource(ResourceHandler::new("a:b", "b", |_, _| async { "b" }))
}

/// Returns what is traced for one request.
async fn traced(request: Value) -> String {
    let (traces, _guard) = Traces::record();
    let mut peer = Peer::connect(&logged_server());
    peer.call(request).await;
    traces.text()
}

#[tokio::test]
async fn call_is_logged_with_name_duration_and_outcome() {
    for (tool, outcome) in [
        ("works", "outcome=\"ok\" duration="),
        ("fails", "outcome=\"tool error\" duration="),
        ("rejects", "outcome=\"error\" code=-32602 duration="),
        ("unknown", "outcome=\"error\" code=-32602 duration="),
    ] {
        let text = traced(call(1, tool, json!({}))).await;
        let span = format!("method=\"tools/call\" name=\"{tool}\" id=1 version=2026-07-28");
        let line = format!("message=served tools/call {tool}");
        for part in [span.as_str(), outcome, line.as_str()] {
            assert_eq!(text.matches(part).count(), 1, "{part}: {text}");
        }
    }
    let text = traced(modern(1, "resources/read", json!({"uri": "a:b"}))).await;
    assert!(text.contains("served resources/read a:b"), "{text}");
}

#[tokio::test]
async fn cancelled_call_is_logged() {
    let (traces, _guard) = Traces::record();
    let mut peer = Peer::connect(&logged_server());
    peer.send(call(1, "waits", json!({}))).await;
    peer.send(cancel(1)).await;
    peer.expect_silence().await;
    let text = traces.text();
    assert!(text.contains("outcome=\"cancelled\" duration="), "{text}");
    assert!(text.contains("served tools/call waits"), "{text}");
}
