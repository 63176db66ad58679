//! Tools that come and go while the server runs; clients are told that the list changed.
//!
//! A `Server` is a handle: any clone of it, and `ctx.server()`, changes the same server. Calls that run keep the tool
//! they began with.
//! Run it with `cargo run -p toolwire-examples --example dynamic_tools`, or give that command to an MCP client.

use serde::Deserialize;
use toolwire::{JsonSchema, RequestContext, Server, ToolError, ToolHandler, tool};

#[derive(Deserialize, JsonSchema)]
struct Amount {
    /// In the currency you have.
    amount: f64,
}

/// Teaches the server to convert into a currency.
#[tool]
fn learn(
    ctx: &RequestContext,
    #[arg(pattern = "^[a-z]{3}$")] currency: String,
    #[arg(exclusive_minimum = 0)] rate: f64,
) -> Result<String, ToolError> {
    let name = format!("to_{currency}");
    // A closure is a tool as well. Its arguments are described by the type it takes.
    let convert = ToolHandler::typed(&name, move |_: RequestContext, given: Amount| async move {
        given.amount * rate
    })
    .with_description(format!("Converts an amount into {currency}."));
    // Fails when the name is taken, and then nothing changes.
    ctx.server().add_tool(convert)?;
    Ok(format!("call `{name}`"))
}

/// Makes the server forget a currency.
#[tool]
fn forget(ctx: &RequestContext, currency: String) -> &'static str {
    if ctx.server().remove_tool(&format!("to_{currency}")) {
        "forgotten"
    } else {
        "never heard of it"
    }
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("exchange", "1.0.0")
        .tool(learn)
        .tool(forget)
        .serve_stdio()
        .await
}
