//! Contract tests for buses.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use toolwire_proto::subscriptions::Change;
use toolwire_types::{ClientCapabilities, ProtocolVersion, RawJson, RequestId};

use crate::store::contract::{in_time, ok, unique_name};
use crate::store::{
    Bus, BusDelivery, BusMessage, BusPayload, BusSubscription, SessionRecord, SessionSignal,
};

/// Checks a [`Bus`]. Each call of `connect` returns a connection to the same bus, as each node has one.
///
/// # Panics
/// Panics if the bus violates a rule. The message names the rule.
pub async fn bus<B: Bus + 'static>(connect: impl AsyncFn() -> Arc<B>) {
    let first = Node::new(connect().await);
    let second = Node::new(connect().await);
    publish_without_subscribers_succeeds(&first).await;
    message_reaches_all_subscribers(&first, &second).await;
    messages_of_one_node_arrive_in_order(&first, &second).await;
    earlier_messages_are_not_delivered(&first, &second).await;
    dropped_wait_loses_nothing(&first, &second).await;
    dropped_subscription_does_not_affect_others(&first, &second).await;
}

struct Node {
    name: String,
    bus: Arc<dyn Bus>,
}

impl Node {
    fn new(bus: Arc<dyn Bus>) -> Self {
        Self {
            name: unique_name("node"),
            bus,
        }
    }

    fn message(&self, payload: BusPayload) -> BusMessage {
        BusMessage::new(self.name.clone(), payload)
    }

    async fn publish(&self, payload: BusPayload) {
        self.publish_all([payload]).await;
    }

    async fn publish_all(&self, payloads: impl IntoIterator<Item = BusPayload>) {
        let payloads = payloads.into_iter();
        let messages: Vec<_> = payloads.map(|payload| self.message(payload)).collect();
        ok("publish_all", self.bus.publish_all(&messages).await);
    }

    async fn subscribe(&self) -> Box<dyn BusSubscription> {
        ok("subscribe", self.bus.subscribe().await)
    }
}

/// Returns the next message of one of the nodes. Other programs may use the bus, too.
async fn next(rule: &str, subscription: &mut dyn BusSubscription, nodes: &[&Node]) -> BusMessage {
    loop {
        match in_time(rule, subscription.next()).await {
            Some(BusDelivery::Message(message)) => {
                if nodes.iter().any(|node| node.name == message.node) {
                    return message;
                }
            }
            Some(BusDelivery::Lagged) => {
                panic!("{rule}: a few messages do not exceed the capacity of a reader")
            }
            None => panic!("{rule}: the bus has closed"),
        }
    }
}

/// Returns one message of each kind.
fn all_payloads() -> Vec<BusPayload> {
    let session = unique_name("session");
    let signals = [
        SessionSignal::Cancelled {
            id: RequestId::from("a b"),
            age: Duration::from_millis(1_500),
        },
        SessionSignal::Updated {
            record: Box::new(SessionRecord::new(
                ProtocolVersion::LATEST,
                ClientCapabilities::default(),
                None,
            )),
            revision: 7,
        },
        SessionSignal::Ended,
    ];
    let changes = [
        Change::ToolsListChanged,
        Change::PromptsListChanged,
        Change::ResourcesListChanged,
        Change::ResourceUpdated("file:///ä b".to_owned()),
        Change::Task(unique_name("task")),
    ];
    let other = [
        BusPayload::Everything,
        BusPayload::MessagesLost,
        BusPayload::Notification {
            method: "notifications/acme/updated".to_owned(),
            params: Some(RawJson::from(serde_json::json!({}))),
        },
    ];
    let signals = signals.into_iter().map(|signal| BusPayload::Session {
        session: session.clone(),
        signal,
    });
    changes
        .into_iter()
        .map(BusPayload::Change)
        .chain(other)
        .chain(signals)
        .collect()
}

fn numbered(number: u32) -> BusPayload {
    BusPayload::Change(Change::ResourceUpdated(number.to_string()))
}

async fn publish_without_subscribers_succeeds(node: &Node) {
    node.publish(numbered(0)).await;
}

async fn message_reaches_all_subscribers(first: &Node, second: &Node) {
    let rule = "every subscriber gets every message, including its own";
    let mut subscriptions = [
        first.subscribe().await,
        first.subscribe().await,
        second.subscribe().await,
    ];
    let payloads = all_payloads();
    for payload in &payloads {
        first.publish(payload.clone()).await;
    }
    first.publish_all(payloads.clone()).await;
    first.publish_all([]).await;
    for subscription in &mut subscriptions {
        for payload in payloads.iter().chain(&payloads) {
            let received = next(rule, &mut **subscription, &[first, second]).await;
            assert_eq!(received, first.message(payload.clone()), "{rule}");
        }
    }
}

async fn messages_of_one_node_arrive_in_order(first: &Node, second: &Node) {
    let rule = "the messages of one node arrive in the order they were published";
    let count = 50;
    let mut subscription = second.subscribe().await;
    let publish = async |node: &Node| {
        for number in 0..count {
            node.publish(numbered(number)).await;
            tokio::task::yield_now().await;
        }
    };
    let receive = async {
        let mut seen = Vec::new();
        while seen.len() < 2 * count as usize {
            seen.push(next(rule, &mut *subscription, &[first, second]).await);
        }
        seen
    };
    let (seen, (), ()) = tokio::join!(receive, publish(first), publish(second));
    for node in [first, second] {
        let of_node = seen.iter().filter(|message| message.node == node.name);
        let expected = (0..count).map(|number| node.message(numbered(number)));
        assert!(of_node.cloned().eq(expected), "{rule}: {seen:?}");
    }
}

async fn earlier_messages_are_not_delivered(first: &Node, second: &Node) {
    let rule = "a subscription starts with messages that are published after it";
    let mut before = second.subscribe().await;
    first.publish(numbered(1)).await;
    // The message has been delivered, so it is in the past.
    next(rule, &mut *before, &[first]).await;
    let mut later = second.subscribe().await;
    first.publish(numbered(2)).await;
    assert_eq!(
        next(rule, &mut *later, &[first]).await,
        first.message(numbered(2)),
        "{rule}"
    );
}

async fn dropped_wait_loses_nothing(first: &Node, second: &Node) {
    let rule = "a message is not lost when a wait for it was dropped";
    let mut subscription = second.subscribe().await;
    for number in 0..3 {
        let _ = timeout(Duration::ZERO, subscription.next()).await;
        first.publish(numbered(number)).await;
        assert_eq!(
            next(rule, &mut *subscription, &[first]).await,
            first.message(numbered(number)),
            "{rule}"
        );
    }
}

async fn dropped_subscription_does_not_affect_others(first: &Node, second: &Node) {
    let rule = "the end of one subscription does not affect others";
    let ended = second.subscribe().await;
    let mut subscription = second.subscribe().await;
    drop(ended);
    first.publish(numbered(1)).await;
    assert_eq!(
        next(rule, &mut *subscription, &[first]).await,
        first.message(numbered(1)),
        "{rule}"
    );
}
