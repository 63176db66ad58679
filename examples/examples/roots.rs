//! Roots: asks the client which directories the server may use.
//!
//! The protocol deprecates roots as of 2026-07-28: new servers take paths as tool arguments or from their
//! configuration. This example is for clients that still have them. As with every input request, one handler serves
//! every revision (see `onboarding`).
//! Run it with `cargo run -p toolwire-examples --example roots`, or give that command to an MCP client.

#![expect(deprecated, reason = "the example shows a deprecated feature")]

use toolwire::{RequestContext, Server, ToolError, tool};

/// Returns whether a file is inside the client's roots.
#[tool(read_only)]
async fn may_touch(
    ctx: &RequestContext,
    /// A `file://` URI.
    uri: String,
) -> Result<String, ToolError> {
    let roots = ctx.ask_roots("roots").await?;
    // `file:///srv/project` contains `file:///srv/project/a` but not `file:///srv/projects`.
    let contains = |root: &str| {
        let rest = uri.strip_prefix(root.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    Ok(match roots.iter().find(|root| contains(&root.uri)) {
        Some(root) => format!("yes, in {}", root.name.as_deref().unwrap_or(&root.uri)),
        None => "no".to_owned(),
    })
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("files", "1.0.0")
        .tool(may_touch)
        .serve_stdio()
        .await
}
