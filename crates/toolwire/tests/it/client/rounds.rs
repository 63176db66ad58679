//! Rounds of questions within one call (2026-07-28, `input_required`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::testing::{ScriptedServer, assert_text};
use toolwire::types::{CreateMessageResult, ElicitResult, Root, SamplingMessageContentBlock};
use toolwire::{Client, ClientBuilder, ErrorObject};

use super::{
    MODERN, asks, builder, calling, elicitation, ended, expect_call, roots, sampling, started, text,
};

/// A client that answers everything.
fn answering() -> ClientBuilder {
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
async fn a_round_repeats_the_request_with_answers_and_state_under_a_new_id() {
    let (client, mut server) = connect(answering()).await;
    let call = started(client.call_tool("greet", json!({"loud": true})));
    let first = expect_call(&mut server, "greet").await;
    let questions = [elicitation(), sampling(), roots()];
    server.respond(&first, asks(&questions, Some("s"))).await;

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
    // Spec 2026-07-28, basic/patterns/mrtr: each round is a request like any other.
    assert_eq!(first.params["_meta"], second.params["_meta"]);

    server.respond(&second, text("hello Ada")).await;
    assert_text(&ended(call).await.expect("an answer"), "hello Ada");
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_state_comes_back_byte_for_byte() {
    let (client, mut server) = connect(answering()).await;
    let state = r#""\u0000 ü \ud83d\ude00 {\"a\":  1.0} \\ \/ \n""#;
    let call = calling(&client, "greet");
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
    ended(call).await.expect("an answer");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_was_not_given_is_not_sent() {
    let (client, mut server) = connect(answering()).await;
    let call = calling(&client, "greet");
    let first = expect_call(&mut server, "greet").await;
    server.respond(&first, asks(&[roots()], Some("s"))).await;
    let second = expect_call(&mut server, "greet").await;
    // The state of the first round is not the state of the second.
    server.respond(&second, asks(&[elicitation()], None)).await;
    let third = expect_call(&mut server, "greet").await;
    assert_eq!(third.params.get("requestState"), None, "{third}");
    assert_eq!(third.params["inputResponses"]["q0"]["action"], "accept");
    server.respond(&third, asks(&[], Some("t"))).await;
    let fourth = expect_call(&mut server, "greet").await;
    assert_eq!(fourth.params["requestState"], "t");
    assert_eq!(fourth.params.get("inputResponses"), None, "{fourth}");
    server.respond(&fourth, text("")).await;
    ended(call).await.expect("an answer");
}

#[tokio::test(start_paused = true)]
async fn prompts_and_resources_have_rounds_too() {
    let (client, mut server) = connect(answering()).await;
    let prompt = started(client.get_prompt("greet", [("who", "you")]));
    let first = server.expect("prompts/get").await;
    server.respond(&first, asks(&[roots()], None)).await;
    let second = server.expect("prompts/get").await;
    assert_eq!(second.params["arguments"], json!({"who": "you"}));
    assert!(second.params["inputResponses"]["q0"]["roots"].is_array());
    let message = json!({"role": "user", "content": {"type": "text", "text": "hi"}});
    server
        .respond(&second, json!({"messages": [message]}))
        .await;
    assert_text(&ended(prompt).await.expect("an answer"), "hi");

    let resource = started(client.read_resource("test://a"));
    let first = server.expect("resources/read").await;
    server.respond(&first, asks(&[roots()], None)).await;
    let second = server.expect("resources/read").await;
    assert_eq!(second.params["uri"], "test://a");
    let contents = json!([{"uri": "test://a", "text": "content"}]);
    server.respond(&second, json!({"contents": contents})).await;
    assert_text(&ended(resource).await.expect("an answer"), "content");
}

#[tokio::test(start_paused = true)]
async fn no_other_method_may_ask() {
    let (client, mut server) = connect(answering()).await;
    let list = started(client.list_tools_page(None));
    let request = server.expect("tools/list").await;
    server.respond(&request, asks(&[roots()], None)).await;
    let error = ended(list).await.expect_err("no list");
    assert!(error.is_protocol_violation(), "{error}");
    assert!(error.to_string().contains("input_required"), "{error}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn sixteen_rounds_are_gone_along_with_and_no_more() {
    let (client, mut server) = connect(answering()).await;
    let call = calling(&client, "greet");
    let mut ids = Vec::new();
    for _ in 0..16 {
        let request = expect_call(&mut server, "greet").await;
        assert!(!ids.contains(&request.id), "{request}");
        ids.push(request.id.clone());
        server.respond(&request, asks(&[roots()], None)).await;
    }
    let last = expect_call(&mut server, "greet").await;
    server.respond(&last, text("at last")).await;
    assert_text(&ended(call).await.expect("an answer"), "at last");

    let call = calling(&client, "greet");
    for _ in 0..=16 {
        let request = expect_call(&mut server, "greet").await;
        server.respond(&request, asks(&[roots()], None)).await;
    }
    let error = ended(call).await.expect_err("too many rounds");
    assert!(error.is_limit(), "{error}");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn rounds_without_questions_slow_down() {
    let (client, mut server) = connect(answering()).await;
    let call = calling(&client, "greet");
    let start = Instant::now();
    let mut waits = Vec::new();
    let mut request = expect_call(&mut server, "greet").await;
    for _ in 0..8 {
        let before = start.elapsed();
        server.respond(&request, asks(&[], Some("s"))).await;
        request = expect_call(&mut server, "greet").await;
        waits.push((start.elapsed() - before).as_millis());
    }
    assert!(waits[0] > 0, "{waits:?}");
    assert!(waits.is_sorted(), "{waits:?}");
    assert!(waits[7] > waits[0] && waits[7] <= 5001, "{waits:?}");
    server.respond(&request, text("")).await;
    ended(call).await.expect("an answer");
}

#[tokio::test(start_paused = true)]
async fn rounds_of_one_call_do_not_touch_another() {
    let (client, mut server) = connect(answering()).await;
    let asking = calling(&client, "asks");
    let first = expect_call(&mut server, "asks").await;
    let plain = calling(&client, "plain");
    let other = expect_call(&mut server, "plain").await;
    server.respond(&first, asks(&[roots()], Some("s"))).await;
    let second = expect_call(&mut server, "asks").await;
    let third = calling(&client, "third");
    let third_request = expect_call(&mut server, "third").await;
    for request in [&other, &third_request] {
        assert_eq!(request.params.get("requestState"), None, "{request}");
        assert_eq!(request.params.get("inputResponses"), None, "{request}");
    }
    server.respond(&third_request, text("3")).await;
    server.respond(&other, text("2")).await;
    server.respond(&second, text("1")).await;
    assert_text(&ended(asking).await.expect("an answer"), "1");
    assert_text(&ended(plain).await.expect("an answer"), "2");
    assert_text(&ended(third).await.expect("an answer"), "3");
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_the_call_and_nothing_is_sent() {
    let check = async |builder: ClientBuilder, question: Value, part: &str| {
        let (client, mut server) = connect(builder).await;
        let call = calling(&client, "greet");
        let request = expect_call(&mut server, "greet").await;
        server.respond(&request, asks(&[question], Some("s"))).await;
        let error = ended(call).await.expect_err("there is no answer");
        assert!(error.to_string().contains(part), "{error}");
        assert!(error.to_string().contains("q0"), "{error}");
        server.expect_silence().await;
        // The connection serves on.
        let call = calling(&client, "greet");
        let request = expect_call(&mut server, "greet").await;
        server.respond(&request, text("on")).await;
        assert_text(&ended(call).await.expect("an answer"), "on");
    };
    check(builder(), elicitation(), "elicitation").await;
    check(builder(), sampling(), "sampling").await;
    check(builder(), roots(), "roots").await;
    let unknown = json!({"method": "acme/question", "params": {}});
    check(answering(), unknown, "acme/question").await;
    let refusing =
        builder().on_elicitation(|_| async { Err(ErrorObject::internal("nobody is there")) });
    check(refusing, elicitation(), "nobody is there").await;
    let panicking = builder().on_elicitation(|_| async { panic!("a bug of the handler") });
    check(panicking, elicitation(), "panicked").await;
}

#[tokio::test(start_paused = true)]
async fn questions_can_be_left_to_the_caller() {
    let (client, mut server) = connect(answering()).await;
    let params = json!({"name": "greet"});
    let call = started(
        client
            .request("tools/call", params)
            .without_input_handling(),
    );
    let request = expect_call(&mut server, "greet").await;
    server.respond(&request, asks(&[roots()], Some("s"))).await;
    let result = ended(call)
        .await
        .expect("a result")
        .to_value()
        .expect("JSON");
    assert_eq!(result, asks(&[roots()], Some("s")));
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_a_question_is_answered_asks_no_more() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let builder = builder().on_elicitation(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    });
    let (client, mut server) = connect(builder).await;
    let call = client.call_tool("greet", json!({})).into_future();
    let call = tokio::time::timeout(Duration::from_secs(5), call);
    let script = async {
        let request = expect_call(&mut server, "greet").await;
        server.respond(&request, asks(&[elicitation()], None)).await;
    };
    let (outcome, ()) = tokio::join!(call, script);
    outcome.expect_err("nobody answers");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // The request was answered, so there is nothing to cancel.
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}
