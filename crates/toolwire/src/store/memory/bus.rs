//! News within one process.

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::engine::BoxFuture;
use crate::store::{Bus, BusDelivery, BusMessage, BusSubscription, StoreFuture};

/// How many messages a subscriber may be behind. A burst of changes fits; what is lost beyond it costs one
/// [`BusDelivery::Lagged`].
const DEFAULT_CAPACITY: usize = 1024;

/// Carries news between the services of one process that share it.
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
    /// A bus whose subscribers may be at least `capacity` messages behind before they lose some; 1024 by default. The
    /// room for them is taken at once.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            // The channel cannot be built without any room.
            sender: broadcast::Sender::new(capacity.max(1)),
        }
    }
}

impl Bus for MemoryBus {
    fn publish(&self, message: BusMessage) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            // That nobody listens is no failure.
            let _ = self.sender.send(message);
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
    async fn contract_holds() {
        let bus = Arc::new(MemoryBus::default());
        contract::bus(async || bus.clone()).await;
    }

    /// What a subscriber gets first that has not read for so many messages.
    async fn first_after(capacity: usize, messages: usize) -> Option<BusDelivery> {
        let bus = MemoryBus::new(capacity);
        let mut subscription = bus.subscribe().await.unwrap();
        for number in 1..=messages {
            bus.publish(message(number)).await.unwrap();
        }
        subscription.next().await
    }

    #[tokio::test]
    async fn slow_reader_is_told_that_it_lost_messages() {
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
    async fn slow_reader_goes_on_with_what_is_left() {
        let bus = MemoryBus::new(2);
        let mut subscription = bus.subscribe().await.unwrap();
        for number in 1..=5 {
            bus.publish(message(number)).await.unwrap();
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
        bus.publish(message(1)).await.unwrap();
        drop(bus);
        let last = Some(BusDelivery::Message(message(1)));
        assert_eq!(subscription.next().await, last);
        assert_eq!(subscription.next().await, None);
    }
}
