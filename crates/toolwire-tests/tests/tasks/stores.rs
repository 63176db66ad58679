//! Tasks in a directory that several servers share, and servers that start again.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::tasks::{FileTaskStore, TaskOptions, TaskWorkerOptions, Tasks};
use toolwire::transport::http::HttpOptions;
use toolwire::{Elicit, Error, KeyRing, RequestContext, Server, StateKey};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::named_users::NamedUsers;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{Peer, plain, within};

use crate::peer::{accept, call, get, id_of, start, update, wait_for};

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

/// The access token of the caller. Its user and its scope are parts of the caller, and the token is not.
const TOKEN: &str = "user-of-the-token:scope-of-the-token";

/// Completes a task with private values over HTTP, and returns the bytes of all files of its directory.
async fn private_task(directory: &PathBuf, keys: Option<KeyRing>) -> Vec<u8> {
    let tool = plain("collects", |ctx: RequestContext| async move {
        let value = async { "in a stored value".to_owned() };
        let _stored: String = ctx.once("value", value).await?;
        let _response: String = ctx.ask("text", "Which text?").await?;
        Ok::<_, Error>("done")
    });
    let mut server = toolwire_tests::peer::server()
        .with_tasks(Tasks::new(FileTaskStore::open(directory).unwrap()))
        .tool(tool.with_task(TaskOptions::new()));
    if let Some(keys) = keys {
        server = server.with_request_state_keys(keys);
    }
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    let endpoint = Endpoint::serve_with(&server, options).await;
    let send = async |message: Value| {
        let request = Request::modern(&message)
            .with("Authorization", format!("Bearer {TOKEN}"))
            .with("X-Private", "in a header field");
        let response = endpoint.request(&request).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        response.message()["result"].take()
    };
    let wait_for = async |id: &str, status: &str| {
        let reached = async {
            while send(get(id)).await["status"] != status {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        within(reached).await;
    };
    let id = id_of(&send(call("collects", json!({"text": "in the arguments"}))).await);
    wait_for(&id, "input_required").await;
    let response = accept(json!({"value": "in a response"}));
    send(update(&id, "text", response)).await;
    wait_for(&id, "completed").await;
    let files = std::fs::read_dir(directory).unwrap();
    let files = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    files.collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn records_are_sealed_with_the_keys_of_the_server() {
    let check = async |name: &str, keys: Option<KeyRing>| {
        let is_sealed = keys.is_some();
        let stored = private_task(&directory(name), keys).await;
        let has = |text: &str| {
            let mut parts = stored.windows(text.len());
            parts.any(|part| part == text.as_bytes())
        };
        assert!(has("collects"), "the task is stored");
        for text in [
            "in the arguments",
            "in a stored value",
            "in a response",
            "user-of-the-token",
            "scope-of-the-token",
        ] {
            assert_eq!(has(text), !is_sealed, "{name}: {text}");
        }
        for text in [TOKEN, "in a header field"] {
            assert!(!has(text), "{name}: {text}");
        }
    };
    check("sealed", Some(KeyRing::new(StateKey::new([7; 32])))).await;
    check("open", None).await;
}
