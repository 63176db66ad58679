//! Two nodes whose stores fail, lose data, or deliver messages late.
//!
//! The same rules hold for every fault: no request waits beyond a deadline, no client gets wrong data, every loss is
//! reported (503, an unknown session or event id, an error, a broken connection), and everything works afterwards.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolwire::store::contract::{Fault, Faulty};
use toolwire::store::{MemoryBus, MemoryEventLog, MemorySessionStore};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire_tests::http::direct::{InProcessClient, in_session};
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{initialize_request, tool_call, tool_call_with_token};
use toolwire_tests::peer::{notification, result_response, text};

use crate::store_changes::{Listener, TOOLS_CHANGED};
use crate::store_streams::{Ended, Stream};

const VERSION: &str = "2025-11-25";
const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// No response and no event takes longer than this.
const DEADLINE: Duration = Duration::from_secs(45);

/// What happens to the stores of both nodes.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// One of three calls has this fault.
    Calls(Fault),
    /// One of two messages of the bus has this fault.
    Messages(Fault),
    /// The last writes of all stores are lost.
    Rewind(usize),
}

const TROUBLES: [Trouble; 13] = [
    Trouble::Calls(Fault::Error),
    Trouble::Calls(Fault::LostReply),
    Trouble::Calls(Fault::Twice),
    Trouble::Calls(Fault::Slow(Duration::from_millis(300))),
    Trouble::Calls(Fault::Slow(Duration::from_secs(3))),
    Trouble::Calls(Fault::Hang),
    Trouble::Calls(Fault::StaleRead(1)),
    Trouble::Messages(Fault::Drop),
    Trouble::Messages(Fault::Duplicate),
    Trouble::Messages(Fault::Reorder),
    Trouble::Rewind(1),
    Trouble::Rewind(2),
    Trouble::Rewind(usize::MAX),
];

impl Trouble {
    /// Returns `true` if the stores may not know what they have stored.
    fn loses_data(self) -> bool {
        matches!(self, Self::Rewind(_) | Self::Calls(Fault::StaleRead(_)))
    }
}

/// A node with its own connections to the stores.
struct Node {
    fixture: Fixture,
    client: InProcessClient,
    sessions: Arc<Faulty<Faulty<MemorySessionStore>>>,
    events: Arc<Faulty<Faulty<MemoryEventLog>>>,
    bus: Arc<Faulty<MemoryBus>>,
}

/// Two nodes and their stores.
struct Cluster {
    sessions: Arc<Faulty<MemorySessionStore>>,
    events: Arc<Faulty<MemoryEventLog>>,
    nodes: [Node; 2],
    trouble: Trouble,
}

impl Cluster {
    fn new(trouble: Trouble) -> Self {
        let sessions = Arc::new(Faulty::rewindable(MemorySessionStore::default));
        let events = Arc::new(Faulty::rewindable(MemoryEventLog::default));
        let bus = Arc::<MemoryBus>::default();
        let node = || {
            let mut limits = HttpLimits::default();
            limits.quiet_period = Duration::ZERO;
            let sessions = Arc::new(Faulty::new(Arc::clone(&sessions)));
            let events = Arc::new(Faulty::new(Arc::clone(&events)));
            let bus = Arc::new(Faulty::new(Arc::clone(&bus)));
            let options = HttpOptions::new()
                .with_limits(limits)
                .with_session_store(sessions.clone())
                .with_event_log(events.clone())
                .with_bus(bus.clone());
            let fixture = Fixture::new();
            let service = HttpService::new(fixture.server.clone(), options);
            Node {
                client: InProcessClient::new(&service),
                fixture,
                sessions,
                events,
                bus,
            }
        };
        let nodes = [node(), node()];
        Self {
            sessions,
            events,
            nodes,
            trouble,
        }
    }

    /// Begins the faults that last.
    fn begin(&self, seed: u64) {
        match self.trouble {
            Trouble::Calls(fault @ Fault::StaleRead(_)) => {
                self.sessions.inject_random(seed, 3, &[fault]);
                self.events.inject_random(seed, 3, &[fault]);
            }
            Trouble::Calls(fault) => {
                for (seed, node) in (seed..).zip(&self.nodes) {
                    node.sessions.inject_random(seed, 3, &[fault]);
                    node.events.inject_random(seed, 3, &[fault]);
                    node.bus.inject_random(seed, 3, &[fault]);
                }
            }
            Trouble::Messages(fault) => {
                for (seed, node) in (seed..).zip(&self.nodes) {
                    node.bus.inject_random(seed, 2, &[fault]);
                }
            }
            Trouble::Rewind(_) => {}
        }
    }

    /// Lets the stores lose data, if that is the trouble.
    async fn strike(&self) {
        if let Trouble::Rewind(writes) = self.trouble {
            self.sessions.rewind(writes).await;
            self.events.rewind(writes).await;
        }
    }

    fn heal(&self) {
        self.sessions.heal();
        self.events.heal();
        for node in &self.nodes {
            node.sessions.heal();
            node.events.heal();
            node.bus.heal();
        }
    }

    /// Opens a session. Its client repeats what the server rejects for now.
    async fn open_session(&self) -> String {
        for node in self.nodes.iter().cycle().take(100) {
            let opened = node.client.request(initialize_request(VERSION));
            let opened = timeout(DEADLINE, opened).await.expect("no client waits");
            if opened.status != 200 {
                assert_eq!(opened.status, 503, "{:?}: {}", self.trouble, opened.body);
                continue;
            }
            let session = opened.session.expect("a session is opened");
            let initialized = notification("notifications/initialized", json!({}));
            let initialized = node.client.request(in_session(&session, &initialized));
            let initialized = timeout(DEADLINE, initialized).await;
            match initialized.expect("no client waits").status {
                202 => return session,
                503 => {}
                404 if self.trouble.loses_data() => {}
                status => panic!("{:?}: {status}", self.trouble),
            }
        }
        panic!("{:?}: no session is opened", self.trouble);
    }

    /// Calls a tool. Returns `false` if the session is unknown, and `None` if the server rejects the request for now.
    async fn call(&self, node: usize, session: &str, id: u64) -> Option<bool> {
        let call = tool_call(id, "count", json!({"n": 1}));
        let response = self.nodes[node].client.request(in_session(session, &call));
        let response = timeout(DEADLINE, response).await.expect("no client waits");
        match response.status {
            200 => {
                let message: Value = serde_json::from_str(&response.body).unwrap();
                assert_eq!(message, result_response(id, text("counted")));
                Some(true)
            }
            503 => None,
            404 if self.trouble.loses_data() => Some(false),
            status => panic!("{:?}: {status} {}", self.trouble, response.body),
        }
    }

    /// Checks that both nodes serve a session, the client's own or a new one.
    async fn expect_recovery(&self, mut session: String) {
        self.heal();
        sleep(Duration::from_secs(5)).await;
        if self.call(0, &session, 900).await == Some(false) {
            session = self.open_session().await;
        }
        for (node, id) in [0, 1, 0, 1].into_iter().zip(901..) {
            let called = self.call(node, &session, id).await;
            assert_eq!(called, Some(true), "{:?}", self.trouble);
        }
    }
}

/// Runs a scenario with each trouble and several seeds.
///
/// The scenario returns whether its client noticed the trouble. It must notice lost data and calls that fail, with one of
/// the seeds at least, and nothing of troubles that a node can hide.
async fn with_each_trouble(
    is_noticed: impl Fn(Trouble) -> Option<bool>,
    scenario: impl AsyncFn(Cluster, u64) -> bool,
) {
    for trouble in TROUBLES {
        let mut has_noticed = false;
        for seed in 0..3 {
            has_noticed |= scenario(Cluster::new(trouble), seed).await;
        }
        if let Some(expected) = is_noticed(trouble) {
            assert_eq!(has_noticed, expected, "{trouble:?}");
        }
    }
}

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
