//! Changes at one node reach the listeners at another node although the bus fails in between.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use toolwire::Server;
use toolwire::store::MemoryBus;
use toolwire::store::contract::{Fault, Faulty};
use toolwire::transport::http::{HttpOptions, HttpService, ServerBody};
use toolwire_tests::http::direct::{InProcessClient, next_chunk};
use toolwire_tests::http::fixture::Fixture;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::modern;

pub(crate) const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// A node with its own connection to the bus.
struct Node {
    server: Server,
    client: InProcessClient,
    bus: Arc<Faulty<MemoryBus>>,
}

/// The bus of several nodes.
struct Cluster {
    bus: Arc<MemoryBus>,
}

impl Cluster {
    fn new() -> Self {
        Self {
            bus: Arc::default(),
        }
    }

    /// Starts a node whose connection to the bus has these faults from the start.
    fn node(&self, faults: &[(&str, Fault, usize)]) -> Node {
        let bus = Arc::new(Faulty::new(Arc::clone(&self.bus)));
        for (method, fault, times) in faults {
            bus.inject(method, *fault, *times);
        }
        let server = Fixture::new().server;
        let service = HttpService::new(server.clone(), HttpOptions::new().with_bus(bus.clone()));
        Node {
            server,
            client: InProcessClient::new(&service),
            bus,
        }
    }
}

/// The messages of one `subscriptions/listen`.
pub(crate) struct Listener {
    body: Pin<Box<ServerBody>>,
    /// The methods of received notifications.
    received: VecDeque<String>,
}

impl Listener {
    async fn open(node: &Node) -> Self {
        Self::listen(&node.client).await
    }

    pub(crate) async fn listen(client: &InProcessClient) -> Self {
        let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["notes://a"]});
        let listen = modern(1, "subscriptions/listen", json!({"notifications": filter}));
        let response = client.send(Request::modern(&listen)).await;
        assert_eq!(response.status(), 200);
        let mut listener = Self {
            body: Box::pin(response.into_body()),
            received: VecDeque::new(),
        };
        assert_eq!(listener.next().await, ACKNOWLEDGED);
        listener
    }

    /// Returns the method of the next notification.
    pub(crate) async fn next(&mut self) -> String {
        loop {
            if let Some(method) = self.received.pop_front() {
                return method;
            }
            let chunk = next_chunk(&mut self.body).await.expect("an open stream");
            let messages = chunk.lines().filter_map(|line| line.strip_prefix("data: "));
            self.received.extend(messages.map(|message| {
                let message: Value = serde_json::from_str(message).unwrap();
                message["method"]
                    .as_str()
                    .expect("a notification")
                    .to_owned()
            }));
        }
    }

    async fn expect(&mut self, method: &str) {
        let next = timeout(Duration::from_secs(10), self.next()).await;
        assert_eq!(next.as_deref(), Ok(method));
    }

    /// Expects that no notification arrives for a while.
    async fn expect_nothing(&mut self) {
        let next = timeout(Duration::from_secs(10), self.next()).await;
        assert!(next.is_err(), "{next:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn change_that_could_not_be_published_is_published_later() {
    for fault in [Fault::Error, Fault::LostReply, Fault::Hang] {
        let cluster = Cluster::new();
        let (a, b) = (cluster.node(&[]), cluster.node(&[]));
        let mut listener = Listener::open(&b).await;
        a.bus.inject("publish_all", fault, 1);
        a.server.tools_changed();
        listener.expect(TOOLS_CHANGED).await;
    }
}

#[tokio::test(start_paused = true)]
async fn changes_during_an_outage_are_published_after_it() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node(&[]), cluster.node(&[]));
    let mut listener = Listener::open(&b).await;
    a.bus.inject("publish_all", Fault::Error, usize::MAX);
    // More changes than can be listed.
    for number in 0..20_000 {
        a.server.resource_updated(format!("notes://{number}"));
        if number % 1_000 == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    listener.expect_nothing().await;
    a.bus.heal();
    listener.expect(TOOLS_CHANGED).await;
    listener.expect("notifications/resources/updated").await;
    listener.expect_nothing().await;
    a.server.tools_changed();
    listener.expect(TOOLS_CHANGED).await;
    listener.expect_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn listener_is_notified_of_changes_before_the_first_subscription_of_its_node() {
    let cluster = Cluster::new();
    let a = cluster.node(&[]);
    let b = cluster.node(&[("subscribe", Fault::Error, 3)]);
    let before = Instant::now();
    let mut listener = Listener::open(&b).await;
    assert_eq!(before.elapsed().as_secs(), 1, "acknowledged after a second");
    a.server.tools_changed();
    listener.expect(TOOLS_CHANGED).await;
    listener.expect("notifications/resources/updated").await;
    listener.expect_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn listen_is_acknowledged_when_the_bus_is_joined() {
    let cluster = Cluster::new();
    let a = cluster.node(&[]);
    let delay = Duration::from_millis(500);
    let b = cluster.node(&[("subscribe", Fault::Slow(delay), 1)]);
    let before = Instant::now();
    let mut listener = Listener::open(&b).await;
    assert!((delay..delay * 2).contains(&before.elapsed()));
    listener.expect_nothing().await;
    a.server.tools_changed();
    listener.expect(TOOLS_CHANGED).await;
    listener.expect_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn simultaneous_changes_are_published_together() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node(&[]), cluster.node(&[]));
    let mut listener = Listener::open(&b).await;
    for number in 0..200 {
        a.server.resource_updated(format!("notes://{number}"));
    }
    a.server.tools_changed();
    listener.expect(TOOLS_CHANGED).await;
    assert_eq!(a.bus.calls("publish_all"), 1);
}
