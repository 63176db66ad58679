//! The two nodes, their stores, and what happens to these.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolwire::store::contract::{Fault, Faulty};
use toolwire::store::{MemoryBus, MemoryEventLog, MemoryMailboxes, MemorySessionStore};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire_tests::http::direct::{InProcessClient, in_session};
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{initialize_request, tool_call};
use toolwire_tests::peer::{notification, result_response, text};

use super::{DEADLINE, VERSION};
use crate::store_streams::{Ended, Stream};

/// What happens to the stores of both nodes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble {
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
    pub(super) fn loses_data(self) -> bool {
        matches!(self, Self::Rewind(_) | Self::Calls(Fault::StaleRead(_)))
    }
}

/// A node with its own connections to the stores.
pub(super) struct Node {
    pub(super) fixture: Fixture,
    pub(super) client: InProcessClient,
    pub(super) sessions: Arc<Faulty<Faulty<MemorySessionStore>>>,
    pub(super) events: Arc<Faulty<Faulty<MemoryEventLog>>>,
    pub(super) bus: Arc<Faulty<MemoryBus>>,
    pub(super) mailboxes: Arc<Faulty<Faulty<MemoryMailboxes>>>,
}

/// Two nodes and their stores.
pub(super) struct Cluster {
    pub(super) sessions: Arc<Faulty<MemorySessionStore>>,
    pub(super) events: Arc<Faulty<MemoryEventLog>>,
    pub(super) mailboxes: Arc<Faulty<MemoryMailboxes>>,
    pub(super) nodes: [Node; 2],
    pub(super) trouble: Trouble,
}

impl Cluster {
    pub(super) fn new(trouble: Trouble) -> Self {
        let sessions = Arc::new(Faulty::rewindable(MemorySessionStore::default));
        let events = Arc::new(Faulty::rewindable(MemoryEventLog::default));
        let mailboxes = Arc::new(Faulty::rewindable(MemoryMailboxes::default));
        let bus = Arc::<MemoryBus>::default();
        let node = || {
            let mut limits = HttpLimits::default();
            limits.quiet_period = Duration::ZERO;
            let sessions = Arc::new(Faulty::new(Arc::clone(&sessions)));
            let events = Arc::new(Faulty::new(Arc::clone(&events)));
            let mailboxes = Arc::new(Faulty::new(Arc::clone(&mailboxes)));
            let bus = Arc::new(Faulty::new(Arc::clone(&bus)));
            let options = HttpOptions::new()
                .with_limits(limits)
                .with_session_store(sessions.clone())
                .with_event_log(events.clone())
                .with_mailboxes(mailboxes.clone())
                .with_bus(bus.clone());
            let fixture = Fixture::new();
            let service = HttpService::new(fixture.server.clone(), options);
            Node {
                client: InProcessClient::new(&service),
                fixture,
                sessions,
                events,
                bus,
                mailboxes,
            }
        };
        let nodes = [node(), node()];
        Self {
            sessions,
            events,
            mailboxes,
            nodes,
            trouble,
        }
    }

    /// Begins the faults that last.
    pub(super) fn begin(&self, seed: u64) {
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
                    node.mailboxes.inject_random(seed, 3, &[fault]);
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
    pub(super) async fn strike(&self) {
        if let Trouble::Rewind(writes) = self.trouble {
            self.sessions.rewind(writes).await;
            self.events.rewind(writes).await;
            self.mailboxes.rewind(writes).await;
        }
    }

    pub(super) fn heal(&self) {
        self.sessions.heal();
        self.events.heal();
        for node in &self.nodes {
            node.sessions.heal();
            node.events.heal();
            node.bus.heal();
            node.mailboxes.heal();
        }
    }

    /// Opens a session. Its client repeats what the server rejects for now.
    pub(super) async fn open_session(&self) -> String {
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
    pub(super) async fn call(&self, node: usize, session: &str, id: u64) -> Option<bool> {
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
    pub(super) async fn expect_recovery(&self, mut session: String) {
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

impl Cluster {
    /// Sends a message to a node until it is not rejected for now. Returns the status, and whether it was sent again.
    pub(super) async fn send_until_accepted(&self, node: usize, request: &Request) -> (u16, bool) {
        for attempt in 0..100 {
            let sending = self.nodes[node].client.request(request.clone());
            let response = timeout(DEADLINE, sending).await.expect("no client waits");
            if response.status != 503 {
                return (response.status, attempt > 0);
            }
            sleep(Duration::from_secs(1)).await;
        }
        panic!("{:?}: the message is never accepted", self.trouble);
    }

    /// Calls a tool at the first node. Returns its stream after the first event, which has no message.
    pub(super) async fn start(&self, session: &str, tool: &str) -> Stream {
        let call = in_session(session, &tool_call(1, tool, json!({})));
        let response = self.nodes[0].client.send(call).await;
        assert_eq!(response.status(), 200);
        let mut stream = Stream::new(response.into_body());
        assert_eq!(stream.next().await.as_deref(), Ok(""));
        stream
    }

    /// Calls a tool that waits, in a new session at the first node. Returns the session and the stream of the call.
    pub(super) async fn start_waiting_call(&mut self) -> (String, Stream) {
        let session = self.open_session().await;
        let stream = self.start(&session, "wait").await;
        self.nodes[0].fixture.expect(HandlerEvent::Started).await;
        (session, stream)
    }

    /// Reads a stream to its end, and opens it again if it breaks. Returns the response, if there is one.
    pub(super) async fn response_on(&self, session: &str, stream: Stream) -> Option<Value> {
        let mut stream = stream;
        for _ in 0..100 {
            let next = timeout(DEADLINE, stream.next()).await;
            let next = next.unwrap_or_else(|_| panic!("{:?}: the client waits", self.trouble));
            match next {
                Ok(data) => match serde_json::from_str::<Value>(&data) {
                    Ok(message) if message.get("method").is_none() => return Some(message),
                    _ => continue,
                },
                Err(Ended::Complete) => return None,
                Err(Ended::Broken) => {}
            }
            let resume = Request::get(session, VERSION).with("Last-Event-ID", &stream.last_id);
            let response = self.nodes[1].client.send(resume).await;
            match response.status().as_u16() {
                200 => stream = Stream::new(response.into_body()),
                503 => sleep(Duration::from_secs(1)).await,
                204 => return None,
                400 | 404 if self.trouble.loses_data() => return None,
                status => panic!("{:?}: {status}", self.trouble),
            }
        }
        panic!("{:?}: the stream does not end", self.trouble);
    }
}

/// Runs a scenario with each trouble and several seeds.
///
/// The scenario returns whether its client noticed the trouble. It must notice lost data and calls that fail, with one of
/// the seeds at least, and nothing of troubles that a node can hide.
pub(super) async fn with_each_trouble(
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
