//! Request states that were used.

use std::fmt;
use std::time::Duration;

use crate::store::StoreFuture;

/// Remembers which request states were used, where each may be used once
/// ([`Server::with_single_use_request_state`](crate::Server::with_single_use_request_state)).
///
/// Nodes that share keys share this store, too.
pub trait NonceStore: Send + Sync + fmt::Debug {
    /// Marks a state as used, and says whether it was unused until now: of all who call with one fingerprint, on all
    /// nodes, exactly one is told `true`. It is remembered for at least `lifetime`.
    ///
    /// # Errors
    /// When the store cannot tell. The request is refused then; a store that forgets early to make room would let
    /// states be used twice.
    fn spend<'a>(&'a self, fingerprint: &'a [u8; 32], lifetime: Duration) -> StoreFuture<'a, bool>;
}
