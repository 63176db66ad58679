//! Timeouts of calls.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use toolwire::ClientLimits;
use toolwire::testing::{ScriptedServer, assert_text};

use super::{
    LEGACY, MODERN, builder, expect_call, legacy, modern, outcome_of, spawn_call, spawn_tool_call,
    text,
};

#[tokio::test(start_paused = true)]
async fn call_times_out_after_a_minute_and_is_cancelled() {
    for version in [MODERN, LEGACY] {
        let (client, server) = ScriptedServer::connect(builder(), version).await;
        let mut server = server.with_timeout(Duration::from_secs(600));
        let start = Instant::now();
        let call = spawn_tool_call(&client, "slow");
        let request = expect_call(&mut server, "slow").await;
        let cancelled = server.expect_notification("notifications/cancelled").await;
        assert_eq!(cancelled.params["requestId"], request.id);
        let error = outcome_of(call).await.expect_err("a timeout");
        assert!(error.is_timeout(), "{error}");
        assert_eq!(start.elapsed().as_secs(), 60);
        assert_eq!(client.pending_operations(), 0);
        // A response after the timeout is ignored.
        let ignored = client.ignored_messages();
        server.respond(&request, text("late")).await;
        let call = spawn_tool_call(&client, "quick");
        let request = expect_call(&mut server, "quick").await;
        server.respond(&request, text("on time")).await;
        assert_text(&outcome_of(call).await.expect("a response"), "on time");
        assert_eq!(client.ignored_messages(), ignored + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn call_timeout_overrides_the_client_timeout() {
    let limit = Duration::from_secs(3);
    let (client, mut server) = ScriptedServer::connect(builder().with_timeout(limit), MODERN).await;
    let start = Instant::now();
    let call = spawn_tool_call(&client, "slow");
    expect_call(&mut server, "slow").await;
    assert!(outcome_of(call).await.expect_err("a timeout").is_timeout());
    assert_eq!(start.elapsed().as_secs(), 3);
    server.expect_notification("notifications/cancelled").await;

    let call = client.call_tool("slow", json!({}));
    let call = spawn_call(call.with_timeout(Duration::from_secs(5)));
    expect_call(&mut server, "slow").await;
    assert!(outcome_of(call).await.expect_err("a timeout").is_timeout());
    assert_eq!(start.elapsed().as_secs(), 8);
}

#[tokio::test(start_paused = true)]
async fn progress_resets_the_timeout() {
    let (client, mut server) = modern().await;
    let start = Instant::now();
    let call = client.call_tool("slow", json!({}));
    let call = spawn_call(call.with_timeout(Duration::from_secs(5)).on_progress(drop));
    let request = expect_call(&mut server, "slow").await;
    let token = request.meta("progressToken").clone();
    for step in 1..=4 {
        tokio::time::sleep(Duration::from_secs(4)).await;
        server
            .notify(
                "notifications/progress",
                json!({"progressToken": token, "progress": step}),
            )
            .await;
    }
    tokio::time::sleep(Duration::from_secs(4)).await;
    server.respond(&request, text("done")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "done");
    assert_eq!(start.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn progress_of_another_call_does_not_reset_the_timeout() {
    let (client, mut server) = modern().await;
    let start = Instant::now();
    let wait = |seconds| {
        let call = client.call_tool("slow", json!({}));
        spawn_call(
            call.with_timeout(Duration::from_secs(seconds))
                .on_progress(drop),
        )
    };
    let silent = wait(5);
    expect_call(&mut server, "slow").await;
    let active = wait(6);
    let request = expect_call(&mut server, "slow").await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let token = request.meta("progressToken");
    server
        .notify(
            "notifications/progress",
            json!({"progressToken": token, "progress": 1}),
        )
        .await;
    assert!(
        outcome_of(silent)
            .await
            .expect_err("a timeout")
            .is_timeout()
    );
    assert_eq!(start.elapsed().as_secs(), 5);
    assert!(
        outcome_of(active)
            .await
            .expect_err("a timeout")
            .is_timeout()
    );
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn maximum_timeout_applies_despite_progress() {
    let (client, mut server) = modern().await;
    let start = Instant::now();
    let call = client.call_tool("slow", json!({}));
    let call = call
        .with_timeout(Duration::from_secs(5))
        .with_max_timeout(Duration::from_secs(30))
        .on_progress(drop);
    let call = spawn_call(call);
    let request = expect_call(&mut server, "slow").await;
    let token = request.meta("progressToken").clone();
    for step in 1..=9 {
        tokio::time::sleep(Duration::from_millis(3300)).await;
        server
            .notify(
                "notifications/progress",
                json!({"progressToken": token, "progress": step}),
            )
            .await;
    }
    let error = outcome_of(call).await.expect_err("a timeout");
    assert!(error.is_timeout(), "{error}");
    assert_eq!(start.elapsed().as_secs(), 30);
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params["requestId"], request.id);
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn default_maximum_timeout_is_ten_minutes() {
    let (client, mut server) = modern().await;
    let start = Instant::now();
    let call = spawn_call(client.call_tool("slow", json!({})).on_progress(drop));
    let request = expect_call(&mut server, "slow").await;
    let token = request.meta("progressToken").clone();
    while !call.is_finished() {
        tokio::time::sleep(Duration::from_secs(30)).await;
        server
            .notify(
                "notifications/progress",
                json!({"progressToken": token, "progress": start.elapsed().as_secs()}),
            )
            .await;
        tokio::task::yield_now().await;
    }
    assert!(outcome_of(call).await.expect_err("a timeout").is_timeout());
    assert_eq!(start.elapsed().as_secs(), 600);
}

#[tokio::test(start_paused = true)]
async fn call_that_waits_for_a_permit_times_out() {
    let mut limits = ClientLimits::default();
    limits.calls_in_flight = 2;
    limits.timeout = Duration::from_secs(5);
    let (client, mut server) = ScriptedServer::connect(builder().with_limits(limits), MODERN).await;
    let first = spawn_tool_call(&client, "a");
    let request = expect_call(&mut server, "a").await;
    let second = spawn_tool_call(&client, "b");
    expect_call(&mut server, "b").await;
    let third = spawn_tool_call(&client, "c");
    let fourth = spawn_tool_call(&client, "d");
    server.expect_silence().await;
    // A released permit goes to the next call in the queue.
    server.respond(&request, text("a")).await;
    let request = expect_call(&mut server, "c").await;
    server.respond(&request, text("c")).await;
    expect_call(&mut server, "d").await;
    assert_text(&outcome_of(first).await.expect("a response"), "a");
    assert_text(&outcome_of(third).await.expect("a response"), "c");
    assert!(
        outcome_of(second)
            .await
            .expect_err("a timeout")
            .is_timeout()
    );
    assert!(
        outcome_of(fourth)
            .await
            .expect_err("a timeout")
            .is_timeout()
    );
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn call_that_never_got_a_permit_is_not_cancelled() {
    let mut limits = ClientLimits::default();
    limits.calls_in_flight = 1;
    let builder = builder().with_limits(limits);
    let (client, mut server) = ScriptedServer::connect(builder, MODERN).await;
    let first = spawn_tool_call(&client, "a");
    let request = expect_call(&mut server, "a").await;
    let call = client.call_tool("b", json!({}));
    let waiting = spawn_call(call.with_timeout(Duration::from_secs(2)));
    assert!(
        outcome_of(waiting)
            .await
            .expect_err("a timeout")
            .is_timeout()
    );
    server.expect_silence().await;
    server.respond(&request, text("a")).await;
    outcome_of(first).await.expect("a response");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn list_timeout_applies_to_each_page() {
    let (client, mut server) = legacy().await;
    let list = client.list_tools().with_timeout(Duration::from_secs(5));
    let list = tokio::spawn(list.into_future());
    let first = server.expect("tools/list").await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    server
        .respond(&first, json!({"tools": [], "nextCursor": "2"}))
        .await;
    let second = server.expect("tools/list").await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    server.respond(&second, json!({"tools": []})).await;
    list.await.expect("no panic").expect("an empty list");
}
