//! Input requests whose call was cancelled, timed out or disconnected.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::{Error, RequestContext, Server, ToolHandler};
use toolwire_tests::peer::{Peer, cancel, legacy, plain, result_response, text};

use super::{Name, Recorder, accept};

fn asking_tool(recorder: &Recorder) -> ToolHandler {
    let recorder = recorder.clone();
    plain("ask", move |ctx: RequestContext| {
        let recorder = recorder.clone();
        async move {
            let outcome = ctx.ask::<Name>("name", "Who?").await;
            recorder.record(match &outcome {
                Ok(name) => name.name.clone(),
                Err(error) if error.is_timeout() => "timeout".to_owned(),
                Err(error) if error.is_closed() => "closed".to_owned(),
                Err(error) => error.to_string(),
            });
            outcome.map(|name| name.name)
        }
    })
}

/// Returns a legacy client whose call waits for an input response, and the id of the input request.
async fn start_call(server: &Server) -> (Peer, Value) {
    let mut peer = Peer::connect(server);
    peer.initialize_with("2025-11-25", json!({"elicitation": {}}))
        .await;
    peer.send(legacy(1, "tools/call", json!({"name": "ask"})))
        .await;
    let input_request = peer.receive().await;
    assert_eq!(
        input_request["method"], "elicitation/create",
        "{input_request}"
    );
    (peer, input_request["id"].clone())
}

fn is_cancellation_of(input_request: &Value) -> impl Fn(&Value) -> bool {
    move |message| {
        message["method"] == "notifications/cancelled"
            && message["params"]["requestId"] == *input_request
    }
}

#[tokio::test]
async fn cancelled_call_cancels_its_input_request() {
    let recorder = Recorder::default();
    let server = Server::new("test", "1").tool(asking_tool(&recorder));
    let (mut peer, input_request) = start_call(&server).await;
    peer.send(cancel(1)).await;
    let message = peer.receive().await;
    assert!(is_cancellation_of(&input_request)(&message), "{message}");
    // A response after the cancellation is ignored.
    peer.send(result_response(
        input_request,
        accept(json!({"name": "Ada"})),
    ))
    .await;
    peer.expect_silence().await;
    assert_eq!(recorder.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn input_request_is_cancelled_after_the_client_response_timeout() {
    let recorder = Recorder::default();
    let server = Server::new("test", "1")
        .tool(asking_tool(&recorder))
        .with_client_response_timeout(Duration::from_secs(5));
    let (mut peer, input_request) = start_call(&server).await;
    let message = peer.receive().await;
    assert!(is_cancellation_of(&input_request)(&message), "{message}");
    peer.expect_error(1, -32603).await;
    assert_eq!(recorder.take(), ["timeout"]);
}

#[tokio::test(start_paused = true)]
async fn handler_may_use_a_shorter_timeout() {
    let tool = plain("ask", |ctx: RequestContext| async move {
        let outcome = ctx.ask::<Name>("name", "Who?");
        match tokio::time::timeout(Duration::from_secs(1), outcome).await {
            Ok(name) => name.map(|name| name.name),
            Err(_) => Ok::<_, Error>("timeout".to_owned()),
        }
    });
    let server = Server::new("test", "1").without_server_info().tool(tool);
    let (mut peer, input_request) = start_call(&server).await;
    let message = peer.receive().await;
    assert!(is_cancellation_of(&input_request)(&message), "{message}");
    peer.expect(result_response(1, text("timeout"))).await;
}

#[tokio::test]
async fn end_of_input_ends_the_wait() {
    let recorder = Recorder::default();
    let server = Server::new("test", "1").tool(asking_tool(&recorder));
    let (mut peer, _) = start_call(&server).await;
    peer.close_input();
    peer.expect_error(1, -32603).await;
    assert_eq!(recorder.take(), ["closed"]);
}

#[tokio::test(start_paused = true)]
async fn call_cancelled_during_a_retry_pause_does_not_run_again() {
    let recorder = Recorder::default();
    let events = recorder.clone();
    let tool = plain("late", move |ctx: RequestContext| {
        events.record("run");
        async move { Err::<String, Error>(ctx.retry_later()) }
    });
    let server = Server::new("test", "1").tool(tool);
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", json!({})).await;
    peer.send(legacy(1, "tools/call", json!({"name": "late"})))
        .await;
    peer.expect_silence().await;
    assert_eq!(recorder.take(), ["run"]);
    peer.send(cancel(1)).await;
    peer.expect_silence().await;
    tokio::time::advance(Duration::from_secs(60)).await;
    peer.expect_silence().await;
    assert_eq!(recorder.take(), [""; 0]);
}

#[tokio::test]
async fn call_in_a_batch_may_send_input_requests() {
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
        let input_request = peer.receive().await;
        assert_eq!(input_request["method"], "roots/list", "{input_request}");
        peer.send(result_response(
            input_request["id"].clone(),
            json!({"roots": roots}),
        ))
        .await;
    }
    let mut responses = peer.receive().await;
    let responses = responses.as_array_mut().expect("a batch");
    responses.sort_by_key(|response| response["id"].as_i64());
    let text_of = |index: usize| responses[index]["result"]["content"][0]["text"].clone();
    let mut texts = [text_of(0), text_of(1)].map(|text| text.to_string());
    texts.sort();
    assert_eq!(texts, ["\"0 roots\"", "\"1 roots\""]);
    assert_eq!(responses[2], result_response(3, json!({})));
}
