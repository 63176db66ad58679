//! The server: a tool that needs more than its arguments.

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
    let message = format!("A ticket to {destination}: who travels?");
    // A form with invalid values never gets here. With the output type `Details` instead of `ElicitOutcome`, `?` would
    // return an error if the user declines or cancels.
    match ctx.ask("details", message).await? {
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
        // The user declined explicitly, or closed the form without a decision.
        ElicitOutcome::Declined => Ok("not booked".to_owned()),
        ElicitOutcome::Cancelled => Err(ToolError::failed("the user closed the form")),
    }
}

pub(crate) fn server() -> Server {
    Server::new("trains", "1.0.0").tool(book)
}
