//! Log messages to the client, as text or as data, at the level that the client selects.
//!
//! The protocol deprecates this as of 2026-07-28: new servers write to standard error (`tracing`, OpenTelemetry), which
//! every host stores. This example is for clients that still show log messages.
//! Run it with `cargo run -p toolwire-examples --example logging`, or give that command to an MCP client.

#![expect(deprecated, reason = "the example shows a deprecated feature")]

use serde_json::json;
use toolwire::{LoggingLevel, RequestContext, Server, tool};

/// Deploys a service.
#[tool]
fn deploy(ctx: &RequestContext, service: String) -> String {
    // Each client gets messages at or above its level. Up to 2025-11-25, `logging/setLevel` sets it (default: info).
    // Since 2026-07-28, it is in the `_meta` of the request (default: no messages).
    ctx.log(LoggingLevel::Debug, "looking for the service");
    ctx.log(LoggingLevel::Info, format!("deploying {service}"));
    // Programs can process data better than text. The logger name is the part of the server.
    ctx.log_as(
        "quota",
        LoggingLevel::Warning,
        json!({"service": service, "used": 0.93}),
    );
    // This is safe on stdio: toolwire separates the protocol messages from the output of the process.
    eprintln!("deployed {service}");
    format!("{service} is deployed")
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("deployments", "1.0.0")
        // Without this, the server does not declare logging, and `ctx.log` does nothing.
        .with_logging()
        .tool(deploy)
        .serve_stdio()
        .await
}
