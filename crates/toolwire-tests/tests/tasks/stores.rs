//! Tasks in a directory that several servers share, and servers that start again.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use toolwire::tasks::{FileTaskStore, TaskOptions, TaskWorkerOptions, Tasks};
use toolwire::{Elicit, Error, KeyRing, RequestContext, Server, StateKey};
use toolwire_tests::peer::{Peer, plain, within};

use crate::peer::{accept, get, start, update, wait_for};

#[derive(serde::Deserialize, Elicit)]
struct Sure {
    sure: bool,
}

fn directory(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("store-{name}"));
    // It does not exist at the first run.
    let _ = std::fs::remove_dir_all(&directory);
    directory
}

fn server(directory: &PathBuf, queued: bool) -> Server {
    let tasks = Tasks::new(FileTaskStore::open(directory).unwrap());
    let tasks = tasks.with_lease(Duration::from_millis(600));
    let tasks = if queued { tasks.queued() } else { tasks };
    let tool = plain("asks", |ctx: RequestContext| async move {
        let sure: Sure = ctx.ask("sure", "Sure?").await?;
        Ok::<_, Error>(format!("sure: {}", sure.sure))
    });
    toolwire_tests::peer::server()
        .with_request_state_keys(KeyRing::new(StateKey::new([7; 32])))
        .with_tasks(tasks)
        .tool(tool.with_task(TaskOptions::new()))
}

#[tokio::test]
async fn worker_runs_queued_tasks() {
    let directory = directory("queued");
    let front = server(&directory, true);
    let mut peer = Peer::connect(&front);
    let id = start(&mut peer, "asks", json!({})).await;
    let worker = server(&directory, true);
    let running = tokio::spawn(worker.clone().serve_tasks(TaskWorkerOptions::new()));
    wait_for(&mut peer, &id, "input_required").await;
    peer.result_of(update(&id, "sure", accept(json!({"sure": true}))))
        .await;
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "sure: true");
    worker.shutdown();
    within(running).await.unwrap().unwrap();
}

#[tokio::test]
async fn waiting_task_is_handed_over_at_the_shutdown_of_a_worker() {
    let directory = directory("shutdown");
    let front = server(&directory, true);
    let mut peer = Peer::connect(&front);
    let id = start(&mut peer, "asks", json!({})).await;
    let first = server(&directory, true);
    let running = tokio::spawn(first.clone().serve_tasks(TaskWorkerOptions::new()));
    wait_for(&mut peer, &id, "input_required").await;
    first.shutdown();
    within(running).await.unwrap().unwrap();
    let task = peer.result_of(get(&id)).await;
    assert_eq!(task["status"], "input_required", "{task}");
    let second = server(&directory, true);
    let running = tokio::spawn(second.clone().serve_tasks(TaskWorkerOptions::new()));
    peer.result_of(update(&id, "sure", accept(json!({"sure": false}))))
        .await;
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "sure: false");
    second.shutdown();
    within(running).await.unwrap().unwrap();
}

#[tokio::test]
async fn records_are_sealed_with_the_keys_of_the_server() {
    let directory = directory("sealed");
    let server = server(&directory, false);
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "asks", json!({"secret": "in the arguments"})).await;
    wait_for(&mut peer, &id, "input_required").await;
    let files: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok())
        .collect();
    assert!(
        files.iter().any(|text| text.contains("Sure?")),
        "the task is stored"
    );
    for text in files {
        assert!(!text.contains("in the arguments"), "{text}");
    }
}
