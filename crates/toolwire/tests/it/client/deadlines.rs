//! How long a call waits.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use toolwire::ClientLimits;
use toolwire::testing::{ScriptedServer, assert_text};

use super::{LEGACY, MODERN, builder, calling, ended, expect_call, legacy, modern, started, text};

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_for_a_minute_is_given_up_and_told_so() {
    for version in [MODERN, LEGACY] {
        let (client, server) = ScriptedServer::connect(builder(), version).await;
        let mut server = server.with_timeout(Duration::from_secs(600));
        let start = Instant::now();
        let call = calling(&client, "slow");
        let request = expect_call(&mut server, "slow").await;
        let cancelled = server.expect_notification("notifications/cancelled").await;
        assert_eq!(cancelled.params["requestId"], request.id);
        let error = ended(call).await.expect_err("nothing came");
        assert!(error.is_timeout(), "{error}");
        assert_eq!(start.elapsed().as_secs(), 60);
        assert_eq!(client.pending_operations(), 0);
        // An answer that comes too late is ignored.
        let ignored = client.ignored_messages();
        server.respond(&request, text("late")).await;
        let call = calling(&client, "quick");
        let request = expect_call(&mut server, "quick").await;
        server.respond(&request, text("on time")).await;
        assert_text(&ended(call).await.expect("an answer"), "on time");
        assert_eq!(client.ignored_messages(), ignored + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_may_have_a_deadline_of_its_own() {
    let limit = Duration::from_secs(3);
    let (client, mut server) = ScriptedServer::connect(builder().with_timeout(limit), MODERN).await;
    let start = Instant::now();
    let call = calling(&client, "slow");
    expect_call(&mut server, "slow").await;
    assert!(ended(call).await.expect_err("nothing came").is_timeout());
    assert_eq!(start.elapsed().as_secs(), 3);
    server.expect_notification("notifications/cancelled").await;

    let call = client.call_tool("slow", json!({}));
    let call = started(call.with_timeout(Duration::from_secs(5)));
    expect_call(&mut server, "slow").await;
    assert!(ended(call).await.expect_err("nothing came").is_timeout());
    assert_eq!(start.elapsed().as_secs(), 8);
}

#[tokio::test(start_paused = true)]
async fn progress_starts_the_wait_anew() {
    let (client, mut server) = modern().await;
    let start = Instant::now();
    let call = client.call_tool("slow", json!({}));
    let call = started(call.with_timeout(Duration::from_secs(5)).on_progress(drop));
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
    assert_text(&ended(call).await.expect("an answer"), "done");
    assert_eq!(start.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn progress_of_another_call_is_no_sign_of_life() {
    let (client, mut server) = modern().await;
    let start = Instant::now();
    let wait = |seconds| {
        let call = client.call_tool("slow", json!({}));
        started(
            call.with_timeout(Duration::from_secs(seconds))
                .on_progress(drop),
        )
    };
    let silent = wait(5);
    expect_call(&mut server, "slow").await;
    let lively = wait(6);
    let request = expect_call(&mut server, "slow").await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let token = request.meta("progressToken");
    server
        .notify(
            "notifications/progress",
            json!({"progressToken": token, "progress": 1}),
        )
        .await;
    assert!(ended(silent).await.expect_err("silence").is_timeout());
    assert_eq!(start.elapsed().as_secs(), 5);
    assert!(ended(lively).await.expect_err("silence").is_timeout());
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_prolong_a_call_for_ever() {
    let (client, mut server) = modern().await;
    let start = Instant::now();
    let call = client.call_tool("slow", json!({}));
    let call = call
        .with_timeout(Duration::from_secs(5))
        .with_max_timeout(Duration::from_secs(30))
        .on_progress(drop);
    let call = started(call);
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
    let error = ended(call).await.expect_err("the time is over");
    assert!(error.is_timeout(), "{error}");
    assert_eq!(start.elapsed().as_secs(), 30);
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params["requestId"], request.id);
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_default_cap_is_ten_minutes() {
    let (client, mut server) = modern().await;
    let start = Instant::now();
    let call = started(client.call_tool("slow", json!({})).on_progress(drop));
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
    assert!(ended(call).await.expect_err("over").is_timeout());
    assert_eq!(start.elapsed().as_secs(), 600);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_turn_waits_within_the_deadline() {
    let mut limits = ClientLimits::default();
    limits.calls_in_flight = 2;
    limits.timeout = Duration::from_secs(5);
    let (client, mut server) = ScriptedServer::connect(builder().with_limits(limits), MODERN).await;
    let first = calling(&client, "a");
    let request = expect_call(&mut server, "a").await;
    let second = calling(&client, "b");
    expect_call(&mut server, "b").await;
    let third = calling(&client, "c");
    let fourth = calling(&client, "d");
    server.expect_silence().await;
    // A turn that is free is taken by the next in line.
    server.respond(&request, text("a")).await;
    let request = expect_call(&mut server, "c").await;
    server.respond(&request, text("c")).await;
    expect_call(&mut server, "d").await;
    assert_text(&ended(first).await.expect("an answer"), "a");
    assert_text(&ended(third).await.expect("an answer"), "c");
    assert!(ended(second).await.expect_err("silence").is_timeout());
    assert!(ended(fourth).await.expect_err("silence").is_timeout());
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_had_its_turn_is_not_cancelled_either() {
    let mut limits = ClientLimits::default();
    limits.calls_in_flight = 1;
    let builder = builder().with_limits(limits);
    let (client, mut server) = ScriptedServer::connect(builder, MODERN).await;
    let first = calling(&client, "a");
    let request = expect_call(&mut server, "a").await;
    let call = client.call_tool("b", json!({}));
    let waiting = started(call.with_timeout(Duration::from_secs(2)));
    assert!(ended(waiting).await.expect_err("no turn").is_timeout());
    server.expect_silence().await;
    server.respond(&request, text("a")).await;
    ended(first).await.expect("an answer");
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_waits_for_each_page() {
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
