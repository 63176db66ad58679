//! The toolwire server that is measured from outside.
//!
//! The first of its tools is `echo`. With three or more there are `big` and `progress`. The others only add to the
//! number. It is part of the library because two programs serve it: only one of them contains HTTP/2 and TLS.

use serde::Deserialize;
use toolwire::{JsonSchema, RequestContext, Server, ToolHandler, tool};

/// Repeats a text.
#[tool]
fn echo(text: String) -> String {
    text
}

/// Gives as many bytes as asked for.
#[tool]
fn big(n: usize) -> String {
    "x".repeat(n)
}

/// Reports progress as often as asked for.
#[tool]
fn progress(ctx: &RequestContext, n: u32) -> &'static str {
    for step in 1..=n {
        ctx.report_progress(f64::from(step), Some(f64::from(n)), None);
    }
    "done"
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// Creates the server with this many tools.
#[must_use]
pub fn bench_server(tools: usize) -> Server {
    let mut server = Server::new("bench", "1.0.0").tool(echo);
    if tools >= 3 {
        server = server.tool(big).tool(progress);
    }
    let present = if tools >= 3 { 3 } else { 1 };
    for number in present..tools {
        let name = format!("tool_{number:04}");
        let tool = ToolHandler::typed(
            name,
            |_: RequestContext, input: Text| async move { input.text },
        );
        server = server.tool(tool.with_description("One of many."));
    }
    server
}
