//! A token store in the memory of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::client::store::{TokenStore, TokenStoreFuture, TokenStoreLock};
use crate::documents::Secret;
use crate::sync::lock;

/// A token store that lasts until the process ends.
#[derive(Debug, Default)]
pub struct MemoryTokenStore {
    values: Mutex<HashMap<String, Secret>>,
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl MemoryTokenStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn values(&self) -> MutexGuard<'_, HashMap<String, Secret>> {
        lock(&self.values)
    }

    fn lock_of(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = lock(&self.locks);
        // Locks without an owner or a waiting task are removed.
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(locks.entry(name.to_owned()).or_default())
    }
}

impl TokenStore for MemoryTokenStore {
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>> {
        Box::pin(async move { Ok(self.values().get(name).cloned()) })
    }

    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()> {
        Box::pin(async move {
            self.values().insert(name.to_owned(), value.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()> {
        Box::pin(async move {
            self.values().remove(name);
            Ok(())
        })
    }

    fn lock<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, TokenStoreLock> {
        Box::pin(async move { Ok(TokenStoreLock::new(self.lock_of(name).lock_owned().await)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::contract;

    #[tokio::test]
    async fn store_meets_the_contract() {
        let store = Arc::new(MemoryTokenStore::new());
        contract::token_store(async || Arc::clone(&store)).await;
    }

    #[tokio::test]
    async fn unused_locks_are_removed() {
        let store = MemoryTokenStore::new();
        for number in 0..100 {
            drop(store.lock(&number.to_string()).await.unwrap());
        }
        assert_eq!(store.locks.lock().unwrap().len(), 1);
    }
}
