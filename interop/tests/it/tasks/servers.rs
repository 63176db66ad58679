//! `toolwire::Client` with the tasks of independent servers: the extension of 2026-07-28 in rmcp, and the core tasks of
//! 2025-11-25 in the TypeScript SDK.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::tasks::TaskStatus;
use toolwire::types::{ElicitRequestFormParams, ElicitResult};
use toolwire::{Called, Client, ClientBuilder, ServerCommand, TaskHandle};
use toolwire_interop::ServerPeer::TypeScript1Tasks;
use toolwire_interop::ServerWire::{self, Http, Stdio};
use toolwire_interop::{Release, ReleaseServer};

use crate::servers::pair::{Failure, Outcome, equal, text_of};

/// Longer than a check needs on a busy machine. Most take milliseconds.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// What the user was asked.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    fn accept(&self, form: &ElicitRequestFormParams) -> ElicitResult {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(form.message.clone());
        ElicitResult::accept()
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn client(&self) -> ClientBuilder {
        let user = self.clone();
        Client::builder("toolwire-interop", "1.0.0")
            .with_tasks()
            .on_elicitation(move |form| {
                let result = user.accept(&form);
                async move { Ok(result) }
            })
    }
}

/// Runs every check, and reports all that failed.
async fn check(client: &Client, asked: &Asked, revision: &str) {
    assert_eq!(client.version().as_str(), revision);
    let mut failed = Vec::new();
    let mut note = |name: &str, outcome: Outcome| {
        if let Err(failure) = outcome {
            failed.push(format!("{name}: {failure}"));
        }
    };
    note("completes", timeout(completes(client)).await);
    note("asks", timeout(asks(client, asked)).await);
    note("is_cancelled", timeout(is_cancelled(client)).await);
    note("has_tool_error", timeout(has_tool_error(client)).await);
    note("is_unknown", timeout(is_unknown(client)).await);
    assert!(failed.is_empty(), "{revision}:\n{}", failed.join("\n"));
}

async fn timeout(check: impl Future<Output = Outcome>) -> Outcome {
    tokio::time::timeout(CHECK_TIMEOUT, check)
        .await
        .unwrap_or_else(|_| Err(Failure::new(format!("timeout after {CHECK_TIMEOUT:?}"))))
}

async fn bake(client: &Client, arguments: Value) -> Result<TaskHandle, Failure> {
    match client.call_tool("bake", arguments).as_task().await? {
        Called::Task(task) => Ok(task),
        Called::Completed(result) => Err(Failure::new(format!("{result:?} is not a task"))),
    }
}

async fn completes(client: &Client) -> Outcome {
    let task = bake(client, json!({"layers": 2, "delay_ms": 1})).await?;
    let result = task.wait().await?;
    equal(text_of(&result), "a cake of 2 layers")?;
    equal(task.get().await?.task.status, TaskStatus::Completed)
}

async fn asks(client: &Client, asked: &Asked) -> Outcome {
    let task = bake(client, json!({"layers": 1, "delay_ms": 1, "ask": true})).await?;
    let result = task.wait().await?;
    equal(text_of(&result), "a cake of 1 layers with icing")?;
    equal(&asked.take()[..], ["Add icing?"])
}

async fn is_cancelled(client: &Client) -> Outcome {
    let task = bake(client, json!({"layers": 1000, "delay_ms": 20})).await?;
    task.cancel().await?;
    match task.wait().await {
        Err(error) if error.is_task_cancelled() => Ok(()),
        other => Err(Failure::new(format!(
            "the task is not cancelled: {other:?}"
        ))),
    }
}

async fn has_tool_error(client: &Client) -> Outcome {
    let arguments = json!({"layers": 1, "delay_ms": 1, "degrees": 350});
    let result = bake(client, arguments).await?.wait().await?;
    equal(result.is_error, Some(true))?;
    equal(text_of(&result), "the cake burned")
}

async fn is_unknown(client: &Client) -> Outcome {
    match client.task("no-such-task").get().await {
        Err(error) if error.is_task_gone() => Ok(()),
        other => Err(Failure::new(format!("the task is not unknown: {other:?}"))),
    }
}

/// rmcp is also a release: its server has this tool beside the others.
fn rmcp(wire: ServerWire) -> ReleaseServer {
    let release = Release::named("rmcp").expect("rmcp is in the list of releases");
    let role = release.servers.iter().find(|role| role.wire == wire);
    let role = role.expect("rmcp serves both transports");
    let server = release.server(role);
    server.unwrap_or_else(|problem| panic!("{problem}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rmcp_over_stdio() {
    let (asked, server) = (Asked::default(), rmcp(Stdio));
    let (program, arguments) = server.command();
    let command = ServerCommand::new(program).args(arguments);
    let client = asked.client().spawn(command).await;
    let client = client.expect("the server starts");
    check(&client, &asked, "2026-07-28").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rmcp_over_http() {
    let (asked, server) = (Asked::default(), rmcp(Http));
    let url = server.url().expect("the server listens");
    let client = asked.client().connect(url).await;
    let client = client.expect("the server responds");
    check(&client, &asked, "2026-07-28").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_1_over_stdio() {
    let asked = Asked::default();
    let command = TypeScript1Tasks.command(Stdio, 0);
    let (program, arguments) = command.unwrap_or_else(|problem| panic!("{problem}"));
    let command = ServerCommand::new(program).args(arguments);
    let client = asked.client().spawn(command).await;
    let client = client.expect("the server starts");
    check(&client, &asked, "2025-11-25").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_1_over_http() {
    let asked = Asked::default();
    let server = TypeScript1Tasks.start(Http);
    let server = server.unwrap_or_else(|problem| panic!("{problem}"));
    let client = asked.client().connect(server.url()).await;
    let client = client.expect("the server responds");
    check(&client, &asked, "2025-11-25").await;
}
