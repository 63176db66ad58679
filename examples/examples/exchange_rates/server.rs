//! The server: each currency has a tool of its own.
//!
//! A `Server` is a handle: any clone of it, and `ctx.server()`, changes the same server. Running calls continue with
//! the tool they started with.

use serde::Deserialize;
use toolwire::{JsonSchema, RequestContext, Server, ToolError, ToolHandler, tool};

#[derive(Deserialize, JsonSchema)]
struct Amount {
    /// The amount in your currency.
    amount: f64,
}

/// Adds a tool that converts into a currency.
#[tool]
fn learn(
    ctx: &RequestContext,
    #[arg(pattern = "^[a-z]{3}$")] currency: String,
    #[arg(exclusive_minimum = 0)] rate: f64,
) -> Result<String, ToolError> {
    let name = format!("to_{currency}");
    // A closure can be a tool, too. Its argument type describes its arguments.
    let convert = ToolHandler::typed(&name, move |_: RequestContext, given: Amount| async move {
        given.amount * rate
    })
    .with_description(format!("Converts an amount into {currency}."));
    // Fails without a change if the name exists already.
    ctx.server().add_tool(convert)?;
    Ok(format!("call `{name}`"))
}

/// Removes the tool of a currency.
#[tool]
fn forget(ctx: &RequestContext, currency: String) -> &'static str {
    if ctx.server().remove_tool(&format!("to_{currency}")) {
        "forgotten"
    } else {
        "there is no tool for this currency"
    }
}

pub(crate) fn server() -> Server {
    Server::new("exchange", "1.0.0").tool(learn).tool(forget)
}
