//! The subscriptions of a server, and the tasks that deliver them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::task::AbortHandle;
use toolwire_proto::events::exhausted;
use toolwire_types::ErrorObject;

use crate::engine::Principal;
use crate::server::events::webhooks::subscription::UrlSubscription;
use crate::sync::lock;

/// The subscriptions by id. Dropping it stops all deliveries.
#[derive(Debug, Default)]
pub(super) struct UrlSubscriptions {
    entries: Mutex<HashMap<String, RegistryEntry>>,
}

#[derive(Debug)]
struct RegistryEntry {
    subscription: Arc<UrlSubscription>,
    task: AbortHandle,
}

impl Drop for RegistryEntry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The maximum number of subscriptions.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegistryLimits {
    pub(super) total: usize,
    pub(super) per_principal: usize,
}

impl UrlSubscriptions {
    pub(super) fn get(&self, id: &str) -> Option<Arc<UrlSubscription>> {
        let entries = lock(&self.entries);
        entries.get(id).map(|entry| Arc::clone(&entry.subscription))
    }

    /// Rejects another subscription of this caller beyond the limits.
    pub(super) fn check_limits(
        &self,
        principal: &Principal,
        limits: RegistryLimits,
    ) -> Result<(), ErrorObject> {
        check(&lock(&self.entries), principal, limits)
    }

    /// Adds a subscription with the task that `spawn` starts. Returns the existing one with the same id instead, if any.
    pub(super) fn add(
        &self,
        subscription: &Arc<UrlSubscription>,
        limits: RegistryLimits,
        spawn: impl FnOnce() -> AbortHandle,
    ) -> Result<Option<Arc<UrlSubscription>>, ErrorObject> {
        let mut entries = lock(&self.entries);
        if let Some(existing) = entries.get(&subscription.id) {
            return Ok(Some(Arc::clone(&existing.subscription)));
        }
        check(&entries, &subscription.principal, limits)?;
        let entry = RegistryEntry {
            subscription: Arc::clone(subscription),
            task: spawn(),
        };
        entries.insert(subscription.id.clone(), entry);
        Ok(None)
    }

    /// Removes this subscription and stops its delivery, unless another one with its id has replaced it.
    pub(super) fn remove_this(&self, subscription: &Arc<UrlSubscription>) {
        let mut entries = lock(&self.entries);
        let is_this = |entry: &RegistryEntry| Arc::ptr_eq(&entry.subscription, subscription);
        let removed = entries
            .get(&subscription.id)
            .is_some_and(is_this)
            .then(|| entries.remove(&subscription.id));
        // The entry is dropped after the lock.
        drop(entries);
        drop(removed);
    }

    /// Removes a subscription and stops its delivery. Returns `false` for an unknown id.
    pub(super) fn remove(&self, id: &str) -> bool {
        // The entry is dropped after the lock.
        let removed = lock(&self.entries).remove(id);
        removed.is_some()
    }
}

fn check(
    entries: &HashMap<String, RegistryEntry>,
    principal: &Principal,
    limits: RegistryLimits,
) -> Result<(), ErrorObject> {
    if entries.len() >= limits.total {
        let message =
            "this server has its maximum number of webhook subscriptions; try again later";
        return Err(exhausted(message, "subscriptions", limits.total as u64));
    }
    let of_principal = entries.values();
    let of_principal = of_principal.filter(|entry| entry.subscription.principal == *principal);
    if of_principal.count() >= limits.per_principal {
        return Err(exhausted(
            "this caller has its maximum number of webhook subscriptions; end some first",
            "subscriptionsPerPrincipal",
            limits.per_principal as u64,
        ));
    }
    Ok(())
}
