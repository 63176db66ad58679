//! One node among several: what it hears from the others, and what it tells them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use toolwire_proto::subscriptions::Change;

use crate::engine::BoxFuture;
use crate::server::hub::{ChangeForwarder, Hub};
use crate::store::{Bus, BusDelivery, BusMessage, BusPayload, BusSubscription};
use crate::transport::http::random_id::random_id;

/// How long to wait before a bus that failed is tried again.
const RECONNECT: Duration = Duration::from_secs(1);

/// How many different changes may wait for the bus. Beyond that the others miss some, as they do when a bus is away.
const MAX_WAITING_CHANGES: usize = 10_000;

/// Receives what the other nodes publish.
pub(crate) trait BusHandler: Send + Sync + 'static {
    /// Handles a message of another node.
    fn on_bus_message(&self, payload: BusPayload);

    /// Handles a gap: messages of other nodes may be lost.
    fn resync(&self);
}

/// This node.
#[derive(Debug)]
pub(crate) struct ClusterNode {
    name: String,
    bus: Option<Arc<dyn Bus>>,
    started: Once,
}

/// Changes of this node that the others were not told of yet.
#[derive(Debug, Default)]
struct PendingChanges {
    waiting: Mutex<BTreeSet<Change>>,
    ready: Notify,
}

impl ChangeForwarder for PendingChanges {
    fn forward(&self, change: &Change) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MAX_WAITING_CHANGES {
            waiting.insert(change.clone());
        }
        drop(waiting);
        self.ready.notify_one();
    }
}

impl ClusterNode {
    pub(crate) fn new(bus: Option<Arc<dyn Bus>>) -> Self {
        Self {
            // Only the node itself compares it, so that without randomness nothing worse happens than hearing an echo.
            name: random_id("", 12).unwrap_or_default(),
            bus,
            started: Once::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Sends the changes of `hub` to the other nodes and passes their messages to `handler`, from the first call on.
    pub(crate) fn join<H: BusHandler>(&self, hub: &Hub, handler: &Arc<H>) {
        let Some(bus) = &self.bus else {
            return;
        };
        self.started.call_once(|| {
            let outgoing = Arc::<PendingChanges>::default();
            let sending: BoxFuture<'_, ()> = Box::pin(publish_changes(
                self.name.clone(),
                Arc::clone(bus),
                Arc::downgrade(&outgoing),
            ));
            hub.set_forwarder(outgoing);
            let handler = Arc::downgrade(handler) as Weak<dyn BusHandler>;
            let receiving: BoxFuture<'_, ()> = Box::pin(receive_messages(
                self.name.clone(),
                handler,
                Arc::clone(bus),
            ));
            tokio::spawn(receiving);
            tokio::spawn(sending);
        });
    }
}

/// Tells the others of changes, several equal ones once.
async fn publish_changes(node: String, bus: Arc<dyn Bus>, outgoing: Weak<PendingChanges>) {
    while let Some(outgoing) = outgoing.upgrade() {
        let changes = {
            let mut waiting = outgoing
                .waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *waiting)
        };
        if changes.is_empty() {
            // Looks up from time to time, so that it ends with its endpoint.
            let ready = outgoing.ready.notified();
            let _ = tokio::time::timeout(RECONNECT, ready).await;
        }
        for change in changes {
            let message = BusMessage::new(&node, BusPayload::Change(change));
            if let Err(error) = bus.publish(message).await {
                tracing::warn!(%error, "other nodes were not told of a change");
            }
        }
    }
}

/// Hears from the others until the endpoint is gone.
async fn receive_messages(node: String, handler: Weak<dyn BusHandler>, bus: Arc<dyn Bus>) {
    let mut was_connected = false;
    while handler.strong_count() > 0 {
        match bus.subscribe().await {
            Ok(subscription) => {
                if was_connected && let Some(handler) = handler.upgrade() {
                    // Whatever was said meanwhile was missed.
                    handler.resync();
                }
                was_connected = true;
                receive_until_lost(&node, &handler, subscription).await;
            }
            Err(error) => tracing::warn!(%error, "the bus between nodes cannot be joined"),
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
                handler.on_bus_message(message.news);
            }
            Some(BusDelivery::Lagged) => handler.resync(),
            Some(BusDelivery::Message(_)) | None => {}
        }
    }
}
