//! Work that blocks a thread: `#[tool(blocking)]` runs it on the blocking pool, so that it does not delay other
//! requests.
//!
//! Such work cannot be interrupted from outside. It checks `is_cancelled` regularly and ends itself.
//! Run it with `cargo run -p toolwire-examples --example blocking`, or give that command to an MCP client.

use std::sync::atomic::{AtomicUsize, Ordering};

use toolwire::{RequestContext, Server, ToolError, tool};

static SEARCHING: AtomicUsize = AtomicUsize::new(0);

/// Counts the primes below a number by trial division.
#[tool(blocking, read_only)]
fn count_primes(ctx: &RequestContext, below: u64) -> Result<u64, ToolError> {
    SEARCHING.fetch_add(1, Ordering::SeqCst);
    let count = search(ctx, below);
    SEARCHING.fetch_sub(1, Ordering::SeqCst);
    count.ok_or_else(|| ToolError::failed("cancelled"))
}

fn search(ctx: &RequestContext, below: u64) -> Option<u64> {
    let mut count = 0;
    for candidate in 2..below {
        // The check is one atomic load, so it is cheap. The result of a cancelled tool is not sent.
        if ctx.is_cancelled() {
            return None;
        }
        if candidate % 10_000 == 2 {
            ctx.report_progress(candidate as f64, Some(below as f64), None);
        }
        let is_prime = (2..)
            .take_while(|n| n * n <= candidate)
            .all(|n| candidate % n != 0);
        count += u64::from(is_prime);
    }
    Some(count)
}

/// Returns the number of running searches.
#[tool(read_only)]
fn searching() -> usize {
    SEARCHING.load(Ordering::SeqCst)
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("primes", "1.0.0")
        .tool(count_primes)
        .tool(searching)
        .serve_stdio()
        .await
}
