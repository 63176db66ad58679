//! Sampling: a tool that sends a prompt to the client's model.
//!
//! The protocol deprecates sampling as of 2026-07-28: new servers call their own model. This example is for clients and
//! servers that still use it. As with every input request, one handler serves every revision (see `onboarding`).
//! Run it with `cargo run -p toolwire-examples --example ask_the_model`, or give that command to an MCP client.

#![expect(deprecated, reason = "the example shows a deprecated feature")]

use toolwire::types::{CreateMessageRequestParams, SamplingMessage};
use toolwire::{RequestContext, Server, ToolError, tool};

/// Finds a title for a text.
#[tool]
async fn entitle(ctx: &RequestContext, text: String) -> Result<String, ToolError> {
    let prompt = SamplingMessage::user(format!("Find a title of three words for:\n\n{text}"));
    let request = CreateMessageRequestParams::new([prompt], 20)
        .with_system_prompt("Respond with the title only.")
        .with_temperature(0.2);
    let response = ctx.ask_model("title", request).await?;
    // The model may return any content: take the first text, or fail with a clear error.
    let title = response
        .content
        .blocks()
        .iter()
        .find_map(|block| block.as_text())
        .ok_or_else(|| ToolError::failed("the response of the model has no text"))?;
    Ok(format!("{} (by {})", title.trim(), response.model))
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("editor", "1.0.0")
        .tool(entitle)
        .serve_stdio()
        .await
}
