//! Tools that change a list of the server, so that subscribers are notified.

use toolwire::{RequestContext, Server, ToolError, prompt, tool};

const CHANGING: &str = "test_coming_and_going";

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(test_trigger_tool_change)
        .tool(test_trigger_prompt_change)
}

/// Adds a tool, or removes it.
#[tool]
fn test_trigger_tool_change(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    if ctx.server().remove_tool(CHANGING) {
        return Ok("The tool is gone.");
    }
    ctx.server().add_tool(passing_tool)?;
    Ok("The tool is there.")
}

/// Adds a prompt, or removes it.
#[tool]
fn test_trigger_prompt_change(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    if ctx.server().remove_prompt(CHANGING) {
        return Ok("The prompt is gone.");
    }
    ctx.server().add_prompt(passing_prompt)?;
    Ok("The prompt is there.")
}

/// Can be added and removed.
#[tool(name = "test_coming_and_going", read_only)]
fn passing_tool() -> &'static str {
    "The tool is still there."
}

/// Can be added and removed.
#[prompt(name = "test_coming_and_going")]
fn passing_prompt() -> &'static str {
    "The prompt is still there."
}
