//! Middleware around every request: the time that it takes, a limit for each caller, and an audit log.
//!
//! Shows `from_fn`, a change of an outcome, `RateLimit` and `Audit`. The log lines go to standard error.
//! Run it with `cargo run -p toolwire-examples --example middleware`, or give that command to an MCP client.

use std::time::{Duration, Instant};

use toolwire::middleware::{Audit, Next, RateLimit, Request, from_fn};
use toolwire::{ContentBlock, Server, tool};

/// Writes a line into a file.
#[tool]
async fn write_line(line: String) -> String {
    format!("written: {line}")
}

/// Reads a line of a file.
#[tool]
async fn read_line(number: u32) -> String {
    format!("line {number}")
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    let timed = from_fn(async |request: &mut Request, next: Next<'_>| {
        let start = Instant::now();
        let outcome = next.run(request).await;
        // Lists and other requests have no tool result, and pass unchanged.
        if request.method() != "tools/call" {
            return outcome;
        }
        match outcome.tool_result() {
            Some(mut result) => {
                let time = format!("took {} s", start.elapsed().as_secs());
                result.content.push(ContentBlock::text(time));
                result.into()
            }
            None => outcome,
        }
    });
    Server::new("files", "1.0.0")
        .with_middleware(Audit::new(|line: &str| eprintln!("{line}")))
        .with_middleware(RateLimit::per_caller(2, Duration::from_secs(3600)).for_tools("write_*"))
        .with_middleware(timed)
        .tool(write_line)
        .tool(read_line)
        .serve_stdio()
        .await
}
