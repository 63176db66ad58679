//! Webhook subscriptions in memory.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::store::{StoreFuture, SubscriptionRecord, SubscriptionStore};
use crate::sync::lock;

/// A store of webhook subscriptions that ends with the process. The server limits their number.
#[derive(Debug, Default)]
pub struct MemorySubscriptionStore {
    records: Mutex<HashMap<String, SubscriptionRecord>>,
}

impl MemorySubscriptionStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl SubscriptionStore for MemorySubscriptionStore {
    fn is_durable(&self) -> bool {
        false
    }

    fn put(&self, record: SubscriptionRecord) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            lock(&self.records).insert(record.id.clone(), record);
            Ok(())
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            lock(&self.records).remove(id);
            Ok(())
        })
    }

    fn load(&self) -> StoreFuture<'_, Vec<SubscriptionRecord>> {
        Box::pin(async { Ok(lock(&self.records).values().cloned().collect()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::contract;

    #[tokio::test]
    async fn store_passes_its_contract() {
        contract::subscriptions(&MemorySubscriptionStore::new()).await;
    }
}
