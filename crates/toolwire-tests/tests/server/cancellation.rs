//! `notifications/cancelled`: the handler is dropped, and no message of the request is sent afterwards.

use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use toolwire::{JsonSchema, RequestContext, Server, ToolHandler};
use toolwire_tests::peer::{
    Peer, call, cancel, complete, modern, notification, plain, server, text, within,
};

/// An event inside a handler, reported to the test.
#[derive(Debug, PartialEq)]
enum Event {
    Started,
    /// The handler's future was dropped, completed or not.
    Dropped,
    SawCancellation,
}

struct NotifyOnDrop(UnboundedSender<Event>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        // Fails if the test has ended.
        let _ = self.0.send(Event::Dropped);
    }
}

/// A server with the tool `wait`, which runs until the test releases it.
struct WaitingServer {
    server: Server,
    events: UnboundedReceiver<Event>,
    release: watch::Sender<bool>,
}

impl WaitingServer {
    fn new() -> Self {
        let (sender, events) = unbounded_channel();
        let (release, released) = watch::channel(false);
        let wait = plain("wait", move |ctx: RequestContext| {
            let (sender, mut released) = (sender.clone(), released.clone());
            async move {
                let _guard = NotifyOnDrop(sender.clone());
                sender
                    .send(Event::Started)
                    .expect("the test receives events");
                ctx.report_progress(1.0, None, None);
                released
                    .wait_for(|released| *released)
                    .await
                    .expect("the test holds the sender");
                ctx.report_progress(2.0, None, None);
                "waited"
            }
        });
        Self {
            server: server().with_logging().tool(wait),
            events,
            release,
        }
    }

    async fn expect(&mut self, expected: Event) {
        let event = within(self.events.recv()).await;
        assert_eq!(event, Some(expected));
    }

    fn release(&self) {
        self.release.send_replace(true);
    }
}

#[tokio::test]
async fn cancelled_handler_is_dropped_and_sends_no_response() {
    let mut waiting = WaitingServer::new();
    let mut peer = Peer::connect(&waiting.server);
    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    peer.send(cancel(1)).await;
    waiting.expect(Event::Dropped).await;
    waiting.release();
    peer.expect_silence().await;
}

#[tokio::test]
async fn cancellation_with_a_reason_is_accepted() {
    let mut waiting = WaitingServer::new();
    let mut peer = Peer::connect(&waiting.server);
    peer.send(call("x", "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    peer.send(notification(
        "notifications/cancelled",
        json!({"requestId": "x", "reason": "the user lost interest"}),
    ))
    .await;
    waiting.expect(Event::Dropped).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn cancelled_request_reports_no_more_progress() {
    let mut waiting = WaitingServer::new();
    let mut peer = Peer::connect(&waiting.server);
    let params = json!({"name": "wait", "_meta": {"progressToken": 1}});
    peer.send(modern(1, "tools/call", params)).await;
    waiting.expect(Event::Started).await;
    assert_eq!(peer.receive().await["params"]["progress"], 1);
    peer.send(cancel(1)).await;
    waiting.release();
    waiting.expect(Event::Dropped).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn cancellation_of_an_unknown_request_is_ignored() {
    let mut waiting = WaitingServer::new();
    let mut peer = Peer::connect(&waiting.server);
    // Before the request, without an id, and with invalid ids.
    peer.send(cancel(1)).await;
    for params in [
        json!({}),
        json!({"requestId": null}),
        json!({"requestId": 1.5}),
        json!({"requestId": [1]}),
    ] {
        peer.send(notification("notifications/cancelled", params))
            .await;
    }
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}))
        .await;
    peer.expect_silence().await;

    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    // A string id differs from a number id, and other numbers are other requests.
    for id in [json!("1"), json!(2), json!("")] {
        peer.send(cancel(id)).await;
    }
    peer.expect_silence().await;
    waiting.release();
    peer.expect(complete(1, text("waited"))).await;
    waiting.expect(Event::Dropped).await;

    // A cancellation after the response.
    peer.send(cancel(1)).await;
    peer.expect_silence().await;
    // The id can be reused, and the earlier cancellation has no effect on it.
    peer.send(call(1, "wait", json!({}))).await;
    peer.expect(complete(1, text("waited"))).await;
}

#[tokio::test]
async fn string_id_and_number_id_are_cancelled_separately() {
    let mut waiting = WaitingServer::new();
    let mut peer = Peer::connect(&waiting.server);
    peer.send(call("1", "wait", json!({}))).await;
    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    waiting.expect(Event::Started).await;
    peer.send(cancel("1")).await;
    waiting.expect(Event::Dropped).await;
    waiting.release();
    peer.expect(complete(1, text("waited"))).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn two_requests_with_the_same_id_both_get_a_response() {
    let mut waiting = WaitingServer::new();
    let mut peer = Peer::connect(&waiting.server);
    peer.send(call(1, "wait", json!({}))).await;
    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    waiting.expect(Event::Started).await;
    waiting.release();
    peer.expect(complete(1, text("waited"))).await;
    peer.expect(complete(1, text("waited"))).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn cancellation_applies_to_all_requests_with_the_id() {
    let mut waiting = WaitingServer::new();
    let mut peer = Peer::connect(&waiting.server);
    peer.send(call(1, "wait", json!({}))).await;
    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    waiting.expect(Event::Started).await;
    peer.send(cancel(1)).await;
    waiting.expect(Event::Dropped).await;
    waiting.expect(Event::Dropped).await;
    waiting.release();
    peer.expect_silence().await;
}

#[tokio::test]
async fn request_cancelled_in_the_same_write_gets_no_response() {
    let waiting = WaitingServer::new();
    let mut peer = Peer::connect(&waiting.server);
    waiting.release();
    let both = format!("{}\n{}\n", call(1, "wait", json!({})), cancel(1));
    peer.send_bytes(both).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn cancellation_does_not_affect_other_connections() {
    let mut waiting = WaitingServer::new();
    let mut peer = Peer::connect(&waiting.server);
    let mut other_peer = Peer::connect(&waiting.server);
    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    other_peer.send(cancel(1)).await;
    other_peer.expect_silence().await;
    waiting.release();
    peer.expect(complete(1, text("waited"))).await;
}

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn blocking_handler_sees_its_cancellation() {
    let (sender, mut events) = unbounded_channel();
    let blocking = ToolHandler::blocking("block", move |ctx: RequestContext, _: Nothing| {
        sender
            .send(Event::Started)
            .expect("the test receives events");
        while !ctx.is_cancelled() {
            std::thread::yield_now();
        }
        // Notifications after the cancellation are not sent.
        ctx.report_progress(1.0, None, None);
        ctx.log(toolwire::LoggingLevel::Error, "too late");
        sender
            .send(Event::SawCancellation)
            .expect("the test receives events");
        "stopped"
    });
    let mut peer = Peer::connect(&server().with_logging().tool(blocking));
    let meta = json!({"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"});
    let params = json!({"name": "block", "_meta": meta});
    peer.send(modern(1, "tools/call", params)).await;
    assert_eq!(within(events.recv()).await, Some(Event::Started));
    peer.expect_silence().await;
    peer.send(cancel(1)).await;
    assert_eq!(within(events.recv()).await, Some(Event::SawCancellation));
    peer.expect_silence().await;
}

#[tokio::test]
async fn cancellation_handle_outlives_the_handler() {
    let (sender, mut events) = unbounded_channel();
    let spawning = plain("spawn", move |ctx: RequestContext| {
        let sender = sender.clone();
        async move {
            let cancellation = ctx.cancellation().expect("this transport can cancel");
            assert!(!cancellation.is_cancelled());
            tokio::spawn({
                let sender = sender.clone();
                async move {
                    cancellation.cancelled().await;
                    sender
                        .send(Event::SawCancellation)
                        .expect("the test receives events");
                }
            });
            sender
                .send(Event::Started)
                .expect("the test receives events");
            std::future::pending::<String>().await
        }
    });
    let mut peer = Peer::connect(&server().tool(spawning));
    peer.send(call(1, "spawn", json!({}))).await;
    assert_eq!(within(events.recv()).await, Some(Event::Started));
    peer.send(cancel(1)).await;
    assert_eq!(within(events.recv()).await, Some(Event::SawCancellation));
    peer.expect_silence().await;
}

#[tokio::test]
async fn disconnect_cancels_running_requests() {
    let mut waiting = WaitingServer::new();
    let peer = Peer::connect(&waiting.server);
    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    drop(peer);
    waiting.expect(Event::Dropped).await;
}
