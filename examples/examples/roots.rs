//! Roots: asking the client where in the file system the server may work.
//!
//! The protocol deprecates roots as of 2026-07-28: new servers take paths as tool arguments or from their configuration.
//! It is here for clients that still have them. As with any question, one handler serves every revision (see
//! `onboarding`).
//! Run it with `cargo run -p toolwire-examples --example roots`, or give that command to an MCP client.

use toolwire::{RequestContext, Server, ToolError, tool};

/// Says whether a file lies inside the client's roots.
#[tool(read_only)]
async fn may_touch(
    ctx: &RequestContext,
    /// A `file://` address.
    uri: String,
) -> Result<String, ToolError> {
    let roots = ctx.ask_roots("roots").await?;
    // `file:///srv/project` holds `file:///srv/project/a` but not `file:///srv/projects`.
    let holds = |root: &str| {
        let rest = uri.strip_prefix(root.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    Ok(match roots.iter().find(|root| holds(&root.uri)) {
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
