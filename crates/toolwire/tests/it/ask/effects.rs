//! What happens once.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolwire::store::MemoryNonceStore;
use toolwire::{
    Error, ErrorObject, KeyRing, RequestContext, Server, StateKey, ToolError, ToolHandler,
};

use super::by_hand::ByHand;
use super::{BOTH, Confirm, Diary, Name, accept, client, shown};
use crate::peer::plain;

fn deploy(tool: ToolHandler) -> Server {
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

/// Orders between two questions.
fn shop(diary: &Diary) -> ToolHandler {
    let diary = diary.clone();
    plain("work", move |ctx: RequestContext| {
        let diary = diary.clone();
        async move {
            let name: Name = ctx.ask("name", "Who?").await?;
            let order = ctx
                .once("order", async {
                    let number = diary.note(format!("ordered for {}", name.name)) as u64;
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
async fn an_effect_takes_place_once_and_its_result_stays() {
    for version in BOTH {
        let diary = Diary::default();
        let answers = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Sure", accept(json!({"sure": true}))),
        ];
        let server = deploy(shop(&diary));
        let client = client(&server, version, &answers, &Diary::default()).await;
        let text = shown(client.call_tool("work", json!({})).await);
        assert_eq!(
            text,
            r#"Order { number: 1, lines: [Some("ä\0\""), None] } true"#
        );
        assert_eq!(diary.take(), ["ordered for Ada"], "{version}");
    }
}

#[tokio::test]
async fn a_client_that_goes_back_makes_it_happen_again_unless_states_work_once() {
    let diary = Diary::default();
    let server = deploy(shop(&diary));
    let mut call = ByHand::call(&server, "work");
    let first = call.begin().await;
    let second = call.answer(&first, named()).await;
    let again = call.answer(&first, named()).await;
    assert_eq!(again.asks(), ["sure"]);
    assert_eq!(diary.take().len(), 2, "the state of the first round lasts");
    // Within what a state remembers it did happen once.
    assert!(call.answer(&second, sure()).await.text().contains("true"));
    assert!(call.answer(&second, sure()).await.text().contains("true"));
    assert_eq!(diary.take().len(), 0);

    let server = deploy(shop(&diary)).with_single_use_request_state(MemoryNonceStore::default());
    let mut call = ByHand::call(&server, "work");
    let first = call.begin().await;
    let second = call.answer(&first, named()).await;
    let again = call.answer(&first, named()).await;
    assert_eq!(
        again.text(),
        "-32602: requestState is invalid or has expired"
    );
    assert!(call.answer(&second, sure()).await.text().contains("true"));
    assert_eq!(diary.take().len(), 1);
}

#[tokio::test]
async fn a_result_of_another_shape_is_an_error_and_no_second_effect() {
    let diary = Diary::default();
    let server = deploy(shop(&diary));
    let mut call = ByHand::call(&server, "work");
    let first = call.begin().await;
    let second = call.answer(&first, named()).await;
    assert_eq!(diary.take().len(), 1);

    let notes = diary.clone();
    let changed = plain("work", move |ctx: RequestContext| {
        let notes = notes.clone();
        async move {
            let work = async { notes.note("again").to_string() };
            let number: String = ctx.once("order", work).await?;
            Ok::<_, Error>(number)
        }
    });
    let third = ByHand::call(&deploy(changed), "work")
        .answer(&second, sure())
        .await;
    assert_eq!(
        third.text(),
        "-32603: unreadable result stored as \"order\""
    );
    assert_eq!(diary.take(), [""; 0]);
}

#[tokio::test]
async fn an_effect_that_fails_is_tried_again_by_the_next_run() {
    for version in BOTH {
        let diary = Diary::default();
        let notes = diary.clone();
        let tool = plain("work", move |ctx: RequestContext| {
            let notes = notes.clone();
            async move {
                let attempt = async {
                    match notes.note("tried") {
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
        let answers = [("Sure", accept(json!({"sure": true})))];
        tokio::time::pause();
        let client = client(&deploy(tool), version, &answers, &Diary::default()).await;
        let text = shown(client.call_tool("work", json!({})).await);
        assert_eq!(text, "it worked true", "{version}");
        assert_eq!(diary.take(), ["tried"; 3], "{version}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_result_that_is_not_json_is_an_error() {
    for version in BOTH {
        let tool = plain("work", |ctx: RequestContext| async move {
            let odd = HashMap::from([((1, 2), 3)]);
            let odd = ctx.once("odd", async { odd }).await?;
            Ok::<_, Error>(odd.len().to_string())
        });
        let client = client(&deploy(tool), version, &[], &Diary::default()).await;
        let error = client.call_tool("work", json!({})).await.expect_err("odd");
        let text = error.to_string();
        assert!(
            text.contains("result to store as \"odd\""),
            "{version}: {text}"
        );
    }
}

/// Loses something on its way through JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Leaky {
    number: u8,
    #[serde(skip)]
    #[expect(dead_code, reason = "read by printing it")]
    note: Option<&'static str>,
}

#[tokio::test]
async fn the_first_run_sees_what_all_others_see() {
    for version in BOTH {
        let tool = plain("work", |ctx: RequestContext| async move {
            let work = async {
                Leaky {
                    number: 7,
                    note: Some("lost"),
                }
            };
            let leaky = ctx.once("leaky", work).await?;
            let _: Name = ctx.ask("name", format!("Who? {leaky:?}")).await?;
            Ok::<_, Error>(format!("{leaky:?}"))
        });
        let (answers, asked) = ([("Who", accept(json!({"name": "Ada"})))], Diary::default());
        let client_ = client(&deploy(tool), version, &answers, &asked).await;
        let text = shown(client_.call_tool("work", json!({})).await);
        assert_eq!(text, "Leaky { number: 7, note: None }", "{version}");
        assert_eq!(asked.take().len(), 1, "{version}");

        // JSON has no such number.
        let tool = plain("work", |ctx: RequestContext| async move {
            let number = ctx.once("number", async { f64::NAN }).await?;
            let _: Name = ctx.ask("name", "Who?").await?;
            Ok::<_, Error>(format!("{number}"))
        });
        let client_ = client(&deploy(tool), version, &answers, &asked).await;
        let text = shown(client_.call_tool("work", json!({})).await);
        assert!(text.contains("stored as"), "{version}: {text}");
        assert_eq!(asked.take(), [""; 0], "{version}: it is known at once");
    }
}

#[tokio::test]
async fn an_effect_that_is_asked_for_twice_at_the_same_time_takes_place_once() {
    for version in BOTH {
        let diary = Diary::default();
        let notes = diary.clone();
        let tool = plain("work", move |ctx: RequestContext| {
            let notes = notes.clone();
            async move {
                let work = async || {
                    tokio::task::yield_now().await;
                    notes.note("paid")
                };
                let (one, other) = tokio::join!(ctx.once("pay", work()), ctx.once("pay", work()));
                Ok::<_, Error>(format!("{:?} {:?}", one.ok(), other.ok()))
            }
        });
        let client = client(&deploy(tool), version, &[], &Diary::default()).await;
        shown(client.call_tool("work", json!({})).await);
        assert_eq!(diary.take(), ["paid"], "{version}");
    }
}

#[tokio::test]
async fn a_question_inside_an_effect_is_asked_before_it_counts_as_done() {
    for version in BOTH {
        let diary = Diary::default();
        let notes = diary.clone();
        let tool = plain("work", move |ctx: RequestContext| {
            let notes = notes.clone();
            async move {
                let work = async {
                    let name = ctx.ask::<Name>("name", "Who?").await.ok()?;
                    notes.note(format!("paid by {}", name.name));
                    Some(name.name)
                };
                let payer = ctx.once("pay", work).await?;
                let sure: Confirm = ctx.ask("sure", "Sure?").await?;
                Ok::<_, Error>(format!("{payer:?} {}", sure.sure))
            }
        });
        let answers = [
            ("Who", accept(json!({"name": "Ada"}))),
            ("Sure", accept(json!({"sure": true}))),
        ];
        let client = client(&deploy(tool), version, &answers, &Diary::default()).await;
        let text = shown(client.call_tool("work", json!({})).await);
        assert_eq!(text, r#"Some("Ada") true"#, "{version}");
        assert_eq!(diary.take(), ["paid by Ada"], "{version}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_that_want_the_same_effect_get_it_once() {
    let diary = Diary::default();
    let notes = diary.clone();
    let tool = plain("work", move |ctx: RequestContext| {
        let notes = notes.clone();
        async move {
            let tasks: Vec<_> = (0..16)
                .map(|_| {
                    let (ctx, notes) = (ctx.clone(), notes.clone());
                    tokio::spawn(async move { ctx.once("pay", async { notes.note("paid") }).await })
                })
                .collect();
            for task in tasks {
                // One pays; the others get its result, or are told that it is about to.
                match task.await {
                    Ok(Ok(number)) => assert_eq!(number, 1),
                    Ok(Err(error)) => assert!(error.to_string().contains("is already running")),
                    Err(error) => return Err(ToolError::from(error)),
                }
            }
            Ok("done")
        }
    });
    let server = deploy(tool);
    for _ in 0..50 {
        let round = ByHand::call(&server, "work").begin().await;
        assert_eq!(round.text(), "done");
        assert_eq!(diary.take(), ["paid"]);
    }
}
