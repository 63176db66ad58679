//! A node of the fleet: small calls, streamed calls, input requests and changes.
//!
//! It listens on a free port, prints its URL, and serves until it is killed. Without an argument it stores everything in
//! memory. With the URL of a Redis or Valkey it shares everything with the other nodes of this engine.

#![expect(deprecated, reason = "deprecated features are measured, too")]

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{RequestContext, Server, ToolError, tool};
use toolwire_redis::{Redis, RedisOptions};

/// Repeats a text.
#[tool]
fn echo(text: String) -> String {
    text
}

/// Sends this many progress notifications at once.
#[tool]
fn progress(ctx: &RequestContext, n: u32) -> &'static str {
    for step in 1..=n {
        ctx.report_steps(i64::from(step), i64::from(n), None);
    }
    "done"
}

/// Sends this many progress notifications one after the other.
#[tool]
async fn steps(ctx: &RequestContext, n: u32) -> &'static str {
    for step in 1..=n {
        ctx.report_steps(i64::from(step), i64::from(n), None);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    "done"
}

/// Sends one progress notification, and never ends.
#[tool]
async fn wait(ctx: &RequestContext) -> &'static str {
    ctx.report_steps(1, 2, None);
    std::future::pending().await
}

/// Asks the user.
#[tool]
async fn ask(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    let agreed = ctx.confirm("agreed", "Do you agree?").await?;
    Ok(if agreed { "agreed" } else { "not agreed" })
}

/// Notifies clients that the list of tools has changed.
#[tool]
fn change(ctx: &RequestContext) -> &'static str {
    ctx.server().tools_changed();
    "changed"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("fleet", "1.0.0")
        .with_logging()
        .tool(echo)
        .tool(progress)
        .tool(steps)
        .tool(wait)
        .tool(ask)
        .tool(change);
    let mut options = HttpOptions::new();
    if let Some(url) = std::env::args().nth(1) {
        let redis = Redis::connect(&url, RedisOptions::new("bench")).await?;
        options = options
            .with_session_store(Arc::new(redis.sessions()))
            .with_event_log(Arc::new(redis.event_log()))
            .with_bus(Arc::new(redis.bus()))
            .with_mailboxes(Arc::new(redis.mailboxes()));
    }
    let listener = HttpListener::bind(server, "127.0.0.1:0", options).await?;
    writeln!(std::io::stdout(), "{}", listener.url())?;
    listener.run().await?;
    Ok(())
}
