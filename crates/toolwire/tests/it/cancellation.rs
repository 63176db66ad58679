//! `notifications/cancelled`: the handler ends, and nothing more is sent.

use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use toolwire::{JsonSchema, RequestContext, Server, ToolHandler};

use crate::peer::{
    Peer, call, cancel, complete, modern, notification, plain, server, text, within,
};

/// What happens inside a handler, as the test sees it.
#[derive(Debug, PartialEq)]
enum Event {
    Started,
    /// The handler's future is gone, finished or not.
    Dropped,
    SawCancellation,
}

struct TellWhenDropped(UnboundedSender<Event>);

impl Drop for TellWhenDropped {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send(Event::Dropped);
    }
}

/// The tool `wait`, which runs until it is released.
struct Waiting {
    server: Server,
    events: UnboundedReceiver<Event>,
    release: watch::Sender<bool>,
}

impl Waiting {
    fn new() -> Self {
        let (tell, events) = unbounded_channel();
        let (release, released) = watch::channel(false);
        let wait = plain("wait", move |ctx: RequestContext| {
            let (tell, mut released) = (tell.clone(), released.clone());
            async move {
                let _guard = TellWhenDropped(tell.clone());
                tell.send(Event::Started).expect("the test listens");
                ctx.report_progress(1.0, None, None);
                released
                    .wait_for(|released| *released)
                    .await
                    .expect("the test holds the other end");
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
async fn a_cancelled_handler_is_dropped_and_never_answers() {
    let mut waiting = Waiting::new();
    let mut peer = Peer::connect(&waiting.server);
    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    peer.send(cancel(1)).await;
    waiting.expect(Event::Dropped).await;
    waiting.release();
    peer.expect_silence().await;
}

#[tokio::test]
async fn the_reason_is_optional() {
    let mut waiting = Waiting::new();
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
async fn progress_stops_with_the_cancellation() {
    let mut waiting = Waiting::new();
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
async fn cancelling_what_does_not_run_does_nothing() {
    let mut waiting = Waiting::new();
    let mut peer = Peer::connect(&waiting.server);
    // Before there is anything, of nothing, and in shapes that mean nothing.
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
    // A string is not a number, and another number is another request.
    for id in [json!("1"), json!(2), json!("")] {
        peer.send(cancel(id)).await;
    }
    peer.expect_silence().await;
    waiting.release();
    peer.expect(complete(1, text("waited"))).await;
    waiting.expect(Event::Dropped).await;

    // What has its answer.
    peer.send(cancel(1)).await;
    peer.expect_silence().await;
    // The id can be used again, and its old cancellation does not count.
    peer.send(call(1, "wait", json!({}))).await;
    peer.expect(complete(1, text("waited"))).await;
}

#[tokio::test]
async fn a_string_id_is_cancelled_by_the_string() {
    let mut waiting = Waiting::new();
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
async fn two_requests_with_one_id_both_run_and_both_answer() {
    let mut waiting = Waiting::new();
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
async fn a_cancellation_means_all_requests_with_its_id() {
    let mut waiting = Waiting::new();
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
async fn a_request_that_is_cancelled_in_the_same_breath_is_never_answered() {
    let waiting = Waiting::new();
    let mut peer = Peer::connect(&waiting.server);
    waiting.release();
    let both = format!("{}\n{}\n", call(1, "wait", json!({})), cancel(1));
    peer.send_bytes(both).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn connections_cannot_cancel_each_other() {
    let mut waiting = Waiting::new();
    let mut peer = Peer::connect(&waiting.server);
    let mut stranger = Peer::connect(&waiting.server);
    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    stranger.send(cancel(1)).await;
    stranger.expect_silence().await;
    waiting.release();
    peer.expect(complete(1, text("waited"))).await;
}

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn a_blocking_handler_sees_that_it_was_cancelled() {
    let (tell, mut events) = unbounded_channel();
    let blocking = ToolHandler::blocking("block", move |ctx: RequestContext, _: Nothing| {
        tell.send(Event::Started).expect("the test listens");
        while !ctx.is_cancelled() {
            std::thread::yield_now();
        }
        // Whatever it still says is not sent.
        ctx.report_progress(1.0, None, None);
        ctx.log(toolwire::LoggingLevel::Error, "too late");
        tell.send(Event::SawCancellation).expect("the test listens");
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
async fn the_flag_can_be_passed_on_to_work_that_outlives_the_handler() {
    let (tell, mut events) = unbounded_channel();
    let spawning = plain("spawn", move |ctx: RequestContext| {
        let tell = tell.clone();
        async move {
            let flag = ctx.cancellation().expect("this transport can cancel");
            assert!(!flag.is_cancelled());
            tokio::spawn({
                let tell = tell.clone();
                async move {
                    flag.cancelled().await;
                    tell.send(Event::SawCancellation).expect("the test listens");
                }
            });
            tell.send(Event::Started).expect("the test listens");
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
async fn a_peer_that_goes_away_cancels_what_runs_for_it() {
    let mut waiting = Waiting::new();
    let peer = Peer::connect(&waiting.server);
    peer.send(call(1, "wait", json!({}))).await;
    waiting.expect(Event::Started).await;
    drop(peer);
    waiting.expect(Event::Dropped).await;
}
