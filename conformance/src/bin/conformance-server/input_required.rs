//! Tools that request input in 2026-07-28. They use `ctx.ask` where the scenario permits it, and `InputRequests` with
//! their own state where it does not.

use serde::{Deserialize, Serialize};
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams, ElicitResult,
    InputRequest, InputRequests, Root, SamplingMessage,
};
use toolwire::{
    CallToolResult, Elicit, RequestContext, Server, ToolError, ToolResponse, ask, tool,
};
use toolwire_proto::rounds;

type Outcome = Result<ToolResponse, ToolError>;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(test_input_required_result_elicitation)
        .tool(test_streaming_elicitation)
        .tool(test_input_required_result_sampling)
        .tool(test_input_required_result_list_roots)
        .tool(test_input_required_result_request_state)
        .tool(test_input_required_result_tampered_state)
        .tool(test_input_required_result_multiple_inputs)
        .tool(test_input_required_result_multi_round)
        .tool(test_input_required_result_capabilities)
}

#[derive(Deserialize, Elicit)]
struct Name {
    name: String,
}

#[derive(Deserialize, Elicit)]
struct Color {
    color: String,
}

#[derive(Deserialize, Elicit)]
struct Confirmation {
    ok: bool,
}

/// Asks for a name and greets. One scenario sends the response with the first request, which only a handler with
/// `InputRequests` accepts.
#[tool]
fn test_input_required_result_elicitation(ctx: &RequestContext) -> Outcome {
    match form_content::<Name>(ctx, "user_name")? {
        Some(Name { name }) => complete(format!("Hello, {name}!")),
        None => {
            let request = form::<Name>("What is your name?");
            let requests = InputRequests::new().with("user_name", request);
            Ok(ToolResponse::input_required(requests, None))
        }
    }
}

/// Asks for a name without sending a request on the stream.
#[tool]
async fn test_streaming_elicitation(ctx: &RequestContext) -> Result<String, ToolError> {
    ctx.report_steps(1, 2, Some("about to ask"));
    let Name { name } = ctx.ask("user_name", "What is your name?").await?;
    Ok(format!("Hello, {name}!"))
}

/// Sends a prompt to the client's model.
#[tool]
async fn test_input_required_result_sampling(ctx: &RequestContext) -> Result<String, ToolError> {
    let request = prompt("What is the capital of France?", 100);
    let response = ctx.ask_model("capital_question", request).await?;
    Ok(text_of(&response))
}

/// Asks for the client's roots.
#[tool]
async fn test_input_required_result_list_roots(ctx: &RequestContext) -> Result<String, ToolError> {
    let roots = ctx.ask_roots("client_roots").await?;
    Ok(format!("Roots: {}", uris_of(&roots)))
}

/// The state of a tool between two rounds.
#[derive(Default, PartialEq, Serialize, Deserialize)]
enum Asked {
    #[default]
    Nothing,
    Confirmation,
}

/// Asks for a confirmation and checks its state in the next round.
#[tool]
fn test_input_required_result_request_state(ctx: &RequestContext) -> Outcome {
    confirm(ctx)
}

/// Asks for a confirmation. A modified state never reaches the handler.
#[tool]
fn test_input_required_result_tampered_state(ctx: &RequestContext) -> Outcome {
    confirm(ctx)
}

fn confirm(ctx: &RequestContext) -> Outcome {
    let response = form_content::<Confirmation>(ctx, "confirm")?;
    let asked: Asked = ctx.request_state_as()?;
    match response {
        Some(Confirmation { ok }) if asked == Asked::Confirmation => {
            complete(format!("state-ok, confirmed: {ok}"))
        }
        _ => {
            let request = form::<Confirmation>("Please confirm");
            let requests = InputRequests::new().with("confirm", request);
            ToolResponse::input_required_with(requests, &Asked::Confirmation)
        }
    }
}

/// Requests input from the user, the model and the client at once.
#[tool]
async fn test_input_required_result_multiple_inputs(
    ctx: &RequestContext,
) -> Result<String, ToolError> {
    let (Name { name }, greeting, roots) = ctx
        .ask_all((
            ask::form::<Name>("user_name", "What is your name?"),
            ask::model("greeting", prompt("Generate a greeting", 50)),
            ask::roots("client_roots"),
        ))
        .await?;
    let (greeting, roots) = (text_of(&greeting), uris_of(&roots));
    Ok(format!("{greeting} {name} works in {roots}"))
}

/// Asks for two forms, one after the other.
#[tool]
async fn test_input_required_result_multi_round(ctx: &RequestContext) -> Result<String, ToolError> {
    let Name { name } = ctx.ask("step1", "Step 1: What is your name?").await?;
    let Color { color } = ctx
        .ask("step2", "Step 2: What is your favorite color?")
        .await?;
    Ok(format!("{name} likes {color}"))
}

/// Requests only input that the client supports.
#[tool]
fn test_input_required_result_capabilities(ctx: &RequestContext) -> Outcome {
    let mut requests = every_request();
    requests.retain(|_, request| ctx.client_supports(&rounds::required_capabilities([request])));
    if requests.iter().all(|(key, _)| ctx.has_input_response(key)) {
        return complete(format!("{} requests got responses", requests.len()));
    }
    Ok(ToolResponse::input_required(requests, None))
}

fn every_request() -> InputRequests {
    InputRequests::new()
        .with("user_name", form::<Name>("What is your name?"))
        .with("greeting", prompt("Generate a greeting", 50))
        .with("client_roots", InputRequest::roots())
}

fn form<T: Elicit>(message: &str) -> ElicitRequestFormParams {
    ElicitRequestFormParams::new(message, T::elicit_schema())
}

fn prompt(text: &str, max_tokens: u64) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::user(text)], max_tokens)
}

/// Returns the form's content, or `None` if the form was not sent yet or was declined.
fn form_content<T: Elicit>(ctx: &RequestContext, key: &str) -> Result<Option<T>, ToolError> {
    match ctx.input_response_as::<ElicitResult>(key)? {
        Some(response) => Ok(response.content_as()?),
        None => Ok(None),
    }
}

fn text_of(response: &CreateMessageResult) -> String {
    let mut blocks = response.content.blocks().iter();
    let text = blocks.find_map(|block| block.as_text());
    text.unwrap_or("(no text)").to_owned()
}

fn uris_of(roots: &[Root]) -> String {
    let uris: Vec<&str> = roots.iter().map(|root| root.uri.as_str()).collect();
    uris.join(", ")
}

fn complete(text: impl Into<String>) -> Outcome {
    Ok(CallToolResult::text(text).into())
}
