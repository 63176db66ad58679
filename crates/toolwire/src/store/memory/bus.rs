//! A bus within one process.

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use crate::engine::BoxFuture;
use crate::store::memory::encoded_size::encoded_size;
use crate::store::{Bus, BusDelivery, BusMessage, BusSubscription, StoreFuture};

/// The default number of messages that a subscriber may be behind. A burst of changes fits. Further messages are lost
/// and cause one [`BusDelivery::Lagged`].
const DEFAULT_CAPACITY: usize = 1024;

/// The default number of bytes of all messages that wait for a subscriber.
const DEFAULT_BYTES: usize = 32 * 1024 * 1024;

/// A bus between services of one process.
#[derive(Debug)]
pub struct MemoryBus {
    sender: broadcast::Sender<WaitingDelivery>,
    /// One permit for each byte that may wait.
    bytes: Arc<Semaphore>,
}

/// A delivery that waits for the subscribers. Its bytes count until the last one has taken it.
#[derive(Debug, Clone)]
struct WaitingDelivery {
    delivery: BusDelivery,
    _bytes: Option<Arc<OwnedSemaphorePermit>>,
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
            bytes: Arc::new(Semaphore::new(DEFAULT_BYTES)),
        }
    }

    /// Sets the maximum number of bytes of all messages that wait for a subscriber, as JSON. Default: 32 MiB. Further
    /// messages are lost, and reported as lost.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS)));
        self
    }

    /// Returns a message with a permit for its bytes, or the report that it is lost.
    fn waiting(&self, message: &BusMessage) -> WaitingDelivery {
        let bytes = u32::try_from(encoded_size(message)).unwrap_or(u32::MAX);
        match Arc::clone(&self.bytes).try_acquire_many_owned(bytes) {
            Ok(permit) => WaitingDelivery {
                delivery: BusDelivery::Message(message.clone()),
                _bytes: Some(Arc::new(permit)),
            },
            Err(_) => WaitingDelivery {
                delivery: BusDelivery::Lagged,
                _bytes: None,
            },
        }
    }
}

impl Bus for MemoryBus {
    fn publish_all<'a>(&'a self, messages: &'a [BusMessage]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            for message in messages {
                // Sending without subscribers is not an error.
                let _ = self.sender.send(self.waiting(message));
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
struct MemorySubscription(broadcast::Receiver<WaitingDelivery>);

impl BusSubscription for MemorySubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<BusDelivery>> {
        Box::pin(async move {
            match self.0.recv().await {
                Ok(waiting) => Some(waiting.delivery),
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
    async fn waiting_bytes_are_limited() {
        let size = encoded_size(&message(1));
        for (bytes, expected) in [
            (2 * size, BusDelivery::Message(message(2))),
            (2 * size - 1, BusDelivery::Lagged),
        ] {
            let bus = MemoryBus::default().with_bytes(bytes);
            let mut subscription = bus.subscribe().await.unwrap();
            bus.publish_all(&[message(1), message(2)]).await.unwrap();
            let first = Some(BusDelivery::Message(message(1)));
            assert_eq!(subscription.next().await, first);
            assert_eq!(subscription.next().await, Some(expected));
            // Messages that were taken do not count any more.
            bus.publish_all(&[message(3)]).await.unwrap();
            let third = Some(BusDelivery::Message(message(3)));
            assert_eq!(subscription.next().await, third);
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
