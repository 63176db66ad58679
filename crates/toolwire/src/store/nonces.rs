//! The store of used nonces: request states and DPoP proofs.

use std::fmt;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::StoreFuture;

/// A store of used request states and DPoP proofs, where each may be used once
/// ([`Server::with_single_use_request_state`](crate::Server::with_single_use_request_state),
/// `ResourceServerConfig::with_nonce_store`).
///
/// Nodes that share keys or serve one protected server also share this store.
pub trait NonceStore: Send + Sync + fmt::Debug {
    /// Marks a nonce as used, and returns whether it was unused until now. Of all calls with one owner and one
    /// fingerprint, on all nodes, exactly one returns `true`. The nonce is stored for at least `lifetime`.
    ///
    /// `owner` is the verified principal that used the nonce. A store limits the number of nonces per owner, so that
    /// one user cannot fill the store for others. [`Principal::anonymous`] represents many users, and only the limit of
    /// the whole store applies to it.
    ///
    /// # Errors
    /// Returns an error if the store cannot check the nonce. The request is then rejected. The error is
    /// [`StoreError::OwnerFull`](crate::store::StoreError::OwnerFull) if this owner has too many nonces, and
    /// [`StoreError::Full`](crate::store::StoreError::Full) if the whole store is full. A store must not evict nonces
    /// early, because they could be used twice.
    fn mark_used<'a>(
        &'a self,
        owner: &'a Principal,
        fingerprint: &'a [u8; 32],
        lifetime: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Checks that the store can be used now. The default implementation returns `Ok`, for stores in memory.
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
