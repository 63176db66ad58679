//! Effects that run once per call: `ctx.once` and `ctx.try_once`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolwire::store::MemoryNonceStore;
use toolwire::{
    Error, ErrorObject, KeyRing, RequestContext, Server, StateKey, ToolError, ToolHandler,
};
use toolwire_tests::peer::plain;

use super::manual_call::ManualCall;
use super::{BOTH, Confirm, Name, Recorder, accept, client, result_text};

fn server_with(tool: ToolHandler) -> Server {
    Server::new("service", "1")
        .with_request_state_keys(KeyRing::new(StateKey::new([7; 32])))
        .tool(tool)
}

fn named() -> serde_json::Value {
    json!({"name": accept(json!({"name": "Ada"}))})
}

fn sure() -> serde_json::Value {
    json!({"sure": accept(json!({"sure": true}))})
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Order {
    number: u64,
    lines: Vec<Option<String>>,
}

/// Returns a tool that places an order between two input requests.
fn shop(recorder: &Recorder) -> ToolHandler {
    let recorder = recorder.clone();
    plain("work", move |ctx: RequestContext| {
        let recorder = recorder.clone();
        async move {
            let name: Name = ctx.ask("name", "Who?").await?;
            let order = ctx
                .once("order", async {
                    let number = recorder.record(format!("ordered for {}", name.name)) as u64;
                    let lines = vec![Some("ä\u{0}\"".to_owned()), None];
                    Order { number, lines }
                })
                .await?;
            let sure: Confirm = ctx.ask("sure", "Sure?").await?;
            Ok::<_, Error>(format!("{order:?} {}", sure.sure))
        }
    })
}

#[tokio::test]
async fn effect_runs_once_and_its_result_is_stored() {
    for version in BOTH {
        let recorder = Recorder::default();
        let responses = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Sure", accept(json!({"sure": true}))),
        ];
        let server = server_with(shop(&recorder));
        let client = client(&server, version, &responses, &Recorder::default()).await;
        let text = result_text(client.call_tool("work", json!({})).await);
        assert_eq!(
            text,
            r#"Order { number: 1, lines: [Some("ä\0\""), None] } true"#
        );
        assert_eq!(recorder.take(), ["ordered for Ada"], "{version}");
    }
}

#[tokio::test]
async fn replayed_state_repeats_an_effect_unless_states_are_single_use() {
    let recorder = Recorder::default();
    let server = server_with(shop(&recorder));
    let mut call = ManualCall::call(&server, "work");
    let first = call.start().await;
    let second = call.respond(&first, named()).await;
    let again = call.respond(&first, named()).await;
    assert_eq!(again.input_keys(), ["sure"]);
    assert_eq!(
        recorder.take().len(),
        2,
        "the state of the first round is still valid"
    );
    // The state of the second round has stored the effect.
    assert!(call.respond(&second, sure()).await.text().contains("true"));
    assert!(call.respond(&second, sure()).await.text().contains("true"));
    assert_eq!(recorder.take().len(), 0);

    let server =
        server_with(shop(&recorder)).with_single_use_request_state(MemoryNonceStore::default());
    let mut call = ManualCall::call(&server, "work");
    let first = call.start().await;
    let second = call.respond(&first, named()).await;
    let again = call.respond(&first, named()).await;
    assert_eq!(
        again.text(),
        "-32602: requestState is invalid or has expired"
    );
    assert!(call.respond(&second, sure()).await.text().contains("true"));
    assert_eq!(recorder.take().len(), 1);
}

#[tokio::test]
async fn stored_result_of_another_type_is_an_error_and_not_repeated() {
    let recorder = Recorder::default();
    let server = server_with(shop(&recorder));
    let mut call = ManualCall::call(&server, "work");
    let first = call.start().await;
    let second = call.respond(&first, named()).await;
    assert_eq!(recorder.take().len(), 1);

    let events = recorder.clone();
    let changed = plain("work", move |ctx: RequestContext| {
        let events = events.clone();
        async move {
            let work = async { events.record("again").to_string() };
            let number: String = ctx.once("order", work).await?;
            Ok::<_, Error>(number)
        }
    });
    let third = ManualCall::call(&server_with(changed), "work")
        .respond(&second, sure())
        .await;
    assert_eq!(
        third.text(),
        "-32603: unreadable result stored as \"order\""
    );
    assert_eq!(recorder.take(), [""; 0]);
}

#[tokio::test]
async fn failed_effect_is_repeated_by_the_next_run() {
    for version in BOTH {
        let recorder = Recorder::default();
        let events = recorder.clone();
        let tool = plain("work", move |ctx: RequestContext| {
            let events = events.clone();
            async move {
                let attempt = async {
                    match events.record("tried") {
                        3.. => Ok("it worked".to_owned()),
                        _ => Err(Error::from(ErrorObject::internal("no"))),
                    }
                };
                let Ok(text) = ctx.try_once("try", attempt).await else {
                    return Err(ctx.retry_later());
                };
                let sure: Confirm = ctx.ask("sure", "Sure?").await?;
                Ok(format!("{text} {}", sure.sure))
            }
        });
        let responses = [("Sure", accept(json!({"sure": true})))];
        tokio::time::pause();
        let client = client(
            &server_with(tool),
            version,
            &responses,
            &Recorder::default(),
        )
        .await;
        let text = result_text(client.call_tool("work", json!({})).await);
        assert_eq!(text, "it worked true", "{version}");
        assert_eq!(recorder.take(), ["tried"; 3], "{version}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn result_that_is_not_json_is_an_error() {
    for version in BOTH {
        let tool = plain("work", |ctx: RequestContext| async move {
            let odd = HashMap::from([((1, 2), 3)]);
            let odd = ctx.once("odd", async { odd }).await?;
            Ok::<_, Error>(odd.len().to_string())
        });
        let client = client(&server_with(tool), version, &[], &Recorder::default()).await;
        let error = client
            .call_tool("work", json!({}))
            .await
            .expect_err("the result is not JSON");
        let text = error.to_string();
        assert!(
            text.contains("result to store as \"odd\""),
            "{version}: {text}"
        );
    }
}

/// A type that loses a field when it is serialized.
#[derive(Debug, Serialize, Deserialize)]
struct Lossy {
    number: u8,
    #[serde(skip)]
    #[expect(dead_code, reason = "read by printing it")]
    note: Option<&'static str>,
}

#[tokio::test]
async fn first_run_sees_the_deserialized_result() {
    for version in BOTH {
        let tool = plain("work", |ctx: RequestContext| async move {
            let work = async {
                Lossy {
                    number: 7,
                    note: Some("lost"),
                }
            };
            let lossy = ctx.once("lossy", work).await?;
            let _: Name = ctx.ask("name", format!("Who? {lossy:?}")).await?;
            Ok::<_, Error>(format!("{lossy:?}"))
        });
        let (responses, requested) = (
            [("Who", accept(json!({"name": "Ada"})))],
            Recorder::default(),
        );
        let client_ = client(&server_with(tool), version, &responses, &requested).await;
        let text = result_text(client_.call_tool("work", json!({})).await);
        assert_eq!(text, "Lossy { number: 7, note: None }", "{version}");
        assert_eq!(requested.take().len(), 1, "{version}");

        // NaN cannot be represented in JSON.
        let tool = plain("work", |ctx: RequestContext| async move {
            let number = ctx.once("number", async { f64::NAN }).await?;
            let _: Name = ctx.ask("name", "Who?").await?;
            Ok::<_, Error>(format!("{number}"))
        });
        let client_ = client(&server_with(tool), version, &responses, &requested).await;
        let text = result_text(client_.call_tool("work", json!({})).await);
        assert!(text.contains("stored as"), "{version}: {text}");
        assert_eq!(
            requested.take(),
            [""; 0],
            "{version}: the error is detected before the input request"
        );
    }
}

#[tokio::test]
async fn concurrent_uses_of_an_effect_run_it_once() {
    for version in BOTH {
        let recorder = Recorder::default();
        let events = recorder.clone();
        let tool = plain("work", move |ctx: RequestContext| {
            let events = events.clone();
            async move {
                let work = async || {
                    tokio::task::yield_now().await;
                    events.record("paid")
                };
                let (one, other) = tokio::join!(ctx.once("pay", work()), ctx.once("pay", work()));
                Ok::<_, Error>(format!("{:?} {:?}", one.ok(), other.ok()))
            }
        });
        let client = client(&server_with(tool), version, &[], &Recorder::default()).await;
        result_text(client.call_tool("work", json!({})).await);
        assert_eq!(recorder.take(), ["paid"], "{version}");
    }
}

#[tokio::test]
async fn effect_with_a_pending_input_request_is_not_stored() {
    for version in BOTH {
        let recorder = Recorder::default();
        let events = recorder.clone();
        let tool = plain("work", move |ctx: RequestContext| {
            let events = events.clone();
            async move {
                let work = async {
                    let name = ctx.ask::<Name>("name", "Who?").await.ok()?;
                    events.record(format!("paid by {}", name.name));
                    Some(name.name)
                };
                let payer = ctx.once("pay", work).await?;
                let sure: Confirm = ctx.ask("sure", "Sure?").await?;
                Ok::<_, Error>(format!("{payer:?} {}", sure.sure))
            }
        });
        let responses = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Sure", accept(json!({"sure": true}))),
        ];
        let client = client(
            &server_with(tool),
            version,
            &responses,
            &Recorder::default(),
        )
        .await;
        let text = result_text(client.call_tool("work", json!({})).await);
        assert_eq!(text, r#"Some("Ada") true"#, "{version}");
        assert_eq!(recorder.take(), ["paid by Ada"], "{version}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_tasks_run_an_effect_once() {
    let recorder = Recorder::default();
    let events = recorder.clone();
    let tool = plain("work", move |ctx: RequestContext| {
        let events = events.clone();
        async move {
            let tasks: Vec<_> = (0..16)
                .map(|_| {
                    let (ctx, events) = (ctx.clone(), events.clone());
                    tokio::spawn(
                        async move { ctx.once("pay", async { events.record("paid") }).await },
                    )
                })
                .collect();
            for task in tasks {
                // One task runs the effect. The others get its result, or an error that it is already running.
                match task.await {
                    Ok(Ok(number)) => assert_eq!(number, 1),
                    Ok(Err(error)) => assert!(error.to_string().contains("is already running")),
                    Err(error) => return Err(ToolError::from(error)),
                }
            }
            Ok("done")
        }
    });
    let server = server_with(tool);
    for _ in 0..50 {
        let round = ManualCall::call(&server, "work").start().await;
        assert_eq!(round.text(), "done");
        assert_eq!(recorder.take(), ["paid"]);
    }
}
