//! One node among several: what it hears from the others, and what it tells them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use toolwire_proto::subscriptions::Change;
use toolwire_types::ResponseId;

use crate::engine::BoxFuture;
use crate::server::hub::ChangeForwarder;
use crate::store::{Bus, BusDelivery, BusMessage, BusPayload, BusSubscription, SessionSignal};
use crate::transport::http::endpoint::{HttpEndpoint, random_id};

/// How long to wait before a bus that failed is tried again.
const RECONNECT: Duration = Duration::from_secs(1);

/// How many different changes may wait for the bus. Beyond that the others miss some, as they do when a bus is away.
const MAX_WAITING_CHANGES: usize = 10_000;

/// This node.
#[derive(Debug)]
pub(crate) struct ClusterNode {
    name: String,
    bus: Option<(Arc<dyn Bus>, JoinBus)>,
    started: Once,
}

/// Changes of this node that the others were not told of yet.
#[derive(Debug, Default)]
struct PendingChanges {
    waiting: Mutex<BTreeSet<Change>>,
    ready: Notify,
}

impl ChangeForwarder for PendingChanges {
    fn publish_changes(&self, change: &Change) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MAX_WAITING_CHANGES {
            waiting.insert(change.clone());
        }
        drop(waiting);
        self.ready.notify_one();
    }
}

impl ClusterNode {
    pub(crate) fn new(bus: Option<(Arc<dyn Bus>, JoinBus)>) -> Self {
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

    /// Joins the others, once.
    pub(crate) fn join(&self, endpoint: &Arc<HttpEndpoint>) {
        let Some((bus, join)) = &self.bus else {
            return;
        };
        self.started.call_once(|| join(self, endpoint, bus));
    }
}

/// How a node joins the others: [`join`]. Only the option that names a bus names it, so that a program without one does
/// not contain it.
pub(crate) type JoinBus = fn(&ClusterNode, &Arc<HttpEndpoint>, &Arc<dyn Bus>);

/// Tells the others, and hears from them, from now on.
pub(crate) fn join(node: &ClusterNode, endpoint: &Arc<HttpEndpoint>, bus: &Arc<dyn Bus>) {
    let outgoing = Arc::<PendingChanges>::default();
    let tell = tell(
        node.name.clone(),
        Arc::clone(bus),
        Arc::downgrade(&outgoing),
    );
    endpoint.server.hub().set_forwarder(outgoing);
    let hear: BoxFuture<'_, ()> =
        Box::pin(receive_messages(Arc::downgrade(endpoint), Arc::clone(bus)));
    let tell: BoxFuture<'_, ()> = Box::pin(tell);
    tokio::spawn(hear);
    tokio::spawn(tell);
}

/// Tells the others of changes, several equal ones once.
async fn tell(node: String, bus: Arc<dyn Bus>, outgoing: Weak<PendingChanges>) {
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
async fn receive_messages(endpoint: Weak<HttpEndpoint>, bus: Arc<dyn Bus>) {
    let mut was_connected = false;
    while endpoint.strong_count() > 0 {
        match bus.subscribe().await {
            Ok(subscription) => {
                if was_connected && let Some(endpoint) = endpoint.upgrade() {
                    // Whatever was said meanwhile was missed.
                    endpoint.server.hub().resync();
                }
                was_connected = true;
                hear_until_lost(&endpoint, subscription).await;
            }
            Err(error) => tracing::warn!(%error, "the bus between nodes cannot be joined"),
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

async fn hear_until_lost(
    endpoint: &Weak<HttpEndpoint>,
    mut subscription: Box<dyn BusSubscription>,
) {
    loop {
        let delivery = match tokio::time::timeout(RECONNECT, subscription.next()).await {
            Ok(Some(delivery)) => Some(delivery),
            Ok(None) => return,
            Err(_) => None,
        };
        let Some(endpoint) = endpoint.upgrade() else {
            return;
        };
        match delivery {
            Some(BusDelivery::Message(message)) if message.node != endpoint.node.name => {
                endpoint.on_bus_message(message.news);
            }
            Some(BusDelivery::Lagged) => endpoint.server.hub().resync(),
            Some(BusDelivery::Message(_)) | None => {}
        }
    }
}

impl HttpEndpoint {
    fn on_bus_message(&self, news: BusPayload) {
        match news {
            BusPayload::Change(change) => drop(self.server.hub().publish_local(&change)),
            BusPayload::Session {
                session,
                signal: SessionSignal::Message { message, token },
            } => self.http_with_sse.deliver(&session, &message, token),
            BusPayload::Session { session, signal } => {
                let Some(live) = self.live.find(&session) else {
                    return;
                };
                match signal {
                    SessionSignal::Responded { id, outcome } => {
                        live.caller.resolve(&ResponseId::Id(id), outcome);
                    }
                    SessionSignal::Cancelled { id } => live.state.cancel(&id),
                    SessionSignal::StreamMoved { stream } => live.transfer_stream(&stream),
                    SessionSignal::Ended => live.end(),
                    // Handled above: streams of that transport are no sessions of this kind.
                    SessionSignal::Message { .. } => {}
                }
            }
        }
    }
}
