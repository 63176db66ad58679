//! Messages between the nodes of one service.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire_proto::subscriptions::Change;
use toolwire_types::{RawJson, RequestId};

use crate::engine::BoxFuture;
use crate::store::{SessionRecord, StoreFuture};

/// One message on the bus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BusMessage {
    /// The node that sent the message and has already processed it.
    pub node: String,
    /// The content of the message.
    pub payload: BusPayload,
}

impl BusMessage {
    /// Creates a message from a node.
    #[must_use]
    pub fn new(node: impl Into<String>, payload: BusPayload) -> Self {
        Self {
            node: node.into(),
            payload,
        }
    }

    /// Creates the message that a session has a new record with this revision.
    #[must_use]
    pub fn session_updated(
        node: impl Into<String>,
        session: impl Into<String>,
        record: SessionRecord,
        revision: u64,
    ) -> Self {
        let record = Box::new(record);
        let payload = BusPayload::Session {
            session: session.into(),
            signal: SessionSignal::Updated { record, revision },
        };
        Self::new(node, payload)
    }
}

/// The content of a bus message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum BusPayload {
    /// A change for the listeners of all nodes.
    Change(Change),
    /// More changes than a node can list. Listeners are notified that everything may have changed.
    Everything,
    /// A notification for the clients of all nodes that the protocol does not define.
    Notification {
        /// The method name.
        method: String,
        /// The parameters.
        params: Option<RawJson>,
    },
    /// The node has lost messages. The other nodes publish their latest cancellations again.
    MessagesLost,
    /// A signal for the nodes that serve a session.
    Session {
        /// The session.
        session: String,
        /// The event in the session.
        signal: SessionSignal,
    },
}

/// An event of a session that arrives at a node that does not serve it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SessionSignal {
    /// The client cancelled a request of its own.
    Cancelled {
        /// The id of that request.
        id: RequestId,
        /// How long ago it was cancelled. Some clients use an id again, so a request that began later is not cancelled.
        #[serde(default, skip_serializing_if = "Duration::is_zero")]
        age: Duration,
    },
    /// The record of the session changed, for example by a subscription to a resource.
    Updated {
        /// The record.
        record: Box<SessionRecord>,
        /// Its revision.
        revision: u64,
    },
    /// A stream of changes is now read on another node, which writes to it from now on.
    StreamMoved {
        /// The name of the stream.
        stream: String,
    },
    /// The session has ended.
    Ended,
}

/// An item of a subscription.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BusDelivery {
    /// A message, including messages of this node.
    Message(BusMessage),
    /// Messages were lost, because the reader was slow or the bus was unavailable. Change listeners are notified that
    /// everything may have changed.
    Lagged,
}

/// A bus that carries messages between nodes. The messages of one node arrive in order, each at most once for each time
/// that it is published. Lost messages are reported as [`BusDelivery::Lagged`].
pub trait Bus: Send + Sync + fmt::Debug {
    /// Sends messages to all nodes, including this one, in this order.
    ///
    /// # Errors
    /// Returns an error if not all messages were sent. A node publishes its changes again after an error, so that
    /// messages may be sent twice.
    fn publish_all<'a>(&'a self, messages: &'a [BusMessage]) -> StoreFuture<'a, ()>;

    /// Subscribes to all messages that are published from now on.
    fn subscribe(&self) -> StoreFuture<'_, Box<dyn BusSubscription>>;

    /// Returns this bus as a value of its own type, for stores that can publish in the same step in which they store. The
    /// default implementation returns `None`.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Checks that the bus can be used now. The default implementation returns `Ok`, for a bus in memory.
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// The receiving end of a bus.
pub trait BusSubscription: Send + fmt::Debug {
    /// Returns the next message, or `None` if the bus has closed.
    ///
    /// # Cancellation
    /// Dropping the future loses no message.
    fn next(&mut self) -> BoxFuture<'_, Option<BusDelivery>>;
}
