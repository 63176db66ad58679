//! Tools that compute, wait, fail and misbehave.

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

/// Countdowns that run now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Counts a countdown for as long as it lives, however it ends.
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

/// Tells how many countdowns run now.
#[tool(read_only)]
fn active() -> String {
    RUNNING.load(Ordering::SeqCst).to_string()
}

/// Repeats a text.
#[tool(read_only, idempotent)]
fn echo(
    /// What to repeat.
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

/// Counts down to zero, reporting progress. Stops when it is cancelled.
#[tool(read_only)]
async fn countdown(
    ctx: &RequestContext,
    /// Where to begin.
    #[arg(minimum = 1, maximum = 100_000)]
    from: u32,
    /// How long each step takes.
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

/// Sends the client away while it works, where the client knows how to come back for the answer.
#[tool(read_only)]
async fn long_poll(
    ctx: &RequestContext,
    /// How long it works.
    #[arg(default = 100, maximum = 60_000)]
    delay_ms: u64,
) -> &'static str {
    let sent_away = ctx.release_stream();
    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    if sent_away {
        "sent you away"
    } else {
        "kept you waiting"
    }
}

/// Fails, as a tool does that cannot do its work.
#[tool]
fn fail(
    /// What went wrong.
    message: String,
) -> Result<String, ToolError> {
    Err(ToolError::failed(message))
}

/// Panics. The request fails and the server serves on.
#[tool]
fn crash() -> String {
    panic!("the demo was asked to crash")
}

/// Returns a text of a given size.
#[tool(read_only)]
fn blob(
    /// How many bytes.
    #[arg(maximum = 67_108_864)]
    bytes: usize,
) -> String {
    "x".repeat(bytes)
}

/// Sends a log message to the client.
#[tool]
fn log(
    ctx: &RequestContext,
    /// debug, info, notice, warning, error, critical, alert or emergency.
    level: String,
    /// What to log.
    message: String,
) -> Result<String, ToolError> {
    let level: LoggingLevel = serde_json::from_value(level.as_str().into())
        .map_err(|_| ToolError::failed(format!("`{level}` is not a log level")))?;
    ctx.log_as("demo", level, message);
    Ok("logged".to_owned())
}

/// Prints to the process's standard output, which must not disturb the protocol.
#[tool]
#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn print(
    /// What to print.
    text: String,
) -> String {
    println!("{text}");
    "printed".to_owned()
}

/// Tells how a request was routed. Its arguments are mirrored into HTTP headers.
#[tool(read_only)]
fn route(
    /// Where to go.
    #[arg(header = "Region")]
    region: Option<String>,
    /// How many.
    #[arg(header = "Count")]
    count: Option<i64>,
) -> String {
    let region = region.as_deref().unwrap_or("nowhere");
    match count {
        Some(count) => format!("{count} to {region}"),
        None => format!("to {region}"),
    }
}
