//! Examples with tasks: `task`, `task_workers`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;
use tokio::process::{Child, Command};
use toolwire::tasks::TaskStatus;
use toolwire::types::ElicitResult;
use toolwire::{Called, Client, ClientBuilder, ProtocolVersion, ServerCommand};

use crate::client::program;

/// Returns a client with tasks that accepts every form.
fn builder(version: ProtocolVersion) -> ClientBuilder {
    let accept = |_| async { Ok(ElicitResult::accept().with_content([("value", json!(true))])) };
    Client::builder("script", "1.0.0")
        .with_versions([version])
        .with_tasks()
        .on_elicitation(accept)
}

#[tokio::test]
async fn film_is_rendered_as_a_task_and_as_a_call() {
    for version in ProtocolVersion::ALL {
        let client = builder(version).spawn(ServerCommand::new(program("task")));
        let client = client.await.unwrap();
        let call = client.call_tool("render", json!({"scene": "harbour"}));
        // Up to 2025-03-26, no client can be asked for a form.
        if version < ProtocolVersion::V2025_06_18 {
            assert!(call.await.is_err(), "{version}");
            continue;
        }
        assert_eq!(call.await.unwrap().all_text(), "published", "{version}");
        let call = client
            .call_tool("render", json!({"scene": "pier"}))
            .as_task();
        match call.await.unwrap() {
            Called::Task(task) => {
                assert!(version >= ProtocolVersion::V2025_11_25, "{version}");
                assert_eq!(task.wait().await.unwrap().all_text(), "published");
                assert_eq!(task.get().await.unwrap().task.status, TaskStatus::Completed);
            }
            Called::Completed(result) => {
                assert!(version < ProtocolVersion::V2025_11_25, "{version}");
                assert_eq!(result.all_text(), "published");
            }
        }
        client.close().await;
    }
}

/// Returns a directory for the tasks of one test.
pub(crate) fn empty_task_directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It does not exist at the first run.
    let _ = std::fs::remove_dir_all(&directory);
    directory
}

/// Starts a worker of the example. Dropping it kills the process.
pub(crate) fn worker(directory: &Path) -> Child {
    Command::new(program("task_workers"))
        .arg("worker")
        .env("TASK_DIRECTORY", directory)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn another_worker_continues_the_task_of_a_killed_one() {
    let directory = &empty_task_directory("killed_worker");
    let command = ServerCommand::new(program("task_workers")).env("TASK_DIRECTORY", directory);
    let client = builder(ProtocolVersion::LATEST)
        .spawn(command)
        .await
        .unwrap();
    let text = "word ".repeat(200);
    let called = client.call_tool("count", json!({"text": text})).as_task();
    let Called::Task(task) = called.await.unwrap() else {
        panic!("the tool runs only as a task");
    };
    let first = worker(directory);
    let started = async {
        while task.get().await.unwrap().task.status_message.is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let started = tokio::time::timeout(std::time::Duration::from_secs(60), started);
    started.await.expect("the first worker starts the task");
    let first_id = first.id().unwrap();
    drop(first);
    let _second = worker(directory);
    let result = task.wait().await.unwrap();
    // The name of the worker is an effect, which does not happen again.
    let expected = format!("200 words, counted by process {first_id}");
    assert_eq!(result.all_text(), expected);
    client.close().await;
}
