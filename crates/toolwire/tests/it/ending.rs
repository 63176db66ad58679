//! How a connection ends: the client hangs up, or the server shuts down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::time::Instant;
use toolwire::transport::{InProcess, Limits};
use toolwire::{RequestContext, Server};

use crate::peer::{Peer, call, complete, modern, plain, server, text, within};

struct TellWhenDropped(tokio::sync::mpsc::UnboundedSender<&'static str>);

impl Drop for TellWhenDropped {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send("dropped");
    }
}

/// A server whose tool `wait` runs until it is released.
fn waiting() -> (Server, UnboundedReceiver<&'static str>, watch::Sender<bool>) {
    let (tell, events) = unbounded_channel();
    let (release, released) = watch::channel(false);
    let wait = plain("wait", move |_: RequestContext| {
        let (tell, mut released) = (tell.clone(), released.clone());
        async move {
            let _guard = TellWhenDropped(tell.clone());
            tell.send("started").expect("the test listens");
            // An error means that the test is over.
            let _ = released.wait_for(|released| *released).await;
            "waited"
        }
    });
    (server().tool(wait), events, release)
}

#[tokio::test]
async fn hanging_up_lets_running_requests_finish() {
    let (server, mut events, release) = waiting();
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "wait", json!({}))).await;
    assert_eq!(events.recv().await, Some("started"));
    peer.hang_up();
    release.send_replace(true);
    peer.expect(complete(1, text("waited"))).await;
    peer.expect_end().await;
}

#[tokio::test]
async fn what_was_sent_before_hanging_up_is_still_answered() {
    let (server, _events, release) = waiting();
    release.send_replace(true);
    let mut peer = Peer::connect(&server);
    for id in 1..=5 {
        peer.send(call(id, "wait", json!({}))).await;
    }
    peer.hang_up();
    let mut answered = Vec::new();
    for _ in 1..=5 {
        answered.push(peer.receive().await["id"].as_i64().unwrap_or_default());
    }
    answered.sort_unstable();
    assert_eq!(answered, [1, 2, 3, 4, 5]);
    peer.expect_end().await;
}

#[tokio::test]
async fn a_last_line_without_a_line_break_is_read() {
    let mut peer = Peer::connect(&server().tool(plain("idle", |_| async { "idle" })));
    peer.send_bytes(call(1, "idle", json!({})).to_string())
        .await;
    peer.hang_up();
    peer.expect(complete(1, text("idle"))).await;
    peer.expect_end().await;
}

#[tokio::test]
async fn a_torn_last_line_is_nobody_s_request() {
    let mut peer = Peer::connect(&server().tool(plain("idle", |_| async { "idle" })));
    let whole = call(1, "idle", json!({})).to_string();
    peer.send_bytes(&whole.as_bytes()[..whole.len() - 1]).await;
    peer.hang_up();
    peer.expect_end().await;
}

#[tokio::test(start_paused = true)]
async fn requests_that_never_finish_are_dropped_when_the_time_is_over() {
    let (server, mut events, _release) = waiting();
    let mut limits = Limits::default();
    limits.drain = Duration::from_secs(3);
    let mut peer = Peer::connect_with(&server, limits);
    peer.send(call(1, "wait", json!({}))).await;
    assert_eq!(events.recv().await, Some("started"));
    let hung_up = Instant::now();
    peer.hang_up();
    assert_eq!(events.recv().await, Some("dropped"));
    assert_eq!(hung_up.elapsed().as_secs(), 3);
    peer.expect_end().await;
}

/// Starts a call that holds its thread, lets something end the connection, and expects the server to leave all the same.
async fn check_left_although_a_thread_is_held(end: impl FnOnce(&Server, &mut Peer)) {
    let (tell, mut events) = unbounded_channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let blocks = plain("blocks", move |_: RequestContext| {
        let (tell, released) = (tell.clone(), Arc::clone(&released));
        async move {
            tell.send("started").expect("the test listens");
            // An error means that the test is over.
            let _ = released.lock().expect("one handler takes it").recv();
            "never sent"
        }
    });
    let mut limits = Limits::default();
    limits.drain = Duration::from_millis(1);
    let server = server().tool(blocks);
    let mut peer = Peer::connect_with(&server, limits);
    peer.send(call(1, "blocks", json!({}))).await;
    assert_eq!(events.recv().await, Some("started"));
    end(&server, &mut peer);
    peer.expect_end().await;
    drop(release);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_holds_its_thread_does_not_hold_its_connection() {
    check_left_although_a_thread_is_held(|_, peer| peer.hang_up()).await;
    check_left_although_a_thread_is_held(|server, _| server.shutdown()).await;
}

/// Sends more requests than answers may wait, hangs up, reads nothing, and expects the server to leave.
async fn check_left_unread(server: &Server, request: Value) {
    let mut limits = Limits::default();
    limits.queued_messages = 2;
    limits.drain = Duration::from_secs(3);
    let client = InProcess::connect_with(server, limits);
    for _ in 0..10 {
        let sent = client.send(&request.to_string()).await;
        sent.expect("the server is still there");
    }
    let hung_up = Instant::now();
    within(client.closed()).await;
    assert_eq!(hung_up.elapsed().as_secs(), 3, "{request}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_hangs_up_and_reads_nothing_is_left_when_the_time_is_over() {
    let server = server().tool(plain("idle", |_| async { "idle" }));
    // Answered by the connection itself, and by tasks.
    check_left_unread(&server, modern(1, "server/discover", json!({}))).await;
    check_left_unread(&server, call(1, "idle", json!({}))).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_ends_at_once() {
    let mut peer = Peer::connect(&server());
    let hung_up = Instant::now();
    peer.hang_up();
    peer.expect_end().await;
    assert_eq!(hung_up.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn hanging_up_ends_subscriptions_without_a_word() {
    let (server, _events, _release) = waiting();
    let mut peer = Peer::connect(&server);
    let params = json!({"notifications": {"toolsListChanged": true}});
    peer.send(modern(1, "subscriptions/listen", params)).await;
    peer.receive().await;
    peer.hang_up();
    peer.expect_end().await;
    assert_eq!(server.tools_changed(), 0);
}

#[tokio::test]
async fn shutting_down_lets_running_requests_finish_and_then_ends() {
    let (server, mut events, release) = waiting();
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "wait", json!({}))).await;
    assert_eq!(events.recv().await, Some("started"));
    server.shutdown();
    release.send_replace(true);
    peer.expect(complete(1, text("waited"))).await;
    peer.expect_end().await;
}

#[tokio::test(start_paused = true)]
async fn shutting_down_does_not_wait_for_ever() {
    let (server, mut events, _release) = waiting();
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "wait", json!({}))).await;
    assert_eq!(events.recv().await, Some("started"));
    let shut_down = Instant::now();
    server.shutdown();
    assert_eq!(events.recv().await, Some("dropped"));
    assert_eq!(shut_down.elapsed().as_secs(), 10);
    peer.hang_up();
    peer.expect_end().await;
}

#[tokio::test]
async fn all_connections_of_a_server_end_together() {
    let (server, _events, _release) = waiting();
    let peers: Vec<_> = (0..3).map(|_| Peer::connect(&server)).collect();
    server.shutdown();
    for peer in peers {
        peer.expect_end().await;
    }
}
