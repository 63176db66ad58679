//! News that travel between the nodes of one service.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolwire_proto::subscriptions::Change;
use toolwire_types::{ErrorObject, RawJson, RequestId};

use crate::engine::{BoxFuture, TokenInfo};
use crate::store::{StoreFuture, token_record};

/// One message on the bus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BusMessage {
    /// The node that sent it, which has acted on it already.
    pub node: String,
    /// What it is about.
    pub news: BusPayload,
}

impl BusMessage {
    /// A message from a node.
    #[must_use]
    pub fn new(node: impl Into<String>, news: BusPayload) -> Self {
        Self {
            node: node.into(),
            news,
        }
    }
}

/// What nodes tell each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum BusPayload {
    /// Listeners of every node may want to hear of this.
    Change(Change),
    /// Something for the node that works for a session, whichever that is.
    Session {
        /// The session.
        session: String,
        /// What happened in it.
        signal: SessionSignal,
    },
}

/// What may happen to a session on a node that does not work for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SessionSignal {
    /// The client answered a request of the server.
    Responded {
        /// The id of that request.
        id: RequestId,
        /// The answer.
        outcome: Result<RawJson, ErrorObject>,
    },
    /// The client cancelled a request of its own.
    Cancelled {
        /// The id of that request.
        id: RequestId,
    },
    /// The client sent a message to a stream of the 2024-11-05 transport.
    Message {
        /// The message.
        message: RawJson,
        /// What the token says that it came with.
        #[serde(with = "token_record")]
        token: Arc<TokenInfo>,
    },
    /// A stream of changes is read on another node now, and pushed to from there.
    StreamMoved {
        /// The name of the stream.
        stream: String,
    },
    /// The session is over.
    Ended,
}

/// What a subscription yields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BusDelivery {
    /// A message, also one's own.
    Message(BusMessage),
    /// Messages were lost, because the reader was slow or the bus was away. Whoever listens to changes is told that
    /// everything may have changed.
    Lagged,
}

/// Carries news between nodes. The messages of one node arrive in order, each at most once; what is lost is reported as
/// [`BusDelivery::Lagged`].
pub trait Bus: Send + Sync + fmt::Debug {
    /// Sends a message to every node, also to this one.
    fn publish(&self, message: BusMessage) -> StoreFuture<'_, ()>;

    /// Everything that is published from now on.
    fn subscribe(&self) -> StoreFuture<'_, Box<dyn BusSubscription>>;
}

/// The receiving end of a bus.
pub trait BusSubscription: Send + fmt::Debug {
    /// The next message; `None` when the bus is gone for good.
    ///
    /// # Cancellation
    /// Dropping the future loses no message.
    fn next(&mut self) -> BoxFuture<'_, Option<BusDelivery>>;
}
