//! Tools that ask the user or the client's model.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use toolwire::ask::ElicitOutcome;
use toolwire::types::{
    CreateMessageRequestParams, ElicitAction, ElicitRequestFormParams, ElicitResult, InputRequests,
    SamplingMessage,
};
use toolwire::{CallToolResult, Elicit, RequestContext, Server, ToolError, ToolResponse, tool};

pub(super) fn register(server: Server) -> Server {
    server
        .tool(confirm)
        .tool(approve)
        .tool(trip)
        .tool(sign_in)
        .tool(summarise)
}

/// The form for a confirmation.
#[derive(Debug, Deserialize, Elicit)]
struct Confirmation {
    /// Do you confirm?
    confirmed: bool,
}

/// Asks the user to confirm something. It returns an input request and runs again with the user's response.
#[tool]
fn confirm(
    ctx: &RequestContext,
    /// What to confirm.
    question: String,
) -> Result<ToolResponse, ToolError> {
    let Some(response) = ctx.input_response_as::<ElicitResult>("confirmation")? else {
        let form = ElicitRequestFormParams::new(question, Confirmation::elicit_schema());
        return Ok(ToolResponse::input_required(
            InputRequests::new().with("confirmation", form),
            None,
        ));
    };
    let text = match response.action {
        ElicitAction::Accept => match response.content_as::<Confirmation>()? {
            Some(Confirmation { confirmed: true }) => "confirmed",
            _ => "not confirmed",
        },
        ElicitAction::Decline => "not confirmed",
        _ => "cancelled",
    };
    Ok(CallToolResult::text(text).into())
}

/// Asks the user to approve something, with the same handler for every revision.
#[tool]
async fn approve(
    ctx: &RequestContext,
    /// What to approve.
    question: String,
) -> Result<&'static str, ToolError> {
    Ok(match ctx.ask("approval", question).await? {
        ElicitOutcome::Accepted(Confirmation { confirmed: true }) => "approved",
        ElicitOutcome::Accepted(_) | ElicitOutcome::Declined => "not approved",
        ElicitOutcome::Cancelled => "cancelled",
    })
}

#[derive(Debug, Deserialize, Elicit)]
struct Destination {
    city: String,
}

#[derive(Debug, Deserialize, Elicit)]
struct Stay {
    #[elicit(minimum = 1, maximum = 14, default = 2)]
    nights: u64,
}

static OFFERS: AtomicU64 = AtomicU64::new(0);

/// Plans a trip with the user in three forms. Each form contains the values of the previous ones.
#[tool]
async fn trip(ctx: &RequestContext) -> Result<String, ToolError> {
    let Destination { city } = ctx.ask("destination", "Where to?").await?;
    let Stay { nights } = ctx
        .ask("stay", format!("How many nights in {city}?"))
        .await?;
    // The handler may run several times for one call, but counts one offer.
    let counting = async { OFFERS.fetch_add(1, Ordering::Relaxed) + 1 };
    let number = ctx.once("offer", counting).await?;
    let price = nights * 90;
    let question = format!("Offer {number}: {nights} nights in {city} for {price}. Do you agree?");
    Ok(match ctx.ask("agreement", question).await? {
        ElicitOutcome::Accepted(Confirmation { confirmed: true }) => {
            format!("offer {number} is accepted: {nights} nights in {city}")
        }
        _ => format!("offer {number} is not accepted"),
    })
}

/// Asks the user to open a sign-in page. The page does not exist.
#[tool]
async fn sign_in(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    let address = "https://example.com/sign-in?for=toolwire-demo";
    Ok(
        match ctx.ask_url("page", "Please sign in.", address).await? {
            ElicitOutcome::Accepted(()) => "accepted",
            ElicitOutcome::Declined => "declined",
            ElicitOutcome::Cancelled => "cancelled",
        },
    )
}

/// Summarises a text with the client's model.
#[tool]
async fn summarise(
    ctx: &RequestContext,
    /// What to summarise.
    text: String,
) -> Result<String, ToolError> {
    let prompt = format!("Summarise in one sentence:\n\n{text}");
    let request = CreateMessageRequestParams::new([SamplingMessage::user(prompt)], 200);
    let response = ctx.ask_model("summary", request).await?;
    let mut texts = response.content.blocks().iter();
    let summary = texts.find_map(|block| block.as_text());
    let summary =
        summary.ok_or_else(|| ToolError::failed("the response of the model has no text"))?;
    Ok(summary.to_owned())
}
