//! Middleware around every request: the time that it takes, a limit for each caller, a policy, and an audit log.
//!
//! Shows `from_fn`, a change of an outcome, `RateLimit`, `Policy` and `Audit`. The log lines go to standard error.
//! Run it with `cargo run -p toolwire-examples --example middleware`, or give that command to an MCP client.

use std::time::{Duration, Instant};

use toolwire::middleware::{
    Audit, Next, Policy, PolicyConditions, PolicyRule, RateLimit, Request, from_fn,
};
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

/// Deletes the file.
#[tool]
async fn delete_file() -> &'static str {
    "deleted"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    // A denied tool is neither listed nor called.
    let deletes = PolicyConditions::new().with_tool("delete_*");
    let policy = Policy::new([PolicyRule::deny(deletes).with_name("keep all files")])?;
    Server::new("files", "1.0.0")
        .with_middleware(Audit::new(|line: &str| eprintln!("{line}")))
        .with_middleware(RateLimit::per_caller(2, Duration::from_secs(3600)).for_tools("write_*"))
        .with_middleware(timed)
        .with_middleware(policy)
        .tool(write_line)
        .tool(read_line)
        .tool(delete_file)
        .serve_stdio()
        .await?;
    Ok(())
}
