//! The order of writes to the store of subscriptions.

use std::sync::Weak;

use crate::engine::KeyLocks;
use crate::server::events::webhooks::registry::UrlSubscriptions;
use crate::store::{StoreError, SubscriptionStore};

/// Writes records so that the store has the state of the registry after the last write of an id.
///
/// A subscribe, an unsubscribe and a delivery may write the record of one id at the same time. Each of them changes the
/// registry first. The writes of one id wait for each other, and each writes what the registry has at that time.
#[derive(Debug, Default)]
pub(super) struct RecordWrites(KeyLocks);

impl RecordWrites {
    /// Writes the record of the subscription with this id. Removes the record of an unknown or ended one.
    pub(super) async fn write(
        &self,
        store: &dyn SubscriptionStore,
        registry: &Weak<UrlSubscriptions>,
        id: &str,
    ) -> Result<(), StoreError> {
        let _guard = self.0.lock(id).await;
        // The write does not own the registry, because dropping it stops all deliveries.
        let Some(found) = registry.upgrade().map(|registry| registry.get(id)) else {
            return Ok(());
        };
        match found.and_then(|subscription| subscription.stored_record()) {
            Some(record) => store.put(record).await,
            None => store.remove(id).await,
        }
    }
}
