//! The end of a connection: the client closes its input, or the server shuts down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::time::Instant;
use toolwire::transport::{InProcess, Limits};
use toolwire::{RequestContext, Server};
use toolwire_tests::peer::{Peer, call, complete, modern, plain, server, text, within};

struct NotifyOnDrop(tokio::sync::mpsc::UnboundedSender<&'static str>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        // Fails if the test has ended.
        let _ = self.0.send("dropped");
    }
}

/// Returns a server whose tool `wait` runs until the test releases it.
fn waiting_server() -> (Server, UnboundedReceiver<&'static str>, watch::Sender<bool>) {
    let (sender, events) = unbounded_channel();
    let (release, released) = watch::channel(false);
    let wait = plain("wait", move |_: RequestContext| {
        let (sender, mut released) = (sender.clone(), released.clone());
        async move {
            let _guard = NotifyOnDrop(sender.clone());
            sender.send("started").expect("the test receives events");
            // An error means that the test has ended.
            let _ = released.wait_for(|released| *released).await;
            "waited"
        }
    });
    (server().tool(wait), events, release)
}

#[tokio::test]
async fn end_of_input_lets_running_requests_finish() {
    let (server, mut events, release) = waiting_server();
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "wait", json!({}))).await;
    assert_eq!(events.recv().await, Some("started"));
    peer.close_input();
    release.send_replace(true);
    peer.expect(complete(1, text("waited"))).await;
    peer.expect_end().await;
}

#[tokio::test]
async fn requests_before_the_end_of_input_get_a_response() {
    let (server, _events, release) = waiting_server();
    release.send_replace(true);
    let mut peer = Peer::connect(&server);
    for id in 1..=5 {
        peer.send(call(id, "wait", json!({}))).await;
    }
    peer.close_input();
    let mut response_ids = Vec::new();
    for _ in 1..=5 {
        response_ids.push(peer.receive().await["id"].as_i64().unwrap_or_default());
    }
    response_ids.sort_unstable();
    assert_eq!(response_ids, [1, 2, 3, 4, 5]);
    peer.expect_end().await;
}

#[tokio::test]
async fn last_line_needs_no_newline() {
    let mut peer = Peer::connect(&server().tool(plain("idle", |_| async { "idle" })));
    peer.send_bytes(call(1, "idle", json!({})).to_string())
        .await;
    peer.close_input();
    peer.expect(complete(1, text("idle"))).await;
    peer.expect_end().await;
}

#[tokio::test]
async fn incomplete_last_line_is_ignored() {
    let mut peer = Peer::connect(&server().tool(plain("idle", |_| async { "idle" })));
    let whole = call(1, "idle", json!({})).to_string();
    peer.send_bytes(&whole.as_bytes()[..whole.len() - 1]).await;
    peer.close_input();
    peer.expect_end().await;
}

#[tokio::test(start_paused = true)]
async fn unfinished_requests_are_dropped_after_the_drain_timeout() {
    let (server, mut events, _release) = waiting_server();
    let mut limits = Limits::default();
    limits.drain = Duration::from_secs(3);
    let mut peer = Peer::connect_with(&server, limits);
    peer.send(call(1, "wait", json!({}))).await;
    assert_eq!(events.recv().await, Some("started"));
    let closed_at = Instant::now();
    peer.close_input();
    assert_eq!(events.recv().await, Some("dropped"));
    assert_eq!(closed_at.elapsed().as_secs(), 3);
    peer.expect_end().await;
}

/// Starts a call that blocks its thread, ends the connection with `end`, and expects the server to end it all the same.
async fn check_ends_with_a_blocked_thread(end: impl FnOnce(&Server, &mut Peer)) {
    let (sender, mut events) = unbounded_channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let blocks = plain("blocks", move |_: RequestContext| {
        let (sender, released) = (sender.clone(), Arc::clone(&released));
        async move {
            sender.send("started").expect("the test receives events");
            // An error means that the test has ended.
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
async fn blocked_handler_does_not_delay_the_end_of_its_connection() {
    check_ends_with_a_blocked_thread(|_, peer| peer.close_input()).await;
    check_ends_with_a_blocked_thread(|server, _| server.shutdown()).await;
}

/// Sends more requests than the queue has room for responses, closes the input, reads nothing, and expects the
/// connection to end.
async fn check_ends_with_unread_responses(server: &Server, request: Value) {
    let mut limits = Limits::default();
    limits.queued_messages = 2;
    limits.drain = Duration::from_secs(3);
    let client = InProcess::connect_with(server, limits);
    for _ in 0..10 {
        let sent = client.send(&request.to_string()).await;
        sent.expect("the connection is open");
    }
    let closed_at = Instant::now();
    within(client.closed()).await;
    assert_eq!(closed_at.elapsed().as_secs(), 3, "{request}");
}

#[tokio::test(start_paused = true)]
async fn unread_responses_are_dropped_after_the_drain_timeout() {
    let server = server().tool(plain("idle", |_| async { "idle" }));
    // A request served by the connection's task, and one served by its own task.
    check_ends_with_unread_responses(&server, modern(1, "server/discover", json!({}))).await;
    check_ends_with_unread_responses(&server, call(1, "idle", json!({}))).await;
}

#[tokio::test(start_paused = true)]
async fn idle_connection_ends_immediately() {
    let mut peer = Peer::connect(&server());
    let closed_at = Instant::now();
    peer.close_input();
    peer.expect_end().await;
    assert_eq!(closed_at.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn end_of_input_ends_subscriptions_without_a_message() {
    let (server, _events, _release) = waiting_server();
    let mut peer = Peer::connect(&server);
    let params = json!({"notifications": {"toolsListChanged": true}});
    peer.send(modern(1, "subscriptions/listen", params)).await;
    peer.receive().await;
    peer.close_input();
    peer.expect_end().await;
    assert_eq!(server.tools_changed(), 0);
}

#[tokio::test]
async fn shutdown_lets_running_requests_finish() {
    let (server, mut events, release) = waiting_server();
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "wait", json!({}))).await;
    assert_eq!(events.recv().await, Some("started"));
    server.shutdown();
    release.send_replace(true);
    peer.expect(complete(1, text("waited"))).await;
    peer.expect_end().await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_drops_unfinished_requests_after_the_drain_timeout() {
    let (server, mut events, _release) = waiting_server();
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "wait", json!({}))).await;
    assert_eq!(events.recv().await, Some("started"));
    let shut_down = Instant::now();
    server.shutdown();
    assert_eq!(events.recv().await, Some("dropped"));
    assert_eq!(shut_down.elapsed().as_secs(), 10);
    peer.close_input();
    peer.expect_end().await;
}

#[tokio::test]
async fn shutdown_ends_all_connections() {
    let (server, _events, _release) = waiting_server();
    let peers: Vec<_> = (0..3).map(|_| Peer::connect(&server)).collect();
    server.shutdown();
    for peer in peers {
        peer.expect_end().await;
    }
}
