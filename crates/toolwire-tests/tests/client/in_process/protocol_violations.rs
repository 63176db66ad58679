//! Servers that violate the protocol.

use serde_json::{Value, json};
use toolwire::testing::{ScriptedServer, assert_rpc_error, assert_text};
use toolwire::types::{ElicitResult, Root};
use toolwire::{ClientBuilder, ProtocolVersion};

use super::{
    LEGACY, MODERN, builder, expect_call, form, legacy, modern, outcome_of, spawn_call,
    spawn_tool_call, text,
};

#[tokio::test]
async fn response_id_as_a_string_matches_a_number() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let call = spawn_tool_call(&client, "quick");
        let mut request = expect_call(&mut server, "quick").await;
        request.id = json!(request.id.to_string());
        server.respond(&request, text("quick")).await;
        assert_text(&outcome_of(call).await.expect("a response"), "quick");
        assert_eq!(client.ignored_messages(), 0);
    }
}

#[tokio::test]
async fn responses_without_a_pending_call_are_ignored_and_counted() {
    let (client, mut server) = modern().await;
    let call = spawn_tool_call(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    let stray = [
        json!({"jsonrpc": "2.0", "id": 999_999, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "x", "result": {}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}),
        json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "what?"}}),
    ];
    for response in &stray {
        server.send(response).await;
    }
    server.respond(&request, text("first")).await;
    server.respond(&request, text("second")).await;
    server
        .respond_error(&request, -32603, "third", Value::Null)
        .await;
    assert_text(&outcome_of(call).await.expect("a response"), "first");
    server.expect_silence().await;
    assert_eq!(client.ignored_messages(), 6);
}

#[tokio::test]
async fn line_that_is_not_a_message_is_ignored() {
    let (client, mut server) = legacy().await;
    let call = spawn_tool_call(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    let lines = [
        "",
        "starting …",
        "\u{1b}[31mred\u{1b}[0m",
        "{",
        "[]",
        "3",
        "{}",
        "null",
    ];
    for line in lines {
        server.send(line).await;
    }
    server.respond(&request, text("quick")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "quick");
    server.expect_silence().await;
    assert!(
        client.ignored_messages() >= 7,
        "{}",
        client.ignored_messages()
    );
}

#[tokio::test]
async fn malformed_response_fails_its_call() {
    let (client, mut server) = modern().await;
    let call = spawn_tool_call(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let response = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"deep":{deep}}}}}"#,
        request.id
    );
    server.send(response).await;
    let error = outcome_of(call).await.expect_err("a malformed response");
    assert!(error.is_protocol_violation(), "{error}");
    server.expect_silence().await;
}

#[tokio::test]
async fn error_for_an_invalid_result_names_the_method() {
    let (client, mut server) = legacy().await;
    for result in [
        json!({}),
        json!({"tools": 3}),
        json!([]),
        json!("tools"),
        Value::Null,
    ] {
        let call = spawn_call(client.list_tools_page(None));
        let request = server.expect("tools/list").await;
        server.respond(&request, result.clone()).await;
        let error = outcome_of(call).await.expect_err("an invalid result");
        assert!(error.is_protocol_violation(), "{result}: {error}");
        assert!(
            error.to_string().contains("tools/list"),
            "{result}: {error}"
        );
    }
}

#[tokio::test]
async fn unknown_result_type_is_an_error_and_a_missing_one_means_complete() {
    let (client, mut server) = modern().await;
    let call = spawn_tool_call(&client, "greet");
    let request = expect_call(&mut server, "greet").await;
    let mut result = text("half of something");
    result["resultType"] = json!("hologram");
    server.respond(&request, result.clone()).await;
    let error = outcome_of(call).await.expect_err("an unknown result type");
    assert!(error.is_protocol_violation(), "{error}");
    assert!(error.to_string().contains("hologram"), "{error}");

    let call = spawn_tool_call(&client, "greet");
    let request = expect_call(&mut server, "greet").await;
    server.respond(&request, text("whole")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "whole");

    // Legacy versions have no result type, so it is ignored.
    let (client, mut server) = legacy().await;
    let call = spawn_tool_call(&client, "greet");
    let request = expect_call(&mut server, "greet").await;
    server.respond(&request, result).await;
    assert_text(
        &outcome_of(call).await.expect("a response"),
        "half of something",
    );
}

#[tokio::test]
async fn request_of_a_modern_server_is_ignored() {
    let builder: ClientBuilder = builder()
        .on_elicitation(|_| async { Ok(ElicitResult::decline()) })
        .with_roots([Root::new("file:///project")]);
    let (client, mut server) = ScriptedServer::connect(builder, MODERN).await;
    server.ask("p", "ping", json!({})).await;
    server.ask("r", "roots/list", json!({})).await;
    server.ask("e", "elicitation/create", form()).await;
    server.ask("u", "acme/question", json!({})).await;
    server.expect_silence().await;
    assert_eq!(client.ignored_messages(), 4);
    assert_eq!(client.pending_operations(), 0);
    let call = spawn_tool_call(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("quick")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "quick");
}

#[tokio::test]
async fn messages_of_a_batch_are_processed_separately() {
    let builder = builder().with_roots([Root::new("file:///project")]);
    let (client, mut server) = ScriptedServer::connect(builder, ProtocolVersion::V2025_03_26).await;
    let first = spawn_tool_call(&client, "one");
    let one = expect_call(&mut server, "one").await;
    let second = spawn_tool_call(&client, "two");
    let two = expect_call(&mut server, "two").await;
    server
        .send(json!([
            {"jsonrpc": "2.0", "id": two.id, "result": text("2")},
            {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
            {"jsonrpc": "2.0", "id": "r", "method": "roots/list"},
            {"what": "is this"},
            [],
            {"jsonrpc": "2.0", "id": one.id, "result": text("1")},
        ]))
        .await;
    assert_text(&outcome_of(first).await.expect("a response"), "1");
    assert_text(&outcome_of(second).await.expect("a response"), "2");
    let roots = server.expect_response("r").await.expect("roots");
    assert_eq!(roots["roots"][0]["uri"], "file:///project");
    assert_eq!(client.ignored_messages(), 2);
}

#[tokio::test]
async fn error_of_the_server_has_code_message_and_data() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let call = spawn_call(client.read_resource("test://a"));
        let request = server.expect("resources/read").await;
        server
            .respond_error(&request, -32602, "no such note", json!({"uri": "test://a"}))
            .await;
        let outcome = outcome_of(call).await;
        assert_eq!(assert_rpc_error(&outcome, -32602), "no such note");
        let error = outcome.expect_err("an error of the server");
        let data = error.rpc().and_then(|rpc| rpc.data.clone());
        assert_eq!(data, Some(json!({"uri": "test://a"}).into()));
    }
}

#[tokio::test]
async fn unknown_and_invalid_notifications_reach_the_notification_handler() {
    let (sender, mut notifications) = tokio::sync::mpsc::unbounded_channel();
    let builder = builder().on_notification(move |notification| {
        sender
            .send(notification.method.into_owned())
            .expect("an open channel");
    });
    let (client, mut server) = ScriptedServer::connect(builder, LEGACY).await;
    server.notify("notifications/acme", json!({"a": 1})).await;
    server
        .notify("notifications/progress", json!({"progressToken": {}}))
        .await;
    server
        .notify("notifications/message", json!({"level": "loud"}))
        .await;
    server
        .notify("notifications/resources/updated", json!({}))
        .await;
    server.expect_silence().await;
    let mut methods = Vec::new();
    while let Ok(method) = notifications.try_recv() {
        methods.push(method);
    }
    assert_eq!(methods[0], "notifications/acme");
    assert_eq!(methods.len(), 4, "{methods:?}");
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test]
async fn panic_of_a_notification_handler_does_not_affect_the_connection() {
    let builder = builder()
        .on_notification(|_| panic!("a bug of the listener"))
        .on_log(|_| panic!("a bug of the listener"))
        .on_change(|_| panic!("a bug of the listener"));
    let (client, mut server) = ScriptedServer::connect(builder, LEGACY).await;
    server
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    server
        .notify("notifications/message", json!({"level": "info", "data": 1}))
        .await;
    let call = spawn_tool_call(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("quick")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "quick");
}

#[tokio::test]
async fn numbers_out_of_range_do_not_affect_the_connection() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let call = spawn_call(client.call_tool("quick", json!({})));
        let request = expect_call(&mut server, "quick").await;
        // This is valid JSON, but the number exceeds every type.
        for kind in [
            "progress",
            "cancelled",
            "message",
            "tools/list_changed",
            "resources/updated",
            "elicitation/complete",
            "subscriptions/acknowledged",
            "tasks",
            "unknown",
        ] {
            server
                .send(format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/{kind}","params":{{"_meta":{{"x":1e999}},"progressToken":1e999,"progress":1e999,"requestId":1e999,"level":"info","data":1e999,"uri":1e999,"taskId":1e999,"elicitationId":"e"}}}}"#
                ))
                .await;
        }
        server
            .send(r#"{"jsonrpc":"2.0","id":1e999,"result":{}}"#)
            .await;
        server
            .send(r#"{"jsonrpc":"2.0","id":77,"error":{"code":1e999,"message":"m"}}"#)
            .await;
        server.respond(&request, text("still here")).await;
        assert_text(&outcome_of(call).await.expect("a response"), "still here");
    }
}
