//! Calls that become tasks, and their outcomes.

use std::time::Duration;

use serde_json::json;
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::transport::Limits;
use toolwire::{CallToolResult, ErrorObject, RequestContext, ToolError};
use toolwire_tests::peer::{Peer, call as plain_call, legacy, modern, plain, text};

use crate::peer::{call, get, request, server, start, wait_for};

#[tokio::test]
async fn call_becomes_a_task_with_the_result_of_the_call() {
    let echo = plain("echo", |_: RequestContext| async { "done" }).with_task(TaskOptions::new());
    let mut peer = Peer::connect(&server().tool(echo));
    let created = peer.result_of(call("echo", json!({}))).await;
    let names: Vec<_> = created.as_object().unwrap().keys().collect();
    let expected = [
        "createdAt",
        "lastUpdatedAt",
        "pollIntervalMs",
        "resultType",
        "status",
        "taskId",
        "ttlMs",
    ];
    let mut names: Vec<_> = names.iter().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, expected, "{created}");
    assert_eq!(created["resultType"], "task");
    assert_eq!(created["status"], "working");
    assert_eq!(created["ttlMs"], 3_600_000);
    assert_eq!(created["pollIntervalMs"], 10);
    let id = created["taskId"].as_str().unwrap();
    assert!(id.len() >= 22, "{id}");
    let task = wait_for(&mut peer, id, "completed").await;
    assert_eq!(task["resultType"], "complete");
    let mut result = text("done");
    result["resultType"] = json!("complete");
    assert_eq!(task["result"], result);
    assert_eq!(task.get("error"), None);
}

#[tokio::test]
async fn client_without_tasks_gets_the_result_directly() {
    let echo = plain("echo", |ctx: RequestContext| async move {
        ctx.set_status_message("ignored");
        format!("task: {:?}", ctx.task_id())
    });
    let mut peer = Peer::connect(&server().tool(echo.with_task(TaskOptions::new())));
    let result = peer.result_of(plain_call(1, "echo", json!({}))).await;
    assert_eq!(result["content"][0]["text"], "task: None");
    peer.initialize("2025-06-18").await;
    let params = json!({"name": "echo", "arguments": {}, "task": {}});
    let result = peer.result_of(legacy(2, "tools/call", params)).await;
    assert_eq!(result["content"][0]["text"], "task: None");
}

#[tokio::test]
async fn tool_without_task_responds_directly() {
    let echo = plain("echo", |_: RequestContext| async { "done" });
    let mut peer = Peer::connect(&server().tool(echo));
    let result = peer.result_of(call("echo", json!({}))).await;
    assert_eq!(result["resultType"], "complete");
}

#[tokio::test]
async fn required_task_is_rejected_before_the_handler_runs() {
    let never = plain("never", |_: RequestContext| async {
        panic!("the handler must not run") as &str
    });
    let tool = never.with_task(TaskOptions::new().required());
    let mut peer = Peer::connect(&server().tool(tool));
    let error = peer
        .error_of(plain_call(1, "never", json!({})), -32021)
        .await;
    let missing = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    assert_eq!(error["data"]["requiredCapabilities"], missing);
    let params = json!({"name": "never", "arguments": {}});
    for version in ["2025-06-18", "2025-11-25"] {
        let mut peer = Peer::connect(
            &server().tool(
                plain("never", |_: RequestContext| async { "no" })
                    .with_task(TaskOptions::new().required()),
            ),
        );
        peer.initialize(version).await;
        let request = legacy(1, "tools/call", params.clone());
        peer.error_of(request, -32601).await;
    }
}

#[tokio::test]
async fn tool_that_requires_tasks_needs_a_server_with_tasks() {
    let tool = |options| {
        let tool = plain("render", |_: RequestContext| async { "done" });
        toolwire_tests::peer::server().tool(tool.with_task(options))
    };
    let serve = async |server: toolwire::Server| {
        let (reader, writer) = (tokio::io::empty(), tokio::io::sink());
        server.serve_io(reader, writer, Limits::default()).await
    };
    let required = TaskOptions::new().required();
    let error = serve(tool(required.clone())).await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains("tool `render`"), "{error}");
    assert!(error.contains("`Server::with_tasks`"), "{error}");
    let with_tasks = tool(required).with_tasks(Tasks::in_memory());
    for server in [tool(TaskOptions::new()), with_tasks] {
        serve(server).await.unwrap();
    }
}

#[tokio::test]
async fn rpc_error_fails_the_task_and_tool_error_completes_it() {
    let server = server()
        .tool(
            plain("rpc", |_: RequestContext| async {
                Err::<String, _>(ToolError::rpc(ErrorObject::new(7, "broken")))
            })
            .with_task(TaskOptions::new()),
        )
        .tool(
            plain("failed", |_: RequestContext| async {
                Err::<String, _>(ToolError::failed("no paper"))
            })
            .with_task(TaskOptions::new()),
        )
        .tool(
            plain("panics", |_: RequestContext| async {
                panic!("a secret in a panic") as &str
            })
            .with_task(TaskOptions::new()),
        );
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "rpc", json!({})).await;
    let task = wait_for(&mut peer, &id, "failed").await;
    assert_eq!(task["error"], json!({"code": 7, "message": "broken"}));
    assert_eq!(task["statusMessage"], "broken");
    assert_eq!(task.get("result"), None);

    let id = start(&mut peer, "failed", json!({})).await;
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["isError"], true);
    assert_eq!(task["result"]["content"][0]["text"], "no paper");

    let id = start(&mut peer, "panics", json!({})).await;
    let task = wait_for(&mut peer, &id, "failed").await;
    assert_eq!(task["error"]["code"], -32603);
    assert!(!task.to_string().contains("secret"), "{task}");
}

#[tokio::test]
async fn unknown_tasks_look_alike_and_need_the_declaration() {
    let mut peer = Peer::connect(&server());
    let mut messages = Vec::new();
    for id in ["unknown", "", "../etc/passwd", &"x".repeat(200), "ü"] {
        for method in ["tasks/get", "tasks/cancel"] {
            let error = peer.error_of(request("1", method, json!({"taskId": id})), -32602);
            messages.push(error.await["message"].clone());
        }
        let params = json!({"taskId": id, "inputResponses": {}});
        let error = peer.error_of(request("1", "tasks/update", params), -32602);
        messages.push(error.await["message"].clone());
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
    for method in ["tasks/result", "tasks/list"] {
        let params = json!({"taskId": "unknown"});
        peer.error_of(request("1", method, params), -32601).await;
    }
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let params = json!({"taskId": "unknown", "inputResponses": {}});
        peer.error_of(modern(1, method, params), -32021).await;
    }
}

#[tokio::test]
async fn call_that_takes_too_long_becomes_a_task() {
    let release = std::sync::Arc::new(tokio::sync::Notify::new());
    let slow = {
        let release = std::sync::Arc::clone(&release);
        plain("slow", move |ctx: RequestContext| {
            let release = std::sync::Arc::clone(&release);
            async move {
                release.notified().await;
                format!("task: {}", ctx.task_id().is_some())
            }
        })
    };
    let slow = slow.with_task(TaskOptions::new().after(Duration::from_millis(20)));
    let mut peer = Peer::connect(&server().tool(slow));
    release.notify_one();
    let result = peer.result_of(call("slow", json!({}))).await;
    assert_eq!(result["content"][0]["text"], "task: false", "{result}");
    let id = start(&mut peer, "slow", json!({})).await;
    assert_eq!(peer.result_of(get(&id)).await["status"], "working");
    release.notify_one();
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "task: true");
}

#[tokio::test]
async fn status_message_shows_the_progress() {
    let release = std::sync::Arc::new(tokio::sync::Notify::new());
    let waits = {
        let release = std::sync::Arc::clone(&release);
        plain("waits", move |ctx: RequestContext| {
            let release = std::sync::Arc::clone(&release);
            async move {
                ctx.report_steps(3, 10, Some("rendering"));
                release.notified().await;
                ctx.set_status_message("nearly there");
                CallToolResult::text("done")
            }
        })
    };
    let mut peer = Peer::connect(&server().tool(waits.with_task(TaskOptions::new())));
    let id = start(&mut peer, "waits", json!({})).await;
    let shown = async {
        loop {
            let task = peer.result_of(get(&id)).await;
            if task.get("statusMessage").is_some() {
                return task;
            }
            tokio::task::yield_now().await;
        }
    };
    let task = toolwire_tests::peer::within(shown).await;
    assert_eq!(task["statusMessage"], "3/10 rendering", "{task}");
    release.notify_one();
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["statusMessage"], "nearly there");
}
