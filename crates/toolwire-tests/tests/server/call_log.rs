//! The span and the log line of each call.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::{ErrorObject, ResourceHandler, Server, ToolError};
use toolwire_tests::peer::{Peer, call, cancel, modern, notification, plain, server};
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

#[derive(Deserialize)]
struct Paint {
    #[expect(dead_code, reason = "it is only decoded")]
    colour: Colour,
}

#[derive(Deserialize)]
enum Colour {
    Red,
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

/// Text with which a client tries to write a log line of its own.
const FORGED: &str = "a:b\nserved tools/call\u{1b}[2J\u{202e}";

/// Checks that the text has an escaped form of [`FORGED`] and nothing else of it.
#[track_caller]
fn assert_escaped(text: &str) {
    let is_forbidden = |c: char| c.is_control() || c == '\u{202e}';
    assert!(!text.contains(is_forbidden), "{text:?}");
    let escaped = r"a:b\nserved tools/call\u{1b}[2J\u{202e}";
    assert!(text.contains(escaped), "{text}");
}

#[tokio::test]
async fn name_of_a_call_cannot_forge_a_log_line() {
    let read = modern(1, "resources/read", json!({"uri": FORGED}));
    for request in [call(1, FORGED, json!({})), read] {
        let text = traced(request).await;
        assert_escaped(&text);
        let line = r"message=served resources/read a:b\nserved";
        assert!(
            text.contains("message=served tools/call a:b") || text.contains(line),
            "{text}"
        );
    }
}

#[tokio::test]
async fn id_of_a_call_cannot_forge_a_log_line() {
    assert_escaped(&traced(call(FORGED, "works", json!({}))).await);
}

#[tokio::test]
async fn notification_cannot_forge_a_log_line() {
    let server = logged_server().on_notification("com.example/paint", |_, _: Paint| async {});
    let unreadable = notification("com.example/paint", json!({"colour": FORGED}));
    for (message, is_initialized) in [
        (notification(FORGED, json!({})), false),
        (notification(FORGED, json!({})), true),
        (unreadable, true),
    ] {
        let (traces, _guard) = Traces::record();
        let mut peer = Peer::connect(&server);
        if is_initialized {
            peer.initialize("2025-11-25").await;
        }
        peer.send(message).await;
        peer.call(call(2, "works", json!({}))).await;
        assert_escaped(&traces.text());
    }
}
