//! Log messages to the client, as text or as data, at the level the client wants.
//!
//! The protocol deprecates this as of 2026-07-28: new servers write to standard error (`tracing`, OpenTelemetry), which
//! every host keeps. It is here for clients that still show it.
//! Run it with `cargo run -p toolwire-examples --example logging`, or give that command to an MCP client.

use serde_json::json;
use toolwire::{LoggingLevel, RequestContext, Server, tool};

/// Deploys a service.
#[tool]
fn deploy(ctx: &RequestContext, service: String) -> String {
    // Each client gets what is at or above its level: `logging/setLevel` up to 2025-11-25 (info unless set), the level
    // in the request's `_meta` from 2026-07-28 on (nothing unless asked for).
    ctx.log(LoggingLevel::Debug, "looking for the service");
    ctx.log(LoggingLevel::Info, format!("deploying {service}"));
    // Data is better than prose for programs, and a logger's name says which part of the server speaks.
    ctx.log_as(
        "quota",
        LoggingLevel::Warning,
        json!({"service": service, "used": 0.93}),
    );
    // This is safe on stdio: toolwire keeps the protocol's output apart from the process's.
    eprintln!("deployed {service}");
    format!("{service} is deployed")
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("deployments", "1.0.0")
        // Without this the server does not offer logging, and `ctx.log` does nothing.
        .with_logging()
        .tool(deploy)
        .serve_stdio()
        .await
}
