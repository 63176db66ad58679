//! Handlers that come back later, and addresses a user is sent to.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::ask::ElicitOutcome;
use toolwire::{Error, RequestContext, Server, ToolError, ToolHandler, ask};

use super::by_hand::{ByHand, able};
use super::{BOTH, Diary, Name, accept, client, shown};
use crate::peer::{Peer, answer, legacy, plain, text};

/// Ready when it was looked at this often.
fn slow(times: usize, diary: &Diary) -> ToolHandler {
    let diary = diary.clone();
    plain("slow", move |ctx: RequestContext| {
        let diary = diary.clone();
        async move {
            let name: Name = ctx.ask("name", "Who?").await?;
            if diary.note("looked") <= times {
                return Err(ctx.retry_later());
            }
            Ok(format!("ready for {}", name.name))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_not_ready_runs_again_after_a_pause() {
    for version in BOTH {
        let (diary, asked) = (Diary::default(), Diary::default());
        let server = Server::new("test", "1").tool(slow(3, &diary));
        let answers = [("Who", accept(json!({"name": "Ada"})))];
        let client = client(&server, version, &answers, &asked).await;
        let begun = tokio::time::Instant::now();
        let outcome = shown(client.call_tool("slow", json!({})).await);
        assert_eq!(outcome, "ready for Ada", "{version}");
        assert_eq!(diary.take().len(), 4, "{version}");
        assert_eq!(asked.take(), ["Who?"], "{version}");
        // 100, 200 and 400 ms.
        let taken = begun.elapsed();
        let expected = Duration::from_millis(700);
        assert!(
            taken >= expected && taken < expected * 2,
            "{version}: {taken:?}"
        );
    }
}

#[tokio::test]
async fn a_modern_client_gets_a_state_and_no_question() {
    let tool = plain("work", |ctx: RequestContext| async move {
        Err::<String, Error>(ctx.retry_later())
    });
    let mut call =
        ByHand::call(&Server::new("test", "1").tool(tool), "work").with_capabilities(json!({}));
    let mut round = call.begin().await;
    for _ in 0..64 {
        assert!(round.is_open(), "{round:?}");
        assert_eq!(round.0["result"].get("inputRequests"), None, "{round:?}");
        let state = round.state().expect("a state").to_owned();
        round = call.send(None, Some(&state)).await;
    }
    assert!(round.text().contains("64 rounds"), "{round:?}");
}

#[tokio::test(start_paused = true)]
async fn somebody_gives_up_on_what_never_gets_ready() {
    for version in BOTH {
        let diary = Diary::default();
        let server = Server::new("test", "1").tool(slow(usize::MAX, &diary));
        let answers = [("Who", accept(json!({"name": "Ada"})))];
        let client = client(&server, version, &answers, &Diary::default()).await;
        let error = client.call_tool("slow", json!({})).await;
        error.expect_err("it is never ready");
        let looked = diary.take().len();
        assert!((2..=17).contains(&looked), "{version}: {looked}");
    }
}

#[tokio::test(start_paused = true)]
async fn not_yet_and_a_question_at_once_is_a_question() {
    for version in BOTH {
        let (diary, asked) = (Diary::default(), Diary::default());
        let notes = diary.clone();
        let tool = plain("work", move |ctx: RequestContext| {
            let notes = notes.clone();
            async move {
                let wait = match notes.note("run") {
                    1 => Some(ctx.retry_later()),
                    _ => None,
                };
                let name: Name = ctx.ask("name", "Who?").await?;
                match wait {
                    Some(wait) => Err(wait),
                    None => Ok(name.name),
                }
            }
        });
        let server = Server::new("test", "1").tool(tool);
        let answers = [("Who", accept(json!({"name": "Ada"})))];
        let client = client(&server, version, &answers, &asked).await;
        assert_eq!(shown(client.call_tool("work", json!({})).await), "Ada");
        assert_eq!(asked.take(), ["Who?"], "{version}");
        assert_eq!(diary.take().len(), 2, "{version}");
    }
}

fn visit(url: &'static str, id: Option<&'static str>) -> ToolHandler {
    plain("visit", move |ctx: RequestContext| async move {
        let mut question = ask::url("page", "Sign in", url);
        if let Some(id) = id {
            question = question.with_elicitation_id(id);
            ctx.elicitation_complete(id);
        }
        let answer = ctx.ask_with(question).await?;
        Ok::<_, Error>(match answer {
            ElicitOutcome::Accepted(()) => "accepted",
            ElicitOutcome::Declined => "declined",
            ElicitOutcome::Cancelled => "cancelled",
        })
    })
}

async fn asked_2025_11_25(tool: ToolHandler) -> (Peer, Value) {
    let server = Server::new("test", "1").without_server_info().tool(tool);
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", able()).await;
    peer.send(legacy("c", "tools/call", json!({"name": "visit"})))
        .await;
    let question = peer.receive().await;
    (peer, question)
}

#[tokio::test]
async fn an_address_has_an_id_in_2025_11_25_and_none_later() {
    for (action, expected) in [
        ("accept", "accepted"),
        ("decline", "declined"),
        ("cancel", "cancelled"),
    ] {
        let result = json!({"action": action});
        let (mut peer, question) = asked_2025_11_25(visit("https://example.com/", None)).await;
        let id = question["params"]["elicitationId"].as_str().expect("an id");
        assert_eq!(id.len(), 32, "nobody guesses {id}");
        peer.send(answer(question["id"].clone(), result.clone()))
            .await;
        peer.expect(answer("c", text(expected))).await;

        for id in [None, Some("visit-1")] {
            let server = Server::new("test", "1").tool(visit("https://example.com/", id));
            let mut call = ByHand::call(&server, "visit");
            let round = call.begin().await;
            let params =
                json!({"mode": "url", "message": "Sign in", "url": "https://example.com/"});
            let question = json!({"method": "elicitation/create", "params": params});
            assert_eq!(round.question("page"), &question);
            let done = call.answer(&round, json!({"page": result})).await;
            assert_eq!(done.text(), expected);
        }
    }
}

#[tokio::test]
async fn ids_are_new_each_time() {
    let id = async || {
        let (_, question) = asked_2025_11_25(visit("https://example.com/", None)).await;
        question["params"]["elicitationId"].clone()
    };
    assert_ne!(id().await, id().await);
}

#[tokio::test]
async fn the_end_of_a_visit_is_told_in_2025_11_25_only() {
    let (mut peer, told) = asked_2025_11_25(visit("https://example.com/", Some("visit-1"))).await;
    let expected = json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete",
        "params": {"elicitationId": "visit-1"}});
    assert_eq!(told, expected);
    let question = peer.receive().await;
    assert_eq!(question["params"]["elicitationId"], "visit-1");

    // A modern client gets its answer first: nothing was told before it.
    let server = Server::new("test", "1").tool(visit("https://example.com/", Some("visit-1")));
    let round = ByHand::call(&server, "visit").begin().await;
    assert!(round.is_open(), "{round:?}");

    let done = plain("visit", |ctx: RequestContext| async move {
        ctx.elicitation_complete("visit-1");
        "done"
    });
    let server = Server::new("test", "1").without_server_info().tool(done);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let mut peer = Peer::connect(&server);
        peer.initialize_with(version, able()).await;
        peer.send(legacy("c", "tools/call", json!({"name": "visit"})))
            .await;
        peer.expect(answer("c", text("done"))).await;
    }
}

#[tokio::test]
async fn nobody_is_sent_to_what_is_no_web_page() {
    for url in [
        "",
        "example.com",
        "javascript:alert(1)",
        "file:///etc",
        "https://",
    ] {
        let tool = || visit(url, None);
        let (_, refused) = asked_2025_11_25(tool()).await;
        let server = Server::new("test", "1").tool(tool());
        let round = ByHand::call(&server, "visit").begin().await;
        for answer in [&refused, &round.0] {
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("absolute http or https"), "{answer}");
        }
    }
}

#[tokio::test]
async fn an_address_is_answered_without_content() {
    let (mut peer, question) = asked_2025_11_25(visit("https://example.com/", None)).await;
    let filled = || accept(json!({"password": "secret"}));
    peer.send(answer(question["id"].clone(), filled())).await;
    let legacy = peer.receive().await;
    let server = Server::new("test", "1").tool(visit("https://example.com/", None));
    let mut call = ByHand::call(&server, "visit");
    let round = call.begin().await;
    let modern = call.answer(&round, json!({"page": filled()})).await.0;
    for refused in [legacy, modern] {
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("content"), "{refused}");
        assert!(!message.contains("secret"), "{refused}");
    }
}

#[tokio::test]
async fn not_yet_is_only_for_what_can_run_again() {
    let late =
        async |ctx: RequestContext, _: Value| Err::<Value, _>(ToolError::from(ctx.retry_later()));
    let server = Server::new("test", "1").method("com.example/late", late);
    let mut peer = Peer::connect(&server);
    let request = crate::peer::modern(1, "com.example/late", json!({}));
    let modern = peer.refusal_of(request, -32603).await;
    peer.initialize("2025-11-25").await;
    let request = legacy(2, "com.example/late", json!({}));
    let legacy = peer.refusal_of(request, -32603).await;
    assert_eq!(modern, legacy);
    let message = modern["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("ask for input in tools, prompts and resources"),
        "{message}"
    );
}
