//! Messages of clients that reach another node than the one that waits for them.

use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::BoxFuture;
use toolwire::store::contract::{Fault, Faulty};
use toolwire::store::{
    Mailbox, Mailboxes, MemoryBus, MemoryEventLog, MemoryMailboxes, MemorySessionStore,
    NodeMessage, SessionStore, StoreError,
};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::Events;
use toolwire_tests::http::fixture::Fixture;
use toolwire_tests::http::session::{Session, tool_call};
use toolwire_tests::peer::{legacy, result_response, server, within};

use crate::http_sse_client::{HttpSseClient, post};

type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// What happens to the messages that a node sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    Works,
    /// The mailbox belongs to a node that has stopped.
    Absent,
    Unavailable,
    /// The message arrives, but its sender gets no reply of the store.
    Unknown,
}

/// The connection of one node to the mailboxes of all nodes.
#[derive(Debug)]
struct NodeMailboxes {
    shared: Arc<MemoryMailboxes>,
    sending: Mutex<Sending>,
    /// The numbers that messages were sent to.
    sent_to: Mutex<Vec<u16>>,
    /// The numbers that the node had.
    own: Mutex<Vec<u16>>,
    lose_number: Arc<Notify>,
}

impl NodeMailboxes {
    fn new(shared: &Arc<MemoryMailboxes>) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            sending: Mutex::new(Sending::Works),
            sent_to: Mutex::default(),
            own: Mutex::default(),
            lose_number: Arc::default(),
        })
    }

    fn set_sending(&self, sending: Sending) {
        *self.sending.lock().unwrap() = sending;
    }

    /// Lets the node lose its number, and waits until it has another one.
    async fn lose_number(&self) {
        let nodes = || self.own.lock().unwrap().len();
        let before = nodes();
        self.lose_number.notify_one();
        within(async {
            while nodes() == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }
}

impl Mailboxes for NodeMailboxes {
    fn open(&self) -> StoreFuture<'_, Box<dyn Mailbox>> {
        Box::pin(async move {
            let mailbox = self.shared.open().await?;
            self.own.lock().unwrap().push(mailbox.node().get());
            let lose_number = Arc::clone(&self.lose_number);
            let mailbox: Box<dyn Mailbox> = Box::new(LosingMailbox {
                mailbox,
                lose_number,
            });
            Ok(mailbox)
        })
    }

    fn send<'a>(&'a self, node: NonZeroU16, message: &'a NodeMessage) -> StoreFuture<'a, bool> {
        self.sent_to.lock().unwrap().push(node.get());
        let sending = *self.sending.lock().unwrap();
        match sending {
            Sending::Works => self.shared.send(node, message),
            Sending::Absent => Box::pin(async { Ok(false) }),
            Sending::Unavailable => Box::pin(async { Err(StoreError::unavailable("away")) }),
            Sending::Unknown => Box::pin(async move {
                self.shared.send(node, message).await?;
                Err(StoreError::unknown("no reply"))
            }),
        }
    }
}

#[derive(Debug)]
struct LosingMailbox {
    mailbox: Box<dyn Mailbox>,
    lose_number: Arc<Notify>,
}

impl Mailbox for LosingMailbox {
    fn node(&self) -> NonZeroU16 {
        self.mailbox.node()
    }

    fn next(&mut self) -> BoxFuture<'_, Option<NodeMessage>> {
        Box::pin(async move {
            tokio::select! {
                message = self.mailbox.next() => message,
                () = self.lose_number.notified() => None,
            }
        })
    }
}

struct Node {
    endpoint: Endpoint,
    mailboxes: Arc<NodeMailboxes>,
    bus: Arc<Faulty<MemoryBus>>,
}

/// Starts three nodes of one service.
async fn three_nodes() -> [Node; 3] {
    let mut limits = HttpLimits::default();
    limits.quiet_period = Duration::ZERO;
    let options = HttpOptions::new()
        .with_limits(limits)
        .with_session_store(Arc::new(MemorySessionStore::default()))
        .with_event_log(Arc::new(MemoryEventLog::default()));
    let (mailboxes, bus) = (Arc::default(), Arc::<MemoryBus>::default());
    let node = async || {
        let mailboxes = NodeMailboxes::new(&mailboxes);
        let bus = Arc::new(Faulty::new(Arc::clone(&bus)));
        let options = options
            .clone()
            .with_mailboxes(mailboxes.clone())
            .with_bus(bus.clone());
        Node {
            endpoint: Endpoint::serve_with(&Fixture::new().server, options).await,
            mailboxes,
            bus,
        }
    };
    [node().await, node().await, node().await]
}

/// Calls the tool `ask`, and returns its stream and its request to the client.
async fn ask(session: &Session) -> (Events, Value) {
    let mut events = session.stream(&tool_call(1, "ask", json!({}))).await;
    assert_eq!(events.next().await.unwrap().data, "");
    let request = events.message().await;
    (events, request)
}

fn response_to(request: &Value) -> Value {
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    result_response(request["id"].clone(), result)
}

#[tokio::test]
async fn response_is_sent_only_to_the_node_that_waits_for_it() {
    let [a, b, c] = three_nodes().await;
    let session = Session::open(&a.endpoint, "2025-11-25").await;
    let (mut events, request) = ask(&session).await;
    let id = request["id"].as_u64().expect("a number");
    assert!(id < 1 << 53, "{id}");
    session.at(&b.endpoint).send(response_to(&request)).await;
    assert!(events.message().await.to_string().contains("Ada"));
    let node = a.mailboxes.own.lock().unwrap()[0];
    assert_eq!(*b.mailboxes.sent_to.lock().unwrap(), [node]);
    assert_eq!(b.bus.calls("publish_all"), 0);
    // A second response is ignored, also by its node.
    session.at(&c.endpoint).send(response_to(&request)).await;
    session.send(response_to(&request)).await;
}

#[tokio::test]
async fn response_for_a_stopped_node_is_accepted_and_for_an_unavailable_one_rejected() {
    let [a, b, _c] = three_nodes().await;
    let session = Session::open(&a.endpoint, "2025-11-25").await;
    let (mut events, request) = ask(&session).await;
    let at_b = session.at(&b.endpoint);
    b.mailboxes.set_sending(Sending::Unavailable);
    let rejected = at_b.post(&response_to(&request)).await;
    assert_eq!(rejected.status(), 503);
    assert!(rejected.header("retry-after").is_some());
    b.mailboxes.set_sending(Sending::Absent);
    at_b.send(response_to(&request)).await;
    b.mailboxes.set_sending(Sending::Works);
    at_b.send(response_to(&request)).await;
    assert!(events.message().await.to_string().contains("Ada"));
}

#[tokio::test]
async fn node_that_lost_its_number_ends_its_requests_and_takes_another_number() {
    let [a, b, _c] = three_nodes().await;
    let session = Session::open(&a.endpoint, "2025-11-25").await;
    let (mut events, _) = ask(&session).await;
    a.mailboxes.lose_number().await;
    let outcome = events.message().await.to_string();
    assert!(outcome.contains("lost its number"), "{outcome}");
    let (mut events, request) = ask(&session).await;
    session.at(&b.endpoint).send(response_to(&request)).await;
    assert!(events.message().await.to_string().contains("Ada"));
    let nodes = a.mailboxes.own.lock().unwrap().clone();
    assert_eq!(nodes.len(), 2);
    assert_ne!(nodes[0], nodes[1]);
}

/// Returns two nodes with the transport of 2024-11-05, and their mailboxes.
fn two_sse_nodes() -> [(HttpService, Arc<NodeMailboxes>); 2] {
    sse_nodes(&(Arc::<MemorySessionStore>::default() as Arc<dyn SessionStore>))
}

fn sse_nodes(sessions: &Arc<dyn SessionStore>) -> [(HttpService, Arc<NodeMailboxes>); 2] {
    let shared = Arc::default();
    [(), ()].map(|()| {
        let mailboxes = NodeMailboxes::new(&shared);
        let options = HttpOptions::new()
            .with_http_sse()
            .with_session_store(Arc::clone(sessions))
            .with_mailboxes(mailboxes.clone());
        (HttpService::new(server(), options), mailboxes)
    })
}

#[tokio::test]
async fn message_for_the_stream_of_a_stopped_node_returns_404() {
    let [(first, of_first), (second, of_second)] = two_sse_nodes();
    let mut client = HttpSseClient::connect(&first).await;
    let ping = legacy(1, "ping", json!({}));
    let send = async || second.respond(post(&client.address, &ping)).await.status();
    of_second.set_sending(Sending::Absent);
    assert_eq!(send().await, StatusCode::NOT_FOUND);
    of_second.set_sending(Sending::Unavailable);
    assert_eq!(send().await, StatusCode::SERVICE_UNAVAILABLE);
    of_second.set_sending(Sending::Works);
    assert_eq!(send().await, StatusCode::ACCEPTED);
    client.expect(result_response(1, json!({}))).await;
    // The node of the stream knows which of its streams are open.
    let node = of_first.own.lock().unwrap()[0];
    assert_eq!(*of_second.sent_to.lock().unwrap(), [node; 3]);
    assert!(of_first.sent_to.lock().unwrap().is_empty());
}

#[tokio::test]
async fn client_is_not_asked_to_repeat_a_message_that_may_have_arrived() {
    let [(first, _), (second, of_second)] = two_sse_nodes();
    let mut client = HttpSseClient::connect(&first).await;
    of_second.set_sending(Sending::Unknown);
    let ping = legacy(1, "ping", json!({}));
    let response = second.respond(post(&client.address, &ping)).await;
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert!(!response.headers().contains_key("retry-after"));
    client.expect(result_response(1, json!({}))).await;
}

#[tokio::test]
async fn streams_of_a_node_that_lost_its_number_end() {
    let [(first, of_first), _] = two_sse_nodes();
    let mut client = HttpSseClient::connect(&first).await;
    of_first.lose_number().await;
    assert_eq!(client.next_event().await, None);
}

#[tokio::test(start_paused = true)]
async fn stream_with_a_number_that_was_lost_meanwhile_is_not_opened() {
    let sessions = Arc::new(Faulty::new(Arc::<MemorySessionStore>::default()));
    let store: Arc<dyn SessionStore> = sessions.clone();
    let [(first, of_first), _] = sse_nodes(&store);
    drop(HttpSseClient::connect(&first).await);
    sessions.inject("create", Fault::Slow(Duration::from_secs(1)), 1);
    let calls = sessions.calls("create");
    let stream = Request::get("/sse")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .body(Full::<Bytes>::default())
        .unwrap();
    let losing = async {
        while sessions.calls("create") == calls {
            tokio::task::yield_now().await;
        }
        of_first.lose_number().await;
    };
    let (response, ()) = tokio::join!(first.respond(stream), losing);
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    // The next attempt gets the new number.
    let client = HttpSseClient::connect(&first).await;
    let node = of_first.own.lock().unwrap()[1];
    assert!(client.session().starts_with(&format!("{node:04x}")));
}
