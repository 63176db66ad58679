//! Questions that nobody waits for any more.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::{Error, RequestContext, Server, ToolHandler};

use super::{Diary, Name, accept};
use crate::peer::{Peer, answer, cancel, legacy, plain, text};

fn asker(diary: &Diary) -> ToolHandler {
    let diary = diary.clone();
    plain("ask", move |ctx: RequestContext| {
        let diary = diary.clone();
        async move {
            let asked = ctx.ask::<Name>("name", "Who?").await;
            diary.note(match &asked {
                Ok(name) => name.name.clone(),
                Err(error) if error.is_timeout() => "timeout".to_owned(),
                Err(error) if error.is_closed() => "closed".to_owned(),
                Err(error) => error.to_string(),
            });
            asked.map(|name| name.name)
        }
    })
}

/// A legacy client with a call that waits for an answer, and the id of the question.
async fn asked(server: &Server) -> (Peer, Value) {
    let mut peer = Peer::connect(server);
    peer.initialize_with("2025-11-25", json!({"elicitation": {}}))
        .await;
    peer.send(legacy(1, "tools/call", json!({"name": "ask"})))
        .await;
    let question = peer.receive().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (peer, question["id"].clone())
}

fn withdrawn(question: &Value) -> impl Fn(&Value) -> bool {
    move |message| {
        message["method"] == "notifications/cancelled"
            && message["params"]["requestId"] == *question
    }
}

#[tokio::test]
async fn cancelling_the_call_withdraws_the_question() {
    let diary = Diary::default();
    let server = Server::new("test", "1").tool(asker(&diary));
    let (mut peer, question) = asked(&server).await;
    peer.send(cancel(1)).await;
    let message = peer.receive().await;
    assert!(withdrawn(&question)(&message), "{message}");
    // An answer that comes all the same is heard by nobody.
    peer.send(answer(question, accept(json!({"name": "Ada"}))))
        .await;
    peer.expect_silence().await;
    assert_eq!(diary.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_is_waited_for_as_long_as_the_server_says() {
    let diary = Diary::default();
    let server = Server::new("test", "1")
        .tool(asker(&diary))
        .with_client_response_timeout(Duration::from_secs(5));
    let (mut peer, question) = asked(&server).await;
    let message = peer.receive().await;
    assert!(withdrawn(&question)(&message), "{message}");
    peer.expect_error(1, -32603).await;
    assert_eq!(diary.take(), ["timeout"]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_wait_less_long_and_go_on() {
    let tool = plain("ask", |ctx: RequestContext| async move {
        let asked = ctx.ask::<Name>("name", "Who?");
        match tokio::time::timeout(Duration::from_secs(1), asked).await {
            Ok(name) => name.map(|name| name.name),
            Err(_) => Ok::<_, Error>("nobody".to_owned()),
        }
    });
    let server = Server::new("test", "1").without_server_info().tool(tool);
    let (mut peer, question) = asked(&server).await;
    let message = peer.receive().await;
    assert!(withdrawn(&question)(&message), "{message}");
    peer.expect(answer(1, text("nobody"))).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_the_wait() {
    let diary = Diary::default();
    let server = Server::new("test", "1").tool(asker(&diary));
    let (mut peer, _) = asked(&server).await;
    peer.hang_up();
    peer.expect_error(1, -32603).await;
    assert_eq!(diary.take(), ["closed"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_it_waits_does_not_run_again() {
    let diary = Diary::default();
    let notes = diary.clone();
    let tool = plain("late", move |ctx: RequestContext| {
        notes.note("run");
        async move { Err::<String, Error>(ctx.retry_later()) }
    });
    let server = Server::new("test", "1").tool(tool);
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", json!({})).await;
    peer.send(legacy(1, "tools/call", json!({"name": "late"})))
        .await;
    peer.expect_silence().await;
    assert_eq!(diary.take(), ["run"]);
    peer.send(cancel(1)).await;
    peer.expect_silence().await;
    tokio::time::advance(Duration::from_secs(60)).await;
    peer.expect_silence().await;
    assert_eq!(diary.take(), [""; 0]);
}

#[tokio::test]
async fn a_call_in_a_batch_may_ask() {
    let tool = plain("ask", |ctx: RequestContext| async move {
        let roots = ctx.ask_roots("roots").await?;
        Ok::<_, Error>(format!("{} roots", roots.len()))
    });
    let server = Server::new("test", "1").without_server_info().tool(tool);
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-03-26", json!({"roots": {}}))
        .await;
    let call = |id: i64| legacy(id, "tools/call", json!({"name": "ask"}));
    peer.send(json!([call(1), call(2), legacy(3, "ping", json!({}))]))
        .await;
    for roots in [json!([]), json!([{"uri": "file:///a"}])] {
        let question = peer.receive().await;
        assert_eq!(question["method"], "roots/list", "{question}");
        peer.send(answer(question["id"].clone(), json!({"roots": roots})))
            .await;
    }
    let mut answers = peer.receive().await;
    let answers = answers.as_array_mut().expect("a batch");
    answers.sort_by_key(|answer| answer["id"].as_i64());
    let said = |index: usize| answers[index]["result"]["content"][0]["text"].clone();
    let mut told = [said(0), said(1)].map(|text| text.to_string());
    told.sort();
    assert_eq!(told, ["\"0 roots\"", "\"1 roots\""]);
    assert_eq!(answers[2], answer(3, json!({})));
}
