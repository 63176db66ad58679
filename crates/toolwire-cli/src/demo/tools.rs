//! Tools that compute, wait, fail and panic.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;
use toolwire::{JsonSchema, LoggingLevel, RequestContext, Server, ToolError, tool};

pub(super) fn register(server: Server) -> Server {
    server
        .tool(active)
        .tool(echo)
        .tool(add)
        .tool(countdown)
        .tool(long_poll)
        .tool(fail)
        .tool(crash)
        .tool(blob)
        .tool(log)
        .tool(print)
        .tool(route)
}

/// The number of running countdowns.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Counts a countdown while it runs, however it ends.
struct RunningCountdown;

impl RunningCountdown {
    fn start() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for RunningCountdown {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns the number of running countdowns.
#[tool(read_only)]
fn active() -> String {
    RUNNING.load(Ordering::SeqCst).to_string()
}

/// Repeats a text.
#[tool(read_only, idempotent)]
fn echo(
    /// The text to repeat.
    text: String,
) -> String {
    text
}

/// The sum of two numbers.
#[derive(Debug, Serialize, JsonSchema)]
struct Sum {
    /// The sum.
    sum: i64,
}

/// Adds two integers.
#[tool(read_only, idempotent)]
fn add(
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
) -> Result<Sum, ToolError> {
    let sum = a
        .checked_add(b)
        .ok_or_else(|| ToolError::failed("the sum does not fit into 64 bits"))?;
    Ok(Sum { sum })
}

/// Counts down to zero and reports progress. Stops if it is cancelled.
#[tool(read_only)]
async fn countdown(
    ctx: &RequestContext,
    /// The first number.
    #[arg(minimum = 1, maximum = 100_000)]
    from: u32,
    /// The duration of each step in milliseconds.
    #[arg(default = 100, maximum = 60_000)]
    delay_ms: u64,
) -> String {
    let _running = RunningCountdown::start();
    for done in 0..from {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        let left = from - done - 1;
        ctx.report_steps(
            i64::from(done + 1),
            i64::from(from),
            Some(&format!("{left} to go")),
        );
    }
    format!("counted down from {from}")
}

/// Releases the response stream while it works, if the client can resume it.
#[tool(read_only)]
async fn long_poll(
    ctx: &RequestContext,
    /// The duration of the work in milliseconds.
    #[arg(default = 100, maximum = 60_000)]
    delay_ms: u64,
) -> &'static str {
    let released = ctx.release_stream();
    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    if released {
        "stream released"
    } else {
        "stream not released"
    }
}

/// Fails with a tool error.
#[tool]
fn fail(
    /// The error message.
    message: String,
) -> Result<String, ToolError> {
    Err(ToolError::failed(message))
}

/// Panics. The request fails, and the server continues.
#[tool]
fn crash() -> String {
    panic!("the client called `crash`")
}

/// Returns a text of a given size.
#[tool(read_only)]
fn blob(
    /// The number of bytes.
    #[arg(maximum = 67_108_864)]
    bytes: usize,
) -> String {
    "x".repeat(bytes)
}

/// Sends a log message to the client.
#[tool]
fn log(
    ctx: &RequestContext,
    /// The log level, from `debug` to `emergency`.
    level: String,
    /// The message to log.
    message: String,
) -> Result<String, ToolError> {
    let level: LoggingLevel = serde_json::from_value(level.as_str().into())
        .map_err(|_| ToolError::failed(format!("`{level}` is not a log level")))?;
    ctx.log_as("demo", level, message);
    Ok("logged".to_owned())
}

/// Prints to the standard output of the process. The protocol messages must stay intact. The call becomes a task if the
/// client supports tasks.
#[tool(task)]
#[expect(
    clippy::print_stdout,
    reason = "the tool tests printing to standard output"
)]
fn print(
    /// The text to print.
    text: String,
) -> String {
    println!("{text}");
    "printed".to_owned()
}

/// Returns how a request was routed. The arguments are mirrored into HTTP headers.
#[tool(read_only)]
fn route(
    /// The region to route to.
    #[arg(header = "Region")]
    region: Option<String>,
    /// The number of items.
    #[arg(header = "Count")]
    count: Option<i64>,
) -> String {
    let region = region.as_deref().unwrap_or("nowhere");
    match count {
        Some(count) => format!("{count} to {region}"),
        None => format!("to {region}"),
    }
}
