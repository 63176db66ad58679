//! Nonces that were used: request states and proofs of possession.

use std::fmt;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::StoreFuture;

/// Records which request states and which DPoP proofs were used, where each may be used once
/// ([`Server::with_single_use_request_state`](crate::Server::with_single_use_request_state),
/// `ResourceServerConfig::with_nonce_store`).
///
/// Nodes that share keys, or that stand for one protected server, share this store, too.
pub trait NonceStore: Send + Sync + fmt::Debug {
    /// Marks a nonce as used, and returns whether it was unused until now. Of all calls with one owner and one
    /// fingerprint, on all nodes, exactly one returns `true`. The nonce is stored for at least `lifetime`.
    ///
    /// `owner` is the verified principal that used the nonce. A store bounds how many nonces one owner has at a time,
    /// so that no user can fill the store for others. [`Principal::anonymous`] stands for many users, and only the bound
    /// of the whole store applies to it.
    ///
    /// # Errors
    /// Returns an error if the store cannot tell, and the request is rejected then:
    /// [`StoreError::OwnerFull`](crate::store::StoreError::OwnerFull) if this owner has too many nonces,
    /// [`StoreError::Full`](crate::store::StoreError::Full) if the whole store has. A store that removes nonces early to
    /// make room would let them be used twice.
    fn mark_used<'a>(
        &'a self,
        owner: &'a Principal,
        fingerprint: &'a [u8; 32],
        lifetime: Duration,
    ) -> StoreFuture<'a, bool>;
}
