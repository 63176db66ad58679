//! Tasks that other processes run: the server only stores them in a directory, and workers take them from there.
//!
//! `cargo run -p toolwire-examples --example task_workers -- DIRECTORY` serves an MCP client. The same command with
//! `worker` after the directory starts a worker; start as many as you like. A worker that is lost is replaced by another.

use std::error::Error;
use std::time::Duration;

use toolwire::tasks::{FileTaskStore, TaskWorkerOptions, Tasks};
use toolwire::{RequestContext, Server, tool};

/// Counts the words of a text, slowly.
#[tool(task(required, resume))]
async fn count(ctx: &RequestContext, text: String) -> Result<String, toolwire::Error> {
    let worker = ctx.once("worker", async { std::process::id() }).await?;
    let mut words = 0;
    for _ in text.split_whitespace() {
        words += 1;
        ctx.set_status_message(format!("{words} words"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(format!("{words} words, counted by process {worker}"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments
        .next()
        .ok_or("usage: task_workers DIRECTORY [worker]")?;
    let tasks = Tasks::new(FileTaskStore::open(directory)?)
        .queued()
        .with_poll_interval(Duration::from_millis(100))
        .with_lease(Duration::from_secs(2));
    let server = Server::new("counter", "1.0.0")
        .with_tasks(tasks)
        .tool(count);
    if arguments.next().as_deref() == Some("worker") {
        server.serve_tasks(TaskWorkerOptions::new()).await?;
    } else {
        server.serve_stdio().await?;
    }
    Ok(())
}
