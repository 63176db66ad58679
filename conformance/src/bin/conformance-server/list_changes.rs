//! Tools that change a list of the server, so that subscribers are notified.

use toolwire::{RequestContext, Server, ToolError, prompt, tool};

const REMOVABLE: &str = "test_removable";

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(test_trigger_tool_change)
        .tool(test_trigger_prompt_change)
}

/// Adds a tool, or removes it.
#[tool]
fn test_trigger_tool_change(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    if ctx.server().remove_tool(REMOVABLE) {
        return Ok("The tool was removed.");
    }
    ctx.server().add_tool(removable_tool)?;
    Ok("The tool was added.")
}

/// Adds a prompt, or removes it.
#[tool]
fn test_trigger_prompt_change(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    if ctx.server().remove_prompt(REMOVABLE) {
        return Ok("The prompt was removed.");
    }
    ctx.server().add_prompt(removable_prompt)?;
    Ok("The prompt was added.")
}

/// Exists only to be added and removed.
#[tool(name = "test_removable", read_only)]
fn removable_tool() -> &'static str {
    "The tool is listed."
}

/// Exists only to be added and removed.
#[prompt(name = "test_removable")]
fn removable_prompt() -> &'static str {
    "The prompt is listed."
}
