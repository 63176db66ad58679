//! Handlers that return `retry_later`, and URL elicitation.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::ask::ElicitOutcome;
use toolwire::{Error, RequestContext, Server, ToolError, ToolHandler, ask};
use toolwire_tests::peer::{Peer, legacy, plain, result_response, text};

use super::manual_call::{ManualCall, all_capabilities};
use super::{BOTH, Name, Recorder, accept, client, result_text};

/// Returns a tool that returns `retry_later` this many times.
fn slow(times: usize, recorder: &Recorder) -> ToolHandler {
    let recorder = recorder.clone();
    plain("slow", move |ctx: RequestContext| {
        let recorder = recorder.clone();
        async move {
            let name: Name = ctx.ask("name", "Who?").await?;
            if recorder.record("checked") <= times {
                return Err(ctx.retry_later());
            }
            Ok(format!("ready for {}", name.name))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn retry_later_runs_the_handler_again_after_a_pause() {
    for version in BOTH {
        let (recorder, requested) = (Recorder::default(), Recorder::default());
        let server = Server::new("test", "1").tool(slow(3, &recorder));
        let responses = [("Who", accept(json!({"name": "Ada"})))];
        let client = client(&server, version, &responses, &requested).await;
        let started_at = tokio::time::Instant::now();
        let outcome = result_text(client.call_tool("slow", json!({})).await);
        assert_eq!(outcome, "ready for Ada", "{version}");
        assert_eq!(recorder.take().len(), 4, "{version}");
        assert_eq!(requested.take(), ["Who?"], "{version}");
        // 100, 200 and 400 ms.
        let elapsed = started_at.elapsed();
        let expected = Duration::from_millis(700);
        assert!(
            elapsed >= expected && elapsed < expected * 2,
            "{version}: {elapsed:?}"
        );
    }
}

#[tokio::test]
async fn retry_later_sends_a_state_without_input_requests() {
    let tool = plain("work", |ctx: RequestContext| async move {
        Err::<String, Error>(ctx.retry_later())
    });
    let mut call =
        ManualCall::call(&Server::new("test", "1").tool(tool), "work").with_capabilities(json!({}));
    let mut round = call.start().await;
    for _ in 0..64 {
        assert!(round.is_open(), "{round:?}");
        assert_eq!(round.0["result"].get("inputRequests"), None, "{round:?}");
        let state = round.state().expect("a state").to_owned();
        round = call.send(None, Some(&state)).await;
    }
    assert!(round.text().contains("64 rounds"), "{round:?}");
}

#[tokio::test(start_paused = true)]
async fn retry_later_has_a_limit() {
    for version in BOTH {
        let recorder = Recorder::default();
        let server = Server::new("test", "1").tool(slow(usize::MAX, &recorder));
        let responses = [("Who", accept(json!({"name": "Ada"})))];
        let client = client(&server, version, &responses, &Recorder::default()).await;
        let error = client.call_tool("slow", json!({})).await;
        error.expect_err("the handler is never ready");
        let runs = recorder.take().len();
        assert!((2..=17).contains(&runs), "{version}: {runs}");
    }
}

#[tokio::test(start_paused = true)]
async fn input_request_takes_precedence_over_retry_later() {
    for version in BOTH {
        let (recorder, requested) = (Recorder::default(), Recorder::default());
        let events = recorder.clone();
        let tool = plain("work", move |ctx: RequestContext| {
            let events = events.clone();
            async move {
                let wait = match events.record("run") {
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
        let responses = [("Who", accept(json!({"name": "Ada"})))];
        let client = client(&server, version, &responses, &requested).await;
        assert_eq!(
            result_text(client.call_tool("work", json!({})).await),
            "Ada"
        );
        assert_eq!(requested.take(), ["Who?"], "{version}");
        assert_eq!(recorder.take().len(), 2, "{version}");
    }
}

fn visit(url: &'static str, id: Option<&'static str>) -> ToolHandler {
    plain("visit", move |ctx: RequestContext| async move {
        let mut input_request = ask::url("page", "Sign in", url);
        if let Some(id) = id {
            input_request = input_request.with_elicitation_id(id);
            ctx.elicitation_complete(id);
        }
        let response = ctx.ask_with(input_request).await?;
        Ok::<_, Error>(match response {
            ElicitOutcome::Accepted(()) => "accepted",
            ElicitOutcome::Declined => "declined",
            ElicitOutcome::Cancelled => "cancelled",
        })
    })
}

async fn start_visit_2025_11_25(tool: ToolHandler) -> (Peer, Value) {
    let server = Server::new("test", "1").without_server_info().tool(tool);
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.send(legacy("c", "tools/call", json!({"name": "visit"})))
        .await;
    let input_request = peer.receive().await;
    (peer, input_request)
}

#[tokio::test]
async fn url_elicitation_has_an_id_in_2025_11_25_only() {
    for (action, expected) in [
        ("accept", "accepted"),
        ("decline", "declined"),
        ("cancel", "cancelled"),
    ] {
        let result = json!({"action": action});
        let (mut peer, input_request) =
            start_visit_2025_11_25(visit("https://example.com/", None)).await;
        let id = input_request["params"]["elicitationId"]
            .as_str()
            .expect("an id");
        assert_eq!(id.len(), 32, "a random id: {id}");
        peer.send(result_response(input_request["id"].clone(), result.clone()))
            .await;
        peer.expect(result_response("c", text(expected))).await;

        for id in [None, Some("visit-1")] {
            let server = Server::new("test", "1").tool(visit("https://example.com/", id));
            let mut call = ManualCall::call(&server, "visit");
            let round = call.start().await;
            let params =
                json!({"mode": "url", "message": "Sign in", "url": "https://example.com/"});
            let input_request = json!({"method": "elicitation/create", "params": params});
            assert_eq!(round.input_request("page"), &input_request);
            let done = call.respond(&round, json!({"page": result})).await;
            assert_eq!(done.text(), expected);
        }
    }
}

#[tokio::test]
async fn elicitation_ids_are_unique() {
    let id = async || {
        let (_, input_request) = start_visit_2025_11_25(visit("https://example.com/", None)).await;
        input_request["params"]["elicitationId"].clone()
    };
    assert_ne!(id().await, id().await);
}

#[tokio::test]
async fn elicitation_complete_is_sent_in_2025_11_25_only() {
    let (mut peer, notification) =
        start_visit_2025_11_25(visit("https://example.com/", Some("visit-1"))).await;
    let expected = json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete",
        "params": {"elicitationId": "visit-1"}});
    assert_eq!(notification, expected);
    let input_request = peer.receive().await;
    assert_eq!(input_request["params"]["elicitationId"], "visit-1");

    // A modern client gets the result as its first message, without the notification before it.
    let server = Server::new("test", "1").tool(visit("https://example.com/", Some("visit-1")));
    let round = ManualCall::call(&server, "visit").start().await;
    assert!(round.is_open(), "{round:?}");

    let done = plain("visit", |ctx: RequestContext| async move {
        ctx.elicitation_complete("visit-1");
        "done"
    });
    let server = Server::new("test", "1").without_server_info().tool(done);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let mut peer = Peer::connect(&server);
        peer.initialize_with(version, all_capabilities()).await;
        peer.send(legacy("c", "tools/call", json!({"name": "visit"})))
            .await;
        peer.expect(result_response("c", text("done"))).await;
    }
}

#[tokio::test]
async fn url_that_is_not_http_is_rejected() {
    for url in [
        "",
        "example.com",
        "javascript:alert(1)",
        "file:///etc",
        "https://",
    ] {
        let tool = || visit(url, None);
        let (_, rejected) = start_visit_2025_11_25(tool()).await;
        let server = Server::new("test", "1").tool(tool());
        let round = ManualCall::call(&server, "visit").start().await;
        for response in [&rejected, &round.0] {
            let message = response["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("absolute http or https"), "{response}");
        }
    }
}

#[tokio::test]
async fn url_elicitation_response_with_content_is_rejected() {
    let (mut peer, input_request) =
        start_visit_2025_11_25(visit("https://example.com/", None)).await;
    let filled = || accept(json!({"password": "secret"}));
    peer.send(result_response(input_request["id"].clone(), filled()))
        .await;
    let legacy = peer.receive().await;
    let server = Server::new("test", "1").tool(visit("https://example.com/", None));
    let mut call = ManualCall::call(&server, "visit");
    let round = call.start().await;
    let modern = call.respond(&round, json!({"page": filled()})).await.0;
    for rejected in [legacy, modern] {
        let message = rejected["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("content"), "{rejected}");
        assert!(!message.contains("secret"), "{rejected}");
    }
}

#[tokio::test]
async fn retry_later_in_other_methods_is_an_error() {
    let late =
        async |ctx: RequestContext, _: Value| Err::<Value, _>(ToolError::from(ctx.retry_later()));
    let server = Server::new("test", "1").method("com.example/late", late);
    let mut peer = Peer::connect(&server);
    let request = toolwire_tests::peer::modern(1, "com.example/late", json!({}));
    let modern = peer.error_of(request, -32603).await;
    peer.initialize("2025-11-25").await;
    let request = legacy(2, "com.example/late", json!({}));
    let legacy = peer.error_of(request, -32603).await;
    assert_eq!(modern, legacy);
    let message = modern["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("ask for input in tools, prompts and resources"),
        "{message}"
    );
}
