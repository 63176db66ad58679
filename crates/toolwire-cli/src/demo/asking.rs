//! Tools that ask the user or the client's model.

use serde::Deserialize;
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitResult, InputRequests, SamplingMessage,
};
use toolwire::{Elicit, RequestContext, Server, ToolError, ToolResponse, tool};

pub(super) fn register(server: Server) -> Server {
    server.tool(confirm).tool(approve).tool(summarise)
}

/// What the user is asked.
#[derive(Debug, Deserialize, Elicit)]
struct Confirmation {
    /// Do you confirm?
    confirmed: bool,
}

/// Asks the user to confirm something, with one handler for every revision: it returns what it wants to know and is run
/// again with the answer.
#[tool]
fn confirm(
    ctx: &RequestContext,
    /// What to confirm.
    question: String,
) -> Result<ToolResponse, ToolError> {
    let Some(answer) = ctx.input_response_as::<ElicitResult>("confirmation")? else {
        let form = ElicitRequestFormParams::new(question, Confirmation::elicit_schema());
        return Ok(ToolResponse::input_required(
            InputRequests::new().with("confirmation", form),
            None,
        ));
    };
    Ok(ToolResponse::complete(toolwire::CallToolResult::text(
        verdict(&answer)?,
    )))
}

/// Asks the user to approve something. On revisions with a channel to the client it asks while it runs, otherwise it
/// returns what it wants to know.
#[tool]
async fn approve(
    ctx: &RequestContext,
    /// What to approve.
    question: String,
) -> Result<ToolResponse, ToolError> {
    let answer = if ctx.is_stateless() {
        match ctx.input_response_as::<ElicitResult>("approval")? {
            Some(answer) => answer,
            None => {
                let form = ElicitRequestFormParams::new(question, Confirmation::elicit_schema());
                let requests = InputRequests::new().with("approval", form);
                return Ok(ToolResponse::input_required(
                    requests,
                    Some("asked for approval".to_owned()),
                ));
            }
        }
    } else {
        ctx.elicit_as::<Confirmation>(question).await?
    };
    let text = match verdict(&answer)? {
        "confirmed" => "approved",
        "not confirmed" => "not approved",
        other => other,
    };
    Ok(ToolResponse::complete(toolwire::CallToolResult::text(text)))
}

fn verdict(answer: &ElicitResult) -> Result<&'static str, ToolError> {
    Ok(match answer.action {
        ElicitAction::Accept => match answer.content_as::<Confirmation>()? {
            Some(Confirmation { confirmed: true }) => "confirmed",
            _ => "not confirmed",
        },
        ElicitAction::Decline => "not confirmed",
        _ => "cancelled",
    })
}

/// Summarises a text with the client's model.
#[tool]
fn summarise(
    ctx: &RequestContext,
    /// What to summarise.
    text: String,
) -> Result<ToolResponse, ToolError> {
    let Some(answer) = ctx.input_response_as::<CreateMessageResult>("summary")? else {
        let prompt = format!("Summarise in one sentence:\n\n{text}");
        let request = CreateMessageRequestParams::new(vec![SamplingMessage::user(prompt)], 200);
        return Ok(ToolResponse::input_required(
            InputRequests::new().with("summary", request),
            None,
        ));
    };
    let summary = answer
        .content
        .blocks()
        .iter()
        .find_map(|block| block.as_text())
        .ok_or_else(|| ToolError::failed("the model answered without text"))?;
    Ok(ToolResponse::complete(toolwire::CallToolResult::text(
        summary,
    )))
}
