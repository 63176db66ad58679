//! Handlers that return `input_required` by themselves and read the answers as types.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::ask::ElicitOutcome;
use toolwire::types::{ElicitRequestFormParams, InputRequests};
use toolwire::{CallToolResult, Elicit, Error, RequestContext, Server, ToolResponse};

use super::{BOTH, Diary, accept, client, shown};
use crate::peer::{Peer, modern_with, plain};

#[derive(Debug, Deserialize, Elicit)]
struct Seats {
    #[elicit(maximum = 9)]
    seats: u8,
    #[elicit(default = "aisle")]
    place: Option<String>,
}

fn booking() -> Server {
    let question = || {
        let form = ElicitRequestFormParams::new("How many?", Seats::elicit_schema());
        ToolResponse::input_required(InputRequests::new().with("seats", form), None)
    };
    let book = plain("book", move |ctx: RequestContext| async move {
        assert!(ctx.input_form::<Seats>("other")?.is_none());
        let Some(Seats { seats, place }) = ctx.input_form("seats")? else {
            return Ok::<_, Error>(question());
        };
        Ok(CallToolResult::text(format!("{seats} {place:?}")).into())
    });
    let weigh = plain("weigh", move |ctx: RequestContext| async move {
        let Some(answer) = ctx.input_form::<ElicitOutcome<Seats>>("seats")? else {
            return Ok::<_, Error>(question());
        };
        let seats = answer.map(|form| form.seats);
        Ok(CallToolResult::text(format!("{seats:?}")).into())
    });
    Server::new("booking", "1").tool(book).tool(weigh)
}

async fn check(tool: &str, answer: Value, part: &str) {
    for version in BOTH {
        let answers = [("How", answer.clone())];
        let client = client(&booking(), version, &answers, &Diary::default()).await;
        let outcome = shown(client.call_tool(tool, json!({})).await);
        assert!(outcome.contains(part), "{version}: {outcome}");
    }
}

#[tokio::test]
async fn an_answer_is_a_value_with_its_defaults() {
    check("book", accept(json!({"seats": 3.0})), "3 Some(\"aisle\")").await;
    check("weigh", accept(json!({"seats": 3})), "Accepted(3)").await;
    check("weigh", json!({"action": "decline"}), "Declined").await;
    check("weigh", json!({"action": "cancel"}), "Cancelled").await;
}

#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    check("book", json!({"action": "decline"}), "declined").await;
    let mut peer = Peer::connect(&booking());
    let answers = |content: Value| {
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
        let refusal = peer.refusal_of(answers(content), -32602).await;
        let message = refusal["message"].as_str().unwrap_or_default();
        let expected = "the response to \"seats\" is invalid: the field ";
        assert!(
            message.starts_with(expected) && message.contains(part),
            "{refusal}"
        );
    }
}
