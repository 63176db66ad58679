//! Tasks through a relay: both designs pass within their era, and none is offered between eras.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::relay::{Relay, Upstream};
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::testing::assert_text;
use toolwire::types::ElicitResult;
use toolwire::types::tasks::TaskStatus;
use toolwire::{
    Called, Client, ClientBuilder, Elicit, Error, ProtocolVersion, RequestContext, Server,
};
use toolwire_tests::peer::{
    Peer, legacy, modern, modern_with, notification, plain, result_response, server, within,
};

use crate::connections::initialize;
use crate::raw_upstream::raw_upstream;

/// The revisions with tasks, one of each design.
const WITH_TASKS: [ProtocolVersion; 2] =
    [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

#[derive(Deserialize, Elicit)]
struct Name {
    name: String,
}

/// Returns a server of one revision with two tools that can run as tasks: one asks for a name, and one never ends.
fn task_server(version: ProtocolVersion) -> Server {
    let greet = plain("greet", |ctx: RequestContext| async move {
        let name: Name = ctx.ask("name", "Who?").await?;
        Ok::<_, Error>(format!("hello {}", name.name))
    });
    let wait = plain("wait", |_: RequestContext| async {
        std::future::pending::<()>().await;
        Ok::<_, Error>(String::new())
    });
    server()
        .with_tasks(Tasks::in_memory().with_poll_interval(Duration::from_millis(10)))
        .tool(greet.with_task(TaskOptions::new()))
        .tool(wait.with_task(TaskOptions::new()))
        .with_versions([version])
}

fn relay_to(version: ProtocolVersion) -> Relay {
    let server = task_server(version);
    let upstream = Upstream::new(move |builder: ClientBuilder| {
        let server = server.clone();
        async move { builder.in_process(&server).await }
    });
    upstream.relay()
}

async fn connect(relay: &Relay, version: ProtocolVersion) -> Client {
    let builder = ClientBuilder::new("test", "1")
        .with_versions([version])
        .with_tasks()
        .on_elicitation(|_| async { Ok(ElicitResult::accept().with_content([("name", "Ada")])) });
    let client = within(builder.in_process(relay.server())).await;
    client.expect("the relay is in this process")
}

#[tokio::test]
async fn tasks_pass_within_each_era() {
    for version in WITH_TASKS {
        let relay = relay_to(version);
        let client = connect(&relay, version).await;
        let tools = within(client.list_tools().into_future()).await;
        assert_eq!(tools.expect("a list").len(), 2, "{version}");
        let create = async |tool: &str| {
            let call = client.call_tool(tool, json!({})).as_task();
            match within(call.into_future()).await.expect("a task") {
                Called::Task(task) => task,
                Called::Completed(result) => panic!("{version}: {result:?}"),
            }
        };
        // The task asks for input, and then has a result.
        let asking = create("greet").await;
        let result = within(asking.wait()).await;
        assert_text(&result.expect("a result"), "hello Ada");
        let endless = create("wait").await;
        let task = within(endless.get()).await.expect("the task exists");
        assert_eq!(task.task.status, TaskStatus::Working, "{version}");
        // The server lists no tasks to callers without authorization, and its rejection passes.
        if version == ProtocolVersion::V2025_11_25 {
            let listed = within(client.list_tasks().into_future()).await;
            let error = listed.expect_err("the list is rejected");
            assert!(
                error.to_string().contains("without authorization"),
                "{error}"
            );
        }
        within(endless.cancel())
            .await
            .expect("the task is cancelled");
        let task = within(endless.get()).await.expect("the task exists");
        assert_eq!(task.task.status, TaskStatus::Cancelled, "{version}");
    }
}

#[tokio::test]
async fn tasks_are_not_offered_between_eras() {
    let [old, new] = WITH_TASKS;
    for (client_version, server_version) in [(new, old), (old, new)] {
        let relay = relay_to(server_version);
        let client = connect(&relay, client_version).await;
        let details = client.server().expect("the client is connected");
        let capabilities = serde_json::to_string(&details.capabilities).expect("JSON");
        assert!(!capabilities.contains("tasks"), "{capabilities}");
        // The tool runs as an ordinary call.
        let result = within(client.call_tool("greet", json!({})).into_future()).await;
        assert_text(&result.expect("a result"), "hello Ada");
        let mut peer = Peer::connect(relay.server());
        let is_legacy = client_version == old;
        if is_legacy {
            peer.result_of(initialize(1)).await;
        }
        for method in ["tasks/get", "tasks/cancel", "tasks/result", "tasks/update"] {
            let params = json!({"taskId": "t1"});
            let request = if is_legacy {
                legacy(2, method, params)
            } else {
                modern(2, method, params)
            };
            peer.error_of(request, -32601).await;
        }
    }
}

/// Returns a 2026-07-28 request of a client with tasks.
fn with_tasks(id: &str, method: &str, params: Value) -> Value {
    let extensions = json!({"io.modelcontextprotocol/tasks": {}});
    modern_with(id, method, params, json!({"extensions": extensions}))
}

#[tokio::test]
async fn messages_of_the_tasks_extension_pass_unchanged() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let requests = json!({"q": {"method": "elicitation/create", "params": {"message": "Who?"}}});
    let task = json!({"taskId": "t 1", "status": "input_required", "ttlMs": null, "x": 1.0, "inputRequests": requests});
    let mut created = task.clone();
    created["resultType"] = "task".into();
    let mut known = task.clone();
    known["resultType"] = "complete".into();
    let id = json!({"taskId": "t 1", "x-own": [1.0]});
    let mut update = id.clone();
    update["inputResponses"] = json!({"q": {"action": "decline"}});
    let done = json!({"resultType": "complete", "y": 2.0});
    let mut server = None;
    for (method, params, result) in [
        (
            "tools/call",
            json!({"name": "a", "arguments": {}}),
            &created,
        ),
        ("tasks/get", id.clone(), &known),
        ("tasks/update", update, &done),
        ("tasks/cancel", id, &done),
    ] {
        client
            .send(with_tasks(method, method, params.clone()))
            .await;
        if server.is_none() {
            server = Some(connections.accept_modern().await);
        }
        let server = server.as_mut().expect("a connection");
        let mut request = server.receive().await;
        assert_eq!(request["method"], method);
        let sent = request["params"].as_object_mut().expect("an object");
        let meta = sent.remove("_meta").expect("it has metadata");
        assert_eq!(json!(sent), params);
        let declared = &meta["io.modelcontextprotocol/clientCapabilities"]["extensions"];
        assert!(
            declared["io.modelcontextprotocol/tasks"].is_object(),
            "{meta}"
        );
        server.respond(&request, &result.to_string()).await;
        client.expect(result_response(method, result.clone())).await;
    }
    // A subscription to a task keeps the id of the client.
    let mut server = server.expect("a connection");
    let filter = json!({"notifications": {"taskIds": ["t 1"]}});
    client
        .send(with_tasks("sub", "subscriptions/listen", filter.clone()))
        .await;
    let listen = server.receive().await;
    assert_eq!(listen["params"]["notifications"], filter["notifications"]);
    let with_id = |method: &str, mut params: Value, id: &Value| {
        params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id});
        notification(method, params)
    };
    for (method, params) in [
        ("notifications/subscriptions/acknowledged", filter),
        ("notifications/tasks", task),
    ] {
        let sent = with_id(method, params.clone(), &listen["id"]);
        server.send(sent).await;
        client.expect(with_id(method, params, &json!("sub"))).await;
    }
}
