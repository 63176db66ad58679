//! The server of the streams: a few tools, one of which changes the list of tools.
//!
//! It listens on a free port, prints its URL, and serves until it is killed. All settings are the defaults, except that
//! more than 10,000 connections are accepted.

use std::io::Write;

use toolwire::transport::http::{HttpLimits, HttpListener, HttpOptions};
use toolwire::{RequestContext, Server, ToolError, tool};

/// Repeats a text.
#[tool]
fn echo(text: String) -> String {
    text
}

/// Adds two numbers.
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Exists only temporarily.
#[tool]
fn temporary() -> &'static str {
    "here"
}

/// Adds a tool, or removes it again: the list changes once per call.
#[tool]
fn change(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    if ctx.server().remove_tool("temporary") {
        return Ok("removed");
    }
    ctx.server().add_tool(temporary)?;
    Ok("added")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("streams", "1.0.0")
        .tool(echo)
        .tool(add)
        .tool(change);
    let mut limits = HttpLimits::default();
    // 10,000 streams would leave no connection for calls.
    limits.connections = 20_000;
    let options = HttpOptions::new().with_limits(limits);
    let listener = HttpListener::bind(server, "127.0.0.1:0", options).await?;
    writeln!(std::io::stdout(), "{}", listener.url())?;
    listener.run().await?;
    Ok(())
}
