//! The connection of one node to the other nodes of a service: publishes changes on the bus and receives messages.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Once, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use toolwire_proto::subscriptions::Change;
use toolwire_types::Notification;

use crate::engine::BoxFuture;
use crate::server::hub::{ChangeForwarder, Hub};
use crate::store::{BusDelivery, BusMessage, BusPayload, BusSubscription};
use crate::sync::lock;
use crate::transport::http::random_id::random_id;
use crate::transport::http::stores::Stores;

/// The delay before the next attempt to subscribe to a bus that failed.
const RECONNECT: Duration = Duration::from_secs(1);

/// The maximum number of distinct changes that are queued for the bus. Further changes are not published.
const MAX_WAITING_CHANGES: usize = 10_000;

/// The maximum number of notifications that are queued for the bus. Further notifications are not published.
const MAX_WAITING_NOTIFICATIONS: usize = 1_000;

/// The maximum size of these notifications together, in bytes. A single notification may have any size.
const MAX_WAITING_NOTIFICATION_BYTES: usize = 4 * 1024 * 1024;

/// A receiver of the messages that other nodes publish.
pub(crate) trait BusHandler: Send + Sync + 'static {
    /// Handles a message of another node.
    fn on_bus_message(&self, payload: BusPayload);

    /// Handles a gap: messages of other nodes may be lost.
    fn resync(&self);
}

/// This node: its name and its connection to the bus.
#[derive(Debug)]
pub(crate) struct ClusterNode {
    name: String,
    started: Once,
}

/// Changes and notifications of this node that are not published yet.
#[derive(Debug, Default)]
struct PendingChanges {
    waiting: Mutex<BTreeSet<Change>>,
    notifications: Mutex<PendingNotifications>,
    ready: Notify,
}

/// Notifications that are not published yet, in the order in which they were sent.
#[derive(Debug, Default)]
struct PendingNotifications {
    waiting: Vec<Notification>,
    bytes: usize,
}

impl PendingNotifications {
    /// Adds a notification. Returns `false`, and does not add it, if that would exceed a limit.
    fn push(&mut self, notification: &Notification) -> bool {
        let params = notification.params.as_ref();
        let params_bytes = params.map_or(0, |params| params.get().len());
        let bytes = self.bytes + notification.method.len() + params_bytes;
        let is_too_large = !self.waiting.is_empty() && bytes > MAX_WAITING_NOTIFICATION_BYTES;
        if self.waiting.len() >= MAX_WAITING_NOTIFICATIONS || is_too_large {
            return false;
        }
        self.bytes = bytes;
        self.waiting.push(notification.clone());
        true
    }
}

impl ChangeForwarder for PendingChanges {
    fn forward(&self, change: &Change) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() < MAX_WAITING_CHANGES {
            waiting.insert(change.clone());
        }
        drop(waiting);
        self.ready.notify_one();
    }

    fn forward_notification(&self, notification: &Notification) {
        let is_queued = lock(&self.notifications).push(notification);
        if !is_queued {
            tracing::warn!("dropped a notification for the other nodes, because the bus is slow");
        }
        self.ready.notify_one();
    }
}

impl PendingChanges {
    /// Removes and returns everything that waits to be published.
    fn take(&self) -> Vec<BusPayload> {
        let changes = std::mem::take(&mut *lock(&self.waiting));
        let notifications = std::mem::take(&mut *lock(&self.notifications));
        let changes = changes.into_iter().map(BusPayload::Change);
        let notifications =
            notifications
                .waiting
                .into_iter()
                .map(|notification| BusPayload::Notification {
                    method: notification.method.into_owned(),
                    params: notification.params,
                });
        changes.chain(notifications).collect()
    }
}

impl ClusterNode {
    pub(crate) fn new() -> Self {
        Self {
            // Only this node compares the name. If there are no random bytes, it receives its own messages too.
            name: random_id("", 12).unwrap_or_default(),
            started: Once::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Publishes the changes of `hub` and passes messages of other nodes to `handler`. Later calls have no effect.
    pub(crate) fn join<H: BusHandler>(&self, stores: &Stores, hub: &Hub, handler: &Arc<H>) {
        if !stores.has_bus() {
            return;
        }
        self.started.call_once(|| {
            let outgoing = Arc::<PendingChanges>::default();
            let sending: BoxFuture<'_, ()> = Box::pin(publish_changes(
                self.name.clone(),
                stores.clone(),
                Arc::downgrade(&outgoing),
            ));
            hub.set_forwarder(outgoing);
            let handler = Arc::downgrade(handler) as Weak<dyn BusHandler>;
            let receiving: BoxFuture<'_, ()> =
                Box::pin(receive_messages(self.name.clone(), handler, stores.clone()));
            tokio::spawn(receiving);
            tokio::spawn(sending);
        });
    }
}

/// Publishes pending changes. Equal changes that are pending at the same time are published once.
async fn publish_changes(node: String, stores: Stores, outgoing: Weak<PendingChanges>) {
    while let Some(outgoing) = outgoing.upgrade() {
        let payloads = outgoing.take();
        if payloads.is_empty() {
            // The timeout lets the task end after its endpoint was dropped.
            let ready = outgoing.ready.notified();
            let _ = tokio::time::timeout(RECONNECT, ready).await;
        }
        for payload in payloads {
            let message = BusMessage::new(&node, payload);
            if let Err(error) = stores.publish(message).await {
                tracing::warn!(%error, "a change could not be published to the other nodes");
            }
        }
    }
}

/// Passes messages of other nodes to the handler until the handler is dropped.
async fn receive_messages(node: String, handler: Weak<dyn BusHandler>, stores: Stores) {
    let mut was_connected = false;
    while handler.strong_count() > 0 {
        let Some(subscribing) = stores.subscribe() else {
            return;
        };
        match subscribing.await {
            Ok(subscription) => {
                if was_connected && let Some(handler) = handler.upgrade() {
                    // Messages that were published in the meantime are lost.
                    handler.resync();
                }
                was_connected = true;
                receive_until_lost(&node, &handler, subscription).await;
            }
            Err(error) => tracing::warn!(%error, "cannot subscribe to the bus between the nodes"),
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

async fn receive_until_lost(
    node: &str,
    handler: &Weak<dyn BusHandler>,
    mut subscription: Box<dyn BusSubscription>,
) {
    loop {
        let delivery = match tokio::time::timeout(RECONNECT, subscription.next()).await {
            Ok(Some(delivery)) => Some(delivery),
            Ok(None) => return,
            Err(_) => None,
        };
        let Some(handler) = handler.upgrade() else {
            return;
        };
        match delivery {
            Some(BusDelivery::Message(message)) if message.node != node => {
                handler.on_bus_message(message.payload);
            }
            Some(BusDelivery::Lagged) => handler.resync(),
            Some(BusDelivery::Message(_)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::RawJson;

    use super::*;

    const METHOD: &str = "notifications/acme/news";

    /// Returns a notification of this size: the bytes of its method and of its parameters.
    fn notification(bytes: usize) -> Notification {
        let empty = METHOD.len() + r#"{"text":""}"#.len();
        let params = RawJson::from(json!({"text": "x".repeat(bytes - empty)}));
        assert_eq!(METHOD.len() + params.get().len(), bytes);
        Notification::new(METHOD, Some(params))
    }

    #[test]
    fn waiting_changes_are_limited_in_count() {
        let pending = PendingChanges::default();
        for number in 0..=MAX_WAITING_CHANGES {
            pending.forward(&Change::ResourceUpdated(format!("a:{number}")));
        }
        assert_eq!(pending.take().len(), MAX_WAITING_CHANGES);
    }

    #[test]
    fn waiting_notifications_are_limited_in_count() {
        let pending = PendingChanges::default();
        for _ in 0..=MAX_WAITING_NOTIFICATIONS {
            pending.forward_notification(&Notification::new(METHOD, None));
        }
        assert_eq!(pending.take().len(), MAX_WAITING_NOTIFICATIONS);
    }

    #[test]
    fn waiting_notifications_are_limited_in_bytes() {
        let pending = PendingChanges::default();
        pending.forward_notification(&notification(MAX_WAITING_NOTIFICATION_BYTES - 100));
        pending.forward_notification(&notification(101));
        pending.forward_notification(&notification(100));
        pending.forward_notification(&Notification::new(METHOD, None));
        let bytes: Vec<_> = pending.take().iter().map(published_bytes).collect();
        assert_eq!(bytes, [MAX_WAITING_NOTIFICATION_BYTES - 100, 100]);
        // The bytes are counted anew, and a single notification may have any size.
        pending.forward_notification(&notification(MAX_WAITING_NOTIFICATION_BYTES + 1));
        pending.forward_notification(&Notification::new(METHOD, None));
        let bytes: Vec<_> = pending.take().iter().map(published_bytes).collect();
        assert_eq!(bytes, [MAX_WAITING_NOTIFICATION_BYTES + 1]);
    }

    fn published_bytes(payload: &BusPayload) -> usize {
        let BusPayload::Notification { method, params } = payload else {
            panic!("only notifications were sent: {payload:?}");
        };
        method.len() + params.as_ref().map_or(0, |params| params.get().len())
    }
}
