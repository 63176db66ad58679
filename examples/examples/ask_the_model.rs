//! Sampling: a tool that lets the client's model do a part of its work.
//!
//! The protocol deprecates sampling as of 2026-07-28: new servers call a model of their own. It is here for clients and
//! servers that still use it. As with any question, one handler serves every revision (see `ask_the_user`).
//! Run it with `cargo run -p toolwire-examples --example ask_the_model`, or give that command to an MCP client.

use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, InputRequests, SamplingMessage,
};
use toolwire::{CallToolResult, RequestContext, Server, ToolError, ToolResponse, tool};

/// Finds a title for a text.
// A client that cannot sample is told so before the handler runs.
#[tool(requires("sampling"))]
fn entitle(ctx: &RequestContext, text: String) -> Result<ToolResponse, ToolError> {
    let Some(answer) = ctx.input_response_as::<CreateMessageResult>("title")? else {
        let prompt = SamplingMessage::user(format!("Find a title of three words for:\n\n{text}"));
        let request = CreateMessageRequestParams::new([prompt], 20)
            .with_system_prompt("Answer with the title and nothing else.")
            .with_temperature(0.2);
        let questions = InputRequests::new().with("title", request);
        return Ok(ToolResponse::input_required(questions, None));
    };
    // A model answers what it likes: take the first text, and fail with a sentence when there is none.
    let title = answer
        .content
        .blocks()
        .iter()
        .find_map(|block| block.as_text())
        .ok_or_else(|| ToolError::failed("the model answered without text"))?;
    let title = format!("{} (by {})", title.trim(), answer.model);
    Ok(CallToolResult::text(title).into())
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("editor", "1.0.0")
        .tool(entitle)
        .serve_stdio()
        .await
}
