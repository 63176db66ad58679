//! Handlers that return `input_required` themselves and read the input responses as types.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::ask::ElicitOutcome;
use toolwire::types::{ElicitRequestFormParams, InputRequests};
use toolwire::{CallToolResult, Elicit, Error, RequestContext, Server, ToolResponse};
use toolwire_tests::peer::{Peer, modern_with, plain};

use super::{BOTH, Recorder, accept, client, result_text};

#[derive(Debug, Deserialize, Elicit)]
struct Seats {
    #[elicit(maximum = 9)]
    seats: u8,
    #[elicit(default = "aisle")]
    seat: Option<String>,
}

fn booking() -> Server {
    let input_request = || {
        let form = ElicitRequestFormParams::new("How many?", Seats::elicit_schema());
        ToolResponse::input_required(InputRequests::new().with("seats", form), None)
    };
    let book = plain("book", move |ctx: RequestContext| async move {
        assert!(ctx.input_form::<Seats>("other")?.is_none());
        let Some(Seats { seats, seat }) = ctx.input_form("seats")? else {
            return Ok::<_, Error>(input_request());
        };
        Ok(CallToolResult::text(format!("{seats} {seat:?}")).into())
    });
    let outcome = plain("outcome", move |ctx: RequestContext| async move {
        let Some(response) = ctx.input_form::<ElicitOutcome<Seats>>("seats")? else {
            return Ok::<_, Error>(input_request());
        };
        let seats = response.map(|form| form.seats);
        Ok(CallToolResult::text(format!("{seats:?}")).into())
    });
    Server::new("booking", "1").tool(book).tool(outcome)
}

async fn check(tool: &str, response: Value, part: &str) {
    for version in BOTH {
        let responses = [("How", response.clone())];
        let client = client(&booking(), version, &responses, &Recorder::default()).await;
        let outcome = result_text(client.call_tool(tool, json!({})).await);
        assert!(outcome.contains(part), "{version}: {outcome}");
    }
}

#[tokio::test]
async fn input_form_returns_the_value_with_its_defaults() {
    check("book", accept(json!({"seats": 3.0})), "3 Some(\"aisle\")").await;
    check("outcome", accept(json!({"seats": 3})), "Accepted(3)").await;
    check("outcome", json!({"action": "decline"}), "Declined").await;
    check("outcome", json!({"action": "cancel"}), "Cancelled").await;
}

#[tokio::test]
async fn invalid_input_response_is_an_error() {
    check("book", json!({"action": "decline"}), "declined").await;
    let mut peer = Peer::connect(&booking());
    let responses = |content: Value| {
        let params = json!({"name": "book", "inputResponses": {"seats": accept(content)}});
        modern_with(1, "tools/call", params, json!({"elicitation": {}}))
    };
    for (content, part) in [
        (json!({"seats": 10}), "must be at most 9"),
        (json!({"seats": 300}), "must be at most 9"),
        (json!({"seats": "1"}), "must be a whole number"),
        (json!({}), "is required"),
        (json!({"seats": 1, "x": 1}), "is not in the form"),
    ] {
        let error = peer.error_of(responses(content), -32602).await;
        let message = error["message"].as_str().unwrap_or_default();
        let expected = "the response to \"seats\" is invalid: the field ";
        assert!(
            message.starts_with(expected) && message.contains(part),
            "{error}"
        );
    }
}
