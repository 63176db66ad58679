//! Tools that run only as tasks, and clients that have no tasks or another design of them.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::relay::Upstream;
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::testing::assert_text;
use toolwire::types::ElicitResult;
use toolwire::{
    ClientBuilder, Elicit, Error, ErrorObject, ProtocolVersion, RequestContext, Server,
};
use toolwire_tests::peer::{Peer, cancel, legacy, modern, plain, server, within};

use crate::legacy_client::pair;
use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

#[derive(Deserialize, Elicit)]
struct Name {
    name: String,
}

const NEWEST: ProtocolVersion = ProtocolVersion::V2026_07_28;
const CORE_TASKS: ProtocolVersion = ProtocolVersion::V2025_11_25;
const OLDER: ProtocolVersion = ProtocolVersion::V2025_06_18;

/// Returns a server of one revision with two tools that run only as tasks: one asks for a name.
fn server_of(version: ProtocolVersion) -> Server {
    let required = || TaskOptions::new().required();
    let greet = plain("greet", |ctx: RequestContext| async move {
        let name: Name = ctx.ask("name", "Who?").await?;
        Ok::<_, Error>(format!("hello {}", name.name))
    });
    let fail = plain("fail", |_| async {
        Err::<String, _>(ErrorObject::internal("out of paper"))
    });
    server()
        .with_tasks(Tasks::in_memory().with_poll_interval(Duration::from_millis(1)))
        .tool(greet.with_task(required()))
        .tool(plain("wave", |_| async { "waved" }).with_task(required()))
        .tool(fail.with_task(required()))
        .with_versions([version])
}

#[tokio::test]
async fn tool_that_runs_only_as_a_task_has_a_plain_result() {
    for (client, upstream) in [(NEWEST, CORE_TASKS), (CORE_TASKS, NEWEST), (OLDER, NEWEST)] {
        let server = server_of(upstream);
        let upstream = Upstream::new(move |builder: ClientBuilder| {
            let server = server.clone();
            async move { builder.in_process(&server).await }
        });
        let relay = upstream.relay();
        let builder = || ClientBuilder::new("test", "1").with_versions([client]);
        let asked = builder().on_elicitation(|_| async {
            Ok(ElicitResult::accept().with_content([("name", "Ada")]))
        });
        let asked = within(asked.in_process(relay.server())).await;
        let asked = asked.expect("the relay is in this process");
        let mute = within(builder().in_process(relay.server())).await;
        let mute = mute.expect("the relay is in this process");
        for (caller, tool, expected) in [
            (&asked, "greet", "hello Ada"),
            (&asked, "wave", "waved"),
            (&mute, "wave", "waved"),
        ] {
            let result = within(caller.call_tool(tool, json!({})).into_future()).await;
            assert_text(&result.expect("a result"), expected);
        }
        let failed = within(mute.call_tool("fail", json!({})).into_future()).await;
        let error = failed.expect_err("the tool fails");
        assert!(
            error.to_string().contains("out of paper"),
            "{client}: {error}"
        );
    }
}

/// Accepts the session without capabilities, with a server that has tasks.
async fn accept_with_tasks(connections: &mut RawUpstream) -> RawConnection {
    let mut server = connections.accept().await;
    let discover = server.receive().await;
    let error = r#"{"code":-32601,"message":"unknown method"}"#;
    server.reject(&discover, error).await;
    let initialize = server.receive().await;
    let details = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}},
        "serverInfo": {"name": "old", "version": "1"},
    });
    server.respond(&initialize, &details.to_string()).await;
    let initialized = server.receive().await;
    assert_eq!(initialized["method"], "notifications/initialized");
    server
}

/// Rejects a call, creates the task that the relay requests, and returns the request for its result.
async fn create_task(server: &mut RawConnection) -> Value {
    let call = server.receive().await;
    assert_eq!(call["method"], "tools/call");
    assert_eq!(call["params"].get("task"), None, "{call}");
    let required = r#"{"code":-32601,"message":"the tool runs only as a task"}"#;
    server.reject(&call, required).await;
    let again = server.receive().await;
    assert_eq!(again["params"]["task"], json!({}), "{again}");
    assert_eq!(again["params"]["arguments"], call["params"]["arguments"]);
    let task = json!({"task": {"taskId": "t", "status": "working"}});
    server.respond(&again, &task.to_string()).await;
    let waiting = server.receive().await;
    assert_eq!(waiting["method"], "tasks/result");
    assert_eq!(waiting["params"]["taskId"], "t");
    waiting
}

#[tokio::test]
async fn result_of_a_required_task_does_not_name_the_task() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let params = json!({"name": "slow", "arguments": {"n": 1.0}});
    client.send(modern(1, "tools/call", params)).await;
    let mut server = accept_with_tasks(&mut connections).await;
    let waiting = create_task(&mut server).await;
    let meta = json!({"io.modelcontextprotocol/related-task": {"taskId": "t"}, "x": 1});
    let result = json!({"content": [], "_meta": meta});
    server.respond(&waiting, &result.to_string()).await;
    let response = client.receive().await;
    let meta = &response["result"]["_meta"];
    assert_eq!(meta["x"], 1, "{response}");
    assert_eq!(meta.get("io.modelcontextprotocol/related-task"), None);
}

#[tokio::test]
async fn required_task_of_a_cancelled_call_is_cancelled() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let client = Peer::connect(relay.server());
    let params = json!({"name": "slow", "arguments": {}});
    client.send(modern(1, "tools/call", params)).await;
    let mut server = accept_with_tasks(&mut connections).await;
    let waiting = create_task(&mut server).await;
    client.send(cancel(1)).await;
    let (mut is_request_cancelled, mut is_task_cancelled) = (false, false);
    while !(is_request_cancelled && is_task_cancelled) {
        let message = server.receive().await;
        match message["method"].as_str() {
            Some("notifications/cancelled") => {
                assert_eq!(message["params"]["requestId"], waiting["id"]);
                is_request_cancelled = true;
            }
            Some("tasks/cancel") => {
                assert_eq!(message["params"]["taskId"], "t");
                server
                    .respond(&message, r#"{"taskId":"t","status":"cancelled"}"#)
                    .await;
                is_task_cancelled = true;
            }
            _ => panic!("unexpected message {message}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn polled_task_of_a_cancelled_call_is_cancelled() {
    let (_relay, client, mut server) = pair().await;
    let params = json!({"name": "slow", "arguments": {}});
    client.send(legacy(2, "tools/call", params)).await;
    let call = next_request(&mut server, "tools/call").await;
    let extensions = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let data = json!({"requiredCapabilities": extensions});
    let error = json!({"code": -32021, "message": "the tool runs only as a task", "data": data});
    server.reject(&call, &error.to_string()).await;
    let again = next_request(&mut server, "tools/call").await;
    let declared = &again["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(declared["extensions"], extensions["extensions"], "{again}");
    let mut task = json!({
        "resultType": "task", "taskId": "t", "status": "working", "ttlMs": null,
        "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
    });
    server.respond(&again, &task.to_string()).await;
    task["resultType"] = "complete".into();
    for _ in 0..2 {
        let poll = next_request(&mut server, "tasks/get").await;
        assert_eq!(poll["params"]["taskId"], "t");
        server.respond(&poll, &task.to_string()).await;
    }
    client.send(cancel(2)).await;
    let cancelled = next_request(&mut server, "tasks/cancel").await;
    assert_eq!(cancelled["params"]["taskId"], "t");
}

/// Returns the next request with this method. Subscriptions and notifications may precede it.
async fn next_request(server: &mut RawConnection, method: &str) -> Value {
    loop {
        let message = server.receive().await;
        if message["method"] == method {
            return message;
        }
        let skipped = ["subscriptions/listen", "notifications/cancelled"];
        assert!(
            skipped.iter().any(|skipped| message["method"] == *skipped),
            "{message}"
        );
    }
}
