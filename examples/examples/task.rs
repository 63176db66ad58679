//! A long call as a task: one function for clients with and without tasks, in every revision.
//!
//! Run it with `cargo run -p toolwire-examples --example task`, or give that command to an MCP client.

use std::error::Error;
use std::time::Duration;

use toolwire::tasks::Tasks;
use toolwire::{RequestContext, Server, tool};

/// Renders a film and asks whether to publish it.
#[tool(task)]
async fn render(ctx: &RequestContext, scene: String) -> Result<String, toolwire::Error> {
    // The result is stored with the task, so the frames are counted once, even if the handler runs again.
    let frames = ctx.once("count", async { 5 }).await?;
    for frame in 1..=frames {
        ctx.report_steps(frame, frames, Some("rendering"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let message = format!("Publish {frames} frames of {scene}?");
    let publish: bool = ctx.ask("publish", message).await?;
    Ok(if publish { "published" } else { "stored" }.to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let tasks = Tasks::in_memory().with_poll_interval(Duration::from_millis(100));
    let server = Server::new("studio", "1.0.0")
        .with_tasks(tasks)
        .tool(render);
    server.serve_stdio().await?;
    Ok(())
}
