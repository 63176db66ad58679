//! Sampling: a tool that lets the client's model do a part of its work.
//!
//! The protocol deprecates sampling as of 2026-07-28: new servers call a model of their own. It is here for clients and
//! servers that still use it. As with any question, one handler serves every revision (see `onboarding`).
//! Run it with `cargo run -p toolwire-examples --example ask_the_model`, or give that command to an MCP client.

use toolwire::types::{CreateMessageRequestParams, SamplingMessage};
use toolwire::{RequestContext, Server, ToolError, tool};

/// Finds a title for a text.
#[tool]
async fn entitle(ctx: &RequestContext, text: String) -> Result<String, ToolError> {
    let prompt = SamplingMessage::user(format!("Find a title of three words for:\n\n{text}"));
    let request = CreateMessageRequestParams::new([prompt], 20)
        .with_system_prompt("Answer with the title and nothing else.")
        .with_temperature(0.2);
    let answer = ctx.ask_model("title", request).await?;
    // A model answers what it likes: take the first text, and fail with a sentence when there is none.
    let title = answer
        .content
        .blocks()
        .iter()
        .find_map(|block| block.as_text())
        .ok_or_else(|| ToolError::failed("the model answered without text"))?;
    Ok(format!("{} (by {})", title.trim(), answer.model))
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("editor", "1.0.0")
        .tool(entitle)
        .serve_stdio()
        .await
}
