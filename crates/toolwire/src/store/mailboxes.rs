//! Messages to one node of a service.
//!
//! A client may send its response to a request of the server to any node. Only the node that sent the request waits for
//! it. So each node has a number and a mailbox. The ids of its requests contain the number, and a response is sent
//! to that mailbox only.

use std::fmt;
use std::num::NonZeroU16;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolwire_types::{ErrorObject, RawJson, RequestId};

use crate::engine::{BoxFuture, TokenInfo};
use crate::store::{StoreFuture, token_record};

/// A message of a client to the node that waits for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum NodeMessage {
    /// The client of a session responded to a request of the server.
    Response {
        /// The session.
        session: String,
        /// The id of the request.
        id: RequestId,
        /// The response.
        outcome: Result<RawJson, ErrorObject>,
    },
    /// A client sent a message to a stream of the 2024-11-05 transport.
    StreamMessage {
        /// The session of the stream.
        session: String,
        /// The message.
        message: RawJson,
        /// The content of the token that came with the message.
        #[serde(with = "token_record")]
        token: Arc<TokenInfo>,
    },
}

/// The mailboxes of the nodes of a service.
///
/// Messages to a mailbox arrive in order, each once. A mailbox does not lose messages: if too many wait, further ones are
/// rejected.
pub trait Mailboxes: Send + Sync + fmt::Debug {
    /// Opens an empty mailbox with a number that no other node has.
    ///
    /// # Errors
    /// Returns [`StoreError::Full`](crate::store::StoreError::Full) if there is no free number.
    fn open(&self) -> StoreFuture<'_, Box<dyn Mailbox>>;

    /// Sends a message to the node with this number. Returns `false` if no node has it.
    ///
    /// # Errors
    /// Returns [`StoreError::Full`](crate::store::StoreError::Full) if too many or too large messages wait.
    fn send<'a>(&'a self, node: NonZeroU16, message: &'a NodeMessage) -> StoreFuture<'a, bool>;

    /// Checks that mailboxes can be used now. The default implementation returns `Ok`, for mailboxes in memory.
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// The mailbox of this node. It is closed when it is dropped.
pub trait Mailbox: Send + fmt::Debug {
    /// Returns the number of this node.
    fn node(&self) -> NonZeroU16;

    /// Returns the next message, or `None` if the number was lost and another node may have it.
    ///
    /// The node has the number as long as it calls this method again and again. While the store is unavailable, the call
    /// waits.
    ///
    /// # Cancellation
    /// Dropping the future loses no message.
    fn next(&mut self) -> BoxFuture<'_, Option<NodeMessage>>;
}
