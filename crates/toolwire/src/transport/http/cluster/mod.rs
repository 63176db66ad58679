//! The connection of one node to the other nodes of a service: publishes changes on the bus, receives messages of the bus,
//! and reads the mailbox of this node.
//!
//! Changes are never lost. A change that cannot be published is published later, and a node that shuts down publishes its
//! last changes. A notification that may have been
//! published is not repeated. After each subscription, all listeners
//! are notified that everything may have changed, because changes of other nodes may have been published before.
//!
//! Cancellations of clients are not lost either. A node that has lost messages asks for those of the last minute.

pub(crate) mod handler;
mod mailbox;
mod pending;
mod recent_cancellations;

use std::sync::{Arc, Once, Weak};
use std::time::Duration;

use tokio::sync::watch;
use toolwire_types::RequestId;

use crate::engine::BoxFuture;
use crate::engine::node_number::NodeNumber;
use crate::server::hub::Hub;
use crate::store::{BusDelivery, BusMessage, BusSubscription};
use crate::transport::http::cluster::handler::{ClusterHandler, RECONNECT, while_used};
use crate::transport::http::cluster::pending::PendingChanges;
use crate::transport::http::random_id::random_id;
use crate::transport::http::stores::Stores;

/// How long a new stream of changes waits for the subscription to the bus.
const JOIN_TIMEOUT: Duration = Duration::from_secs(1);

/// This node: its name, its connection to the bus, and its number.
#[derive(Debug)]
pub(crate) struct ClusterNode {
    name: String,
    started: Once,
    number: Arc<NodeNumber>,
    /// Whether this node receives the messages of other nodes. `None` without a bus.
    is_joined: Option<watch::Sender<bool>>,
    /// The messages that this node has to publish.
    outgoing: Arc<PendingChanges>,
}

impl ClusterNode {
    pub(crate) fn new(has_bus: bool, has_mailboxes: bool) -> Self {
        Self {
            // Only this node compares the name. If there are no random bytes, it receives its own messages too.
            name: random_id("", 12).unwrap_or_default(),
            started: Once::new(),
            number: Arc::new(NodeNumber::new(has_mailboxes)),
            is_joined: has_bus.then(|| watch::Sender::new(false)),
            outgoing: Arc::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn number(&self) -> &Arc<NodeNumber> {
        &self.number
    }

    /// Publishes the changes of `hub` and passes messages of other nodes to `handler`. Later calls have no effect.
    pub(crate) fn join<H: ClusterHandler>(&self, stores: &Stores, hub: &Hub, handler: &Arc<H>) {
        if self.is_joined.is_none() && !self.number.is_expected() {
            return;
        }
        self.started.call_once(|| {
            let weak = Arc::downgrade(handler) as Weak<dyn ClusterHandler>;
            if self.number.is_expected() {
                let number = Arc::clone(&self.number);
                let reading: BoxFuture<'_, ()> =
                    Box::pin(mailbox::read(stores.clone(), weak.clone(), number));
                tokio::spawn(reading);
            }
            let Some(is_joined) = &self.is_joined else {
                return;
            };
            self.outgoing.set_handler(weak.clone());
            let outgoing = Arc::clone(&self.outgoing);
            let sending: BoxFuture<'_, ()> = Box::pin(publish_changes(
                self.name.clone(),
                stores.clone(),
                Arc::downgrade(&outgoing),
            ));
            hub.set_forwarder(outgoing);
            let receiver = Receiver {
                node: self.name.clone(),
                handler: weak,
                is_joined: is_joined.clone(),
            };
            let receiving: BoxFuture<'_, ()> = Box::pin(receiver.run(stores.clone()));
            tokio::spawn(receiving);
            tokio::spawn(sending);
        });
    }

    /// Records a cancellation that this node is about to publish.
    pub(crate) fn record_cancellation(&self, session: &str, id: &RequestId) {
        if self.is_joined.is_some() {
            self.outgoing.record_cancellation(session, id);
        }
    }

    /// Publishes later that a session has ended, because that failed.
    pub(crate) fn publish_end_later(&self, session: &str) {
        self.outgoing.add_ended_session(session);
    }

    /// Publishes the latest cancellations of this node again, soon.
    pub(crate) fn repeat_cancellations(&self) {
        self.outgoing.repeat_cancellations();
    }

    /// Asks the other nodes for their latest cancellations, soon.
    pub(crate) fn ask_for_cancellations(&self) {
        self.outgoing.ask_for_cancellations();
    }

    /// Waits until all changes of this node are published.
    pub(crate) async fn wait_until_published(&self) {
        self.outgoing.wait_until_published().await;
    }

    /// Returns `true` if there is a bus, and this node does not receive its messages yet.
    pub(crate) fn is_joining(&self) -> bool {
        let is_joined = self.is_joined.as_ref();
        is_joined.is_some_and(|is_joined| !*is_joined.borrow())
    }

    /// Waits until this node receives the messages of other nodes, for at most a second.
    ///
    /// A stream of changes is opened after it. If the subscription takes longer, the stream is notified of everything when
    /// the node has subscribed.
    pub(crate) async fn wait_until_joined(&self) {
        if let Some(is_joined) = &self.is_joined {
            let mut is_joined = is_joined.subscribe();
            let joined = is_joined.wait_for(|is_joined| *is_joined);
            let _ = tokio::time::timeout(JOIN_TIMEOUT, joined).await;
        }
    }
}

/// Publishes pending changes. Equal changes that are pending at the same time are published once.
async fn publish_changes(node: String, stores: Stores, outgoing: Weak<PendingChanges>) {
    while let Some(outgoing) = outgoing.upgrade() {
        let Some(batch) = outgoing.take() else {
            // The timeout lets the task end after its endpoint was dropped.
            let ready = outgoing.ready.notified();
            let _ = tokio::time::timeout(RECONNECT, ready).await;
            continue;
        };
        let messages = batch.payloads();
        let messages: Vec<_> = messages
            .map(|payload| BusMessage::new(&node, payload))
            .collect();
        if let Err(error) = stores.publish_all(&messages).await {
            tracing::warn!(%error, "messages could not be published to the other nodes; changes are published later");
            outgoing.put_back(batch, &error);
            drop(outgoing);
            tokio::time::sleep(RECONNECT).await;
        } else {
            outgoing.set_published();
        }
    }
}

/// Receives the messages of the bus.
struct Receiver {
    node: String,
    handler: Weak<dyn ClusterHandler>,
    is_joined: watch::Sender<bool>,
}

impl Receiver {
    /// Passes messages of other nodes to the handler until the handler is dropped.
    async fn run(self, stores: Stores) {
        while self.handler.strong_count() > 0 {
            let Some(subscribing) = stores.subscribe() else {
                return;
            };
            match subscribing.await {
                Ok(subscription) => {
                    if let Some(handler) = self.handler.upgrade() {
                        // Messages that were published before the subscription are lost.
                        handler.resync();
                    }
                    self.is_joined.send_replace(true);
                    self.receive_until_lost(subscription).await;
                    self.is_joined.send_replace(false);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot subscribe to the bus between the nodes");
                }
            }
            tokio::time::sleep(RECONNECT).await;
        }
    }

    async fn receive_until_lost(&self, mut subscription: Box<dyn BusSubscription>) {
        while let Some(Some(delivery)) = while_used(&self.handler, subscription.next()).await {
            let Some(handler) = self.handler.upgrade() else {
                return;
            };
            match delivery {
                BusDelivery::Message(message) if message.node != self.node => {
                    handler.on_bus_message(message.payload);
                }
                BusDelivery::Lagged => handler.resync(),
                BusDelivery::Message(_) => {}
            }
        }
    }
}
