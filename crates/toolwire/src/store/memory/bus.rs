//! A bus within one process.

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::engine::BoxFuture;
use crate::store::{Bus, BusDelivery, BusMessage, BusSubscription, StoreFuture};

/// The default number of messages that a subscriber may be behind. A burst of changes fits. Further messages are lost
/// and cause one [`BusDelivery::Lagged`].
const DEFAULT_CAPACITY: usize = 1024;

/// A bus between services of one process.
#[derive(Debug)]
pub struct MemoryBus {
    sender: broadcast::Sender<BusMessage>,
}

impl Default for MemoryBus {
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl MemoryBus {
    /// Creates a bus whose subscribers may be at least `capacity` messages behind before they lose messages. Default:
    /// 1024. The buffer is allocated at once.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            // The channel requires a capacity of at least 1.
            sender: broadcast::Sender::new(capacity.max(1)),
        }
    }
}

impl Bus for MemoryBus {
    fn publish_all<'a>(&'a self, messages: &'a [BusMessage]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            for message in messages {
                // Sending without subscribers is not an error.
                let _ = self.sender.send(message.clone());
            }
            Ok(())
        })
    }

    fn subscribe(&self) -> StoreFuture<'_, Box<dyn BusSubscription>> {
        Box::pin(async move {
            let subscription: Box<dyn BusSubscription> =
                Box::new(MemorySubscription(self.sender.subscribe()));
            Ok(subscription)
        })
    }
}

#[derive(Debug)]
struct MemorySubscription(broadcast::Receiver<BusMessage>);

impl BusSubscription for MemorySubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<BusDelivery>> {
        Box::pin(async move {
            match self.0.recv().await {
                Ok(message) => Some(BusDelivery::Message(message)),
                Err(RecvError::Lagged(_)) => Some(BusDelivery::Lagged),
                Err(RecvError::Closed) => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolwire_proto::subscriptions::Change;

    use super::*;
    use crate::store::{BusPayload, contract};

    fn message(number: usize) -> BusMessage {
        let change = Change::ResourceUpdated(number.to_string());
        BusMessage::new("node", BusPayload::Change(change))
    }

    #[tokio::test(start_paused = true)]
    async fn bus_meets_the_contract() {
        let bus = Arc::new(MemoryBus::default());
        contract::bus(async || bus.clone()).await;
    }

    /// Returns the first delivery to a subscriber that is this many messages behind.
    async fn first_after(capacity: usize, messages: usize) -> Option<BusDelivery> {
        let bus = MemoryBus::new(capacity);
        let mut subscription = bus.subscribe().await.unwrap();
        for number in 1..=messages {
            bus.publish_all(&[message(number)]).await.unwrap();
        }
        subscription.next().await
    }

    #[tokio::test]
    async fn slow_reader_gets_lagged() {
        let first = Some(BusDelivery::Message(message(1)));
        for (capacity, messages, expected) in [
            (4, 3, &first),
            (4, 4, &first),
            (4, 5, &Some(BusDelivery::Lagged)),
            (0, 1, &first),
            (0, 2, &Some(BusDelivery::Lagged)),
        ] {
            assert_eq!(
                first_after(capacity, messages).await,
                *expected,
                "{messages} messages on a bus of {capacity}"
            );
        }
    }

    #[tokio::test]
    async fn slow_reader_continues_with_remaining_messages() {
        let bus = MemoryBus::new(2);
        let mut subscription = bus.subscribe().await.unwrap();
        for number in 1..=5 {
            bus.publish_all(&[message(number)]).await.unwrap();
        }
        assert_eq!(subscription.next().await, Some(BusDelivery::Lagged));
        for number in 4..=5 {
            let expected = Some(BusDelivery::Message(message(number)));
            assert_eq!(subscription.next().await, expected);
        }
    }

    #[tokio::test]
    async fn subscription_ends_with_the_bus() {
        let bus = MemoryBus::default();
        let mut subscription = bus.subscribe().await.unwrap();
        bus.publish_all(&[message(1)]).await.unwrap();
        drop(bus);
        let last = Some(BusDelivery::Message(message(1)));
        assert_eq!(subscription.next().await, last);
        assert_eq!(subscription.next().await, None);
    }
}
