//! Rounds of input requests within one call (2026-07-28, `input_required`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::testing::{ScriptedServer, assert_text};
use toolwire::types::{CreateMessageResult, ElicitResult, Root, SamplingMessageContentBlock};
use toolwire::{Client, ClientBuilder, ErrorObject};

use super::{
    MODERN, builder, elicitation, expect_call, input_required, outcome_of, roots, sampling,
    spawn_call, spawn_tool_call, text,
};

/// Returns the builder of a client that handles all input requests.
fn interactive() -> ClientBuilder {
    builder()
        .on_elicitation(|_| async { Ok(ElicitResult::accept().with_content([("name", "Ada")])) })
        .on_sampling(|_| async {
            Ok(CreateMessageResult::new(
                "model",
                SamplingMessageContentBlock::text("hello"),
            ))
        })
        .with_roots([Root::new("file:///project")])
}

async fn connect(builder: ClientBuilder) -> (Client, ScriptedServer) {
    ScriptedServer::connect(builder, MODERN).await
}

#[tokio::test(start_paused = true)]
async fn next_round_repeats_the_request_with_responses_and_state_and_a_new_id() {
    let (client, mut server) = connect(interactive()).await;
    let call = spawn_call(client.call_tool("greet", json!({"loud": true})));
    let first = expect_call(&mut server, "greet").await;
    let input_requests = [elicitation(), sampling(), roots()];
    server
        .respond(&first, input_required(&input_requests, Some("s")))
        .await;

    let second = expect_call(&mut server, "greet").await;
    assert_ne!(first.id, second.id);
    assert_eq!(second.params["arguments"], json!({"loud": true}));
    assert_eq!(second.params["requestState"], "s");
    let responses = &second.params["inputResponses"];
    assert_eq!(
        responses["q0"],
        json!({"action": "accept", "content": {"name": "Ada"}})
    );
    assert_eq!(responses["q1"]["model"], "model");
    assert_eq!(
        responses["q2"],
        json!({"roots": [{"uri": "file:///project"}]})
    );
    assert_eq!(responses.as_object().map(serde_json::Map::len), Some(3));
    // Spec 2026-07-28, basic/patterns/mrtr: each round is an independent request.
    assert_eq!(first.params["_meta"], second.params["_meta"]);

    server.respond(&second, text("hello Ada")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "hello Ada");
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn request_state_is_returned_unchanged() {
    let (client, mut server) = connect(interactive()).await;
    let state = r#""\u0000 ü \ud83d\ude00 {\"a\":  1.0} \\ \/ \n""#;
    let call = spawn_tool_call(&client, "greet");
    let request = expect_call(&mut server, "greet").await;
    let result = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","requestState":{state}}}}}"#,
        request.id
    );
    server.send(result).await;
    let again = expect_call(&mut server, "greet").await;
    let expected: Value = serde_json::from_str(state).expect("JSON");
    assert_eq!(again.params["requestState"], expected);
    server.respond(&again, text("")).await;
    outcome_of(call).await.expect("a response");
}

#[tokio::test(start_paused = true)]
async fn request_state_is_sent_only_if_the_last_result_has_one() {
    let (client, mut server) = connect(interactive()).await;
    let call = spawn_tool_call(&client, "greet");
    let first = expect_call(&mut server, "greet").await;
    server
        .respond(&first, input_required(&[roots()], Some("s")))
        .await;
    let second = expect_call(&mut server, "greet").await;
    // The state of the first round is not the state of the second.
    server
        .respond(&second, input_required(&[elicitation()], None))
        .await;
    let third = expect_call(&mut server, "greet").await;
    assert_eq!(third.params.get("requestState"), None, "{third}");
    assert_eq!(third.params["inputResponses"]["q0"]["action"], "accept");
    server.respond(&third, input_required(&[], Some("t"))).await;
    let fourth = expect_call(&mut server, "greet").await;
    assert_eq!(fourth.params["requestState"], "t");
    assert_eq!(fourth.params.get("inputResponses"), None, "{fourth}");
    server.respond(&fourth, text("")).await;
    outcome_of(call).await.expect("a response");
}

#[tokio::test(start_paused = true)]
async fn prompts_and_resources_support_input_requests() {
    let (client, mut server) = connect(interactive()).await;
    let prompt = spawn_call(client.get_prompt("greet", [("who", "you")]));
    let first = server.expect("prompts/get").await;
    server
        .respond(&first, input_required(&[roots()], None))
        .await;
    let second = server.expect("prompts/get").await;
    assert_eq!(second.params["arguments"], json!({"who": "you"}));
    assert!(second.params["inputResponses"]["q0"]["roots"].is_array());
    let message = json!({"role": "user", "content": {"type": "text", "text": "hi"}});
    server
        .respond(&second, json!({"messages": [message]}))
        .await;
    assert_text(&outcome_of(prompt).await.expect("a response"), "hi");

    let resource = spawn_call(client.read_resource("test://a"));
    let first = server.expect("resources/read").await;
    server
        .respond(&first, input_required(&[roots()], None))
        .await;
    let second = server.expect("resources/read").await;
    assert_eq!(second.params["uri"], "test://a");
    let contents = json!([{"uri": "test://a", "text": "content"}]);
    server.respond(&second, json!({"contents": contents})).await;
    assert_text(&outcome_of(resource).await.expect("a response"), "content");
}

#[tokio::test(start_paused = true)]
async fn input_required_result_of_another_method_is_a_protocol_violation() {
    let (client, mut server) = connect(interactive()).await;
    let list = spawn_call(client.list_tools_page(None));
    let request = server.expect("tools/list").await;
    server
        .respond(&request, input_required(&[roots()], None))
        .await;
    let error = outcome_of(list).await.expect_err("no list");
    assert!(error.is_protocol_violation(), "{error}");
    assert!(error.to_string().contains("input_required"), "{error}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn more_than_sixteen_rounds_are_an_error() {
    let (client, mut server) = connect(interactive()).await;
    let call = spawn_tool_call(&client, "greet");
    let mut ids = Vec::new();
    for _ in 0..16 {
        let request = expect_call(&mut server, "greet").await;
        assert!(!ids.contains(&request.id), "{request}");
        ids.push(request.id.clone());
        server
            .respond(&request, input_required(&[roots()], None))
            .await;
    }
    let last = expect_call(&mut server, "greet").await;
    server.respond(&last, text("at last")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "at last");

    let call = spawn_tool_call(&client, "greet");
    for _ in 0..=16 {
        let request = expect_call(&mut server, "greet").await;
        server
            .respond(&request, input_required(&[roots()], None))
            .await;
    }
    let error = outcome_of(call).await.expect_err("too many rounds");
    assert!(error.is_limit(), "{error}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn rounds_without_input_requests_are_delayed_increasingly() {
    let (client, mut server) = connect(interactive()).await;
    let call = spawn_tool_call(&client, "greet");
    let start = Instant::now();
    let mut waits = Vec::new();
    let mut request = expect_call(&mut server, "greet").await;
    for _ in 0..8 {
        let before = start.elapsed();
        server
            .respond(&request, input_required(&[], Some("s")))
            .await;
        request = expect_call(&mut server, "greet").await;
        waits.push((start.elapsed() - before).as_millis());
    }
    assert!(waits[0] > 0, "{waits:?}");
    assert!(waits.is_sorted(), "{waits:?}");
    assert!(waits[7] > waits[0] && waits[7] <= 5001, "{waits:?}");
    server.respond(&request, text("")).await;
    outcome_of(call).await.expect("a response");
}

#[tokio::test(start_paused = true)]
async fn rounds_of_one_call_do_not_affect_other_calls() {
    let (client, mut server) = connect(interactive()).await;
    let interactive_call = spawn_tool_call(&client, "interactive");
    let first = expect_call(&mut server, "interactive").await;
    let plain = spawn_tool_call(&client, "plain");
    let other = expect_call(&mut server, "plain").await;
    server
        .respond(&first, input_required(&[roots()], Some("s")))
        .await;
    let second = expect_call(&mut server, "interactive").await;
    let third = spawn_tool_call(&client, "third");
    let third_request = expect_call(&mut server, "third").await;
    for request in [&other, &third_request] {
        assert_eq!(request.params.get("requestState"), None, "{request}");
        assert_eq!(request.params.get("inputResponses"), None, "{request}");
    }
    server.respond(&third_request, text("3")).await;
    server.respond(&other, text("2")).await;
    server.respond(&second, text("1")).await;
    assert_text(
        &outcome_of(interactive_call).await.expect("a response"),
        "1",
    );
    assert_text(&outcome_of(plain).await.expect("a response"), "2");
    assert_text(&outcome_of(third).await.expect("a response"), "3");
}

#[tokio::test(start_paused = true)]
async fn input_request_without_a_response_fails_the_call() {
    let check = async |builder: ClientBuilder, input_request: Value, part: &str| {
        let (client, mut server) = connect(builder).await;
        let call = spawn_tool_call(&client, "greet");
        let request = expect_call(&mut server, "greet").await;
        server
            .respond(&request, input_required(&[input_request], Some("s")))
            .await;
        let error = outcome_of(call).await.expect_err("no input response");
        assert!(error.to_string().contains(part), "{error}");
        assert!(error.to_string().contains("q0"), "{error}");
        server.expect_silence().await;
        // The connection can still be used.
        let call = spawn_tool_call(&client, "greet");
        let request = expect_call(&mut server, "greet").await;
        server.respond(&request, text("on")).await;
        assert_text(&outcome_of(call).await.expect("a response"), "on");
    };
    check(builder(), elicitation(), "elicitation").await;
    check(builder(), sampling(), "sampling").await;
    check(builder(), roots(), "roots").await;
    let unknown = json!({"method": "acme/question", "params": {}});
    check(interactive(), unknown, "acme/question").await;
    let failing = builder().on_elicitation(|_| async { Err(ErrorObject::internal("no user")) });
    check(failing, elicitation(), "no user").await;
    let panicking = builder().on_elicitation(|_| async { panic!("a bug of the handler") });
    check(panicking, elicitation(), "panicked").await;
}

#[tokio::test(start_paused = true)]
async fn without_input_handling_returns_the_input_required_result() {
    let (client, mut server) = connect(interactive()).await;
    let params = json!({"name": "greet"});
    let call = spawn_call(
        client
            .request("tools/call", params)
            .without_input_handling(),
    );
    let request = expect_call(&mut server, "greet").await;
    server
        .respond(&request, input_required(&[roots()], Some("s")))
        .await;
    let result = outcome_of(call)
        .await
        .expect("a result")
        .to_value()
        .expect("JSON");
    assert_eq!(result, input_required(&[roots()], Some("s")));
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn call_dropped_during_an_input_request_sends_no_further_request() {
    let handled = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&handled);
    let builder = builder().on_elicitation(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    });
    let (client, mut server) = connect(builder).await;
    let call = client.call_tool("greet", json!({})).into_future();
    let call = tokio::time::timeout(Duration::from_secs(5), call);
    let script = async {
        let request = expect_call(&mut server, "greet").await;
        server
            .respond(&request, input_required(&[elicitation()], None))
            .await;
    };
    let (outcome, ()) = tokio::join!(call, script);
    outcome.expect_err("a timeout");
    assert_eq!(handled.load(Ordering::SeqCst), 1);
    // The request got a response, so there is nothing to cancel.
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}
