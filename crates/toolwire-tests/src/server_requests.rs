//! A server whose tools send requests to the client, and the messages of these requests.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolwire::types::{
    AudioContent, CreateMessageRequestParams, SamplingContent, SamplingMessage,
    SamplingMessageContentBlock,
};
use toolwire::{Elicit, Error, RequestContext, Server, Tool, ToolError, tool};

use crate::peer::legacy;

/// Returns the outcome of a request to the client as the text of a tool result.
pub fn outcome_text<T: Serialize>(outcome: Result<T, Error>) -> String {
    match outcome {
        Ok(value) => serde_json::to_string(&value).expect("responses are JSON"),
        Err(error) if error.is_timeout() => "timeout".to_owned(),
        Err(error) if error.is_closed() => "closed".to_owned(),
        Err(error) => match error.rpc() {
            Some(rpc) => format!("error {}", rpc.code),
            None => format!("unreadable: {error}"),
        },
    }
}

/// Returns a JSON-RPC error response.
pub fn error_response(id: impl Into<Value>, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "error": {"code": code, "message": message}})
}

/// Returns the schema of the form that the tool `form` sends.
pub fn name_form() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string", "title": "Name", "default": "Ada"}},
        "required": ["name"],
    })
}

/// Asks with a schema written by hand.
#[tool]
async fn form(ctx: &RequestContext) -> String {
    outcome_text(ctx.elicit("Who?", name_form()).await)
}

#[derive(Debug, Deserialize, Elicit)]
#[expect(dead_code, reason = "only the form is compared")]
struct Order {
    /// How many?
    count: u8,
    #[elicit(default = "Large")]
    size: Size,
    extras: Vec<Extra>,
    gift: Option<bool>,
}

#[derive(Debug, Deserialize, Elicit)]
enum Size {
    #[elicit(title = "Small one")]
    Small,
    #[elicit(title = "Large one")]
    Large,
}

#[derive(Debug, Deserialize, Elicit)]
enum Extra {
    Milk,
    Sugar,
}

/// Asks with a derived schema.
#[tool]
async fn order(ctx: &RequestContext) -> String {
    outcome_text(ctx.elicit_as::<Order>("What?").await)
}

/// Sends the user to a page.
#[tool]
async fn visit(ctx: &RequestContext) -> String {
    outcome_text(
        ctx.elicit_url("Sign in", "https://example.test/sign-in", "visit-1")
            .await,
    )
}

fn sampling_request(block: impl Into<SamplingMessageContentBlock>) -> CreateMessageRequestParams {
    let several = SamplingContent::Many(vec![
        SamplingMessageContentBlock::text("And this"),
        block.into(),
    ]);
    CreateMessageRequestParams::new(
        [
            SamplingMessage::user("Hello"),
            SamplingMessage::user(several),
        ],
        10,
    )
    .with_system_prompt("Be kind")
}

/// Asks the client's model.
#[tool]
async fn ask_model(ctx: &RequestContext) -> String {
    outcome_text(ctx.sample(sampling_request("Again")).await)
}

/// Asks the client's model about audio content.
#[tool]
async fn ask_model_about_audio(ctx: &RequestContext) -> String {
    let sound = AudioContent::new("AAAA", "audio/wav");
    outcome_text(ctx.sample(sampling_request(sound)).await)
}

/// Asks the client's model, which may use a tool.
#[tool]
async fn ask_model_with_tools(ctx: &RequestContext) -> String {
    let clock = Tool::new("clock", json!({"type": "object"}));
    let request =
        CreateMessageRequestParams::new([SamplingMessage::user("When?")], 5).with_tools([clock]);
    outcome_text(ctx.sample(request).await)
}

/// Asks for the roots.
#[tool]
async fn roots(ctx: &RequestContext) -> String {
    outcome_text(ctx.list_roots().await)
}

/// Requests the roots and returns their error.
#[tool]
async fn roots_or_fail(ctx: &RequestContext) -> Result<String, ToolError> {
    Ok(format!("{} roots", ctx.list_roots().await?.roots.len()))
}

/// Returns a server whose tools send requests to the client.
pub fn asking_server() -> Server {
    Server::new("asking", "1")
        .tool(form)
        .tool(order)
        .tool(visit)
        .tool(ask_model)
        .tool(ask_model_about_audio)
        .tool(ask_model_with_tools)
        .tool(roots)
        .tool(roots_or_fail)
}

/// Returns every capability that a client can declare.
pub fn all_capabilities() -> Value {
    json!({
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}},
        "roots": {"listChanged": true},
    })
}

/// Returns a `tools/call` of the legacy revisions without arguments.
pub fn call(id: impl Into<Value>, tool: &str) -> Value {
    legacy(id, "tools/call", json!({"name": tool}))
}
