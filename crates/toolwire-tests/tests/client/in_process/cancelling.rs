//! Dropped calls and closed connections.

use std::time::Duration;

use serde_json::json;
use toolwire::Server;
use toolwire::testing::{ScriptedServer, assert_text, client_with_version};
use toolwire_tests::peer::plain;

use super::{
    LEGACY, MODERN, builder, expect_call, legacy, modern, outcome_of, spawn_call, spawn_tool_call,
    text,
};

#[tokio::test]
async fn dropped_call_is_cancelled_exactly_once() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let call = spawn_tool_call(&client, "slow");
        let request = expect_call(&mut server, "slow").await;
        call.abort();
        let cancelled = server.expect_notification("notifications/cancelled").await;
        assert_eq!(cancelled.params["requestId"], request.id);
        server.expect_silence().await;
        assert_eq!(client.pending_operations(), 0);
    }
}

#[tokio::test]
async fn call_that_was_never_polled_sends_nothing() {
    let (client, mut server) = modern().await;
    drop(client.call_tool("slow", json!({})));
    drop(client.call_tool("slow", json!({})).into_future());
    server.expect_silence().await;
}

#[tokio::test]
async fn completed_call_is_not_cancelled() {
    let (client, mut server) = modern().await;
    let call = spawn_tool_call(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("done")).await;
    let mut call = call;
    while !call.is_finished() {
        tokio::task::yield_now().await;
    }
    call.abort();
    assert_text(
        &(&mut call)
            .await
            .expect("a completed task")
            .expect("a response"),
        "done",
    );
    server.expect_silence().await;
}

#[tokio::test]
async fn response_after_the_cancellation_is_ignored() {
    let (client, mut server) = modern().await;
    let call = spawn_tool_call(&client, "slow");
    let request = expect_call(&mut server, "slow").await;
    call.abort();
    server.expect_notification("notifications/cancelled").await;
    server.respond(&request, text("too late")).await;
    server.expect_silence().await;
    assert_eq!(client.ignored_messages(), 1);
}

#[tokio::test]
async fn other_calls_continue_after_one_is_dropped() {
    let (client, mut server) = legacy().await;
    let dropped = spawn_tool_call(&client, "dropped");
    expect_call(&mut server, "dropped").await;
    let other = spawn_tool_call(&client, "other");
    let request = expect_call(&mut server, "other").await;
    dropped.abort();
    server.expect_notification("notifications/cancelled").await;
    server.respond(&request, text("other")).await;
    assert_text(&outcome_of(other).await.expect("a response"), "other");
}

#[tokio::test(start_paused = true)]
async fn initialize_is_never_cancelled() {
    let only_legacy = builder().with_versions([LEGACY]);
    let (mut server, connecting) = ScriptedServer::listening(only_legacy.clone());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    server.expect("initialize").await;
    connecting.abort();
    server.expect_silence().await;

    // It is not cancelled after a timeout either.
    let (server, connecting) = ScriptedServer::listening(only_legacy);
    let mut server = server.with_timeout(Duration::from_secs(600));
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    server.expect("initialize").await;
    server.expect_disconnect().await;
    let error = connecting.await.expect("no panic").expect_err("a timeout");
    assert!(error.is_timeout(), "{error}");
}

#[tokio::test]
async fn dropped_call_drops_its_handler_in_the_server() {
    for version in [MODERN, LEGACY] {
        let (started, mut starts) = tokio::sync::mpsc::channel(1);
        let (stopped, mut stops) = tokio::sync::mpsc::channel::<()>(1);
        let tool = plain("slow", move |_| {
            let (started, stopped) = (started.clone(), stopped.clone());
            async move {
                let _until_dropped = stopped;
                started.send(()).await.expect("an open channel");
                std::future::pending::<&'static str>().await
            }
        });
        let server = Server::new("demo", "1.0.0").tool(tool);
        let client = client_with_version(&server, version).await;
        let call = spawn_tool_call(&client, "slow");
        starts.recv().await.expect("a started handler");
        call.abort();
        server.remove_tool("slow");
        toolwire_tests::peer::within(stops.recv()).await;
    }
}

#[tokio::test]
async fn server_disconnect_fails_every_pending_call() {
    let (client, mut server) = modern().await;
    let calls: Vec<_> = (0..10).map(|_| spawn_tool_call(&client, "slow")).collect();
    for _ in &calls {
        expect_call(&mut server, "slow").await;
    }
    server.disconnect();
    for call in calls {
        let error = outcome_of(call).await.expect_err("a closed connection");
        assert!(error.is_closed(), "{error}");
        assert!(error.to_string().contains("disconnected"), "{error}");
    }
    let late = client.call_tool("late", json!({})).await;
    assert!(late.expect_err("a closed connection").is_closed());
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test]
async fn close_fails_pending_calls_and_ends_the_connection() {
    let (client, mut server) = modern().await;
    let other = client.clone();
    let call = spawn_tool_call(&client, "slow");
    expect_call(&mut server, "slow").await;
    client.close().await;
    let error = outcome_of(call).await.expect_err("a closed client");
    assert!(error.is_closed(), "{error}");
    server.expect_disconnect().await;
    let late = other.call_tool("late", json!({})).await;
    assert!(late.expect_err("a closed client").is_closed());
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_connection() {
    let (client, mut server) = modern().await;
    let clone = client.clone();
    drop(client);
    server.expect_silence().await;
    let call = spawn_call(clone.ping());
    let request = server.expect("server/discover").await;
    server
        .respond(
            &request,
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}),
        )
        .await;
    outcome_of(call).await.expect("an open connection");
    drop(clone);
    server.expect_disconnect().await;
}

#[tokio::test]
async fn dropping_the_connect_future_ends_the_connection() {
    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    server.expect("server/discover").await;
    connecting.abort();
    // The client may cancel the probe before it disconnects.
    toolwire_tests::peer::within(async { while server.receive_or_end().await.is_some() {} }).await;
}
