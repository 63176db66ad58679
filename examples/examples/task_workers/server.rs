//! The server and the workers: both know the tool, and only workers run it.

use std::error::Error;
use std::time::Duration;

use toolwire::tasks::{FileTaskStore, Tasks};
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

pub(crate) fn server() -> Result<Server, Box<dyn Error>> {
    let directory = std::env::var_os("TASK_DIRECTORY").unwrap_or_else(|| "tasks".into());
    let tasks = Tasks::new(FileTaskStore::open(directory)?)
        .queued()
        .with_poll_interval(Duration::from_millis(100))
        .with_lease(Duration::from_secs(2));
    Ok(Server::new("counter", "1.0.0")
        .with_tasks(tasks)
        .tool(count))
}
