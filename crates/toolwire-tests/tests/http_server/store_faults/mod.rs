//! Two nodes whose stores fail, lose data, or deliver messages late.
//!
//! The same rules hold for every fault: no request waits beyond a deadline, no client gets wrong data, every loss is
//! reported (503, an unknown session or event id, an error, a broken connection), and everything works afterwards.

mod cluster;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolwire::store::contract::Fault;
use toolwire::transport::http::HttpLimits;
use toolwire_tests::http::direct::in_session;
use toolwire_tests::http::fixture::HandlerEvent;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::tool_call_with_token;
use toolwire_tests::peer::{cancel, result_response, text};

use self::cluster::{Cluster, Trouble, with_each_trouble};
use crate::store_changes::{Listener, TOOLS_CHANGED};
use crate::store_streams::{Ended, Stream};

const VERSION: &str = "2025-11-25";
const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// No response and no event takes longer than this.
const DEADLINE: Duration = Duration::from_secs(45);

#[tokio::test(start_paused = true)]
async fn requests_of_a_session_are_served_or_rejected_for_now() {
    let is_noticed = |trouble: Trouble| match trouble {
        Trouble::Calls(Fault::Error | Fault::LostReply | Fault::Hang) => Some(true),
        Trouble::Calls(Fault::Slow(delay)) => Some(delay > HttpLimits::default().store_deadline),
        Trouble::Rewind(usize::MAX) => Some(true),
        Trouble::Calls(Fault::Twice) | Trouble::Messages(_) => Some(false),
        _ => None,
    };
    with_each_trouble(is_noticed, async |cluster, seed| {
        let mut session = cluster.open_session().await;
        cluster.begin(seed);
        let mut served = 0;
        for id in 1..=20_u64 {
            if id == 10 {
                cluster.strike().await;
            }
            let node = usize::from(id.is_multiple_of(2));
            match cluster.call(node, &session, id).await {
                Some(true) => served += 1,
                Some(false) => session = cluster.open_session().await,
                None => {}
            }
        }
        assert!(served >= 5, "{:?}: {served} of 20", cluster.trouble);
        cluster.expect_recovery(session).await;
        served < 20
    })
    .await;
}

/// The client of a streamed call.
struct StreamedCall<'a> {
    cluster: &'a Cluster,
    session: String,
    /// The node that serves the next connection.
    node: usize,
    /// The steps that the client has received.
    steps: Vec<u64>,
    /// Whether the server reported that events are lost.
    is_loss_known: bool,
}

impl StreamedCall<'_> {
    /// Opens the stream again at another node. Returns `None` if the server does not know it any more.
    async fn resume(&mut self, last: &str) -> Option<Stream> {
        for _ in 0..100 {
            self.node = 1 - self.node;
            let request = Request::get(&self.session, VERSION).with("Last-Event-ID", last);
            let response = self.cluster.nodes[self.node].client.send(request);
            let response = timeout(DEADLINE, response).await.expect("no client waits");
            match response.status().as_u16() {
                200 => return Some(Stream::new(response.into_body())),
                503 => sleep(Duration::from_secs(1)).await,
                400 | 404 if self.cluster.trouble.loses_data() => {
                    self.is_loss_known = true;
                    return None;
                }
                status => panic!("{:?}: {status}", self.cluster.trouble),
            }
        }
        panic!("{:?}: the stream is not resumed", self.cluster.trouble);
    }

    /// Reads until the response, and connects again after each event and each end.
    async fn finish(&mut self, stream: Stream) {
        let mut stream = Some(stream);
        while let Some(mut open) = stream.take() {
            let next = timeout(DEADLINE, open.next()).await;
            let data = match next {
                Ok(Ok(data)) => data,
                Ok(Err(Ended::Broken)) => {
                    stream = self.resume(&open.last_id).await;
                    continue;
                }
                Ok(Err(Ended::Complete)) => {
                    // The session has ended at this node, and with it its streams.
                    assert!(self.cluster.trouble.loses_data(), "no response");
                    self.is_loss_known = true;
                    return;
                }
                Err(_) => panic!("{:?}: the client waits", self.cluster.trouble),
            };
            if data.is_empty() {
                stream = Some(open);
                continue;
            }
            let message: Value = serde_json::from_str(&data).unwrap();
            if message.get("id").is_some() {
                assert_eq!(message["id"], 1, "{message}");
                let is_error = message["error"]["code"] == -32603;
                assert!(
                    is_error || message == result_response(1, text("waited")),
                    "{message}"
                );
                self.is_loss_known |= is_error;
                return;
            }
            let step = message["params"]["progress"].as_u64().unwrap();
            assert!(self.steps.iter().all(|seen| *seen < step), "{message}");
            self.steps.push(step);
            if step == 1 {
                self.cluster.strike().await;
            }
            self.cluster.nodes[0].fixture.step();
            stream = self.resume(&open.last_id).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn streamed_call_delivers_each_event_or_reports_the_loss() {
    let is_noticed = |trouble: Trouble| match trouble {
        Trouble::Rewind(usize::MAX) => Some(true),
        _ if trouble.loses_data() => None,
        _ => Some(false),
    };
    with_each_trouble(is_noticed, async |mut cluster, seed| {
        let session = cluster.open_session().await;
        let call = in_session(&session, &tool_call_with_token(1, "wait", "t"));
        let response = cluster.nodes[0].client.send(call).await;
        assert_eq!(response.status(), 200);
        cluster.nodes[0].fixture.expect(HandlerEvent::Started).await;
        cluster.begin(seed);
        cluster.nodes[0].fixture.step();
        let mut call = StreamedCall {
            cluster: &cluster,
            session: session.clone(),
            node: 0,
            steps: Vec::new(),
            is_loss_known: false,
        };
        call.finish(Stream::new(response.into_body())).await;
        let (steps, is_loss_known) = (call.steps, call.is_loss_known);
        assert!(
            is_loss_known || steps == [1, 2],
            "{:?}: {steps:?}",
            cluster.trouble
        );
        cluster.expect_recovery(session).await;
        is_loss_known
    })
    .await;
}

/// Waits for a change of the tools, and for what follows it.
async fn expect_change(listener: &mut Listener, trouble: Trouble) {
    let change = timeout(DEADLINE, listener.next()).await;
    let mut change = change.unwrap_or_else(|_| panic!("{trouble:?}: the change is lost"));
    let mut is_notified = false;
    loop {
        is_notified |= change == TOOLS_CHANGED;
        // A node that may have missed changes also notifies its listeners of the resource that they subscribe to.
        let is_expected = [TOOLS_CHANGED, RESOURCE_UPDATED].contains(&&*change);
        assert!(is_expected, "{trouble:?}: {change}");
        match timeout(Duration::from_secs(10), listener.next()).await {
            Ok(next) => change = next,
            Err(_) => break,
        }
    }
    assert!(is_notified, "{trouble:?}");
}

#[tokio::test(start_paused = true)]
async fn change_at_either_node_reaches_the_listeners_at_both() {
    with_each_trouble(
        |_| None,
        async |cluster, seed| {
            let [a, b] = &cluster.nodes;
            let mut listeners = [
                Listener::listen(&a.client).await,
                Listener::listen(&b.client).await,
            ];
            cluster.begin(seed);
            for (number, node) in [a, b, b, a, a, b, a, b].into_iter().enumerate() {
                match number {
                    3 => cluster.strike().await,
                    6 => cluster.heal(),
                    _ => {}
                }
                node.fixture.server.tools_changed();
                for listener in &mut listeners {
                    expect_change(listener, cluster.trouble).await;
                }
            }
            false
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn response_of_a_client_arrives_or_its_call_ends() {
    let is_noticed = |trouble: Trouble| match trouble {
        Trouble::Rewind(_) => Some(true),
        Trouble::Calls(Fault::StaleRead(_)) => None,
        _ => Some(false),
    };
    with_each_trouble(is_noticed, async |cluster, seed| {
        let session = cluster.open_session().await;
        let mut stream = cluster.start(&session, "ask").await;
        let request: Value = serde_json::from_str(&stream.next().await.unwrap()).unwrap();
        cluster.begin(seed);
        cluster.strike().await;
        let result = json!({"action": "accept", "content": {"name": "Ada"}});
        let response = result_response(request["id"].clone(), result);
        let response = in_session(&session, &response);
        let (status, _) = cluster.send_until_accepted(1, &response).await;
        let is_accepted = status == 202 || status == 404 && cluster.trouble.loses_data();
        assert!(is_accepted, "{:?}: {status}", cluster.trouble);
        let outcome = cluster.response_on(&session, stream).await;
        let is_answered = outcome.is_some_and(|message| message.to_string().contains("Ada"));
        cluster.expect_recovery(session).await;
        !is_answered
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_ends_at_the_other_node() {
    with_each_trouble(
        |_| None,
        async |mut cluster, seed| {
            let (session, stream) = cluster.start_waiting_call().await;
            cluster.begin(seed);
            cluster.strike().await;
            let cancelled = in_session(&session, &cancel(1));
            match cluster.send_until_accepted(1, &cancelled).await.0 {
                202 => {
                    let outcome = cluster.response_on(&session, stream).await;
                    assert_eq!(outcome, None, "{:?}", cluster.trouble);
                    cluster.nodes[0].fixture.expect(HandlerEvent::Dropped).await;
                }
                status => assert!(status == 404 && cluster.trouble.loses_data(), "{status}"),
            }
            cluster.expect_recovery(session).await;
            false
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn deleted_session_ends_at_the_other_node() {
    with_each_trouble(
        |_| None,
        async |mut cluster, seed| {
            let (session, stream) = cluster.start_waiting_call().await;
            cluster.begin(seed);
            cluster.strike().await;
            let delete = Request::delete(&session, VERSION);
            let (status, is_repeated) = cluster.send_until_accepted(1, &delete).await;
            // The session may have been deleted by a request that was rejected.
            let is_executed_twice = matches!(cluster.trouble, Trouble::Calls(Fault::Twice));
            let is_deleted = is_repeated || is_executed_twice || cluster.trouble.loses_data();
            assert!(status == 204 || status == 404 && is_deleted, "{status}");
            cluster.heal();
            if status == 204 {
                let outcome = cluster.response_on(&session, stream).await;
                assert_eq!(outcome, None, "{:?}", cluster.trouble);
                cluster.nodes[0].fixture.expect(HandlerEvent::Dropped).await;
            }
            let replacement = cluster.open_session().await;
            cluster.expect_recovery(replacement).await;
            false
        },
    )
    .await;
}
