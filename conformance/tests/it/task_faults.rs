//! Tasks in a directory whose server processes are killed and started again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use toolwire::store::StoredTask;
use toolwire::tasks::{FileTaskStore, TaskStatus, TaskStore as _};
use toolwire::types::ElicitResult;
use toolwire::{Called, Client, Principal, TaskHandle};
use toolwire_conformance::Fixture;

/// A directory with tasks, and the port of its server.
struct Service {
    directory: PathBuf,
    port: String,
}

impl Service {
    /// Starts the first server of a service with an empty directory.
    async fn start(name: &str) -> (Self, Fixture) {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tasks-{name}"));
        // It does not exist at the first run.
        let _ = std::fs::remove_dir_all(&directory);
        let mut service = Self {
            directory,
            port: "0".to_owned(),
        };
        let server = service.server("0").await;
        let port = server
            .url()
            .rsplit(':')
            .next()
            .and_then(|rest| rest.split('/').next());
        service.port = port.expect("the URL has a port").to_owned();
        (service, server)
    }

    /// Starts the server again, at the same URL.
    async fn restart(&self) -> Fixture {
        self.server(&self.port).await
    }

    async fn server(&self, port: &str) -> Fixture {
        let binary = Path::new(env!("CARGO_BIN_EXE_conformance-server"));
        let directory = self.directory.to_string_lossy();
        let arguments = ["--port", port, "--task-store", &directory];
        let server = Fixture::start_with(binary, &arguments).await;
        server.unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// Returns all tasks in the directory.
    async fn stored(&self) -> Vec<StoredTask> {
        let store = FileTaskStore::open(&self.directory).expect("the directory of the server");
        let stored = store.list(&Principal::anonymous(), None, 1000).await;
        stored.expect("the directory is readable")
    }

    /// Waits until every task in the directory has ended.
    async fn wait_for_ends(&self) {
        let ended = async {
            while !self
                .stored()
                .await
                .iter()
                .all(|task| task.record.is_final())
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
        ended.expect("no task works for ever");
    }
}

fn accepted() -> ElicitResult {
    ElicitResult::accept().with_content([("confirm", json!(true))])
}

async fn connect(server: &Fixture) -> Client {
    let accept = |_| async { Ok(accepted()) };
    let client = Client::builder("faults", "1.0.0")
        .with_tasks()
        .on_elicitation(accept);
    client
        .connect(server.url())
        .await
        .expect("the server is reachable")
}

async fn start(client: &Client, tool: &'static str, arguments: serde_json::Value) -> TaskHandle {
    match client.call_tool(tool, arguments).as_task().await {
        Ok(Called::Task(task)) => task,
        other => panic!("expected a task: {other:?}"),
    }
}

async fn wait_for(task: &TaskHandle, status: TaskStatus) {
    let reached = async {
        while task.get().await.expect("the task is known").task.status != status {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(60), reached).await;
    reached.expect("the task reaches the status in time");
}

#[tokio::test]
async fn working_task_of_a_killed_process_fails_and_is_not_unknown() {
    let (service, server) = Service::start("working").await;
    let client = connect(&server).await;
    let task = start(&client, "slow_compute", json!({"seconds": 600})).await;
    let waiting = tokio::spawn({
        let task = task.clone();
        async move { task.wait().await }
    });
    server.kill().await.expect("the server is killed");
    let _server = service.restart().await;
    let error = waiting
        .await
        .expect("no panic")
        .expect_err("the task fails");
    assert!(error.to_string().contains("the server stopped"), "{error}");
    assert_eq!(
        task.get().await.expect("known").task.status,
        TaskStatus::Failed
    );
}

#[tokio::test]
async fn waiting_task_of_a_killed_process_continues_with_the_response() {
    let (service, server) = Service::start("waiting").await;
    let (asked, restarted) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let respond = {
        let (asked, restarted) = (Arc::clone(&asked), Arc::clone(&restarted));
        move |_| {
            let (asked, restarted) = (Arc::clone(&asked), Arc::clone(&restarted));
            async move {
                asked.notify_one();
                restarted.notified().await;
                Ok(accepted())
            }
        }
    };
    let client = Client::builder("faults", "1.0.0").with_tasks();
    let client = client.on_elicitation(respond).connect(server.url()).await;
    let client = client.expect("the server is reachable");
    let task = start(&client, "confirm_delete", json!({"filename": "a.txt"})).await;
    let waiting = tokio::spawn({
        let task = task.clone();
        async move { task.wait().await }
    });
    let asked = tokio::time::timeout(Duration::from_secs(60), asked.notified());
    asked.await.expect("the task asks in time");
    server.kill().await.expect("the server is killed");
    let server = service.restart().await;
    // The wait that began before sends the response to the new process.
    restarted.notify_one();
    let result = waiting.await.expect("no panic");
    assert_eq!(
        result.expect("the task completes").all_text(),
        "deleted a.txt"
    );
    // Another client has the id only.
    let other = connect(&server).await;
    let result = other.task(task.id()).wait().await;
    assert_eq!(
        result.expect("the task is known").all_text(),
        "deleted a.txt"
    );
}

#[tokio::test]
async fn resumed_task_does_not_repeat_its_effect() {
    let (service, server) = Service::start("resumed").await;
    let client = connect(&server).await;
    let task = start(&client, "resume_job", json!({})).await;
    let message = async {
        loop {
            let shown = task.get().await.expect("the task is known");
            if let Some(message) = shown.task.status_message {
                return message;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let message = tokio::time::timeout(Duration::from_secs(60), message).await;
    let message = message.expect("the effect happens in time");
    server.kill().await.expect("the server is killed");
    let _server = service.restart().await;
    let result = task.wait().await.expect("the task completes");
    assert_eq!(result.all_text(), message, "the effect happened once");
}

#[tokio::test]
async fn task_whose_id_was_sent_is_known_after_the_process_was_killed() {
    let (service, mut server) = Service::start("known").await;
    let mut ids = Vec::new();
    for round in 0..4_u64 {
        let client = connect(&server).await;
        let calling = tokio::spawn(async move {
            let mut ids = Vec::new();
            // Ends when the server is killed.
            while let Ok(Called::Task(task)) = client
                .call_tool("slow_compute", json!({"seconds": 600}))
                .as_task()
                .await
            {
                ids.push(task.id().to_owned());
            }
            ids
        });
        tokio::time::sleep(Duration::from_millis(30 + 20 * round)).await;
        server.kill().await.expect("the server is killed");
        ids.extend(calling.await.expect("no panic"));
        server = service.restart().await;
    }
    assert!(!ids.is_empty(), "some calls became tasks");
    let client = connect(&server).await;
    for id in ids {
        let task = client.task(&id).get().await;
        task.unwrap_or_else(|error| panic!("the task {id} is lost: {error}"));
    }
    // Some of them have ids that were never sent.
    service.wait_for_ends().await;
}

#[tokio::test]
async fn task_whose_id_was_never_received_ends() {
    let (service, server) = Service::start("unreceived").await;
    let address = server.url().trim_start_matches("http://");
    let (address, _) = address.split_once('/').expect("the URL has a path");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "faults", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    let arguments = json!({"seconds": 600});
    let params = json!({"name": "slow_compute", "arguments": arguments, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let body = call.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: slow_compute\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connection = TcpStream::connect(address)
        .await
        .expect("the server listens");
    let sent = connection.write_all(request.as_bytes()).await;
    sent.expect("the server reads");
    // The response is never read.
    let stored = async {
        while service.stored().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let stored = tokio::time::timeout(Duration::from_secs(60), stored).await;
    stored.expect("the task is stored in time");
    server.kill().await.expect("the server is killed");
    let _server = service.restart().await;
    service.wait_for_ends().await;
    let stored = service.stored().await;
    let [task] = stored.as_slice() else {
        panic!("one call is one task: {stored:?}");
    };
    assert_eq!(task.record.status, TaskStatus::Failed);
    let message = task.record.status_message.as_deref().unwrap_or_default();
    assert!(message.contains("the server stopped"), "{message}");
}

#[tokio::test]
async fn two_processes_share_their_tasks() {
    let (service, first) = Service::start("shared").await;
    let second = service.server("0").await;
    let (one, two) = (connect(&first).await, connect(&second).await);
    let task = start(&one, "confirm_delete", json!({"filename": "b.txt"})).await;
    wait_for(&two.task(task.id()), TaskStatus::InputRequired).await;
    // The second process takes the answer, the first one continues.
    let result = two
        .task(task.id())
        .wait()
        .await
        .expect("the task completes");
    assert_eq!(result.all_text(), "deleted b.txt");
    let task = start(&one, "slow_compute", json!({"seconds": 600})).await;
    two.task(task.id()).cancel().await.expect("known on both");
    wait_for(&task, TaskStatus::Cancelled).await;
    drop(first);
    wait_for(&two.task(task.id()), TaskStatus::Cancelled).await;
}
