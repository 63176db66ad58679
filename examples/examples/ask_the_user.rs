//! A question to the user in the middle of a tool call: a form, filled in, declined or cancelled.
//!
//! One handler serves every revision: see `onboarding` for how, and for several questions.
//! Run it with `cargo run -p toolwire-examples --example ask_the_user`, or give that command to an MCP client.

use serde::Deserialize;
use toolwire::ask::ElicitOutcome;
use toolwire::{Elicit, RequestContext, Server, ToolError, tool};

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

/// Books a train ticket.
#[tool]
async fn book(ctx: &RequestContext, destination: String) -> Result<String, ToolError> {
    let question = format!("A ticket to {destination}: who travels?");
    // What does not fit the form never gets here. Asked for as `Details`, without `Answer`, all but a filled-in form would
    // be an error for `?`.
    match ctx.ask("details", question).await? {
        ElicitOutcome::Accepted(Details {
            email,
            seats,
            class,
        }) => {
            let class = class.unwrap_or(Class::Second);
            Ok(format!(
                "{seats} × {class:?} to {destination}, sent to {email}"
            ))
        }
        // Declining is an answer; cancelling means that the user closed the form without one.
        ElicitOutcome::Declined => Ok("not booked, as you wish".to_owned()),
        ElicitOutcome::Cancelled => Err(ToolError::failed("the question was left unanswered")),
    }
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("trains", "1.0.0")
        .tool(book)
        .serve_stdio()
        .await
}
