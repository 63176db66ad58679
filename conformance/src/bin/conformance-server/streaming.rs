//! Tools that send notifications or release their stream while they run.

use std::time::Duration;

use tokio::time::sleep;
use toolwire::{LoggingLevel, RequestContext, Server, tool};

/// The time between two steps of a tool, as the scenarios prescribe.
const STEP: Duration = Duration::from_millis(50);

/// The duration of the work after the stream was released.
const WORK_WITHOUT_STREAM: Duration = Duration::from_millis(100);

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(test_tool_with_logging)
        .tool(test_logging_tool)
        .tool(test_tool_with_progress)
        .tool(test_reconnection)
}

/// Logs three messages while it runs.
#[tool(read_only)]
async fn test_tool_with_logging(ctx: &RequestContext) -> &'static str {
    ctx.log(LoggingLevel::Info, "Tool execution started");
    sleep(STEP).await;
    ctx.log(LoggingLevel::Info, "Tool processing data");
    sleep(STEP).await;
    ctx.log(LoggingLevel::Info, "Tool execution completed");
    "The tool logged three messages."
}

/// Logs a message, which is sent only to clients that requested it.
#[tool(read_only)]
fn test_logging_tool(ctx: &RequestContext) -> &'static str {
    ctx.log(LoggingLevel::Info, "This tool was called");
    "The tool logged one message."
}

/// Reports progress while it runs.
#[tool(read_only)]
async fn test_tool_with_progress(ctx: &RequestContext) -> &'static str {
    ctx.report_steps(0, 100, None);
    sleep(STEP).await;
    ctx.report_steps(50, 100, None);
    sleep(STEP).await;
    ctx.report_steps(100, 100, None);
    "The tool reported its progress."
}

/// Releases its stream and continues, so that the client has to resume it for the result.
#[tool(read_only)]
async fn test_reconnection(ctx: &RequestContext) -> &'static str {
    ctx.release_stream();
    sleep(WORK_WITHOUT_STREAM).await;
    "Reconnection test completed successfully."
}
