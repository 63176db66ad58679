//! An input response is used only for the input request that it belongs to.

use serde_json::{Map, Value, json};
use toolwire::types::{CreateMessageRequestParams, SamplingMessage};
use toolwire::{Error, KeyRing, RequestContext, Server, StateKey, ToolHandler, ask};
use toolwire_tests::peer::{Peer, legacy, plain, result_response};

use super::manual_call::{ManualCall, Round, all_capabilities};
use super::{Confirm, Name, Recorder, accept};

/// Returns one deployment of a service. All deployments share their keys.
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
async fn only_missing_input_responses_are_requested_again() {
    let server = deploy(greeter());
    let named = |name: &str| accept(json!({"name": name}));
    for (responses, still_asked) in [
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
        let mut call = ManualCall::call(&server, "greet");
        let first = call.start().await;
        assert_eq!(first.input_keys(), ["first", "last"]);
        let second = call.respond(&first, responses.clone()).await;
        assert_eq!(second.input_keys(), still_asked, "{responses}");
        if still_asked.is_empty() {
            assert_eq!(second.text(), "Ada Lovelace");
            continue;
        }
        // Earlier responses are retained, whatever a later round contains under their keys.
        let mut rest = json!({"first": named("Eve"), "last": named("Eve")});
        for key in &still_asked {
            rest[*key] = match *key {
                "first" => named("Ada"),
                _ => named("Lovelace"),
            };
        }
        let third = call.respond(&second, rest).await;
        assert_eq!(third.text(), "Ada Lovelace", "{responses}");
    }
}

#[tokio::test]
async fn input_responses_without_a_state_are_ignored() {
    let mut call = ManualCall::call(&deploy(greeter()), "greet");
    let named = accept(json!({"name": "Ada"}));
    let responses = json!({"first": named, "last": named});
    let round = call.send(Some(responses), None).await;
    assert_eq!(round.input_keys(), ["first", "last"]);
}

/// Returns a tool that asks for a name under `key` and then for a confirmation.
fn asks_name(key: &'static str, message: &'static str) -> ToolHandler {
    plain("work", move |ctx: RequestContext| async move {
        let name: Name = ctx.ask(key, message).await?;
        let confirm: Confirm = ctx.ask("sure", "Sure?").await?;
        Ok::<_, Error>(format!("{} {}", name.name, confirm.sure))
    })
}

/// Returns a tool that asks for the same things in reverse order.
fn asks_reversed() -> ToolHandler {
    plain("work", |ctx: RequestContext| async move {
        let confirm: Confirm = ctx.ask("sure", "Sure?").await?;
        let name: Name = ctx.ask("name", "Who?").await?;
        Ok::<_, Error>(format!("{} {}", name.name, confirm.sure))
    })
}

/// Returns a tool that asks for another type under the old key.
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

fn runs_effect(recorder: &Recorder) -> ToolHandler {
    let recorder = recorder.clone();
    plain("work", move |ctx: RequestContext| {
        let recorder = recorder.clone();
        async move {
            let number = ctx.once("name", async { recorder.record("done") }).await?;
            Ok::<_, Error>(format!("done {number}"))
        }
    })
}

#[tokio::test]
async fn deployment_between_rounds_does_not_mix_up_responses() {
    let old = deploy(asks_name("name", "Who?"));
    let check = async |new: ToolHandler, asks: &[&str]| {
        let first = ManualCall::call(&old, "work").start().await;
        assert_eq!(first.input_keys(), ["name"]);
        let mut call = ManualCall::call(&deploy(new), "work");
        let responses = json!({"name": accept(json!({"name": "Ada"}))});
        let second = call.respond(&first, responses).await;
        assert_eq!(second.input_keys(), asks, "{second:?}");
    };
    check(asks_name("name", "Who?"), &["sure"]).await;
    check(asks_name("name", "Who are you?"), &["name"]).await;
    check(asks_name("user", "Who?"), &["user"]).await;
    check(asks_reversed(), &["sure"]).await;
    check(asks_confirmation(), &["name"]).await;
    check(asks_roots(), &["name"]).await;

    // An input response is not the result of an effect.
    let recorder = Recorder::default();
    check(runs_effect(&recorder), &[]).await;
    assert_eq!(recorder.take(), ["done"]);
}

#[tokio::test]
async fn deployment_after_the_response_does_not_mix_up_responses() {
    let old = deploy(asks_name("name", "Who?"));
    let named = || json!({"name": accept(json!({"name": "Ada"}))});
    let sure = || json!({"sure": accept(json!({"sure": true}))});
    let check = async |new: ToolHandler, asks: &[&str], text: &str| {
        let mut call = ManualCall::call(&old, "work");
        let first = call.start().await;
        let second = call.respond(&first, named()).await;
        assert_eq!(second.input_keys(), ["sure"]);
        let third = ManualCall::call(&deploy(new), "work")
            .respond(&second, sure())
            .await;
        assert_eq!(third.input_keys(), asks, "{third:?}");
        assert!(third.text().contains(text), "{third:?}");
    };
    check(asks_name("name", "Who?"), &[], "Ada true").await;
    check(asks_reversed(), &[], "Ada true").await;
    check(asks_name("name", "Who are you?"), &["name"], "").await;
    check(asks_name("user", "Who?"), &["user"], "").await;
    check(asks_confirmation(), &["name"], "").await;
    check(asks_roots(), &["name"], "").await;

    let recorder = Recorder::default();
    let conflict = "-32603: the key \"name\" is used for two purposes";
    check(runs_effect(&recorder), &[], conflict).await;
    assert_eq!(recorder.take(), [""; 0], "no effect runs under a used key");
}

#[tokio::test]
async fn effect_that_became_an_input_request_is_an_error() {
    let recorder = Recorder::default();
    let events = recorder.clone();
    let old = plain("work", move |ctx: RequestContext| {
        let events = events.clone();
        async move {
            ctx.once("name", async { events.record("done") }).await?;
            let confirm: Confirm = ctx.ask("sure", "Sure?").await?;
            Ok::<_, Error>(format!("{}", confirm.sure))
        }
    });
    let first = ManualCall::call(&deploy(old), "work").start().await;
    let mut call = ManualCall::call(&deploy(asks_name("name", "Who?")), "work");
    let second = call.respond(&first, json!({"sure": null})).await;
    assert!(
        second.text().contains("is used for two purposes"),
        "{second:?}"
    );
    assert_eq!(recorder.take(), ["done"]);
}

#[tokio::test]
async fn input_response_of_another_kind_is_rejected() {
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
    for (kind, input_response, expected) in [
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
        let mut call = ManualCall::call(&server, "work");
        let round = call.start().await;
        let modern = call.respond(&round, json!({"k": input_response})).await.0;

        let mut peer = Peer::connect(&server);
        peer.initialize_with("2025-11-25", all_capabilities()).await;
        peer.send(legacy(1, "tools/call", json!({"name": "work"})))
            .await;
        let input_request = peer.receive().await;
        peer.send(result_response(
            input_request["id"].clone(),
            input_response.clone(),
        ))
        .await;
        let legacy = peer.receive().await;
        for response in [modern, legacy] {
            let text = Round(response).text();
            match expected {
                "" => assert!(
                    text.contains("the response to \"k\" is invalid"),
                    "{kind} {input_response}: {text}"
                ),
                expected => assert_eq!(text, expected, "{kind} {input_response}"),
            }
        }
    }
}

#[tokio::test]
async fn eight_input_requests_fit_into_one_round() {
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
    let mut call = ManualCall::call(&server, "work");
    let round = call.start().await;
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
    assert_eq!(round.input_keys(), keys);
    let responses: Map<_, _> = keys
        .iter()
        .map(|key| ((*key).to_owned(), accept(json!({"name": key}))))
        .collect();
    let done = call.respond(&round, Value::Object(responses)).await;
    assert_eq!(done.text(), "abcdefgh");
}
