//! Counts the subscriptions to resources, and tells the sources of mounts about the first and the last one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use crate::server::mount::Source;
use crate::server::visibility::Viewer;
use crate::server::{Server, ServerInner};
use crate::sync::lock;

/// The number of subscriptions to each URI.
#[derive(Default)]
pub(crate) struct SubscriptionCounts(Mutex<HashMap<String, usize>>);

/// A subscription to a URI, which ends when the value is dropped.
pub(crate) struct UriSubscription {
    server: Weak<ServerInner>,
    uri: String,
}

impl Drop for UriSubscription {
    fn drop(&mut self) {
        if let Some(shared) = self.server.upgrade() {
            Server { shared }.count_subscription(&self.uri, false);
        }
    }
}

impl std::fmt::Debug for UriSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UriSubscription").field(&self.uri).finish()
    }
}

impl Server {
    /// Counts a subscription to a resource, for as long as the returned value lives.
    pub(crate) fn subscribe_to(&self, uri: &str) -> UriSubscription {
        self.count_subscription(uri, true);
        UriSubscription {
            server: Arc::downgrade(&self.shared),
            uri: uri.to_owned(),
        }
    }

    /// Counts the start or the end of a subscription.
    pub(crate) fn count_subscription(&self, uri: &str, starts: bool) {
        let is_edge = {
            let mut counts = lock(&self.shared.subscriptions.0);
            let count = counts.entry(uri.to_owned()).or_default();
            if starts {
                *count += 1;
                *count == 1
            } else {
                *count = count.saturating_sub(1);
                let is_last = *count == 0;
                if is_last {
                    counts.remove(uri);
                }
                is_last
            }
        };
        if is_edge && let Some(source) = self.source_of(uri) {
            source.set_subscribed(uri, starts);
        }
    }

    /// Returns the source that a resource comes from, if it is mounted.
    fn source_of(&self, uri: &str) -> Option<Arc<dyn Source>> {
        let resource = self.snapshot().find_resource(uri, &Viewer::unfiltered())?;
        self.mounted_source(resource.origin()?.mount)
    }
}
