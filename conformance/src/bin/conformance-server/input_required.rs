//! Tools that ask in 2026-07-28: in words that are the same for every revision where the scenario allows it, with a
//! state of their own or a choice of questions where it wants that.

use serde::{Deserialize, Serialize};
use toolwire::proto::rounds;
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams, ElicitResult,
    InputRequest, InputRequests, Root, SamplingMessage,
};
use toolwire::{
    CallToolResult, Elicit, RequestContext, Server, ToolError, ToolResponse, ask, tool,
};

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

/// Asks for a name and greets. One scenario answers before it is asked, which only a handler that looks at the answers
/// itself takes for an answer.
#[tool]
fn test_input_required_result_elicitation(ctx: &RequestContext) -> Outcome {
    match form_answer::<Name>(ctx, "user_name")? {
        Some(Name { name }) => complete(format!("Hello, {name}!")),
        None => {
            let question = form::<Name>("What is your name?");
            let questions = InputRequests::new().with("user_name", question);
            Ok(ToolResponse::input_required(questions, None))
        }
    }
}

/// Asks for a name without a request of its own on the stream.
#[tool]
async fn test_streaming_elicitation(ctx: &RequestContext) -> Result<String, ToolError> {
    ctx.report_steps(1, 2, Some("about to ask"));
    let Name { name } = ctx.ask("user_name", "What is your name?").await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks the client's model.
#[tool]
async fn test_input_required_result_sampling(ctx: &RequestContext) -> Result<String, ToolError> {
    let question = prompt("What is the capital of France?", 100);
    let answer = ctx.ask_model("capital_question", question).await?;
    Ok(text_of(&answer))
}

/// Asks for the client's roots.
#[tool]
async fn test_input_required_result_list_roots(ctx: &RequestContext) -> Result<String, ToolError> {
    let roots = ctx.ask_roots("client_roots").await?;
    Ok(format!("Roots: {}", uris_of(&roots)))
}

/// What a tool remembers between two rounds.
#[derive(Default, PartialEq, Serialize, Deserialize)]
enum Asked {
    #[default]
    Nothing,
    Confirmation,
}

/// Asks for a confirmation and checks that its state came back.
#[tool]
fn test_input_required_result_request_state(ctx: &RequestContext) -> Outcome {
    confirm(ctx)
}

/// Asks for a confirmation; a state that was tampered with never reaches it.
#[tool]
fn test_input_required_result_tampered_state(ctx: &RequestContext) -> Outcome {
    confirm(ctx)
}

fn confirm(ctx: &RequestContext) -> Outcome {
    let answer = form_answer::<Confirmation>(ctx, "confirm")?;
    let asked: Asked = ctx.request_state_as()?;
    match answer {
        Some(Confirmation { ok }) if asked == Asked::Confirmation => {
            complete(format!("state-ok, confirmed: {ok}"))
        }
        _ => {
            let question = form::<Confirmation>("Please confirm");
            let questions = InputRequests::new().with("confirm", question);
            ToolResponse::input_required_with(questions, &Asked::Confirmation)
        }
    }
}

/// Asks the user, the model and the client at once.
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

/// Asks two questions, one after the other.
#[tool]
async fn test_input_required_result_multi_round(ctx: &RequestContext) -> Result<String, ToolError> {
    let Name { name } = ctx.ask("step1", "Step 1: What is your name?").await?;
    let Color { color } = ctx
        .ask("step2", "Step 2: What is your favorite color?")
        .await?;
    Ok(format!("{name} likes {color}"))
}

/// Asks only what the client can answer.
#[tool]
fn test_input_required_result_capabilities(ctx: &RequestContext) -> Outcome {
    let mut questions = every_question();
    questions.retain(|_, question| ctx.client_supports(&rounds::required_capabilities([question])));
    if questions.iter().all(|(key, _)| ctx.has_input_response(key)) {
        return complete(format!("{} questions were answered", questions.len()));
    }
    Ok(ToolResponse::input_required(questions, None))
}

fn every_question() -> InputRequests {
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

/// What the user filled in, unless the form is still to be asked or was refused.
fn form_answer<T: Elicit>(ctx: &RequestContext, key: &str) -> Result<Option<T>, ToolError> {
    match ctx.input_response_as::<ElicitResult>(key)? {
        Some(answer) => Ok(answer.content_as()?),
        None => Ok(None),
    }
}

fn text_of(answer: &CreateMessageResult) -> String {
    let mut blocks = answer.content.blocks().iter();
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
