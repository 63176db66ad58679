//! `notifications/message`: sent only for requests that set a log level, and only from that level on.

use serde_json::{Value, json};
use toolwire::{LoggingLevel, RequestContext, ToolHandler};
use toolwire_tests::peer::{
    Peer, call, complete, legacy, modern, notification, plain, result_response, server, text,
};

const LEVELS: [(LoggingLevel, &str); 8] = [
    (LoggingLevel::Debug, "debug"),
    (LoggingLevel::Info, "info"),
    (LoggingLevel::Notice, "notice"),
    (LoggingLevel::Warning, "warning"),
    (LoggingLevel::Error, "error"),
    (LoggingLevel::Critical, "critical"),
    (LoggingLevel::Alert, "alert"),
    (LoggingLevel::Emergency, "emergency"),
];

/// Returns a tool that logs once at every level.
fn logging_tool() -> ToolHandler {
    plain("chat", |ctx: RequestContext| async move {
        for (level, name) in LEVELS {
            ctx.log(level, name);
        }
        "done"
    })
}

fn with_level(id: i64, tool: &str, level: &str) -> Value {
    let meta = json!({"io.modelcontextprotocol/logLevel": level});
    modern(id, "tools/call", json!({"name": tool, "_meta": meta}))
}

fn message(params: Value) -> Value {
    notification("notifications/message", params)
}

#[tokio::test]
async fn request_gets_log_messages_from_its_level_on() {
    let mut peer = Peer::connect(&server().with_logging().tool(logging_tool()));
    for (position, (_, minimum)) in LEVELS.iter().enumerate() {
        peer.send(with_level(1, "chat", minimum)).await;
        for (_, name) in &LEVELS[position..] {
            peer.expect(message(json!({"level": name, "data": name})))
                .await;
        }
        peer.expect(complete(1, text("done"))).await;
    }
}

#[tokio::test]
async fn request_without_a_log_level_gets_no_log_messages() {
    let mut peer = Peer::connect(&server().with_logging().tool(logging_tool()));
    peer.send(call(1, "chat", json!({}))).await;
    peer.expect(complete(1, text("done"))).await;
    // The level applies only to its own request.
    peer.send(with_level(2, "chat", "emergency")).await;
    peer.expect(message(json!({"level": "emergency", "data": "emergency"})))
        .await;
    peer.expect(complete(2, text("done"))).await;
    peer.send(call(3, "chat", json!({}))).await;
    peer.expect(complete(3, text("done"))).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn server_without_logging_sends_no_log_messages() {
    let mut peer = Peer::connect(&server().tool(logging_tool()));
    peer.send(with_level(1, "chat", "debug")).await;
    peer.expect(complete(1, text("done"))).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn log_data_may_be_any_json_with_a_logger_name() {
    let tool = plain("log", |ctx: RequestContext| async move {
        ctx.log(LoggingLevel::Info, "plain text");
        ctx.log(LoggingLevel::Info, json!({"rows": 3, "tags": ["a"]}));
        ctx.log(LoggingLevel::Info, Value::Null);
        ctx.log_as("database", LoggingLevel::Error, 7);
        "done"
    });
    let mut peer = Peer::connect(&server().with_logging().tool(tool));
    peer.send(with_level(1, "log", "debug")).await;
    for expected in [
        json!({"level": "info", "data": "plain text"}),
        json!({"level": "info", "data": {"rows": 3, "tags": ["a"]}}),
        json!({"level": "info", "data": null}),
        json!({"level": "error", "data": 7, "logger": "database"}),
    ] {
        peer.expect(message(expected)).await;
    }
    peer.expect(complete(1, text("done"))).await;
}

#[tokio::test]
async fn log_levels_of_the_two_eras_are_separate() {
    let mut peer = Peer::connect(&server().with_logging().tool(logging_tool()));
    peer.initialize("2025-11-25").await;
    peer.send(legacy(1, "logging/setLevel", json!({"level": "alert"})))
        .await;
    peer.expect(result_response(1, json!({}))).await;

    // The level of the session does not apply to modern requests.
    peer.send(call(2, "chat", json!({}))).await;
    peer.expect(complete(2, text("done"))).await;
    peer.send(with_level(3, "chat", "emergency")).await;
    peer.expect(message(json!({"level": "emergency", "data": "emergency"})))
        .await;
    peer.expect(complete(3, text("done"))).await;

    // The level of a modern request does not apply to the session.
    peer.send(legacy(4, "tools/call", json!({"name": "chat"})))
        .await;
    for name in ["alert", "emergency"] {
        peer.expect(message(json!({"level": name, "data": name})))
            .await;
    }
    peer.expect(result_response(4, text("done"))).await;
}
