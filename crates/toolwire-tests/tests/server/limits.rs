//! The limits of a connection, each at its boundary, and clients that do not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, mpsc};
use toolwire::transport::Limits;
use toolwire::{LoggingLevel, RequestContext, Server, Tool, ToolHandler};
use toolwire_tests::legacy_server::{rich_server, waiting_tool};
use toolwire_tests::peer::{Peer, cancel, legacy, notification, result_response, text, within};

/// Returns a tool that takes any arguments.
fn tool<F, Fut>(name: &str, handler: F) -> ToolHandler
where
    F: Fn(RequestContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = &'static str> + Send + 'static,
{
    let descriptor = Tool::new(name, json!({"type": "object"}));
    ToolHandler::raw(descriptor, move |ctx: RequestContext, _| handler(ctx))
}

fn call(id: impl Into<Value>, name: &str) -> Value {
    legacy(id, "tools/call", json!({"name": name}))
}

fn ping(id: impl Into<Value>) -> Value {
    legacy(id, "ping", json!({}))
}

/// Returns a `ping` of exactly this many bytes.
fn ping_of(bytes: usize) -> String {
    let bare = legacy(1, "ping", json!({"pad": ""})).to_string();
    let padding = "x".repeat(bytes - bare.len());
    let message = legacy(1, "ping", json!({"pad": padding})).to_string();
    assert_eq!(message.len(), bytes);
    message
}

async fn check_message_size(peer: &mut Peer, bytes: usize, fits: bool) {
    peer.send(ping_of(bytes)).await;
    if fits {
        peer.expect(result_response(1, json!({}))).await;
    } else {
        let rejected = peer.receive().await;
        assert_eq!(rejected["error"]["code"], -32600, "{bytes}");
        assert_eq!(rejected.get("id"), None);
    }
    peer.result_of(ping("up")).await;
}

#[tokio::test]
async fn message_may_have_as_many_bytes_as_the_limit() {
    let mut limits = Limits::default();
    limits.message_bytes = 1000;
    let mut peer = Peer::connect_with(&rich_server(), limits);
    for (bytes, fits) in [
        (999, true),
        (1000, true),
        (1001, false),
        (1002, false),
        (100_000, false),
        (1000, true),
    ] {
        check_message_size(&mut peer, bytes, fits).await;
    }
    // The line ending does not count.
    peer.send_bytes(format!("{}\r\n", ping_of(1000))).await;
    peer.expect(result_response(1, json!({}))).await;
    // The limit is the same for a message that arrives in pieces.
    for bytes in [1000, 1001] {
        for piece in format!("{}\n", ping_of(bytes)).as_bytes().chunks(7) {
            peer.send_bytes(piece).await;
        }
        assert_eq!(peer.receive().await.get("result").is_some(), bytes == 1000);
    }
}

#[tokio::test]
async fn default_message_limit_is_4_mib() {
    const LIMIT: usize = 4 * 1024 * 1024;
    let mut peer = Peer::connect(&rich_server());
    check_message_size(&mut peer, LIMIT - 1, true).await;
    check_message_size(&mut peer, LIMIT, true).await;
    check_message_size(&mut peer, LIMIT + 1, false).await;
}

#[tokio::test]
async fn too_long_line_is_skipped_while_it_arrives() {
    let mut limits = Limits::default();
    limits.message_bytes = 1000;
    let mut peer = Peer::connect_with(&rich_server(), limits);
    for _ in 0..1000 {
        peer.send_bytes(vec![b'{'; 4096]).await;
    }
    peer.send_bytes("\n").await;
    let rejected = peer.receive().await;
    assert_eq!(rejected["error"]["code"], -32600);
    peer.expect_silence().await;
}

#[tokio::test]
async fn messages_nest_up_to_127_containers() {
    // The message, its parameters, and arrays inside them.
    let nested = |depth: usize| {
        let lists = "[".repeat(depth - 2) + &"]".repeat(depth - 2);
        format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"x":{lists}}},"id":7}}"#)
    };
    let mut peer = Peer::connect(&rich_server());
    for depth in [3, 126, 127] {
        peer.send(nested(depth)).await;
        peer.expect(result_response(7, json!({}))).await;
    }
    for depth in [128, 129, 100_000] {
        peer.send(nested(depth)).await;
        peer.expect_error(7, -32600).await;
    }
    peer.expect_silence().await;
}

#[tokio::test]
async fn deeply_nested_arguments_reach_the_handler() {
    let descriptor = Tool::new("mirror", json!({"type": "object"}));
    let mirror = ToolHandler::raw(
        descriptor,
        |_: RequestContext, arguments: toolwire::RawJson| async move {
            arguments.get().len().to_string()
        },
    );
    let mut peer = Peer::connect(&Server::new("s", "1").tool(mirror));
    peer.initialize("2025-11-25").await;
    // The message, its parameters and the arguments are three of the 127.
    let arguments = format!(r#"{{"x":{}{}}}"#, "[".repeat(124), "]".repeat(124));
    peer.send(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"mirror","arguments":{arguments}}}}}"#
    ))
    .await;
    peer.expect(result_response(1, text(&arguments.len().to_string())))
        .await;
}

#[tokio::test]
async fn ids_may_have_1024_bytes() {
    let mut peer = Peer::connect(&rich_server());
    for length in [1023, 1024] {
        let id = "x".repeat(length);
        peer.send(ping(id.as_str())).await;
        peer.expect(result_response(id, json!({}))).await;
    }
    for id in ["x".repeat(1025), "\u{e9}".repeat(513)] {
        peer.send(ping(id)).await;
        let rejected = peer.receive().await;
        assert_eq!(rejected["error"]["code"], -32600);
        assert_eq!(rejected.get("id"), None);
    }
    let id = "\u{e9}".repeat(512);
    peer.send(ping(id.as_str())).await;
    peer.expect(result_response(id, json!({}))).await;
}

#[tokio::test]
async fn progress_tokens_may_have_1024_bytes() {
    let mut peer = Peer::connect(&rich_server());
    peer.initialize("2025-11-25").await;
    let steps = |token: &Value| {
        let params = json!({"name": "steps", "_meta": {"progressToken": token}});
        legacy(1, "tools/call", params)
    };
    for token in [
        json!("x".repeat(1023)),
        json!("x".repeat(1024)),
        json!(""),
        json!(0),
        json!(-7),
    ] {
        peer.send(steps(&token)).await;
        for _ in 0..2 {
            assert_eq!(peer.receive().await["params"]["progressToken"], token);
        }
        peer.expect(result_response(1, text("done"))).await;
    }
    for token in [
        json!("x".repeat(1025)),
        json!({}),
        json!([1]),
        json!(true),
        json!(1.5),
    ] {
        peer.error_of(steps(&token), -32602).await;
    }
}

/// Returns a server with a tool `waiting` that ends when it acquires a permit.
fn waiting_server() -> (Server, Arc<Semaphore>) {
    let (waiting, permits) = waiting_tool();
    (Server::new("s", "1").tool(waiting), permits)
}

/// Returns a peer with 1,024 requests in flight.
async fn peer_at_the_limit(server: &Server) -> Peer {
    let mut peer = Peer::connect(server);
    peer.initialize("2025-11-25").await;
    for id in 0..1024 {
        peer.send(call(id, "waiting")).await;
    }
    peer
}

#[tokio::test(start_paused = true)]
async fn request_1025_in_flight_is_rejected() {
    let (server, permits) = waiting_server();
    let mut peer = peer_at_the_limit(&server).await;
    for _ in 0..3 {
        let error = peer.error_of(call("late", "waiting"), -32603).await;
        assert_eq!(error["data"], json!({"reason": "overloaded"}));
    }
    // When one request ends, one more is accepted.
    permits.add_permits(1);
    assert_eq!(peer.receive().await["result"], text("released"));
    peer.send(call("next", "waiting")).await;
    peer.error_of(call("late", "waiting"), -32603).await;
    // All 1,024 get their responses.
    permits.add_permits(1024);
    let mut next = 0;
    for _ in 0..1024 {
        let received = peer.receive().await;
        assert_eq!(received["result"], text("released"));
        next += usize::from(received["id"] == "next");
    }
    assert_eq!(next, 1);
    peer.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn limit_of_requests_in_flight_is_configurable() {
    let (server, _permits) = waiting_server();
    let mut limits = Limits::default();
    limits.requests_in_flight = 2;
    let mut peer = Peer::connect_with(&server, limits);
    peer.initialize("2025-11-25").await;
    peer.send(call(1, "waiting")).await;
    peer.send(call(2, "waiting")).await;
    peer.error_of(call(3, "waiting"), -32603).await;
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_have_a_limit_in_bytes() {
    let (server, _permits) = waiting_server();
    let padded = |id: i64, bytes: usize| {
        let arguments = json!({"pad": "x".repeat(bytes)});
        legacy(
            id,
            "tools/call",
            json!({"name": "waiting", "arguments": arguments}),
        )
    };
    let mut limits = Limits::default();
    limits.bytes_in_flight = 2000;
    let mut peer = Peer::connect_with(&server, limits);
    peer.initialize("2025-11-25").await;
    // A single request may exceed the limit.
    peer.send(padded(1, 5000)).await;
    let error = peer.error_of(padded(2, 10), -32603).await;
    assert_eq!(error["data"], json!({"reason": "overloaded"}));
    peer.send(cancel(1)).await;
    peer.send(padded(3, 900)).await;
    peer.send(padded(4, 900)).await;
    peer.error_of(padded(5, 900), -32603).await;
}

#[tokio::test(start_paused = true)]
async fn ping_and_cancellation_are_served_at_the_limit() {
    let (server, _permits) = waiting_server();
    let mut peer = peer_at_the_limit(&server).await;
    peer.error_of(call("late", "waiting"), -32603).await;
    peer.send(ping("alive")).await;
    peer.expect(result_response("alive", json!({}))).await;
    peer.send(cancel(7)).await;
    peer.send(call("next", "waiting")).await;
    peer.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn cancelled_request_releases_its_permit() {
    let (server, permits) = waiting_server();
    let mut peer = peer_at_the_limit(&server).await;
    peer.error_of(call("late", "waiting"), -32603).await;
    peer.send(cancel(5)).await;
    peer.send(call("next", "waiting")).await;
    peer.error_of(call("late", "waiting"), -32603).await;
    permits.add_permits(1024);
    for _ in 0..1024 {
        let received = peer.receive().await;
        assert_eq!(received["result"], text("released"));
        assert_ne!(received["id"], 5);
    }
    peer.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn request_beyond_the_limit_waits_briefly_for_a_permit() {
    let (server, permits) = waiting_server();
    let mut peer = peer_at_the_limit(&server).await;
    peer.send(call("next", "waiting")).await;
    tokio::time::advance(Duration::from_millis(100)).await;
    permits.add_permits(1025);
    for _ in 0..1025 {
        assert_eq!(peer.receive().await["result"], text("released"));
    }
}

#[tokio::test(start_paused = true)]
async fn each_connection_has_its_own_limit() {
    let (server, permits) = waiting_server();
    let _peer = peer_at_the_limit(&server).await;
    let mut other = Peer::connect(&server);
    other.initialize("2025-11-25").await;
    other.send(call(1, "waiting")).await;
    other.expect_silence().await;
    permits.add_permits(1025);
    other.expect(result_response(1, text("released"))).await;
}

/// Returns limits with a queue of four outgoing messages.
fn small_queue() -> Limits {
    let mut limits = Limits::default();
    limits.queued_messages = 4;
    limits
}

/// Returns a tool that runs `work` and then notifies the test, before the client reads anything.
fn signalling(
    work: impl Fn(&RequestContext) + Send + Sync + 'static,
) -> (ToolHandler, Arc<Notify>) {
    let finished = Arc::new(Notify::new());
    let signal = Arc::clone(&finished);
    let tool = tool("work", move |ctx| {
        work(&ctx);
        signal.notify_one();
        async { "done" }
    });
    (tool, finished)
}

#[tokio::test]
async fn full_queue_retains_the_newest_log_messages_and_the_response() {
    let (tool, finished) = signalling(|ctx| {
        for number in 0..10 {
            ctx.log(LoggingLevel::Error, number);
        }
    });
    let server = Server::new("s", "1").with_logging().tool(tool);
    let mut peer = Peer::connect_with(&server, small_queue());
    peer.initialize("2025-11-25").await;
    peer.send(call(1, "work")).await;
    finished.notified().await;
    for number in 6..10 {
        let params = json!({"level": "error", "data": number});
        peer.expect(notification("notifications/message", params))
            .await;
    }
    peer.expect(result_response(1, text("done"))).await;
}

#[tokio::test]
async fn full_queue_retains_the_newest_progress() {
    let (tool, finished) = signalling(|ctx| {
        for step in 1..=10 {
            ctx.report_steps(step, 10, None);
        }
    });
    let mut peer = Peer::connect_with(&Server::new("s", "1").tool(tool), small_queue());
    peer.initialize("2025-11-25").await;
    let params = json!({"name": "work", "_meta": {"progressToken": "t"}});
    peer.send(legacy(1, "tools/call", params)).await;
    finished.notified().await;
    for progress in [1.0, 2.0, 3.0, 10.0] {
        let received = peer.receive().await;
        assert_eq!(received["params"]["progress"], progress, "{received}");
    }
    peer.expect(result_response(1, text("done"))).await;
}

#[tokio::test]
async fn unread_changes_are_sent_once() {
    let server = rich_server();
    let mut peer = Peer::connect_with(&server, small_queue());
    peer.initialize("2025-11-25").await;
    for uri in ["notes://one", "notes://by-name/two"] {
        peer.result_of(legacy(1, "resources/subscribe", json!({"uri": uri})))
            .await;
    }
    for _ in 0..10 {
        server.tools_changed();
        server.resource_updated("notes://one");
        server.prompts_changed();
        server.resource_updated("notes://by-name/two");
        server.resources_changed();
    }
    let mut received_changes = Vec::new();
    for _ in 0..5 {
        let received = peer.receive().await;
        received_changes.push(match received["params"].get("uri") {
            Some(uri) => uri.as_str().unwrap().to_owned(),
            None => received["method"].as_str().unwrap().to_owned(),
        });
    }
    assert_eq!(
        received_changes,
        [
            "notifications/tools/list_changed",
            "notes://one",
            "notifications/prompts/list_changed",
            "notes://by-name/two",
            "notifications/resources/list_changed",
        ]
    );
    peer.expect_silence().await;
    // A later change is sent again.
    server.tools_changed();
    assert_eq!(
        peer.receive().await["method"],
        "notifications/tools/list_changed"
    );
}

/// Sends messages without reading until the server accepts no more, and returns their number.
async fn flood(peer: &Peer, message: impl Fn(usize) -> Value) -> usize {
    let mut accepted = 0;
    // Time is paused: it advances only when all tasks are waiting.
    while tokio::time::timeout(Duration::from_secs(1), peer.send(message(accepted)))
        .await
        .is_ok()
    {
        accepted += 1;
        assert!(accepted < 100_000, "the server accepts everything");
    }
    accepted
}

/// The capacity of the channel between the client and the server's loop, and the message that the loop processes.
const BUFFERED_INPUT: usize = 64 + 1;

#[tokio::test(start_paused = true)]
async fn client_that_does_not_read_cannot_send() {
    let mut peer = Peer::connect(&rich_server());
    let accepted = flood(&peer, ping).await;
    assert!(accepted <= 256 + BUFFERED_INPUT, "{accepted}");
    // No response is lost, and they are in order.
    for id in 0..accepted {
        peer.expect(result_response(id, json!({}))).await;
    }
    peer.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn queued_responses_have_a_limit_in_bytes() {
    let mut limits = Limits::default();
    limits.queued_bytes = 10_000;
    let mut peer = Peer::connect_with(&rich_server(), limits);
    peer.initialize("2025-11-25").await;
    let tools = peer.result_of(legacy(1, "tools/list", json!({}))).await;
    let response_bytes = tools.to_string().len();
    let accepted = flood(&peer, |id| legacy(id, "tools/list", json!({}))).await;
    let fitting = 10_000 / response_bytes + 1;
    assert!(accepted <= fitting + BUFFERED_INPUT, "{accepted}");
    for id in 0..accepted {
        peer.expect(result_response(id, tools.clone())).await;
    }
}

#[tokio::test(start_paused = true)]
async fn unread_calls_start_a_limited_number_of_handlers() {
    let started = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&started);
    let quick = tool("quick", move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { "done" }
    });
    let mut peer = Peer::connect(&Server::new("s", "1").tool(quick));
    peer.initialize("2025-11-25").await;
    let accepted = flood(&peer, |id| call(id, "quick")).await;
    assert!(started.load(Ordering::Relaxed) <= 256 + 1024);
    assert!(accepted <= 256 + 1024 + BUFFERED_INPUT, "{accepted}");
    let mut is_answered = vec![false; accepted];
    for _ in 0..accepted {
        let received = peer.receive().await;
        assert_eq!(received["result"], text("done"), "{received}");
        let id = usize::try_from(received["id"].as_u64().unwrap()).unwrap();
        assert!(!std::mem::replace(&mut is_answered[id], true), "{id} twice");
    }
    assert_eq!(started.load(Ordering::Relaxed), accepted);
    peer.expect_silence().await;
}

#[tokio::test]
async fn disconnect_drops_all_handlers() {
    let (alive, mut all_dropped) = mpsc::channel::<()>(1);
    let alive = Arc::new(alive);
    let witness = Arc::downgrade(&alive);
    let endless = tool("endless", move |_| {
        let alive = witness.upgrade();
        async move {
            let _alive = alive;
            std::future::pending().await
        }
    });
    let mut peer = Peer::connect(&Server::new("s", "1").tool(endless));
    peer.initialize("2025-11-25").await;
    for id in 0..100 {
        peer.send(call(id, "endless")).await;
    }
    peer.expect_silence().await;
    assert_eq!(Arc::strong_count(&alive), 101, "all handlers run");
    drop((peer, alive));
    assert_eq!(within(all_dropped.recv()).await, None);
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_a_client_that_does_not_read() {
    let server = rich_server();
    let mut peer = Peer::connect(&server);
    let accepted = flood(&peer, ping).await;
    server.shutdown();
    tokio::task::yield_now().await;
    // Responses that were queued before the shutdown can still be read.
    for id in 0..accepted.min(256) {
        peer.expect(result_response(id, json!({}))).await;
    }
    peer.expect_end().await;
}
