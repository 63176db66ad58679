//! Calls that nobody waits for any more, and connections that end.

use std::time::Duration;

use serde_json::json;
use toolwire::Server;
use toolwire::testing::{ScriptedServer, assert_text, client_with_version};

use super::{LEGACY, MODERN, builder, calling, ended, expect_call, legacy, modern, started, text};
use crate::peer::plain;

#[tokio::test]
async fn a_dropped_call_is_cancelled_exactly_once() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let call = calling(&client, "slow");
        let request = expect_call(&mut server, "slow").await;
        call.abort();
        let cancelled = server.expect_notification("notifications/cancelled").await;
        assert_eq!(cancelled.params["requestId"], request.id);
        server.expect_silence().await;
        assert_eq!(client.pending_operations(), 0);
    }
}

#[tokio::test]
async fn a_call_that_was_never_polled_sends_nothing() {
    let (client, mut server) = modern().await;
    drop(client.call_tool("slow", json!({})));
    drop(client.call_tool("slow", json!({})).into_future());
    server.expect_silence().await;
}

#[tokio::test]
async fn a_call_that_is_over_is_not_cancelled() {
    let (client, mut server) = modern().await;
    let call = calling(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("done")).await;
    let mut call = call;
    while !call.is_finished() {
        tokio::task::yield_now().await;
    }
    call.abort();
    assert_text(
        &(&mut call).await.expect("it was over").expect("an answer"),
        "done",
    );
    server.expect_silence().await;
}

#[tokio::test]
async fn an_answer_after_the_cancellation_is_ignored() {
    let (client, mut server) = modern().await;
    let call = calling(&client, "slow");
    let request = expect_call(&mut server, "slow").await;
    call.abort();
    server.expect_notification("notifications/cancelled").await;
    server.respond(&request, text("too late")).await;
    server.expect_silence().await;
    assert_eq!(client.ignored_messages(), 1);
}

#[tokio::test]
async fn other_calls_go_on_when_one_is_dropped() {
    let (client, mut server) = legacy().await;
    let dropped = calling(&client, "dropped");
    expect_call(&mut server, "dropped").await;
    let kept = calling(&client, "kept");
    let request = expect_call(&mut server, "kept").await;
    dropped.abort();
    server.expect_notification("notifications/cancelled").await;
    server.respond(&request, text("kept")).await;
    assert_text(&ended(kept).await.expect("an answer"), "kept");
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

    // Nor when nobody answers it.
    let (server, connecting) = ScriptedServer::listening(only_legacy);
    let mut server = server.with_timeout(Duration::from_secs(600));
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    server.expect("initialize").await;
    server.expect_disconnect().await;
    let error = connecting.await.expect("no panic").expect_err("no answer");
    assert!(error.is_timeout(), "{error}");
}

#[tokio::test]
async fn a_handler_of_a_real_server_hears_that_its_call_was_dropped() {
    for version in [MODERN, LEGACY] {
        let (began, mut begins) = tokio::sync::mpsc::channel(1);
        let (stopped, mut stops) = tokio::sync::mpsc::channel::<()>(1);
        let tool = plain("slow", move |_| {
            let (began, stopped) = (began.clone(), stopped.clone());
            async move {
                let _until_dropped = stopped;
                began.send(()).await.expect("the test waits");
                std::future::pending::<&'static str>().await
            }
        });
        let server = Server::new("demo", "1.0.0").tool(tool);
        let client = client_with_version(&server, version).await;
        let call = calling(&client, "slow");
        begins.recv().await.expect("it began");
        call.abort();
        server.remove_tool("slow");
        crate::peer::within(stops.recv()).await;
    }
}

#[tokio::test]
async fn everybody_who_waits_hears_that_the_server_hung_up() {
    let (client, mut server) = modern().await;
    let calls: Vec<_> = (0..10).map(|_| calling(&client, "slow")).collect();
    for _ in &calls {
        expect_call(&mut server, "slow").await;
    }
    server.disconnect();
    for call in calls {
        let error = ended(call).await.expect_err("the server hung up");
        assert!(error.is_closed(), "{error}");
        assert!(error.to_string().contains("disconnected"), "{error}");
    }
    let late = client.call_tool("late", json!({})).await;
    assert!(late.expect_err("the server hung up").is_closed());
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test]
async fn close_ends_calls_and_the_connection() {
    let (client, mut server) = modern().await;
    let other = client.clone();
    let call = calling(&client, "slow");
    expect_call(&mut server, "slow").await;
    client.close().await;
    let error = ended(call).await.expect_err("the client was closed");
    assert!(error.is_closed(), "{error}");
    server.expect_disconnect().await;
    let late = other.call_tool("late", json!({})).await;
    assert!(late.expect_err("the client was closed").is_closed());
}

#[tokio::test]
async fn the_connection_ends_with_the_last_handle() {
    let (client, mut server) = modern().await;
    let clone = client.clone();
    drop(client);
    server.expect_silence().await;
    let call = started(clone.ping());
    let request = server.expect("server/discover").await;
    server
        .respond(
            &request,
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}),
        )
        .await;
    ended(call).await.expect("it is still there");
    drop(clone);
    server.expect_disconnect().await;
}

/// A caller may stop waiting for the connection itself.
#[tokio::test]
async fn a_connection_that_nobody_waits_for_is_ended() {
    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    server.expect("server/discover").await;
    connecting.abort();
    // Whether the question is taken back makes no difference; the end must come.
    crate::peer::within(async { while server.receive_or_end().await.is_some() {} }).await;
}
