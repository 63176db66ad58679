//! Resources and lists that change on request, for clients that subscribe to changes.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use toolwire::{
    JsonSchema, PromptMessage, RequestContext, ResourceHandler, Server, ToolError, prompt, tool,
};

const COUNTER: &str = "demo://counter";

const EXTRA_RESOURCE: &str = "demo://extra";

/// The number of calls of `bump`.
static BUMPS: AtomicU64 = AtomicU64::new(0);

pub(super) fn register(server: Server) -> Server {
    let counter = ResourceHandler::new(COUNTER, "counter", counter)
        .with_title("Counter")
        .with_description("Changes when the tool `bump` is called.")
        .with_mime_type("text/plain");
    server.resource(counter).tool(bump).tool(change_list)
}

async fn counter(_ctx: RequestContext, _uri: String) -> String {
    BUMPS.load(Ordering::SeqCst).to_string()
}

/// Changes the resource `demo://counter` and notifies its subscribers.
#[tool]
fn bump(ctx: &RequestContext) -> String {
    let count = BUMPS.fetch_add(1, Ordering::SeqCst) + 1;
    ctx.server().resource_updated(COUNTER);
    count.to_string()
}

/// A list that can change.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum List {
    Tools,
    Prompts,
    Resources,
}

/// Adds an entry to a list, or removes it if it exists, and notifies subscribers.
#[tool]
fn change_list(
    ctx: &RequestContext,
    /// Which list.
    list: List,
) -> Result<&'static str, ToolError> {
    let server = ctx.server();
    let removed = match list {
        List::Tools => server.remove_tool("extra_tool"),
        List::Prompts => server.remove_prompt("extra_prompt"),
        List::Resources => server.remove_resource(EXTRA_RESOURCE),
    };
    if removed {
        return Ok("removed");
    }
    let added = match list {
        List::Tools => server.add_tool(extra_tool),
        List::Prompts => server.add_prompt(extra_prompt),
        List::Resources => server.add_resource(extra_resource()),
    };
    match added {
        Ok(()) => Ok("added"),
        // Another call added it between the two steps.
        Err(error) => Err(ToolError::failed(error.to_string())),
    }
}

/// Can be added and removed with `change_list`.
#[tool(read_only)]
fn extra_tool() -> &'static str {
    "currently listed"
}

/// Can be added and removed with `change_list`.
#[prompt]
fn extra_prompt() -> PromptMessage {
    PromptMessage::user("Say that you are currently listed.")
}

fn extra_resource() -> ResourceHandler {
    let read = |_: RequestContext, _: String| async { "currently listed" };
    ResourceHandler::new(EXTRA_RESOURCE, "extra", read)
        .with_description("Can be added and removed with `change_list`.")
        .with_mime_type("text/plain")
}
