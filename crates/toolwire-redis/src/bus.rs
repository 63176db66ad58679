//! The bus between nodes.

use std::any::Any;
use std::pin::Pin;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use toolwire::store::{Bus, BusDelivery, BusMessage, BusSubscription};

use crate::StoreFuture;
use crate::connection::Connection;
use crate::subscriber::{Subscriber, WaitingDelivery};

/// A bus between all nodes of a service ([`Redis::bus`](crate::Redis::bus)).
///
/// The engine delivers messages at most once. Lost messages are noticed within about two seconds, and reported as
/// [`BusDelivery::Lagged`].
#[derive(Debug, Clone)]
pub struct RedisBus {
    connection: Connection,
    subscriber: Subscriber,
}

impl RedisBus {
    pub(crate) fn new(connection: Connection, subscriber: Subscriber) -> Self {
        Self {
            connection,
            subscriber,
        }
    }

    /// Returns `true` if a script of a store with this subscriber can publish messages of this bus.
    pub(crate) fn can_publish_in_scripts_of(&self, subscriber: &Subscriber) -> bool {
        self.subscriber.can_publish_in_scripts_of(subscriber)
    }
}

impl Bus for RedisBus {
    fn publish_all<'a>(&'a self, messages: &'a [BusMessage]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            if messages.is_empty() {
                return Ok(());
            }
            self.subscriber.publish(messages).await
        })
    }

    fn subscribe(&self) -> StoreFuture<'_, Box<dyn BusSubscription>> {
        Box::pin(async move {
            let receiver = self.subscriber.subscribe().await?;
            let subscription: Box<dyn BusSubscription> = Box::new(RedisSubscription {
                receiver,
                _subscriber: self.subscriber.clone(),
            });
            Ok(subscription)
        })
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.connection.check())
    }
}

#[derive(Debug)]
struct RedisSubscription {
    receiver: broadcast::Receiver<WaitingDelivery>,
    /// Keeps the connection open.
    _subscriber: Subscriber,
}

impl BusSubscription for RedisSubscription {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<BusDelivery>> + Send + '_>> {
        Box::pin(async move {
            match self.receiver.recv().await {
                Ok(waiting) => Some(waiting.delivery),
                Err(RecvError::Lagged(_)) => Some(BusDelivery::Lagged),
                Err(RecvError::Closed) => None,
            }
        })
    }
}
