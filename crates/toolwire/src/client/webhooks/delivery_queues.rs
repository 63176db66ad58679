//! The subscriptions of a receiver.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_proto::events::webhook::subscription_id;
use toolwire_types::RawJson;
use toolwire_types::events::SubscribeEventsParams;

use crate::client::webhooks::delivery_queue::DeliveryQueue;
use crate::engine::{KeyGuard, KeyLocks};
use crate::sync::lock;

/// The subscriptions of a receiver.
#[derive(Debug, Default)]
pub(super) struct DeliveryQueues {
    by_id: Mutex<HashMap<String, Arc<DeliveryQueue>>>,
    /// The secrets of subscribe calls in flight, whose ids are unknown.
    pending: Mutex<Vec<WebhookSecret>>,
    /// Calls for one subscription wait for each other. Otherwise the secret that the server has last could be another one
    /// than that of the queue that was added last.
    calls: KeyLocks,
}

impl DeliveryQueues {
    pub(super) fn get(&self, id: &str) -> Option<Arc<DeliveryQueue>> {
        lock(&self.by_id).get(id).cloned()
    }

    pub(super) fn pending_secrets(&self) -> Vec<WebhookSecret> {
        lock(&self.pending).clone()
    }

    /// Waits until no other call for the subscription of these parameters is in flight.
    pub(super) async fn lock_calls(&self, params: &SubscribeEventsParams) -> KeyGuard<'_> {
        let arguments = params.arguments.clone();
        let arguments = arguments.unwrap_or_else(RawJson::empty_object);
        // Only servers know the principal.
        let key = subscription_id("", &params.delivery.url, &params.name, &arguments);
        self.calls.lock(&key).await
    }

    /// Adds the secret of a subscribe call until the guard is dropped.
    pub(super) fn add_pending(self: &Arc<Self>, secret: WebhookSecret) -> PendingGuard {
        lock(&self.pending).push(secret.clone());
        PendingGuard {
            queues: Arc::clone(self),
            secret,
        }
    }

    /// Adds a subscription. One with the same id is closed, because the server has one secret for both.
    pub(super) fn add(&self, id: String, queue: Arc<DeliveryQueue>) {
        let replaced = lock(&self.by_id).insert(id, queue);
        if let Some(replaced) = replaced {
            replaced.close();
        }
    }

    /// Removes a subscription, unless another one has replaced it.
    pub(super) fn remove(&self, id: &str, queue: &Arc<DeliveryQueue>) {
        let mut by_id = lock(&self.by_id);
        if by_id.get(id).is_some_and(|found| Arc::ptr_eq(found, queue)) {
            by_id.remove(id);
        }
    }
}

/// Removes the secret of a subscribe call when it is dropped.
pub(super) struct PendingGuard {
    queues: Arc<DeliveryQueues>,
    secret: WebhookSecret,
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        let mut pending = lock(&self.queues.pending);
        if let Some(at) = pending.iter().position(|secret| *secret == self.secret) {
            pending.swap_remove(at);
        }
    }
}
