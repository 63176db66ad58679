//! Tools that return what they want to know and are called again with the answers.

use serde::{Deserialize, Serialize};
use toolwire::proto::rounds;
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams, ElicitResult,
    InputRequest, InputRequests, ListRootsResult, SamplingMessage,
};
use toolwire::{CallToolResult, Elicit, RequestContext, Server, ToolError, ToolResponse, tool};

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

/// Asks for a name and greets.
#[tool]
fn test_input_required_result_elicitation(ctx: &RequestContext) -> Outcome {
    greet(ctx)
}

/// Asks for a name without a request of its own on the stream.
#[tool]
fn test_streaming_elicitation(ctx: &RequestContext) -> Outcome {
    ctx.report_steps(1, 2, Some("about to ask"));
    greet(ctx)
}

fn greet(ctx: &RequestContext) -> Outcome {
    match form_answer::<Name>(ctx, "user_name")? {
        Some(Name { name }) => complete(format!("Hello, {name}!")),
        None => ask(InputRequests::new().with("user_name", form::<Name>("What is your name?"))),
    }
}

/// Asks the client's model.
#[tool]
fn test_input_required_result_sampling(ctx: &RequestContext) -> Outcome {
    match ctx.input_response_as::<CreateMessageResult>("capital_question")? {
        Some(answer) => complete(text_of(&answer)),
        None => {
            let question = prompt("What is the capital of France?", 100);
            ask(InputRequests::new().with("capital_question", question))
        }
    }
}

/// Asks for the client's roots.
#[tool]
fn test_input_required_result_list_roots(ctx: &RequestContext) -> Outcome {
    match ctx.input_response_as::<ListRootsResult>("client_roots")? {
        Some(answer) => complete(format!("Roots: {}", uris_of(&answer))),
        None => ask(InputRequests::new().with("client_roots", InputRequest::roots())),
    }
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
fn test_input_required_result_multiple_inputs(ctx: &RequestContext) -> Outcome {
    let name = form_answer::<Name>(ctx, "user_name")?;
    let greeting = ctx.input_response_as::<CreateMessageResult>("greeting")?;
    let roots = ctx.input_response_as::<ListRootsResult>("client_roots")?;
    if let (Some(Name { name }), Some(greeting), Some(roots)) = (name, greeting, roots) {
        let (greeting, roots) = (text_of(&greeting), uris_of(&roots));
        return complete(format!("{greeting} {name} works in {roots}"));
    }
    ToolResponse::input_required_with(every_question(), &"everything was asked")
}

/// What the rounds have found out so far.
#[derive(Default, Serialize, Deserialize)]
struct Profile {
    name: Option<String>,
}

/// Asks two questions, one after the other.
#[tool]
fn test_input_required_result_multi_round(ctx: &RequestContext) -> Outcome {
    let mut profile: Profile = ctx.request_state_as()?;
    if let Some(Name { name }) = form_answer(ctx, "step1")? {
        profile.name = Some(name);
    }
    let Some(name) = &profile.name else {
        let question = form::<Name>("Step 1: What is your name?");
        return ToolResponse::input_required_with(
            InputRequests::new().with("step1", question),
            &profile,
        );
    };
    match form_answer(ctx, "step2")? {
        Some(Color { color }) => complete(format!("{name} likes {color}")),
        None => {
            let question = form::<Color>("Step 2: What is your favorite color?");
            ToolResponse::input_required_with(
                InputRequests::new().with("step2", question),
                &profile,
            )
        }
    }
}

/// Asks only what the client can answer.
#[tool]
fn test_input_required_result_capabilities(ctx: &RequestContext) -> Outcome {
    let mut questions = every_question();
    questions.retain(|_, question| ctx.client_supports(&rounds::required_capabilities([question])));
    if questions.iter().all(|(key, _)| ctx.has_input_response(key)) {
        return complete(format!("{} questions were answered", questions.len()));
    }
    ask(questions)
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

fn uris_of(answer: &ListRootsResult) -> String {
    let uris: Vec<&str> = answer.roots.iter().map(|root| root.uri.as_str()).collect();
    uris.join(", ")
}

fn ask(questions: InputRequests) -> Outcome {
    Ok(ToolResponse::input_required(questions, None))
}

fn complete(text: impl Into<String>) -> Outcome {
    Ok(CallToolResult::text(text).into())
}
