//! How much a call may remember, and how often it may ask.

use serde_json::{Value, json};
use toolwire::proto::request_state::DEFAULT_MAX_PAYLOAD;
use toolwire::{Error, KeyRing, RequestContext, Server, StateKey, ToolHandler};

use super::by_hand::ByHand;
use super::{Diary, LEGACY, Name, accept, client, shown};
use crate::peer::plain;

fn keys() -> KeyRing {
    KeyRing::new(StateKey::new([7; 32]))
}

fn deploy(tool: ToolHandler) -> Server {
    Server::new("service", "1")
        .with_request_state_keys(keys())
        .tool(tool)
}

fn named() -> Value {
    json!({"name": accept(json!({"name": "Ada"}))})
}

/// Remembers this many bytes, and asks.
fn hoarder(bytes: usize) -> ToolHandler {
    plain("work", move |ctx: RequestContext| async move {
        let hoard = ctx.once("hoard", async { "x".repeat(bytes) }).await?;
        let name: Name = ctx.ask("name", "Who?").await?;
        Ok::<_, Error>(format!("{} {}", name.name, hoard.len()))
    })
}

#[tokio::test]
async fn what_is_remembered_is_bounded() {
    // What a journal holds besides the hoard, found by making the limit ever tighter.
    let fits = async |limit: usize, bytes: usize| {
        let server = Server::new("service", "1")
            .with_request_state_keys(keys().with_max_payload(limit))
            .tool(hoarder(bytes));
        let mut call = ByHand::call(&server, "work");
        let round = call.begin().await;
        if round.is_open() {
            let done = call.answer(&round, named()).await;
            assert_eq!(done.text(), format!("Ada {bytes}"));
            return true;
        }
        let text = round.text();
        let clear = format!("is larger than {limit} bytes; ask for less, or raise the limit");
        assert!(text.starts_with("-32603"), "{text}");
        assert!(text.contains(&clear), "{text}");
        false
    };
    let mut rest = 0;
    while !fits(rest, 0).await {
        rest += 1;
    }
    assert!(rest < 200, "{rest} bytes for one effect and one question");
    for bytes in [1, 1000, DEFAULT_MAX_PAYLOAD - rest] {
        assert!(fits(rest + bytes, bytes).await);
        assert!(!fits(rest + bytes - 1, bytes).await);
    }
    // The default is the same limit.
    let server = |bytes| deploy(hoarder(bytes));
    let edge = DEFAULT_MAX_PAYLOAD - rest;
    assert!(ByHand::call(&server(edge), "work").begin().await.is_open());
    let over = ByHand::call(&server(edge + 1), "work").begin().await;
    assert!(over.text().contains("larger than 65536 bytes"), "{over:?}");

    // Nothing travels to a legacy client, so nothing is too large.
    let answers = [("Who", accept(json!({"name": "Ada"})))];
    let large = deploy(hoarder(2 * DEFAULT_MAX_PAYLOAD));
    let client = client(&large, LEGACY, &answers, &Diary::default()).await;
    assert_eq!(
        shown(client.call_tool("work", json!({})).await),
        "Ada 131072"
    );
}

/// Asks this many questions, one after the other.
fn insatiable(questions: usize) -> ToolHandler {
    plain("work", move |ctx: RequestContext| async move {
        for number in 0..questions {
            let text = format!("Who is {number}?");
            let _: Name = ctx.ask(format!("{number}"), text).await?;
        }
        Ok::<_, Error>("enough")
    })
}

#[tokio::test]
async fn a_call_has_64_rounds() {
    for (questions, enough) in [(64, true), (65, false)] {
        let server = deploy(insatiable(questions));
        let mut call = ByHand::call(&server, "work");
        let mut round = call.begin().await;
        let mut rounds = 0;
        while round.is_open() {
            rounds += 1;
            let key = round.asks().concat();
            let answers = json!({key: accept(json!({"name": "Ada"}))});
            round = call.answer(&round, answers).await;
        }
        assert_eq!(rounds, 64);
        let text = round.text();
        match enough {
            true => assert_eq!(text, "enough"),
            false => assert!(text.contains("in 64 rounds"), "{text}"),
        }
    }
}

#[tokio::test]
async fn a_question_that_reads_differently_each_time_ends_somewhere() {
    let diary = Diary::default();
    let tool = plain("work", move |ctx: RequestContext| {
        let number = diary.note("run");
        async move {
            let name: Name = ctx.ask("name", format!("Who is number {number}?")).await?;
            Ok::<_, Error>(name.name)
        }
    });
    let server = deploy(tool);
    let mut call = ByHand::call(&server, "work");
    let mut round = call.begin().await;
    for _ in 0..64 {
        assert_eq!(round.asks(), ["name"]);
        round = call.answer(&round, named()).await;
    }
    assert!(
        round.text().contains("must be the same in each run"),
        "{round:?}"
    );
}
