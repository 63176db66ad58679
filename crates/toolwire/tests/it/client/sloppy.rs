//! Servers that are sloppy or hostile.

use serde_json::{Value, json};
use toolwire::testing::{ScriptedServer, assert_rpc_error, assert_text};
use toolwire::types::{ElicitResult, Root};
use toolwire::{ClientBuilder, ProtocolVersion};

use super::{
    LEGACY, MODERN, builder, calling, ended, expect_call, form, legacy, modern, started, text,
};

#[tokio::test]
async fn an_answer_whose_id_is_the_same_number_as_text_is_accepted() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let call = calling(&client, "quick");
        let mut request = expect_call(&mut server, "quick").await;
        request.id = json!(request.id.to_string());
        server.respond(&request, text("quick")).await;
        assert_text(&ended(call).await.expect("an answer"), "quick");
        assert_eq!(client.ignored_messages(), 0);
    }
}

#[tokio::test]
async fn answers_nobody_waits_for_are_ignored_and_counted() {
    let (client, mut server) = modern().await;
    let call = calling(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    let stray = [
        json!({"jsonrpc": "2.0", "id": 999_999, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "x", "result": {}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}),
        json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "what?"}}),
    ];
    for answer in &stray {
        server.send(answer).await;
    }
    server.respond(&request, text("first")).await;
    server.respond(&request, text("second")).await;
    server
        .respond_error(&request, -32603, "third", Value::Null)
        .await;
    assert_text(&ended(call).await.expect("an answer"), "first");
    server.expect_silence().await;
    assert_eq!(client.ignored_messages(), 6);
}

#[tokio::test]
async fn what_is_no_message_is_skipped_and_never_answered() {
    let (client, mut server) = legacy().await;
    let call = calling(&client, "quick");
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
    assert_text(&ended(call).await.expect("an answer"), "quick");
    server.expect_silence().await;
    assert!(
        client.ignored_messages() >= 7,
        "{}",
        client.ignored_messages()
    );
}

#[tokio::test]
async fn an_unreadable_answer_ends_its_call() {
    let (client, mut server) = modern().await;
    let call = calling(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"deep":{deep}}}}}"#,
        request.id
    );
    server.send(answer).await;
    let error = ended(call).await.expect_err("unreadable");
    assert!(error.is_protocol_violation(), "{error}");
    server.expect_silence().await;
}

#[tokio::test]
async fn a_result_of_another_shape_is_an_error_that_names_the_method() {
    let (client, mut server) = legacy().await;
    for result in [
        json!({}),
        json!({"tools": 3}),
        json!([]),
        json!("tools"),
        Value::Null,
    ] {
        let call = started(client.list_tools_page(None));
        let request = server.expect("tools/list").await;
        server.respond(&request, result.clone()).await;
        let error = ended(call).await.expect_err("no list");
        assert!(error.is_protocol_violation(), "{result}: {error}");
        assert!(
            error.to_string().contains("tools/list"),
            "{result}: {error}"
        );
    }
}

#[tokio::test]
async fn an_unknown_result_type_is_refused_and_a_missing_one_is_complete() {
    let (client, mut server) = modern().await;
    let call = calling(&client, "greet");
    let request = expect_call(&mut server, "greet").await;
    let mut result = text("half of something");
    result["resultType"] = json!("hologram");
    server.respond(&request, result.clone()).await;
    let error = ended(call).await.expect_err("an unknown kind");
    assert!(error.is_protocol_violation(), "{error}");
    assert!(error.to_string().contains("hologram"), "{error}");

    let call = calling(&client, "greet");
    let request = expect_call(&mut server, "greet").await;
    server.respond(&request, text("whole")).await;
    assert_text(&ended(call).await.expect("an answer"), "whole");

    // In the legacy revisions it means nothing.
    let (client, mut server) = legacy().await;
    let call = calling(&client, "greet");
    let request = expect_call(&mut server, "greet").await;
    server.respond(&request, result).await;
    assert_text(&ended(call).await.expect("an answer"), "half of something");
}

#[tokio::test]
async fn a_request_of_a_modern_server_is_ignored_and_never_answered() {
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
    let call = calling(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("quick")).await;
    assert_text(&ended(call).await.expect("an answer"), "quick");
}

#[tokio::test]
async fn a_batch_of_an_old_server_is_taken_apart() {
    let builder = builder().with_roots([Root::new("file:///project")]);
    let (client, mut server) = ScriptedServer::connect(builder, ProtocolVersion::V2025_03_26).await;
    let first = calling(&client, "one");
    let one = expect_call(&mut server, "one").await;
    let second = calling(&client, "two");
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
    assert_text(&ended(first).await.expect("an answer"), "1");
    assert_text(&ended(second).await.expect("an answer"), "2");
    let roots = server.expect_response("r").await.expect("roots");
    assert_eq!(roots["roots"][0]["uri"], "file:///project");
    assert_eq!(client.ignored_messages(), 2);
}

#[tokio::test]
async fn errors_of_the_server_come_with_code_message_and_data() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let call = started(client.read_resource("test://a"));
        let request = server.expect("resources/read").await;
        server
            .respond_error(&request, -32602, "no such note", json!({"uri": "test://a"}))
            .await;
        let outcome = ended(call).await;
        assert_eq!(assert_rpc_error(&outcome, -32602), "no such note");
        let error = outcome.expect_err("refused");
        let data = error.rpc().and_then(|rpc| rpc.data.clone());
        assert_eq!(data, Some(json!({"uri": "test://a"}).into()));
    }
}

#[tokio::test]
async fn notifications_nobody_knows_change_nothing() {
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let builder = builder().on_notification(move |notification| {
        heard
            .send(notification.method.into_owned())
            .expect("the test listens");
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
    while let Ok(method) = hears.try_recv() {
        methods.push(method);
    }
    assert_eq!(methods[0], "notifications/acme");
    assert_eq!(methods.len(), 4, "{methods:?}");
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test]
async fn a_listener_that_panics_costs_nothing() {
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
    let call = calling(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("quick")).await;
    assert_text(&ended(call).await.expect("an answer"), "quick");
}

#[tokio::test]
async fn numbers_that_fit_no_type_harm_nobody() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let call = started(client.call_tool("quick", json!({})));
        let request = expect_call(&mut server, "quick").await;
        // Valid JSON, and more than any number type holds.
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
        assert_text(&ended(call).await.expect("an answer"), "still here");
    }
}
