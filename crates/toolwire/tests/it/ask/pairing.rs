//! An answer goes to the question it was given to, and to no other.

use serde_json::{Map, Value, json};
use toolwire::types::{CreateMessageRequestParams, SamplingMessage};
use toolwire::{Error, KeyRing, RequestContext, Server, StateKey, ToolHandler, ask};

use super::by_hand::{ByHand, Round, able};
use super::{Confirm, Diary, Name, accept};
use crate::peer::{Peer, answer, legacy, plain};

/// One deploy of a service whose deploys share their keys.
fn deploy(tool: ToolHandler) -> Server {
    let keys = KeyRing::new(StateKey::new([7; 32]));
    Server::new("service", "1")
        .with_request_state_keys(keys)
        .tool(tool)
}

fn greeter() -> ToolHandler {
    plain("greet", |ctx: RequestContext| async move {
        let (first, last) = ctx
            .ask_all((
                ask::form::<Name>("first", "First name?"),
                ask::form::<Name>("last", "Last name?"),
            ))
            .await?;
        Ok::<_, Error>(format!("{} {}", first.name, last.name))
    })
}

#[tokio::test]
async fn what_is_not_answered_is_asked_again_and_the_rest_is_kept() {
    let server = deploy(greeter());
    let named = |name: &str| accept(json!({"name": name}));
    for (answers, still_asked) in [
        (json!({}), vec!["first", "last"]),
        (json!({"other": named("X")}), vec!["first", "last"]),
        (json!({"FIRST": named("X")}), vec!["first", "last"]),
        (json!({"first": named("Ada")}), vec!["last"]),
        (json!({"last": named("Lovelace")}), vec!["first"]),
        (
            json!({"first": named("Ada"), "other": named("X")}),
            vec!["last"],
        ),
        (
            json!({"first": named("Ada"), "last": named("Lovelace"), "other": 7}),
            vec![],
        ),
    ] {
        let mut call = ByHand::call(&server, "greet");
        let first = call.begin().await;
        assert_eq!(first.asks(), ["first", "last"]);
        let second = call.answer(&first, answers.clone()).await;
        assert_eq!(second.asks(), still_asked, "{answers}");
        if still_asked.is_empty() {
            assert_eq!(second.text(), "Ada Lovelace");
            continue;
        }
        // What was given before counts, whatever comes under its key now.
        let mut rest = json!({"first": named("Eve"), "last": named("Eve")});
        for key in &still_asked {
            rest[*key] = match *key {
                "first" => named("Ada"),
                _ => named("Lovelace"),
            };
        }
        let third = call.answer(&second, rest).await;
        assert_eq!(third.text(), "Ada Lovelace", "{answers}");
    }
}

#[tokio::test]
async fn answers_without_a_state_are_answers_to_nothing() {
    let mut call = ByHand::call(&deploy(greeter()), "greet");
    let named = accept(json!({"name": "Ada"}));
    let answers = json!({"first": named, "last": named});
    let round = call.send(Some(answers), None).await;
    assert_eq!(round.asks(), ["first", "last"]);
}

/// Asks for a name under `key`, and for a confirmation after it.
fn asks_name(key: &'static str, message: &'static str) -> ToolHandler {
    plain("work", move |ctx: RequestContext| async move {
        let name: Name = ctx.ask(key, message).await?;
        let confirm: Confirm = ctx.ask("sure", "Sure?").await?;
        Ok::<_, Error>(format!("{} {}", name.name, confirm.sure))
    })
}

/// Asks for the same things the other way round.
fn asks_reversed() -> ToolHandler {
    plain("work", |ctx: RequestContext| async move {
        let confirm: Confirm = ctx.ask("sure", "Sure?").await?;
        let name: Name = ctx.ask("name", "Who?").await?;
        Ok::<_, Error>(format!("{} {}", name.name, confirm.sure))
    })
}

/// Asks for something of another shape under the old key.
fn asks_confirmation() -> ToolHandler {
    plain("work", |ctx: RequestContext| async move {
        let confirm: Confirm = ctx.ask("name", "Who?").await?;
        Ok::<_, Error>(format!("{}", confirm.sure))
    })
}

fn asks_roots() -> ToolHandler {
    plain("work", |ctx: RequestContext| async move {
        let roots = ctx.ask_roots("name").await?;
        Ok::<_, Error>(format!("{} roots", roots.len()))
    })
}

fn does(diary: &Diary) -> ToolHandler {
    let diary = diary.clone();
    plain("work", move |ctx: RequestContext| {
        let diary = diary.clone();
        async move {
            let number = ctx.once("name", async { diary.note("done") }).await?;
            Ok::<_, Error>(format!("done {number}"))
        }
    })
}

#[tokio::test]
async fn a_deploy_between_the_rounds_never_mixes_up_answers() {
    let old = deploy(asks_name("name", "Who?"));
    let check = async |new: ToolHandler, asks: &[&str]| {
        let first = ByHand::call(&old, "work").begin().await;
        assert_eq!(first.asks(), ["name"]);
        let mut call = ByHand::call(&deploy(new), "work");
        let answers = json!({"name": accept(json!({"name": "Ada"}))});
        let second = call.answer(&first, answers).await;
        assert_eq!(second.asks(), asks, "{second:?}");
    };
    check(asks_name("name", "Who?"), &["sure"]).await;
    check(asks_name("name", "Who are you?"), &["name"]).await;
    check(asks_name("user", "Who?"), &["user"]).await;
    check(asks_reversed(), &["sure"]).await;
    check(asks_confirmation(), &["name"]).await;
    check(asks_roots(), &["name"]).await;

    // The answer to a question is no result of an effect.
    let diary = Diary::default();
    check(does(&diary), &[]).await;
    assert_eq!(diary.take(), ["done"]);
}

#[tokio::test]
async fn a_deploy_after_the_answer_never_mixes_it_up_either() {
    let old = deploy(asks_name("name", "Who?"));
    let named = || json!({"name": accept(json!({"name": "Ada"}))});
    let sure = || json!({"sure": accept(json!({"sure": true}))});
    let check = async |new: ToolHandler, asks: &[&str], text: &str| {
        let mut call = ByHand::call(&old, "work");
        let first = call.begin().await;
        let second = call.answer(&first, named()).await;
        assert_eq!(second.asks(), ["sure"]);
        let third = ByHand::call(&deploy(new), "work")
            .answer(&second, sure())
            .await;
        assert_eq!(third.asks(), asks, "{third:?}");
        assert!(third.text().contains(text), "{third:?}");
    };
    check(asks_name("name", "Who?"), &[], "Ada true").await;
    check(asks_reversed(), &[], "Ada true").await;
    check(asks_name("name", "Who are you?"), &["name"], "").await;
    check(asks_name("user", "Who?"), &["user"], "").await;
    check(asks_confirmation(), &["name"], "").await;
    check(asks_roots(), &["name"], "").await;

    let diary = Diary::default();
    let clear = "-32603: the key \"name\" is used for two purposes";
    check(does(&diary), &[], clear).await;
    assert_eq!(diary.take(), [""; 0], "nothing is done under a taken key");
}

#[tokio::test]
async fn an_effect_that_became_a_question_is_an_error() {
    let diary = Diary::default();
    let notes = diary.clone();
    let old = plain("work", move |ctx: RequestContext| {
        let notes = notes.clone();
        async move {
            ctx.once("name", async { notes.note("done") }).await?;
            let confirm: Confirm = ctx.ask("sure", "Sure?").await?;
            Ok::<_, Error>(format!("{}", confirm.sure))
        }
    });
    let first = ByHand::call(&deploy(old), "work").begin().await;
    let mut call = ByHand::call(&deploy(asks_name("name", "Who?")), "work");
    let second = call.answer(&first, json!({"sure": null})).await;
    assert!(
        second.text().contains("is used for two purposes"),
        "{second:?}"
    );
    assert_eq!(diary.take(), ["done"]);
}

#[tokio::test]
async fn an_answer_of_another_kind_is_refused() {
    let message =
        || json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "well"}});
    let roots = || json!({"roots": [{"uri": "file:///a"}]});
    let tool = |kind: &'static str| {
        plain("work", move |ctx: RequestContext| async move {
            Ok::<_, Error>(match kind {
                "roots" => ctx.ask_roots("k").await?.len().to_string(),
                _ => {
                    let request = CreateMessageRequestParams::new([SamplingMessage::user("hi")], 1);
                    ctx.ask_model("k", request).await?.content.text()
                }
            })
        })
    };
    for (kind, reply, expected) in [
        ("roots", roots(), "1"),
        ("roots", message(), ""),
        ("roots", accept(json!({})), ""),
        ("roots", json!({"roots": "/"}), ""),
        ("roots", json!(null), ""),
        ("model", message(), "well"),
        ("model", roots(), ""),
        ("model", accept(json!({})), ""),
        ("model", json!({"role": "assistant", "model": "m"}), ""),
        ("model", json!([]), ""),
    ] {
        let server = deploy(tool(kind));
        let mut call = ByHand::call(&server, "work");
        let round = call.begin().await;
        let modern = call.answer(&round, json!({"k": reply})).await.0;

        let mut peer = Peer::connect(&server);
        peer.initialize_with("2025-11-25", able()).await;
        peer.send(legacy(1, "tools/call", json!({"name": "work"})))
            .await;
        let question = peer.receive().await;
        peer.send(answer(question["id"].clone(), reply.clone()))
            .await;
        let legacy = peer.receive().await;
        for answer in [modern, legacy] {
            let text = Round(answer).text();
            match expected {
                "" => assert!(
                    text.contains("the response to \"k\" is invalid"),
                    "{kind} {reply}: {text}"
                ),
                expected => assert_eq!(text, expected, "{kind} {reply}"),
            }
        }
    }
}

#[tokio::test]
async fn eight_questions_fit_into_one_round() {
    let tool = plain("work", |ctx: RequestContext| async move {
        let form = |key: &'static str| ask::form::<Name>(key, key);
        let (a, b, c, d, e, f, g, h) = ctx
            .ask_all((
                form("a"),
                form("b"),
                form("c"),
                form("d"),
                form("e"),
                form("f"),
                form("g"),
                form("h"),
            ))
            .await?;
        let names = [a, b, c, d, e, f, g, h].map(|name| name.name);
        Ok::<_, Error>(names.concat())
    });
    let server = deploy(tool);
    let mut call = ByHand::call(&server, "work");
    let round = call.begin().await;
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
    assert_eq!(round.asks(), keys);
    let answers: Map<_, _> = keys
        .iter()
        .map(|key| ((*key).to_owned(), accept(json!({"name": key}))))
        .collect();
    let done = call.answer(&round, Value::Object(answers)).await;
    assert_eq!(done.text(), "abcdefgh");
}
