//! Servers that hand out the state of their authors unsealed, and ask.

use serde_json::json;
use toolwire::types::{ElicitRequestFormParams, InputRequests};
use toolwire::{CallToolResult, Error, RequestContext, Server, ToolResponse};

use super::by_hand::{ByHand, Round};
use super::{Diary, Name, accept};
use crate::peer::plain;

fn state(text: &str) -> ToolResponse {
    ToolResponse::input_required(InputRequests::new(), Some(text.to_owned()))
}

/// Counts by a state of its own, then asks, then tells all it knows.
fn server(diary: &Diary) -> Server {
    let notes = diary.clone();
    let mixed = plain("mixed", move |ctx: RequestContext| {
        let notes = notes.clone();
        async move {
            match ctx.request_state() {
                "" => return Ok(state("one")),
                "one" => {
                    ctx.once("effect", async { notes.note("done") }).await?;
                    return Ok(state("two"));
                }
                _ => {}
            }
            let number = ctx.once("effect", async { notes.note("again") }).await?;
            let name: Name = ctx.ask("name", "Who?").await?;
            let text = format!("{} {number} {}", name.name, ctx.request_state());
            Ok::<_, Error>(CallToolResult::text(text).into())
        }
    });
    let asks = plain("asks", |ctx: RequestContext| async move {
        let name: Name = ctx.ask("name", "Who?").await?;
        Ok::<_, Error>(name.name)
    });
    Server::new("test", "1").tool(mixed).tool(asks)
}

fn named() -> serde_json::Value {
    json!({"name": accept(json!({"name": "Ada"}))})
}

async fn next(call: &mut ByHand, round: &Round) -> Round {
    call.send(None, round.state()).await
}

#[tokio::test]
async fn the_text_of_the_author_is_plain_until_there_is_something_to_keep_from_the_client() {
    let diary = Diary::default();
    let server = server(&diary).without_sealed_request_state();
    let mut call = ByHand::call(&server, "mixed");
    let first = call.begin().await;
    assert_eq!(first.state(), Some("one"));
    // The effect has to be remembered, so this one is sealed with the text in it.
    let second = next(&mut call, &first).await;
    let sealed = second.state().expect("a state");
    assert!(
        sealed.starts_with("tw1.") && !sealed.contains("two"),
        "{sealed}"
    );
    let third = next(&mut call, &second).await;
    assert_eq!(third.asks(), ["name"]);
    let done = call.answer(&third, named()).await;
    assert_eq!(done.text(), "Ada 1 two");
    assert_eq!(diary.take(), ["done"]);
}

#[tokio::test]
async fn sealed_or_not_the_handler_sees_the_same() {
    let diary = Diary::default();
    let mut call = ByHand::call(&server(&diary), "mixed");
    let first = call.begin().await;
    assert!(first.state().is_some_and(|state| state.starts_with("tw1.")));
    let second = next(&mut call, &first).await;
    let third = next(&mut call, &second).await;
    assert_eq!(call.answer(&third, named()).await.text(), "Ada 1 two");
    assert_eq!(diary.take(), ["done"]);
}

#[tokio::test]
async fn what_was_asked_stays_sealed() {
    let server = server(&Diary::default()).without_sealed_request_state();
    let refusal = "-32602: requestState is invalid or has expired";
    let mut call = ByHand::call(&server, "asks");
    let first = call.begin().await;
    let state = first.state().expect("a state").to_owned();
    let mut forged = state.clone();
    forged.pop();
    for state in [forged, format!("{state}A"), "tw1.".to_owned()] {
        let round = call.send(Some(named()), Some(&state)).await;
        assert_eq!(round.text(), refusal, "{state}");
    }
    let other = ByHand::call(&server, "mixed")
        .send(Some(named()), Some(&state))
        .await;
    assert_eq!(other.text(), refusal);

    // Any other text is the author's, and says nothing about what was asked.
    for state in ["", "anything", r#"{"k":{},"q":{"name":"AAAA"},"r":0}"#] {
        let round = call.send(Some(named()), Some(state)).await;
        assert_eq!(round.asks(), ["name"], "{state}");
    }
    assert_eq!(call.answer(&first, named()).await.text(), "Ada");
}

#[tokio::test]
async fn the_author_s_own_questions_do_not_answer_those_of_ask() {
    let form = || ElicitRequestFormParams::new("Who?", json!({"type": "object"}));
    let tool = plain("work", move |ctx: RequestContext| async move {
        if !ctx.has_request_state() {
            let question = InputRequests::new().with("name", form());
            return Ok(ToolResponse::input_required(question, Some("s".to_owned())));
        }
        let name: Name = ctx.ask("name", "Who?").await?;
        Ok::<_, Error>(CallToolResult::text(name.name).into())
    });
    for server in [
        Server::new("test", "1").tool(tool.clone()),
        Server::new("test", "1")
            .tool(tool)
            .without_sealed_request_state(),
    ] {
        let mut call = ByHand::call(&server, "work");
        let first = call.begin().await;
        assert_eq!(first.asks(), ["name"]);
        let second = call.answer(&first, named()).await;
        assert_eq!(second.asks(), ["name"], "{second:?}");
        assert_eq!(call.answer(&second, named()).await.text(), "Ada");
    }
}
