//! Progress notifications of calls.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::Server;
use toolwire::testing::{ScriptedServer, assert_text, client_with_version};
use toolwire_tests::peer::plain;

use super::{LEGACY, MODERN, builder, expect_call, modern, outcome_of, spawn_call, text};

async fn report(server: &ScriptedServer, token: &Value, progress: f64) {
    let params = json!({"progressToken": token, "progress": progress, "total": 3});
    server.notify("notifications/progress", params).await;
}

#[tokio::test]
async fn callback_gets_only_the_progress_of_its_call() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let received: Arc<Mutex<Vec<(u8, f64)>>> = Arc::default();
        let call = |number: u8| {
            let received = Arc::clone(&received);
            let call = client.call_tool("slow", json!({}));
            spawn_call(call.on_progress(move |progress| {
                let mut received = received.lock().expect("no panic");
                received.push((number, progress.progress));
            }))
        };
        let first = call(1);
        let one = expect_call(&mut server, "slow").await;
        let second = call(2);
        let two = expect_call(&mut server, "slow").await;
        assert_ne!(one.meta("progressToken"), two.meta("progressToken"));
        report(&server, one.meta("progressToken"), 1.0).await;
        report(&server, two.meta("progressToken"), 1.5).await;
        report(&server, one.meta("progressToken"), 2.0).await;
        server.respond(&one, text("1")).await;
        server.respond(&two, text("2")).await;
        outcome_of(first).await.expect("a response");
        outcome_of(second).await.expect("a response");
        let received = received.lock().expect("no panic").clone();
        assert_eq!(received, [(1, 1.0), (2, 1.5), (1, 2.0)]);
        assert_eq!(client.ignored_messages(), 0);
        // Progress after the response is ignored.
        report(&server, one.meta("progressToken"), 3.0).await;
        server.expect_silence().await;
        assert_eq!(client.ignored_messages(), 1);
        assert_eq!(client.pending_operations(), 0);
    }
}

#[tokio::test]
async fn call_without_a_progress_callback_has_no_token() {
    let (client, mut server) = modern().await;
    let call = spawn_call(client.call_tool("quick", json!({})));
    let request = expect_call(&mut server, "quick").await;
    assert!(request.meta("progressToken").is_null(), "{request}");
    server.respond(&request, text("")).await;
    outcome_of(call).await.expect("a response");
}

#[tokio::test]
async fn progress_stream_ends_with_its_call_and_buffers_the_first_64() {
    let (client, mut server) = modern().await;
    let (call, mut progress) = client.call_tool("slow", json!({})).with_progress();
    let call = spawn_call(call);
    let request = expect_call(&mut server, "slow").await;
    for step in 1..=65 {
        report(&server, request.meta("progressToken"), f64::from(step)).await;
    }
    server.respond(&request, text("done")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "done");
    let mut received = Vec::new();
    while let Some(step) = progress.next().await {
        received.push(step.progress);
    }
    let expected: Vec<f64> = (1..=64).map(f64::from).collect();
    assert_eq!(received, expected);
}

#[tokio::test]
async fn panic_of_a_callback_does_not_affect_the_call() {
    let (client, mut server) = modern().await;
    let call = client.call_tool("slow", json!({}));
    let call = spawn_call(call.on_progress(|_| panic!("a bug of the listener")));
    let request = expect_call(&mut server, "slow").await;
    report(&server, request.meta("progressToken"), 1.0).await;
    report(&server, request.meta("progressToken"), 2.0).await;
    server.respond(&request, text("done")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "done");
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test]
async fn progress_token_as_a_string_matches_a_number() {
    let (client, mut server) = modern().await;
    let (call, mut progress) = client.call_tool("slow", json!({})).with_progress();
    let call = spawn_call(call);
    let request = expect_call(&mut server, "slow").await;
    let token = json!(request.meta("progressToken").to_string());
    report(&server, &token, 1.0).await;
    let step = progress.next().await.expect("progress");
    assert!((step.progress - 1.0).abs() < f64::EPSILON);
    server.respond(&request, text("done")).await;
    outcome_of(call).await.expect("a response");
}

#[tokio::test]
async fn progress_of_a_handler_arrives_in_both_eras() {
    let tool = plain("steps", |ctx| async move {
        ctx.report_steps(1, 2, Some("half"));
        ctx.report_steps(2, 2, None);
        "done"
    });
    let server = Server::new("demo", "1.0.0").tool(tool);
    for version in [MODERN, LEGACY] {
        let client = client_with_version(&server, version).await;
        let (call, mut progress) = client.call_tool("steps", json!({})).with_progress();
        assert_text(&call.await.expect("a response"), "done");
        let first = progress.next().await.expect("progress");
        assert_eq!(first.message.as_deref(), Some("half"));
        assert_eq!(progress.next().await.expect("progress").progress, 2.0);
        assert!(progress.next().await.is_none());
    }
}
