//! Tasks of 2025-11-25.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::tasks::TaskOptions;
use toolwire::{Elicit, Error, RequestContext, ToolError};
use toolwire_tests::peer::{Peer, legacy, plain, within};

use crate::peer::server;

async fn connect(server: &toolwire::Server) -> Peer {
    let mut peer = Peer::connect(server);
    peer.initialize_with("2025-11-25", json!({"elicitation": {}}))
        .await;
    peer
}

fn call(tool: &str, task: Value) -> Value {
    let params = json!({"name": tool, "arguments": {}, "task": task});
    legacy("call", "tools/call", params)
}

fn request(method: &str, id: &str) -> Value {
    legacy(method, method, json!({"taskId": id}))
}

/// Returns the next message. Status notifications are skipped, because they may arrive at any time.
async fn receive(peer: &mut Peer) -> Value {
    loop {
        let message = peer.receive().await;
        if message["method"] != "notifications/tasks/status" {
            return message;
        }
    }
}

/// Sends a request about a task and returns its response.
async fn response_to(peer: &mut Peer, request: Value) -> Value {
    peer.send(&request).await;
    let response = receive(peer).await;
    assert_eq!(response["id"], request["id"], "{response}");
    response
}

async fn result_of(peer: &mut Peer, request: Value) -> Value {
    let mut response = response_to(peer, request).await;
    assert!(response.get("result").is_some(), "{response}");
    response["result"].take()
}

async fn error_of(peer: &mut Peer, request: Value, code: i64) -> Value {
    let mut response = response_to(peer, request).await;
    assert_eq!(response["error"]["code"], code, "{response}");
    response["error"].take()
}

async fn start(peer: &mut Peer, tool: &str) -> String {
    let created = result_of(peer, call(tool, json!({}))).await;
    created["task"]["taskId"].as_str().unwrap().to_owned()
}

async fn wait_for(peer: &mut Peer, id: &str, status: &str) -> Value {
    within(async {
        loop {
            let task = result_of(peer, request("tasks/get", id)).await;
            if task["status"] == status {
                return task;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    })
    .await
}

#[tokio::test]
async fn capabilities_are_those_of_the_version() {
    let tool = plain("echo", |_: RequestContext| async { "done" }).with_task(TaskOptions::new());
    let server = server().tool(tool);
    let mut peer = Peer::connect(&server);
    let result = peer.initialize("2025-11-25").await;
    let expected = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
    assert_eq!(
        result["capabilities"]["tasks"], expected,
        "no list without authorization"
    );
    assert_eq!(result["capabilities"].get("extensions"), None, "{result}");
    let listed = peer.result_of(legacy(1, "tools/list", json!({}))).await;
    let execution = &listed["tools"][0]["execution"];
    assert_eq!(*execution, json!({"taskSupport": "optional"}));
    let mut peer = Peer::connect(&server);
    let result = peer.initialize("2025-06-18").await;
    assert_eq!(result["capabilities"].get("tasks"), None);
    let listed = peer.result_of(legacy(1, "tools/list", json!({}))).await;
    assert_eq!(listed["tools"][0].get("execution"), None);
}

#[tokio::test]
async fn requested_task_is_created_and_has_a_result() {
    let tool = plain("echo", |_: RequestContext| async { "done" }).with_task(TaskOptions::new());
    let mut peer = connect(&server().tool(tool)).await;
    let created = result_of(&mut peer, call("echo", json!({"ttl": 60_000}))).await;
    let task = &created["task"];
    assert_eq!(created.as_object().unwrap().len(), 1, "{created}");
    assert_eq!(task["status"], "working");
    assert_eq!(task["ttl"], 60_000);
    assert_eq!(task["pollInterval"], 10);
    let id = task["taskId"].as_str().unwrap();
    let result = result_of(&mut peer, request("tasks/result", id)).await;
    let related = json!({"io.modelcontextprotocol/related-task": {"taskId": id}});
    assert_eq!(result["_meta"], related);
    assert_eq!(result["content"][0]["text"], "done");
    assert_eq!(result.get("resultType"), None);
    let task = result_of(&mut peer, request("tasks/get", id)).await;
    assert_eq!(task["status"], "completed");
    assert_eq!((task.get("result"), task.get("_meta")), (None, None));
    // Without `task`, the call is an ordinary one.
    let params = json!({"name": "echo", "arguments": {}});
    let result = result_of(&mut peer, legacy(2, "tools/call", params)).await;
    assert_eq!(result["content"][0]["text"], "done");
}

#[tokio::test]
async fn tool_without_tasks_rejects_the_request() {
    let tool = plain("echo", |_: RequestContext| async { "done" });
    let mut peer = connect(&server().tool(tool)).await;
    peer.error_of(call("echo", json!({})), -32601).await;
    peer.error_of(request("tasks/get", "unknown"), -32602).await;
    peer.error_of(request("tasks/list", "unknown"), -32601)
        .await;
}

#[tokio::test]
async fn error_result_is_a_failed_task() {
    let tool = plain("fails", |_: RequestContext| async {
        Err::<String, _>(ToolError::failed("no paper"))
    });
    let mut peer = connect(&server().tool(tool.with_task(TaskOptions::new()))).await;
    let id = start(&mut peer, "fails").await;
    wait_for(&mut peer, &id, "failed").await;
    let result = result_of(&mut peer, request("tasks/result", &id)).await;
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn cancelled_task_is_returned_and_an_ended_one_is_an_error() {
    let release = Arc::new(Notify::new());
    let tool = plain("waits", move |_: RequestContext| {
        let release = Arc::clone(&release);
        async move {
            release.notified().await;
            "late"
        }
    });
    let mut peer = connect(&server().tool(tool.with_task(TaskOptions::new()))).await;
    let id = start(&mut peer, "waits").await;
    let task = result_of(&mut peer, request("tasks/cancel", &id)).await;
    assert_eq!(task["status"], "cancelled");
    error_of(&mut peer, request("tasks/cancel", &id), -32602).await;
    let error = error_of(&mut peer, request("tasks/result", &id), -32603).await;
    assert_eq!(error["message"], "the task was cancelled");
}

#[tokio::test]
async fn input_request_is_sent_while_the_result_is_awaited() {
    #[derive(serde::Deserialize, Elicit)]
    struct Sure {
        sure: bool,
    }
    let tool = plain("asks", |ctx: RequestContext| async move {
        let sure: Sure = ctx.ask("sure", "Sure?").await?;
        Ok::<_, Error>(format!("sure: {}", sure.sure))
    });
    let mut peer = connect(&server().tool(tool.with_task(TaskOptions::new()))).await;
    let id = start(&mut peer, "asks").await;
    wait_for(&mut peer, &id, "input_required").await;
    peer.send(request("tasks/result", &id)).await;
    let question = receive(&mut peer).await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let related = json!({"io.modelcontextprotocol/related-task": {"taskId": id}});
    assert_eq!(question["params"]["_meta"], related);
    let answer = json!({"action": "accept", "content": {"sure": true}});
    peer.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}))
        .await;
    let response = receive(&mut peer).await;
    assert_eq!(response["id"], "tasks/result", "{response}");
    assert_eq!(response["result"]["content"][0]["text"], "sure: true");
}

#[tokio::test]
async fn progress_continues_after_the_response() {
    let release = Arc::new(Notify::new());
    let tool = {
        let release = Arc::clone(&release);
        plain("steps", move |ctx: RequestContext| {
            let release = Arc::clone(&release);
            async move {
                release.notified().await;
                ctx.report_steps(1, 2, Some("half"));
                release.notified().await;
                "done"
            }
        })
    };
    let mut peer = connect(&server().tool(tool.with_task(TaskOptions::new()))).await;
    let params =
        json!({"name": "steps", "arguments": {}, "task": {}, "_meta": {"progressToken": 7}});
    let created = peer.result_of(legacy("call", "tools/call", params)).await;
    let id = created["task"]["taskId"].as_str().unwrap().to_owned();
    release.notify_one();
    let progress = receive(&mut peer).await;
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], 7);
    release.notify_one();
    wait_for(&mut peer, &id, "completed").await;
}
