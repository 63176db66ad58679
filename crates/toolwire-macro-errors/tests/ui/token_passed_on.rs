//! A handler learns what a token says. The token itself is not there to be passed on, and what it says is not written by
//! accident.

use toolwire::{RequestContext, tool};

#[tool]
async fn forward(ctx: &RequestContext) -> String {
    format!("Authorization: Bearer {}", ctx.auth().token)
}

#[tool]
async fn print(ctx: &RequestContext) -> String {
    format!("{}", ctx.auth())
}

#[tool]
async fn write(ctx: &RequestContext) -> String {
    serde_json::to_string(ctx.auth()).unwrap_or_default()
}

fn main() {}
