//! Input requests on servers with unsealed request state.

use serde_json::json;
use toolwire::types::{ElicitRequestFormParams, InputRequests};
use toolwire::{CallToolResult, Error, RequestContext, Server, ToolResponse};
use toolwire_tests::peer::plain;

use super::manual_call::{ManualCall, Round};
use super::{Name, Recorder, accept};

fn state(text: &str) -> ToolResponse {
    ToolResponse::input_required(InputRequests::new(), Some(text.to_owned()))
}

/// Returns a server whose tool uses its own state first and an input request after that.
fn server(recorder: &Recorder) -> Server {
    let events = recorder.clone();
    let mixed = plain("mixed", move |ctx: RequestContext| {
        let events = events.clone();
        async move {
            match ctx.request_state() {
                "" => return Ok(state("one")),
                "one" => {
                    ctx.once("effect", async { events.record("done") }).await?;
                    return Ok(state("two"));
                }
                _ => {}
            }
            let number = ctx.once("effect", async { events.record("again") }).await?;
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

async fn next(call: &mut ManualCall, round: &Round) -> Round {
    call.send(None, round.state()).await
}

#[tokio::test]
async fn state_of_the_handler_is_unsealed_until_an_effect_is_stored() {
    let recorder = Recorder::default();
    let server = server(&recorder).without_sealed_request_state();
    let mut call = ManualCall::call(&server, "mixed");
    let first = call.start().await;
    assert_eq!(first.state(), Some("one"));
    // The effect must be stored, so this state is sealed and contains the text.
    let second = next(&mut call, &first).await;
    let sealed = second.state().expect("a state");
    assert!(
        sealed.starts_with("tw1.") && !sealed.contains("two"),
        "{sealed}"
    );
    let third = next(&mut call, &second).await;
    assert_eq!(third.input_keys(), ["name"]);
    let done = call.respond(&third, named()).await;
    assert_eq!(done.text(), "Ada 1 two");
    assert_eq!(recorder.take(), ["done"]);
}

#[tokio::test]
async fn handler_sees_the_same_state_sealed_or_not() {
    let recorder = Recorder::default();
    let mut call = ManualCall::call(&server(&recorder), "mixed");
    let first = call.start().await;
    assert!(first.state().is_some_and(|state| state.starts_with("tw1.")));
    let second = next(&mut call, &first).await;
    let third = next(&mut call, &second).await;
    assert_eq!(call.respond(&third, named()).await.text(), "Ada 1 two");
    assert_eq!(recorder.take(), ["done"]);
}

#[tokio::test]
async fn stored_input_requests_are_always_sealed() {
    let server = server(&Recorder::default()).without_sealed_request_state();
    let invalid_state = "-32602: requestState is invalid or has expired";
    let mut call = ManualCall::call(&server, "asks");
    let first = call.start().await;
    let state = first.state().expect("a state").to_owned();
    let mut forged = state.clone();
    forged.pop();
    for state in [forged, format!("{state}A"), "tw1.".to_owned()] {
        let round = call.send(Some(named()), Some(&state)).await;
        assert_eq!(round.text(), invalid_state, "{state}");
    }
    let other = ManualCall::call(&server, "mixed")
        .send(Some(named()), Some(&state))
        .await;
    assert_eq!(other.text(), invalid_state);

    // Any other text is the state of the handler and contains no input requests.
    for state in ["", "anything", r#"{"k":{},"q":{"name":"AAAA"},"r":0}"#] {
        let round = call.send(Some(named()), Some(state)).await;
        assert_eq!(round.input_keys(), ["name"], "{state}");
    }
    assert_eq!(call.respond(&first, named()).await.text(), "Ada");
}

#[tokio::test]
async fn input_requests_of_the_handler_do_not_satisfy_those_of_ask() {
    let form = || ElicitRequestFormParams::new("Who?", json!({"type": "object"}));
    let tool = plain("work", move |ctx: RequestContext| async move {
        if !ctx.has_request_state() {
            let input_request = InputRequests::new().with("name", form());
            return Ok(ToolResponse::input_required(
                input_request,
                Some("s".to_owned()),
            ));
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
        let mut call = ManualCall::call(&server, "work");
        let first = call.start().await;
        assert_eq!(first.input_keys(), ["name"]);
        let second = call.respond(&first, named()).await;
        assert_eq!(second.input_keys(), ["name"], "{second:?}");
        assert_eq!(call.respond(&second, named()).await.text(), "Ada");
    }
}
