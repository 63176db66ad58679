//! A server over HTTP: clients of 2026-07-28 and of the 2025 revisions use one endpoint.
//!
//! Shows the listener and its options, progress that turns a response into an event stream, and a call whose client can
//! disconnect and resume. Run it with `cargo run -p toolwire-examples --example http -- 127.0.0.1:3000`.

use std::time::Duration;

use toolwire::transport::http::{HttpLimits, HttpListener, HttpOptions};
use toolwire::{RequestContext, Server, tool};

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Counts to a number and reports each step.
#[tool]
async fn count(ctx: &RequestContext, to: u32) -> String {
    for step in 1..=to {
        // The first progress makes the response an event stream. Without progress it is a single JSON response.
        ctx.report_progress(f64::from(step), Some(f64::from(to)), None);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    format!("counted to {to}")
}

/// Works for a while without an open connection.
#[tool]
async fn brew(ctx: &RequestContext) -> String {
    // Clients of 2025-11-25 resume for the result. For others nothing changes.
    ctx.release_stream();
    tokio::time::sleep(Duration::from_millis(300)).await;
    "tea is ready".to_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let server = Server::new("http-example", "1.0.0")
        .tool(add)
        .tool(count)
        .tool(brew);

    let mut limits = HttpLimits::default();
    limits.body_bytes = 64 * 1024;
    let options = HttpOptions::new()
        // The host names of remote clients. Local names are always accepted.
        .with_public_hosts(["mcp.example.com"])
        // Experimental: `toolwire discover localhost:3000` finds the server.
        .with_server_card("com.example/http-example")
        .with_sse_retry(Duration::from_millis(100))
        .with_limits(limits);

    // `server.serve_http(address)` does the same without options. Here the port is known before serving starts.
    let listener = HttpListener::bind(server, address, options).await?;
    eprintln!("listening on {}", listener.url());
    listener.run().await?;
    Ok(())
}
