//! Tools whose calls become tasks: those of the suite's scenarios, and others for tests of our own.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use toolwire::tasks::{TaskWorkerOptions, Tasks};
use toolwire::types::InputRequests;
use toolwire::{Elicit, ErrorObject, RequestContext, Server, ToolError, ToolResponse, ask, tool};

/// The number of tasks that one worker runs, so small that several workers compete.
const TASKS_OF_WORKER: usize = 4;

/// Returns the options of a worker process.
pub(crate) fn worker_options() -> TaskWorkerOptions {
    TaskWorkerOptions::new().with_max_running(TASKS_OF_WORKER)
}

/// Adds the tools and their tasks.
pub(crate) fn add_to(server: Server, tasks: Tasks) -> Server {
    server
        .with_tasks(tasks.with_poll_interval(Duration::from_millis(200)))
        .tool(greet)
        .tool(slow_compute)
        .tool(failing_job)
        .tool(protocol_error_job)
        .tool(confirm_delete)
        .tool(multi_input)
        .tool(test_tool_with_task)
        .tool(reask_job)
        .tool(panic_job)
        .tool(big_job)
        .tool(resume_job)
        .tool(append_job)
}

#[derive(Deserialize, Elicit)]
struct Confirmation {
    confirm: bool,
}

#[derive(Deserialize, Elicit)]
struct NamedConfirmation {
    name: String,
    confirm: bool,
}

#[derive(Deserialize, Elicit)]
struct Name {
    name: String,
}

/// Greets, never as a task.
#[tool]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

/// Computes for some seconds.
#[tool(task)]
async fn slow_compute(
    ctx: &RequestContext,
    #[arg(default = 0.0)] seconds: f64,
    label: Option<String>,
) -> Result<String, ToolError> {
    let time = Duration::try_from_secs_f64(seconds)?;
    ctx.set_status_message(format!("computing for {seconds} s"));
    tokio::time::sleep(time).await;
    Ok(format!("computed {}", label.unwrap_or_default()))
}

/// Fails after a moment, with an error for the model.
#[tool(task(required))]
async fn failing_job() -> Result<String, ToolError> {
    tokio::time::sleep(Duration::from_millis(500)).await;
    Err(ToolError::failed("the job failed"))
}

/// Fails with a JSON-RPC error.
#[tool(task)]
async fn protocol_error_job() -> Result<String, ToolError> {
    Err(ToolError::rpc(ErrorObject::internal("the job broke")))
}

/// Asks before it deletes a file.
#[tool(task)]
async fn confirm_delete(ctx: &RequestContext, filename: String) -> Result<String, ToolError> {
    let question = format!("Delete {filename}?");
    let answer: Confirmation = ctx.ask("confirm", question).await?;
    Ok(if answer.confirm {
        format!("deleted {filename}")
    } else {
        format!("kept {filename}")
    })
}

/// Asks two questions at once.
#[tool(task)]
async fn multi_input(ctx: &RequestContext) -> Result<String, ToolError> {
    let questions = (
        ask::form::<NamedConfirmation>("first", "First?"),
        ask::form::<NamedConfirmation>("second", "Second?"),
    );
    let (first, second) = ctx.ask_all(questions).await?;
    let shown = |answer: NamedConfirmation| format!("{}: {}", answer.name, answer.confirm);
    Ok(format!("{}, {}", shown(first), shown(second)))
}

/// Asks for a name on the call, and greets as a task.
#[tool(task(required, on_demand))]
async fn test_tool_with_task(ctx: &RequestContext) -> Result<String, ToolError> {
    let user: Name = ctx.ask("user_name", "What is your name?").await?;
    ctx.start_task().await?;
    Ok(format!("Hello, {}!", user.name))
}

/// Asks twice under the same key, with another text the second time.
#[tool(task)]
async fn reask_job(ctx: &RequestContext) -> Result<ToolResponse, ToolError> {
    let round: u32 = ctx.request_state_as()?;
    if round == 2 {
        return Ok(ToolResponse::Text("asked twice".to_owned()));
    }
    let question = ask::form::<Confirmation>("confirm", format!("Round {}?", round + 1));
    let request = ask::Ask::request(&question)?;
    let requests = InputRequests::new().with("confirm", request);
    ToolResponse::input_required_with(requests, &(round + 1))
}

/// Panics.
#[tool(task)]
async fn panic_job() -> String {
    panic!("this text must not reach the client")
}

/// Returns this many bytes.
#[tool(task)]
async fn big_job(bytes: u32) -> String {
    "x".repeat(bytes as usize)
}

/// Works until its process has been started again, and returns the value of its only effect.
#[tool(task(resume))]
async fn resume_job(ctx: &RequestContext) -> Result<String, ToolError> {
    let process = || u64::from(std::process::id());
    let first = ctx.once("effect", async { process() }).await?;
    ctx.set_status_message(format!("process {first}"));
    if first == process() {
        std::future::pending::<()>().await;
    }
    Ok(format!("process {first}"))
}

/// Appends lines to the file `lines` of a directory. Each line is an effect, and names the process that has written it.
/// After each line, the job waits while the directory has a file `gate`.
#[tool(task(resume))]
async fn append_job(
    ctx: &RequestContext,
    directory: String,
    name: String,
    lines: u32,
) -> Result<String, ToolError> {
    let directory = PathBuf::from(directory);
    for line in 0..lines {
        // A process that is killed while an effect happens repeats it. A test that takes the lock first kills it before or
        // after an effect.
        let lock = File::create(directory.join("lock"))?;
        let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await??;
        let text = format!("{name} {line} {}\n", std::process::id());
        let append = async {
            let path = directory.join("lines");
            let mut file = File::options().create(true).append(true).open(path)?;
            Ok::<_, ToolError>(file.write_all(text.as_bytes())?)
        };
        ctx.try_once(format!("line {line}"), append).await?;
        drop(lock);
        while directory.join("gate").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    Ok(name)
}
