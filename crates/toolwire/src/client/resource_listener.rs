//! The resources of a legacy server to which listeners have subscribed.
//!
//! The server has one subscription per resource and session, whatever the number of listeners. Nothing orders two requests
//! over HTTP, so those about one resource wait for each other.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard};

use crate::client::Client;
use crate::engine::KeyLocks;
use crate::error::Error;
use crate::sync::lock;

/// The resources of all listeners of a client.
#[derive(Debug, Default)]
pub(crate) struct SubscribedResources {
    by_uri: Mutex<HashMap<String, SubscribedResource>>,
    /// Locked while a request about a resource is in flight.
    requests: KeyLocks,
}

#[derive(Debug, Default)]
struct SubscribedResource {
    listeners: usize,
    /// The session in which the server has accepted the subscription.
    session: Option<u64>,
}

impl SubscribedResources {
    fn add_listener(&self, uri: &str) {
        let mut by_uri = self.lock();
        by_uri.entry(uri.to_owned()).or_default().listeners += 1;
    }

    /// Returns `true` if no other listener of the resource is left.
    fn remove_listener(&self, uri: &str) -> bool {
        let mut by_uri = self.lock();
        let Some(resource) = by_uri.get_mut(uri) else {
            return false;
        };
        resource.listeners -= 1;
        resource.listeners == 0
    }

    fn is_subscribed(&self, uri: &str, session: u64) -> bool {
        let by_uri = self.lock();
        let subscribed = by_uri.get(uri).and_then(|resource| resource.session);
        subscribed == Some(session)
    }

    fn set_subscribed(&self, uri: &str, session: u64) {
        if let Some(resource) = self.lock().get_mut(uri) {
            resource.session = Some(session);
        }
    }

    /// Removes a resource without listeners. Returns `false` if it has a listener again, or was removed before.
    fn remove(&self, uri: &str) -> bool {
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

/// The resources of one listener. When it is dropped, those that have no other listener are unsubscribed.
pub(super) struct ResourceListener {
    client: Client,
    uris: Vec<String>,
}

impl ResourceListener {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            uris: Vec::new(),
        }
    }

    /// Subscribes to a resource, unless it is subscribed for another listener.
    pub(super) async fn subscribe(&mut self, uri: &str) -> Result<(), Error> {
        self.client.subscribed_resources().add_listener(uri);
        self.uris.push(uri.to_owned());
        self.ensure_subscribed(uri).await
    }

    /// Subscribes to all resources in a new session, unless another listener has done it.
    pub(super) async fn subscribe_again(&self) -> Result<(), Error> {
        for uri in &self.uris {
            self.ensure_subscribed(uri).await?;
        }
        Ok(())
    }

    async fn ensure_subscribed(&self, uri: &str) -> Result<(), Error> {
        let resources = self.client.subscribed_resources();
        // If the request of another listener fails or is dropped, this one sends its own.
        let _locked = resources.requests.lock(uri).await;
        // If the session is replaced meanwhile, the resource counts as not subscribed.
        let session = self.client.session().incoming.renewed_sessions();
        if !resources.is_subscribed(uri, session) {
            self.client.subscribe_resource(uri).await?;
            resources.set_subscribed(uri, session);
        }
        Ok(())
    }
}

impl Drop for ResourceListener {
    fn drop(&mut self) {
        let resources = self.client.subscribed_resources();
        let mut uris = std::mem::take(&mut self.uris);
        uris.retain(|uri| resources.remove_listener(uri));
        if uris.is_empty() {
            return;
        }
        let runtime = tokio::runtime::Handle::try_current();
        let (Ok(runtime), false) = (runtime, self.client.session().transport.is_closed()) else {
            for uri in &uris {
                resources.remove(uri);
            }
            return;
        };
        runtime.spawn(unsubscribe(self.client.clone(), uris));
    }
}

/// Unsubscribes from resources that still have no listener.
async fn unsubscribe(client: Client, uris: Vec<String>) {
    let resources = client.subscribed_resources();
    for uri in uris {
        let _locked = resources.requests.lock(&uri).await;
        if resources.remove(&uri)
            && let Err(error) = client.unsubscribe_resource(&uri).await
        {
            tracing::debug!(%error, "a resource could not be unsubscribed");
        }
    }
}
