//! The messages of other nodes, and the detection of lost ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio::time::Instant;
use toolwire::store::{BusDelivery, BusMessage, StoreError};

/// The number of messages that a subscription may be behind. Further messages are lost, and cause one
/// [`BusDelivery::Lagged`].
const CAPACITY: usize = 1024;

/// The bytes of all messages that wait for a subscription. Further messages are lost, too.
const MAX_WAITING_BYTES: usize = 32 * 1024 * 1024;

/// The silence after which a node is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// What a node publishes: messages, or a heartbeat without messages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Envelope<M> {
    /// The id of the node.
    node: String,
    /// The number of these messages. A heartbeat has the number of the last ones.
    number: u64,
    messages: M,
}

impl Envelope<&[BusMessage]> {
    pub(super) fn encode(
        node: &str,
        number: u64,
        messages: &[BusMessage],
    ) -> Result<Vec<u8>, StoreError> {
        let envelope = Envelope {
            node: node.to_owned(),
            number,
            messages,
        };
        serde_json::to_vec(&envelope).map_err(StoreError::unavailable)
    }
}

/// Returns the id of the node that has published an envelope.
pub(super) fn sender_of(envelope: &[u8]) -> Option<String> {
    let envelope: Envelope<IgnoredAny> = serde_json::from_slice(envelope).ok()?;
    Some(envelope.node)
}

/// A delivery that waits for the subscriptions. It counts until the last one has taken it.
#[derive(Debug, Clone)]
pub(crate) struct WaitingDelivery {
    pub(crate) delivery: BusDelivery,
    _bytes: Option<Arc<OwnedSemaphorePermit>>,
}

/// The numbers of messages since the start of this node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BusCounters {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// How often messages may have been lost.
    pub(crate) lagged: u64,
}

/// The messages for the subscriptions of this node.
#[derive(Debug)]
pub(super) struct ReceivedMessages {
    sender: broadcast::Sender<WaitingDelivery>,
    /// One permit for each byte that may wait.
    bytes: Arc<Semaphore>,
    nodes: HashMap<String, HeardNode>,
    /// The id of this node, and the number of messages and heartbeats that it has heard of itself.
    own: (String, u64),
    counters: BusCounters,
}

/// What was last heard of a node.
#[derive(Debug)]
struct HeardNode {
    number: u64,
    at: Instant,
}

impl ReceivedMessages {
    pub(super) fn new(own: &str) -> Self {
        Self {
            sender: broadcast::Sender::new(CAPACITY),
            bytes: Arc::new(Semaphore::new(MAX_WAITING_BYTES)),
            nodes: HashMap::new(),
            own: (own.to_owned(), 0),
            counters: BusCounters::default(),
        }
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<WaitingDelivery> {
        self.sender.subscribe()
    }

    /// Returns how many messages and heartbeats of this node were heard.
    pub(super) fn heard_own(&self) -> u64 {
        self.own.1
    }

    pub(super) fn counters(&self) -> BusCounters {
        self.counters
    }

    /// Tells subscriptions that messages were lost.
    pub(super) fn lose(&mut self) {
        self.nodes.clear();
        self.deliver(BusDelivery::Lagged, None);
    }

    fn deliver(&mut self, delivery: BusDelivery, bytes: Option<Arc<OwnedSemaphorePermit>>) {
        match delivery {
            BusDelivery::Lagged => self.counters.lagged += 1,
            _ => self.counters.received += 1,
        }
        let waiting = WaitingDelivery {
            delivery,
            _bytes: bytes,
        };
        // It is not an error if there is no subscription.
        let _ = self.sender.send(waiting);
    }

    /// Delivers the messages of an envelope. Returns `true` if it is a heartbeat of this node.
    pub(super) fn receive(&mut self, payload: &[u8]) -> bool {
        let now = Instant::now();
        let Ok(envelope) = serde_json::from_slice::<Envelope<Vec<BusMessage>>>(payload) else {
            // A newer version may send messages that this one does not know.
            tracing::warn!("a message of another node cannot be read");
            self.deliver(BusDelivery::Lagged, None);
            return false;
        };
        let is_own = envelope.node == self.own.0;
        if is_own {
            self.own.1 += 1;
        }
        let is_heartbeat = envelope.messages.is_empty();
        let heard = HeardNode {
            number: envelope.number,
            at: now,
        };
        if let Some(before) = self.nodes.insert(envelope.node, heard) {
            // The number is untrusted: it may be the largest one.
            let expected = before.number.wrapping_add(u64::from(!is_heartbeat));
            if envelope.number != expected {
                self.deliver(BusDelivery::Lagged, None);
            }
        } else {
            self.nodes
                .retain(|_, node| now.duration_since(node.at) < FORGOTTEN_AFTER);
        }
        if is_heartbeat {
            return is_own;
        }
        let count = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let Ok(bytes) = Arc::clone(&self.bytes).try_acquire_many_owned(count) else {
            self.deliver(BusDelivery::Lagged, None);
            return false;
        };
        let bytes = Arc::new(bytes);
        for message in envelope.messages {
            self.deliver(BusDelivery::Message(message), Some(Arc::clone(&bytes)));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use toolwire::Change;
    use toolwire::store::BusPayload;

    use super::*;

    fn message(number: u64) -> BusMessage {
        let change = Change::ResourceUpdated(number.to_string());
        BusMessage::new("node", BusPayload::Change(change))
    }

    /// Returns what a subscription gets of messages and heartbeats with these numbers.
    fn deliveries(envelopes: &[(&str, u64, bool)]) -> Vec<BusDelivery> {
        let mut received = ReceivedMessages::new("own");
        let mut subscription = received.subscribe();
        for (node, number, is_heartbeat) in envelopes {
            let messages = [message(*number)];
            let messages = if *is_heartbeat { &[] } else { &messages[..] };
            let payload = Envelope::encode(node, *number, messages).unwrap();
            received.receive(&payload);
        }
        let received = std::iter::from_fn(|| subscription.try_recv().ok());
        received.map(|waiting| waiting.delivery).collect()
    }

    #[test]
    fn missing_numbers_are_detected() {
        let delivered = |number| BusDelivery::Message(message(number));
        let lagged = BusDelivery::Lagged;
        for (envelopes, expected) in [
            (
                &[("a", 7, false), ("a", 8, false), ("a", 8, true)][..],
                vec![delivered(7), delivered(8)],
            ),
            (
                &[
                    ("a", 1, false),
                    ("b", 5, false),
                    ("a", 2, false),
                    ("b", 5, true),
                ],
                vec![delivered(1), delivered(5), delivered(2)],
            ),
            (
                &[("a", 1, false), ("a", 3, false), ("a", 4, false)],
                vec![delivered(1), lagged.clone(), delivered(3), delivered(4)],
            ),
            (
                &[("a", 1, true), ("a", 2, true), ("a", 3, false)],
                vec![lagged, delivered(3)],
            ),
            (&[("a", 4, true), ("a", 4, true)], vec![]),
            (
                &[("a", u64::MAX, true), ("a", 0, false)],
                vec![delivered(0)],
            ),
        ] {
            assert_eq!(deliveries(envelopes), expected, "{envelopes:?}");
        }
    }

    #[test]
    fn unreadable_message_counts_as_lost() {
        let mut received = ReceivedMessages::new("own");
        let mut subscription = received.subscribe();
        received.receive(b"{}");
        let received = subscription.try_recv().unwrap();
        assert_eq!(received.delivery, BusDelivery::Lagged);
    }

    #[test]
    fn waiting_bytes_are_limited() {
        let mut received = ReceivedMessages::new("own");
        let mut subscription = received.subscribe();
        let large = || {
            let change = Change::ResourceUpdated("x".repeat(MAX_WAITING_BYTES / 2 - 1000));
            BusMessage::new("node", BusPayload::Change(change))
        };
        for number in 1..=3 {
            let payload = Envelope::encode("a", number, &[large()]).unwrap();
            received.receive(&payload);
        }
        let mut next = || subscription.try_recv().unwrap().delivery;
        assert_eq!(next(), BusDelivery::Message(large()));
        assert_eq!(next(), BusDelivery::Message(large()));
        assert_eq!(next(), BusDelivery::Lagged);
        // What was taken does not count any more.
        let payload = Envelope::encode("a", 4, &[large()]).unwrap();
        received.receive(&payload);
        assert_eq!(next(), BusDelivery::Message(large()));
    }

    #[test]
    fn heartbeat_needs_no_free_bytes() {
        let mut received = ReceivedMessages::new("own");
        let mut subscription = received.subscribe();
        let _all = Arc::clone(&received.bytes).try_acquire_many_owned(MAX_WAITING_BYTES as u32);
        for _ in 0..2 {
            let payload = Envelope::encode("a", 1, &[]).unwrap();
            received.receive(&payload);
        }
        assert!(subscription.try_recv().is_err(), "no message was lost");
    }

    #[test]
    fn only_messages_of_this_node_count_as_heard() {
        let mut received = ReceivedMessages::new("own");
        for (node, expected) in [("other", 0), ("own", 1), ("other", 1), ("own", 2)] {
            let payload = Envelope::encode(node, 1, &[]).unwrap();
            received.receive(&payload);
            assert_eq!(received.heard_own(), expected);
        }
        received.receive(b"own");
        assert_eq!(received.heard_own(), 2);
    }

    #[test]
    fn silent_nodes_are_forgotten() {
        let mut received = ReceivedMessages::new("own");
        for node in ["a", "b"] {
            let payload = Envelope::encode(node, 1, &[]).unwrap();
            received.receive(&payload);
            for heard in received.nodes.values_mut() {
                heard.at = heard.at.checked_sub(FORGOTTEN_AFTER).unwrap_or(heard.at);
            }
        }
        let payload = Envelope::encode("c", 1, &[]).unwrap();
        received.receive(&payload);
        assert_eq!(received.nodes.keys().collect::<Vec<_>>(), ["c"]);
    }
}
