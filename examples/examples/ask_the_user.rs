//! A question to the user in the middle of a tool call: a form, filled in, declined or cancelled.
//!
//! One handler serves every revision. It returns what it wants to know and is run again with the answer: by the client
//! from 2026-07-28 on, by toolwire itself on older connections.
//! Run it with `cargo run -p toolwire-examples --example ask_the_user`, or give that command to an MCP client.

use serde::{Deserialize, Serialize};
use toolwire::types::{ElicitAction, ElicitRequestFormParams, ElicitResult, InputRequests};
use toolwire::{CallToolResult, Elicit, RequestContext, Server, ToolError, ToolResponse, tool};

/// The form. Forms are flat: text, numbers, booleans and choices.
#[derive(Deserialize, Elicit)]
struct Details {
    /// Where to send the ticket.
    #[elicit(format = "email")]
    email: String,
    #[elicit(minimum = 1, maximum = 4, default = 1)]
    seats: u32,
    class: Option<Class>,
}

#[derive(Debug, Deserialize, Elicit)]
#[serde(rename_all = "lowercase")]
enum Class {
    #[elicit(title = "First class")]
    First,
    Second,
}

/// What the first round hands to the second. Clients carry it sealed: they can neither read nor change it.
#[derive(Default, Serialize, Deserialize)]
struct Offer {
    price_each: u32,
}

/// Books a train ticket.
#[tool(requires("elicitation"))]
fn book(ctx: &RequestContext, destination: String) -> Result<ToolResponse, ToolError> {
    let Some(answer) = ctx.input_response_as::<ElicitResult>("details")? else {
        let question = format!("A ticket to {destination}: who travels?");
        let form = ElicitRequestFormParams::new(question, Details::elicit_schema());
        let questions = InputRequests::new().with("details", form);
        return ToolResponse::input_required_with(questions, &Offer { price_each: 30 });
    };
    let text = match answer.action {
        ElicitAction::Accept => {
            // The client should have checked the form. Decoding it is the check that counts.
            let details: Details = answer
                .content_as()?
                .ok_or_else(|| ToolError::failed("the form came back empty"))?;
            let offer: Offer = ctx.request_state_as()?;
            let class = details.class.unwrap_or(Class::Second);
            format!(
                "{} × {class:?} to {destination} for {}, sent to {}",
                details.seats,
                details.seats * offer.price_each,
                details.email
            )
        }
        // Declining is an answer; cancelling means that the user closed the form without one.
        ElicitAction::Decline => "not booked, as you wish".to_owned(),
        _ => return Err(ToolError::failed("the question was left unanswered")),
    };
    Ok(CallToolResult::text(text).into())
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("trains", "1.0.0")
        .tool(book)
        .serve_stdio()
        .await
}
