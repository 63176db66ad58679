//! The resources that a session with a legacy upstream server is subscribed to, on behalf of all streams.
//!
//! The requests about one resource are sent one after the other, and each depends on what is needed when it is sent. So
//! a subscription never overtakes the end of an earlier one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolwire_types::{ErrorObject, RawJson};

use crate::relay::connection::UpstreamConnection;
use crate::sync::lock;

/// The subscriptions of one session.
#[derive(Debug)]
pub(super) struct ResourceSubscriptions {
    session: UpstreamConnection,
    resources: Mutex<HashMap<String, Resource>>,
    /// How often a new session replaced a lost one. The subscriptions of a lost session are lost with it.
    renewals: AtomicU64,
}

/// A resource that streams need, or that the session is still subscribed to.
#[derive(Debug, Default)]
struct Resource {
    /// The number of streams that need it.
    streams: usize,
    state: Arc<SubscriptionState>,
}

/// The value of `renewals` at the last subscription. Locked while a request about the resource is in flight.
type SubscriptionState = tokio::sync::Mutex<Option<u64>>;

impl ResourceSubscriptions {
    pub(super) fn new(session: UpstreamConnection) -> Self {
        Self {
            session,
            resources: Mutex::default(),
            renewals: AtomicU64::new(0),
        }
    }

    /// Records that one more stream needs these resources.
    pub(super) fn add_stream(&self, uris: &[String]) {
        let mut resources = lock(&self.resources);
        for uri in uris {
            resources.entry(uri.clone()).or_default().streams += 1;
        }
    }

    /// Records that a stream that needed these resources has ended. Unsubscribes from those that no stream needs.
    pub(super) fn remove_stream(self: &Arc<Self>, uris: &[String]) {
        let mut resources = lock(&self.resources);
        let mut unused = Vec::new();
        for uri in uris {
            if let Some(resource) = resources.get_mut(uri) {
                resource.streams -= 1;
                if resource.streams == 0 {
                    unused.push(uri.clone());
                }
            }
        }
        drop(resources);
        if unused.is_empty() || self.session.is_closed() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let subscriptions = Arc::clone(self);
            runtime.spawn(async move {
                for uri in unused {
                    if let Err(error) = subscriptions.update(&uri).await {
                        tracing::debug!(%error, "a subscription could not be ended");
                    }
                }
            });
        }
    }

    /// Subscribes to a resource that a stream needs, unless the session is already subscribed.
    ///
    /// # Cancellation
    /// The request is sent by a task, so that its outcome is known even if the future is dropped.
    pub(super) async fn subscribe(self: &Arc<Self>, uri: &str) -> Result<(), ErrorObject> {
        let (subscriptions, uri) = (Arc::clone(self), uri.to_owned());
        let subscribing = tokio::spawn(async move { subscriptions.update(&uri).await });
        let subscribed = subscribing.await;
        subscribed.unwrap_or_else(|_| Err(ErrorObject::internal("the relay failed unexpectedly")))
    }

    /// Records that a new session replaced a lost one. Returns the resources to subscribe to again.
    pub(super) fn on_session_renewed(&self) -> Vec<String> {
        self.renewals.fetch_add(1, Ordering::AcqRel);
        let resources = lock(&self.resources);
        let needed = resources
            .iter()
            .filter(|(_, resource)| resource.streams > 0);
        needed.map(|(uri, _)| uri.clone()).collect()
    }

    /// Subscribes to a resource or unsubscribes from it, if the session differs from what the streams need.
    async fn update(&self, uri: &str) -> Result<(), ErrorObject> {
        let state = lock(&self.resources)
            .get(uri)
            .map(|resource| Arc::clone(&resource.state));
        let Some(state) = state else {
            return Ok(());
        };
        let mut subscribed_at = state.lock().await;
        let renewals = self.renewals.load(Ordering::Acquire);
        let is_subscribed = *subscribed_at == Some(renewals);
        let outcome = match (self.is_needed(uri), is_subscribed) {
            (true, false) => {
                let outcome = self.request("resources/subscribe", uri).await;
                *subscribed_at = outcome.is_ok().then_some(renewals);
                outcome
            }
            (false, true) => {
                *subscribed_at = None;
                self.request("resources/unsubscribe", uri).await
            }
            (true, true) | (false, false) => Ok(()),
        };
        drop(subscribed_at);
        self.remove_unused(uri, &state);
        outcome
    }

    fn is_needed(&self, uri: &str) -> bool {
        let resources = lock(&self.resources);
        resources
            .get(uri)
            .is_some_and(|resource| resource.streams > 0)
    }

    /// Removes the record of a resource that no stream needs and no other task uses.
    fn remove_unused(&self, uri: &str, state: &Arc<SubscriptionState>) {
        let mut resources = lock(&self.resources);
        // The other reference is that of the table.
        let is_unused =
            |resource: &Resource| resource.streams == 0 && Arc::ptr_eq(&resource.state, state);
        if Arc::strong_count(state) <= 2 && resources.get(uri).is_some_and(is_unused) {
            resources.remove(uri);
        }
    }

    async fn request(&self, method: &str, uri: &str) -> Result<(), ErrorObject> {
        let params = RawJson::from(json!({ "uri": uri }));
        self.session.request(method, params).await.map(drop)
    }
}
