//! Limits of the stored request state and of the number of rounds.

use serde_json::{Value, json};
use toolwire::{Error, KeyRing, RequestContext, Server, StateKey, ToolHandler};
use toolwire_proto::request_state::DEFAULT_MAX_PAYLOAD;
use toolwire_tests::peer::plain;

use super::manual_call::ManualCall;
use super::{LEGACY, Name, Recorder, accept, client, result_text};

fn keys() -> KeyRing {
    KeyRing::new(StateKey::new([7; 32]))
}

fn server_with(tool: ToolHandler) -> Server {
    Server::new("service", "1")
        .with_request_state_keys(keys())
        .tool(tool)
}

fn named() -> Value {
    json!({"name": accept(json!({"name": "Ada"}))})
}

/// Returns a tool that stores this many bytes and then asks for a name.
fn storing_tool(bytes: usize) -> ToolHandler {
    plain("work", move |ctx: RequestContext| async move {
        let stored = ctx.once("stored", async { "x".repeat(bytes) }).await?;
        let name: Name = ctx.ask("name", "Who?").await?;
        Ok::<_, Error>(format!("{} {}", name.name, stored.len()))
    })
}

#[tokio::test]
async fn stored_results_have_a_limit_in_bytes() {
    // Determines the size of the journal without the stored bytes, by increasing the limit until it fits.
    let fits = async |limit: usize, bytes: usize| {
        let server = Server::new("service", "1")
            .with_request_state_keys(keys().with_max_payload(limit))
            .tool(storing_tool(bytes));
        let mut call = ManualCall::call(&server, "work");
        let round = call.start().await;
        if round.is_open() {
            let done = call.respond(&round, named()).await;
            assert_eq!(done.text(), format!("Ada {bytes}"));
            return true;
        }
        let text = round.text();
        let expected = format!("is larger than {limit} bytes; ask for less, or raise the limit");
        assert!(text.starts_with("-32603"), "{text}");
        assert!(text.contains(&expected), "{text}");
        false
    };
    let mut rest = 0;
    while !fits(rest, 0).await {
        rest += 1;
    }
    assert!(
        rest < 200,
        "{rest} bytes for one effect and one input request"
    );
    for bytes in [1, 1000, DEFAULT_MAX_PAYLOAD - rest] {
        assert!(fits(rest + bytes, bytes).await);
        assert!(!fits(rest + bytes - 1, bytes).await);
    }
    // The default limit has the same effect.
    let server = |bytes| server_with(storing_tool(bytes));
    let edge = DEFAULT_MAX_PAYLOAD - rest;
    assert!(
        ManualCall::call(&server(edge), "work")
            .start()
            .await
            .is_open()
    );
    let over = ManualCall::call(&server(edge + 1), "work").start().await;
    assert!(over.text().contains("larger than 65536 bytes"), "{over:?}");

    // A legacy client gets no state, so the limit does not apply.
    let responses = [("Who", accept(json!({"name": "Ada"})))];
    let large = server_with(storing_tool(2 * DEFAULT_MAX_PAYLOAD));
    let client = client(&large, LEGACY, &responses, &Recorder::default()).await;
    assert_eq!(
        result_text(client.call_tool("work", json!({})).await),
        "Ada 131072"
    );
}

/// Returns a tool that sends this many input requests, one after the other.
fn asking_tool(input_requests: usize) -> ToolHandler {
    plain("work", move |ctx: RequestContext| async move {
        for number in 0..input_requests {
            let text = format!("Who is {number}?");
            let _: Name = ctx.ask(format!("{number}"), text).await?;
        }
        Ok::<_, Error>("enough")
    })
}

#[tokio::test]
async fn call_has_at_most_64_rounds() {
    for (input_requests, enough) in [(64, true), (65, false)] {
        let server = server_with(asking_tool(input_requests));
        let mut call = ManualCall::call(&server, "work");
        let mut round = call.start().await;
        let mut rounds = 0;
        while round.is_open() {
            rounds += 1;
            let key = round.input_keys().concat();
            let responses = json!({key: accept(json!({"name": "Ada"}))});
            round = call.respond(&round, responses).await;
        }
        assert_eq!(rounds, 64);
        let text = round.text();
        if enough {
            assert_eq!(text, "enough");
        } else {
            assert!(text.contains("in 64 rounds"), "{text}");
        }
    }
}

#[tokio::test]
async fn input_request_that_differs_in_each_run_fails_after_64_rounds() {
    let recorder = Recorder::default();
    let tool = plain("work", move |ctx: RequestContext| {
        let number = recorder.record("run");
        async move {
            let name: Name = ctx.ask("name", format!("Who is number {number}?")).await?;
            Ok::<_, Error>(name.name)
        }
    });
    let server = server_with(tool);
    let mut call = ManualCall::call(&server, "work");
    let mut round = call.start().await;
    for _ in 0..64 {
        assert_eq!(round.input_keys(), ["name"]);
        round = call.respond(&round, named()).await;
    }
    assert!(
        round.text().contains("must be the same in each run"),
        "{round:?}"
    );
}
