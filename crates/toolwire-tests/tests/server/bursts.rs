//! Many requests that arrive together: each gets its response, and slow requests do not delay the others.

use std::sync::{Arc, Mutex, mpsc};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolwire::transport::Limits;
use toolwire::{JsonSchema, RequestContext, Server, ToolHandler};
use toolwire_tests::peer::{Peer, call, cancel, complete, plain, server, text};
use toolwire_tests::traces::Traces;

/// Returns a server with the tools `quick` and `waiting`. A call of `waiting` ends when it acquires a permit.
fn quick_and_waiting() -> (Server, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let quick = plain("quick", |_| async { "quick" });
    let waiting = {
        let permits = Arc::clone(&permits);
        plain("waiting", move |_| {
            let permits = Arc::clone(&permits);
            async move {
                permits
                    .acquire()
                    .await
                    .expect("the semaphore is open")
                    .forget();
                "waiting"
            }
        })
    };
    (server().tool(quick).tool(waiting), permits)
}

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

/// Returns a tool without arguments that runs on the thread pool for blocking work.
fn blocking(
    name: &str,
    handler: impl Fn(RequestContext) -> &'static str + Send + Sync + 'static,
) -> ToolHandler {
    ToolHandler::blocking(name, move |ctx: RequestContext, _: Nothing| handler(ctx))
}

/// Sends all messages in one write.
async fn send_together(peer: &Peer, messages: impl IntoIterator<Item = Value>) {
    let lines: String = messages
        .into_iter()
        .map(|line| format!("{line}\n"))
        .collect();
    peer.send_bytes(lines).await;
}

#[tokio::test]
async fn responses_of_a_burst_are_in_order_up_to_the_queue_limit() {
    // More than the queue of outgoing messages holds.
    const MANY: usize = 600;
    let mut peer = Peer::connect(&quick_and_waiting().0);
    send_together(&peer, (0..MANY).map(|id| call(id, "quick", json!({})))).await;
    let mut response_ids: Vec<_> = Vec::new();
    for _ in 0..MANY {
        response_ids.push(peer.receive().await["id"].as_u64().expect("a number"));
    }
    // Responses that did not fit into the queue arrive later, in any order.
    assert!(response_ids.iter().take(256).copied().eq(0..256));
    response_ids.sort_unstable();
    assert!(response_ids.into_iter().eq(0..MANY as u64));
    peer.expect_silence().await;
}

#[tokio::test]
async fn waiting_handlers_delay_no_other_request() {
    let (server, permits) = quick_and_waiting();
    let mut peer = Peer::connect(&server);
    let tools = ["waiting", "quick", "waiting", "quick"];
    let calls = (0..).zip(tools).map(|(id, tool)| call(id, tool, json!({})));
    send_together(&peer, calls).await;
    peer.expect(complete(1, text("quick"))).await;
    peer.expect(complete(3, text("quick"))).await;
    permits.add_permits(2);
    peer.expect(complete(0, text("waiting"))).await;
    peer.expect(complete(2, text("waiting"))).await;
}

#[tokio::test]
async fn blocking_handlers_delay_no_other_request() {
    let (release, released) = mpsc::channel();
    let released = Arc::new(Mutex::new(released));
    let blocks = blocking("blocks", move |_| {
        let released = released.lock().expect("one handler takes it");
        released.recv().expect("the other handler releases it");
        "released"
    });
    let releases = plain("releases", move |_| {
        let release = release.clone();
        async move {
            release.send(()).expect("the other handler waits");
            "releases"
        }
    });
    let mut peer = Peer::connect(&server().tool(blocks).tool(releases));
    let calls = [
        (1, "blocks"),
        (2, "releases"),
        (3, "releases"),
        (4, "blocks"),
    ];
    send_together(&peer, calls.map(|(id, tool)| call(id, tool, json!({})))).await;
    let mut response_ids = Vec::new();
    for _ in calls {
        response_ids.push(peer.receive().await["id"].as_u64().expect("a number"));
    }
    response_ids.sort_unstable();
    assert_eq!(response_ids, [1, 2, 3, 4]);
}

#[tokio::test]
async fn several_blocking_handlers_run_at_once() {
    const AT_ONCE: usize = 3;
    let barrier = Arc::new(std::sync::Barrier::new(AT_ONCE));
    let meets = blocking("meets", move |_| {
        barrier.wait();
        "met"
    });
    let mut peer = Peer::connect(&server().tool(meets));
    let calls = (0..4 * AT_ONCE).map(|id| call(id, "meets", json!({})));
    send_together(&peer, calls).await;
    let mut response_ids = Vec::new();
    for _ in 0..4 * AT_ONCE {
        response_ids.push(peer.receive().await["id"].as_u64().expect("a number"));
    }
    response_ids.sort_unstable();
    assert!(response_ids.into_iter().eq(0..4 * AT_ONCE as u64));
}

#[tokio::test]
async fn blocking_handler_can_be_cancelled_and_sends_nothing() {
    let (ended, has_ended) = mpsc::channel();
    let polls = blocking("polls", move |ctx: RequestContext| {
        while !ctx.is_cancelled() {
            std::thread::yield_now();
        }
        ended.send(()).expect("the test waits for the end");
        "never sent"
    });
    let (server, _) = quick_and_waiting();
    let mut peer = Peer::connect(&server.tool(polls));
    let messages = [
        call(1, "polls", json!({})),
        call(2, "quick", json!({})),
        cancel(1),
        call(3, "quick", json!({})),
    ];
    send_together(&peer, messages).await;
    peer.expect(complete(2, text("quick"))).await;
    peer.expect(complete(3, text("quick"))).await;
    tokio::task::spawn_blocking(move || has_ended.recv())
        .await
        .expect("the task does not panic")
        .expect("the handler saw the cancellation");
    peer.expect_silence().await;
}

#[tokio::test]
async fn handler_that_blocks_its_thread_is_named_in_a_warning_once() {
    let (traces, _guard) = Traces::record();
    let blocks = plain("blocks_for_a_while", |_| async {
        std::thread::sleep(std::time::Duration::from_millis(120));
        "done"
    });
    let mut peer = Peer::connect(&server().tool(blocks));
    for id in 1..=2 {
        peer.send(call(id, "blocks_for_a_while", json!({}))).await;
        peer.expect(complete(id, text("done"))).await;
    }
    let text = traces.text();
    assert_eq!(text.matches("blocked its thread").count(), 1, "{text}");
    let warning = text
        .lines()
        .find(|line| line.contains("blocked its thread"));
    let warning = warning.expect("there is a warning");
    assert!(warning.contains("blocks_for_a_while"), "{warning}");
    assert!(warning.contains("#[tool(blocking)]"), "{warning}");
}

#[tokio::test]
async fn request_cancelled_in_the_same_write_gets_no_response() {
    let mut peer = Peer::connect(&quick_and_waiting().0);
    let messages = [
        call(1, "quick", json!({})),
        call(2, "quick", json!({})),
        cancel(1),
    ];
    send_together(&peer, messages).await;
    peer.expect(complete(2, text("quick"))).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn burst_of_quick_calls_may_exceed_the_limit_of_requests_in_flight() {
    let mut limits = Limits::default();
    limits.requests_in_flight = 2;
    let mut peer = Peer::connect_with(&quick_and_waiting().0, limits);
    send_together(&peer, (0..50).map(|id| call(id, "quick", json!({})))).await;
    for id in 0..50 {
        peer.expect(complete(id, text("quick"))).await;
    }
}

/// Expects that a request is rejected because too many requests are in flight.
async fn expect_overloaded(peer: &mut Peer, id: i64) {
    let rejected = peer.receive().await;
    assert_eq!(rejected["id"], id);
    assert_eq!(rejected["error"]["data"], json!({"reason": "overloaded"}));
}

#[tokio::test]
async fn waiting_handler_counts_as_a_request_in_flight() {
    let mut limits = Limits::default();
    limits.requests_in_flight = 1;
    let (server, permits) = quick_and_waiting();
    let mut peer = Peer::connect_with(&server, limits);
    let calls = [call(1, "waiting", json!({})), call(2, "quick", json!({}))];
    send_together(&peer, calls).await;
    expect_overloaded(&mut peer, 2).await;
    permits.add_permits(1);
    peer.expect(complete(1, text("waiting"))).await;
    peer.send(call(3, "quick", json!({}))).await;
    peer.expect(complete(3, text("quick"))).await;
}

#[tokio::test]
async fn blocking_handler_counts_as_a_request_in_flight() {
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let blocks = blocking("blocks", move |_| {
        // An error means that the test has ended.
        let _ = released.lock().expect("one handler takes it").recv();
        "released"
    });
    let mut limits = Limits::default();
    limits.requests_in_flight = 1;
    let mut peer = Peer::connect_with(&quick_and_waiting().0.tool(blocks), limits);
    let calls = [call(1, "blocks", json!({})), call(2, "quick", json!({}))];
    send_together(&peer, calls).await;
    expect_overloaded(&mut peer, 2).await;
    release.send(()).expect("the handler waits");
    peer.expect(complete(1, text("released"))).await;
    peer.send(call(3, "quick", json!({}))).await;
    peer.expect(complete(3, text("quick"))).await;
}

#[tokio::test]
async fn burst_before_the_end_of_input_gets_its_responses() {
    let (server, permits) = quick_and_waiting();
    let mut peer = Peer::connect(&server);
    let tools = ["quick", "waiting", "quick"];
    let calls = (0..).zip(tools).map(|(id, tool)| call(id, tool, json!({})));
    send_together(&peer, calls).await;
    peer.close_input();
    peer.expect(complete(0, text("quick"))).await;
    peer.expect(complete(2, text("quick"))).await;
    permits.add_permits(1);
    peer.expect(complete(1, text("waiting"))).await;
    peer.expect_end().await;
}
