//! The resources of a legacy server to which listeners have subscribed.
//!
//! The server has one subscription per resource and session, whatever the number of listeners. Nothing orders two requests
//! over HTTP, so those about one resource wait for each other.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard};

use crate::engine::KeyLocks;
use crate::sync::lock;

/// The resources of all listeners of a client.
#[derive(Debug, Default)]
pub(crate) struct SubscribedResources {
    by_uri: Mutex<HashMap<String, SubscribedResource>>,
    /// Locked while a request about a resource is in flight.
    pub(super) requests: KeyLocks,
}

#[derive(Debug, Default)]
struct SubscribedResource {
    listeners: usize,
    /// The session in which the server has accepted the subscription.
    session: Option<u64>,
}

impl SubscribedResources {
    pub(super) fn add_listener(&self, uri: &str) {
        let mut by_uri = self.lock();
        by_uri.entry(uri.to_owned()).or_default().listeners += 1;
    }

    /// Returns `true` if no other listener of the resource is left.
    pub(super) fn remove_listener(&self, uri: &str) -> bool {
        let mut by_uri = self.lock();
        let Some(resource) = by_uri.get_mut(uri) else {
            return false;
        };
        resource.listeners -= 1;
        resource.listeners == 0
    }

    pub(super) fn is_subscribed(&self, uri: &str, session: u64) -> bool {
        let by_uri = self.lock();
        let subscribed = by_uri.get(uri).and_then(|resource| resource.session);
        subscribed == Some(session)
    }

    pub(super) fn set_subscribed(&self, uri: &str, session: u64) {
        if let Some(resource) = self.lock().get_mut(uri) {
            resource.session = Some(session);
        }
    }

    /// Removes a resource without listeners. Returns `false` if it has a listener again, or was removed before.
    pub(super) fn remove(&self, uri: &str) -> bool {
        match self.lock().entry(uri.to_owned()) {
            Entry::Occupied(resource) if resource.get().listeners == 0 => {
                resource.remove();
                true
            }
            _ => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, SubscribedResource>> {
        lock(&self.by_uri)
    }
}
