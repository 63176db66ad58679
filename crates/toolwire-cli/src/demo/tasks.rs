//! A tool whose calls become tasks.

use std::time::Duration;

use toolwire::tasks::Tasks;
use toolwire::{RequestContext, Server, ToolError, tool};

pub(super) fn register(server: Server, tasks: Tasks) -> Server {
    let tasks = tasks.with_poll_interval(Duration::from_millis(100));
    server.with_tasks(tasks).tool(bake)
}

/// Bakes a cake. The call becomes a task if the client supports tasks.
#[tool(read_only, task)]
async fn bake(
    ctx: &RequestContext,
    /// The number of layers.
    #[arg(minimum = 1, maximum = 1000)]
    layers: u32,
    /// The duration of each layer in milliseconds.
    #[arg(default = 100, maximum = 60_000)]
    delay_ms: u64,
    /// The temperature of the oven. Above 300 degrees the cake burns, and the call fails.
    #[arg(default = 180, maximum = 400)]
    degrees: u32,
    /// Whether to ask for icing before the end.
    #[arg(default = false)]
    ask: bool,
) -> Result<String, ToolError> {
    for layer in 1..=layers {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        ctx.report_steps(i64::from(layer), i64::from(layers), Some("layers"));
    }
    if degrees > 300 {
        return Err(ToolError::failed("the cake burned"));
    }
    let icing = ask && ctx.confirm("icing", "Add icing?").await?;
    let with_icing = if icing { " with icing" } else { "" };
    Ok(format!("a cake of {layers} layers{with_icing}"))
}
