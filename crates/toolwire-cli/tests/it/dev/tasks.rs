//! Tasks of a server that is replaced, in both designs of tasks.

use serde_json::{Value, json};
use toolwire::types::{ProtocolVersion, code};
use toolwire::{Called, Client, ClientBuilder, TaskHandle};

use super::project::{DevCommand, Project, until_build};
use crate::process::within;

/// The revisions with a design of tasks, and the eras of the server that have them.
const DESIGNS: [(ProtocolVersion, &str); 2] = [
    (ProtocolVersion::V2025_11_25, "legacy"),
    (ProtocolVersion::V2026_07_28, "modern"),
];

async fn connect(dev: &DevCommand, version: ProtocolVersion) -> Client {
    let builder = ClientBuilder::new("test", "1.0.0").with_versions([version]);
    let client = within(builder.with_tasks().connect(&dev.mcp)).await;
    client.expect("the client is connected")
}

/// Starts the tool of the demo server as a task.
async fn bake(client: &Client, delay_ms: u32) -> TaskHandle {
    let arguments = json!({"layers": 1, "delay_ms": delay_ms});
    let call = client.call_tool("bake", arguments).as_task();
    match within(call.into_future()).await {
        Ok(Called::Task(task)) => task,
        other => panic!("{other:?}"),
    }
}

async fn assert_baked(client: &Client) {
    let result = within(bake(client, 1).await.wait()).await;
    let text = result.expect("the task completes").all_text();
    assert_eq!(text, "a cake of 1 layers");
}

#[tokio::test]
async fn task_ends_with_its_server_and_the_next_one_has_tasks() {
    for (version, era) in DESIGNS {
        let project = Project::empty();
        project.write("src/server", "first");
        let demo = ["--", env!("CARGO_BIN_EXE_toolwire"), "demo", "--stdio"];
        let words = [&["--era", era][..], &demo].concat();
        let dev = DevCommand::start(&project.path, &words).await;
        let client = connect(&dev, version).await;
        assert_baked(&client).await;
        let waiting = bake(&client, 60_000).await;

        project.write("src/server", "second");
        let is_second =
            |build: &Value| build["phase"] == "running" && build["number"].as_u64() == Some(2);
        until_build(&dev.page, is_second).await;
        let request = client.request("tasks/get", json!({ "taskId": waiting.id() }));
        let error = within(request.into_future()).await;
        let error = error.expect_err("the task has ended with its server");
        let rpc = error.rpc().expect("the new server responds");
        assert_eq!(rpc.code, code::INVALID_PARAMS, "{rpc:?}");
        assert!(rpc.message.contains("task"), "{rpc:?}");
        assert_baked(&client).await;
    }
}
