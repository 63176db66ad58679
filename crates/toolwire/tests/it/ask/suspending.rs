//! How a handler stops at a question, and how it does not.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;

use serde_json::{Value, json};
use toolwire::{
    CallToolResult, Error, IntoToolError, RequestContext, Server, ToolError, ToolHandler,
};

use super::by_hand::ByHand;
use super::{BOTH, Confirm, Diary, Name, accept, client, shown};
use crate::peer::plain;

fn answers() -> [(&'static str, Value); 2] {
    [
        ("Who", accept(json!({"name": "Ada"}))),
        ("Sure", accept(json!({"sure": true}))),
    ]
}

/// Both eras get to this text, and are asked this on the way.
async fn check(tool: ToolHandler, text: &str, questions: &[&str]) {
    let server = Server::new("test", "1").tool(tool);
    for version in BOTH {
        let asked = Diary::default();
        let client = client(&server, version, &answers(), &asked).await;
        let outcome = shown(client.call_tool("work", json!({})).await);
        assert_eq!(outcome, text, "{version}");
        let mut asked = asked.take();
        asked.sort();
        assert_eq!(asked, questions, "{version}");
    }
}

/// An error of the author's own.
#[derive(Debug)]
struct Trouble(Error);

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("trouble")
    }
}

impl StdError for Trouble {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

async fn name(ctx: &RequestContext) -> Result<String, Trouble> {
    let name: Name = ctx.ask("name", "Who?").await?;
    Ok(name.name)
}

async fn greeting(ctx: &RequestContext) -> Result<String, Box<dyn StdError + Send + Sync>> {
    let name = name(ctx).await?;
    let sure: Confirm = ctx.ask("sure", "Sure?").await?;
    Ok(format!("{name} {}", sure.sure))
}

/// A tool that turns every error into something else.
fn turning<E: IntoToolError + 'static>(
    turn: fn(Box<dyn StdError + Send + Sync>) -> E,
) -> ToolHandler {
    plain("work", move |ctx: RequestContext| async move {
        let outcome = greeting(&ctx).await;
        outcome.map_err(|error| turn(error).into_tool_error())
    })
}

#[tokio::test]
async fn whatever_is_made_of_the_error_the_handler_waits_for_the_answer() {
    let asked = ["Sure?", "Who?"];
    check(turning(|error| error), "Ada true", &asked).await;
    check(turning(|error| error.to_string()), "Ada true", &asked).await;
    check(turning(|_| "it did not work"), "Ada true", &asked).await;
    check(turning(|_| ToolError::failed("no")), "Ada true", &asked).await;
    check(turning(std::io::Error::other), "Ada true", &asked).await;
}

#[tokio::test]
async fn a_tool_that_words_its_failures_itself_waits_for_the_answer_too() {
    let tool = plain("work", |ctx: RequestContext| async move {
        match greeting(&ctx).await {
            Ok(greeting) => CallToolResult::text(greeting),
            Err(error) => CallToolResult::error(format!("sorry: {error}")),
        }
    });
    check(tool, "Ada true", &["Sure?", "Who?"]).await;
}

#[tokio::test]
async fn a_failure_of_the_handler_itself_is_told_when_its_questions_are_answered() {
    let tool = plain("work", |ctx: RequestContext| async move {
        name(&ctx).await.ok();
        Err::<String, _>(ToolError::failed("broken"))
    });
    check(tool, "failed: broken", &["Who?"]).await;
}

#[tokio::test]
async fn questions_asked_side_by_side_are_one_round() {
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
    let round = ByHand::call(&server, "work").begin().await;
    assert_eq!(round.asks(), ["name", "sure"]);
}

#[tokio::test]
async fn a_task_of_the_handler_asks_as_the_handler_does() {
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
async fn a_handler_that_goes_on_without_the_answer_is_done() {
    let tool = plain("work", |ctx: RequestContext| async move {
        match ctx.ask::<Name>("name", "Who?").await {
            Ok(name) => name.name,
            Err(error) if error.is_input_required() => "somebody".to_owned(),
            Err(_) => "nobody".to_owned(),
        }
    });
    let server = Server::new("test", "1").tool(tool);
    let round = ByHand::call(&server, "work").begin().await;
    assert!(!round.is_open());
    assert_eq!(round.text(), "somebody");
    assert_eq!(round.state(), None);
}

#[tokio::test]
async fn a_panic_is_a_failure_and_no_question() {
    #[expect(clippy::panic, reason = "this is what the test is about")]
    async fn falls(ctx: RequestContext) -> Result<String, Error> {
        let asked = ctx.ask::<Name>("name", "Who?").await;
        panic!("{}", asked.is_ok());
    }
    let server = Server::new("test", "1").tool(plain("work", falls));
    let round = ByHand::call(&server, "work").begin().await;
    assert_eq!(round.0["error"]["code"], -32603, "{round:?}");
    assert!(!round.text().contains("false"), "{round:?}");
    for version in BOTH {
        let client = client(&server, version, &answers(), &Diary::default()).await;
        let error = client.call_tool("work", json!({})).await.expect_err("fell");
        assert_eq!(error.rpc().map(|error| error.code), Some(-32603));
    }
}

#[tokio::test]
async fn effects_of_a_run_that_fails_are_not_questions() {
    let diary = Diary::default();
    let notes = diary.clone();
    let tool = plain("work", move |ctx: RequestContext| {
        let notes = notes.clone();
        async move {
            let name: Name = ctx.ask("name", "Who?").await?;
            ctx.once("pay", async { notes.note("paid") }).await?;
            Err::<String, _>(ToolError::failed(format!("{} is broke", name.name)))
        }
    });
    check(tool, "failed: Ada is broke", &["Who?"]).await;
    assert_eq!(diary.take(), ["paid", "paid"], "once in each era");
}

/// A function of the author, nobody's business how it is called.
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
async fn functions_that_call_themselves_may_ask() {
    let tool = plain("work", |ctx: RequestContext| async move {
        confirmed(&ctx, 3).await.map(|sure| sure.to_string())
    });
    let asked = ["Sure about 1?", "Sure about 2?", "Sure about 3?"];
    check(tool, "3", &asked).await;
}
