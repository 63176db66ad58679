//! How an input request suspends a handler.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;

use serde_json::{Value, json};
use toolwire::{
    CallToolResult, Error, IntoToolError, RequestContext, Server, ToolError, ToolHandler,
};
use toolwire_tests::peer::plain;

use super::manual_call::ManualCall;
use super::{BOTH, Confirm, Name, Recorder, accept, client, result_text};

fn responses() -> [(&'static str, Value); 2] {
    [
        ("Who", accept(json!({"name": "Ada"}))),
        ("Sure", accept(json!({"sure": true}))),
    ]
}

/// Checks the text of the result and the input requests in both eras.
async fn check(tool: ToolHandler, text: &str, input_requests: &[&str]) {
    let server = Server::new("test", "1").tool(tool);
    for version in BOTH {
        let requested = Recorder::default();
        let client = client(&server, version, &responses(), &requested).await;
        let outcome = result_text(client.call_tool("work", json!({})).await);
        assert_eq!(outcome, text, "{version}");
        let mut requested = requested.take();
        requested.sort();
        assert_eq!(requested, input_requests, "{version}");
    }
}

/// An error type of the handler.
#[derive(Debug)]
struct CustomError(Error);

impl fmt::Display for CustomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("custom error")
    }
}

impl StdError for CustomError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

impl From<Error> for CustomError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

async fn name(ctx: &RequestContext) -> Result<String, CustomError> {
    let name: Name = ctx.ask("name", "Who?").await?;
    Ok(name.name)
}

async fn greeting(ctx: &RequestContext) -> Result<String, Box<dyn StdError + Send + Sync>> {
    let name = name(ctx).await?;
    let sure: Confirm = ctx.ask("sure", "Sure?").await?;
    Ok(format!("{name} {}", sure.sure))
}

/// Returns a tool that converts every error.
fn converting<E: IntoToolError + 'static>(
    convert: fn(Box<dyn StdError + Send + Sync>) -> E,
) -> ToolHandler {
    plain("work", move |ctx: RequestContext| async move {
        let outcome = greeting(&ctx).await;
        outcome.map_err(|error| convert(error).into_tool_error())
    })
}

#[tokio::test]
async fn converted_error_still_suspends_the_handler() {
    let requested = ["Sure?", "Who?"];
    check(converting(|error| error), "Ada true", &requested).await;
    check(
        converting(|error| error.to_string()),
        "Ada true",
        &requested,
    )
    .await;
    check(converting(|_| "it did not work"), "Ada true", &requested).await;
    check(
        converting(|_| ToolError::failed("no")),
        "Ada true",
        &requested,
    )
    .await;
    check(converting(std::io::Error::other), "Ada true", &requested).await;
}

#[tokio::test]
async fn error_result_still_suspends_the_handler() {
    let tool = plain("work", |ctx: RequestContext| async move {
        match greeting(&ctx).await {
            Ok(greeting) => CallToolResult::text(greeting),
            Err(error) => CallToolResult::error(format!("sorry: {error}")),
        }
    });
    check(tool, "Ada true", &["Sure?", "Who?"]).await;
}

#[tokio::test]
async fn failure_is_returned_after_the_input_responses() {
    let tool = plain("work", |ctx: RequestContext| async move {
        name(&ctx).await.ok();
        Err::<String, _>(ToolError::failed("broken"))
    });
    check(tool, "failed: broken", &["Who?"]).await;
}

#[tokio::test]
async fn concurrent_input_requests_are_one_round() {
    let tool = || {
        plain("work", |ctx: RequestContext| async move {
            let name = async { ctx.ask::<Name>("name", "Who?").await };
            let sure = async { ctx.ask::<Confirm>("sure", "Sure?").await };
            let (name, sure) = tokio::join!(name, sure);
            Ok::<_, Error>(format!("{} {}", name?.name, sure?.sure))
        })
    };
    check(tool(), "Ada true", &["Sure?", "Who?"]).await;
    let server = Server::new("test", "1").tool(tool());
    let round = ManualCall::call(&server, "work").start().await;
    assert_eq!(round.input_keys(), ["name", "sure"]);
}

#[tokio::test]
async fn spawned_task_may_send_input_requests() {
    let tool = plain("work", |ctx: RequestContext| async move {
        let inside = ctx.clone();
        let task = tokio::spawn(async move { inside.ask::<Name>("name", "Who?").await });
        let name = task.await??;
        let sure: Confirm = ctx.ask("sure", "Sure?").await?;
        Ok::<_, ToolError>(format!("{} {}", name.name, sure.sure))
    });
    check(tool, "Ada true", &["Sure?", "Who?"]).await;
}

#[tokio::test]
async fn handler_may_finish_without_the_input_response() {
    let tool = plain("work", |ctx: RequestContext| async move {
        match ctx.ask::<Name>("name", "Who?").await {
            Ok(name) => name.name,
            Err(error) if error.is_input_required() => "not yet known".to_owned(),
            Err(_) => "unknown".to_owned(),
        }
    });
    let server = Server::new("test", "1").tool(tool);
    let round = ManualCall::call(&server, "work").start().await;
    assert!(!round.is_open());
    assert_eq!(round.text(), "not yet known");
    assert_eq!(round.state(), None);
}

#[tokio::test]
async fn panic_fails_the_request_and_sends_no_input_request() {
    #[expect(clippy::panic, reason = "the test is about a panic")]
    async fn panics(ctx: RequestContext) -> Result<String, Error> {
        let outcome = ctx.ask::<Name>("name", "Who?").await;
        panic!("{}", outcome.is_ok());
    }
    let server = Server::new("test", "1").tool(plain("work", panics));
    let round = ManualCall::call(&server, "work").start().await;
    assert_eq!(round.0["error"]["code"], -32603, "{round:?}");
    assert!(!round.text().contains("false"), "{round:?}");
    for version in BOTH {
        let client = client(&server, version, &responses(), &Recorder::default()).await;
        let error = client
            .call_tool("work", json!({}))
            .await
            .expect_err("the handler panics");
        assert_eq!(error.rpc().map(|error| error.code), Some(-32603));
    }
}

#[tokio::test]
async fn effects_of_a_failed_run_do_not_suspend_the_handler() {
    let recorder = Recorder::default();
    let events = recorder.clone();
    let tool = plain("work", move |ctx: RequestContext| {
        let events = events.clone();
        async move {
            let name: Name = ctx.ask("name", "Who?").await?;
            ctx.once("pay", async { events.record("paid") }).await?;
            Err::<String, _>(ToolError::failed(format!("{} is broke", name.name)))
        }
    });
    check(tool, "failed: Ada is broke", &["Who?"]).await;
    assert_eq!(recorder.take(), ["paid", "paid"], "once in each era");
}

/// A recursive helper function of the handler.
fn confirmed(ctx: &RequestContext, depth: u8) -> impl Future<Output = Result<u8, Error>> + Send {
    let ctx = ctx.clone();
    Box::pin(async move {
        if depth == 0 {
            return Ok(0);
        }
        let text = format!("Sure about {depth}?");
        let confirm: Confirm = ctx.ask(format!("sure {depth}"), text).await?;
        let below = Box::pin(confirmed(&ctx, depth - 1)).await?;
        Ok(below + u8::from(confirm.sure))
    })
}

#[tokio::test]
async fn recursive_functions_may_send_input_requests() {
    let tool = plain("work", |ctx: RequestContext| async move {
        confirmed(&ctx, 3).await.map(|sure| sure.to_string())
    });
    let requested = ["Sure about 1?", "Sure about 2?", "Sure about 3?"];
    check(tool, "3", &requested).await;
}
