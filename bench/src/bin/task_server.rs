//! The server of the tasks: `approve`, whose calls become tasks that wait for input, and `echo`.
//!
//! It listens on a free port, prints its URL, and serves until it is killed. All settings are the defaults, except that
//! more tasks may exist and run. With the argument `parked`, a handler that waits leaves the memory at once.

use std::io::Write;
use std::time::Duration;

use toolwire::tasks::{MemoryTaskLimits, MemoryTaskStore, Tasks};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{RequestContext, Server, ToolError, tool};

const MAX_TASKS: usize = 1_000_000;

/// Repeats a text.
#[tool]
fn echo(text: String) -> String {
    text
}

/// Approves an order, if the user agrees.
#[tool(task)]
async fn approve(ctx: &RequestContext, order: u64) -> Result<String, ToolError> {
    let receipt = ctx.once("receipt", async { order + 1 }).await?;
    let question = format!("Approve order {order}?");
    let approved = ctx.confirm("approve", question).await?;
    Ok(format!("receipt {receipt}, approved: {approved}"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limits = MemoryTaskLimits::default().with_tasks(MAX_TASKS);
    let mut tasks = Tasks::new(MemoryTaskStore::new(limits)).with_max_running(MAX_TASKS);
    if std::env::args().any(|argument| argument == "parked") {
        tasks = tasks.with_park_after(Duration::ZERO);
    }
    let server = Server::new("tasks", "1.0.0")
        .with_tasks(tasks)
        .tool(echo)
        .tool(approve);
    let listener = HttpListener::bind(server, "127.0.0.1:0", HttpOptions::new()).await?;
    writeln!(std::io::stdout(), "{}", listener.url())?;
    listener.run().await?;
    Ok(())
}
