//! Counts the subscriptions to resources, and reports to the sources of mounts the first and the last one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use toolwire_types::ErrorObject;

use crate::engine::catch_panic;
use crate::server::mount::Source;
use crate::server::mount::uris::MountUris;
use crate::server::visibility::Viewer;
use crate::server::{Server, ServerInner};
use crate::sync::lock;

/// The subscriptions to each URI.
#[derive(Default)]
pub(crate) struct SubscriptionCounts(Mutex<HashMap<String, UriSubscriptions>>);

/// The subscriptions to one URI.
#[derive(Default)]
struct UriSubscriptions {
    count: usize,
    /// The resource whose source knows that there are subscriptions.
    reported: Option<MountedResource>,
    /// Whether a thread is calling a source. It looks again when the source returns, so reports arrive in order.
    is_reporting: bool,
}

/// A resource of a mount.
#[derive(Clone)]
struct MountedResource {
    source: Arc<dyn Source>,
    /// The URI that the source has for the resource.
    uri: String,
}

/// What a source has to know.
struct Report {
    resource: MountedResource,
    is_subscribed: bool,
}

impl UriSubscriptions {
    /// Returns the next report. `found` is the resource that the URI stands for now.
    fn next_report(&self, found: Option<MountedResource>) -> Option<Report> {
        if self.is_reporting {
            return None;
        }
        let wanted = found.filter(|_| self.count > 0);
        match (&self.reported, wanted) {
            (Some(reported), Some(wanted)) if reported.is_same(&wanted) => None,
            (Some(reported), _) => Some(Report {
                resource: reported.clone(),
                is_subscribed: false,
            }),
            (None, Some(resource)) => Some(Report {
                resource,
                is_subscribed: true,
            }),
            (None, None) => None,
        }
    }
}

impl MountedResource {
    fn is_same(&self, other: &Self) -> bool {
        let is_same_source =
            std::ptr::addr_eq(Arc::as_ptr(&self.source), Arc::as_ptr(&other.source));
        is_same_source && self.uri == other.uri
    }
}

/// A subscription to a URI, which ends when the value is dropped.
pub(crate) struct UriSubscription {
    server: Weak<ServerInner>,
    uri: String,
}

impl Drop for UriSubscription {
    fn drop(&mut self) {
        if let Some(shared) = self.server.upgrade() {
            let server = Server { shared };
            // A source that panics was logged. The subscription has ended nevertheless.
            let _ = server.count_subscription(&self.uri, false);
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
    ///
    /// # Errors
    /// Returns an error if the source of the resource panics.
    pub(crate) fn subscribe_to(&self, uri: &str) -> Result<UriSubscription, ErrorObject> {
        let counted = self.count_subscription(uri, true);
        let subscription = UriSubscription {
            server: Arc::downgrade(&self.shared),
            uri: uri.to_owned(),
        };
        counted.map(|()| subscription)
    }

    /// Counts the start or the end of a subscription.
    pub(crate) fn count_subscription(&self, uri: &str, starts: bool) -> Result<(), ErrorObject> {
        {
            let mut all = lock(&self.shared.subscriptions.0);
            let subscriptions = all.entry(uri.to_owned()).or_default();
            if starts {
                subscriptions.count += 1;
            } else {
                subscriptions.count = subscriptions.count.saturating_sub(1);
            }
        }
        self.report_to_sources(uri)
    }

    /// Reports all subscriptions again, because resources may have another source now.
    pub(crate) fn update_subscriptions(&self) {
        let uris: Vec<String> = {
            let all = lock(&self.shared.subscriptions.0);
            all.keys().cloned().collect()
        };
        for uri in uris {
            // A source that panics was logged.
            let _ = self.report_to_sources(&uri);
        }
    }

    /// Reports the subscriptions to a URI, until all sources know the current state.
    fn report_to_sources(&self, uri: &str) -> Result<(), ErrorObject> {
        let mut outcome = Ok(());
        loop {
            let found = self.mounted_resource(uri);
            let Some(report) = self.next_report(uri, found) else {
                return outcome;
            };
            let Report {
                resource,
                is_subscribed,
            } = report;
            let MountedResource { source, uri: own } = &resource;
            if catch_panic(|| source.set_subscribed(own, is_subscribed)).is_err() {
                let _ = catch_panic(|| tracing::error!(uri, "a source panicked"));
                let message = format!("the source of `{uri}` failed unexpectedly");
                outcome = Err(ErrorObject::internal(message));
            }
            let mut all = lock(&self.shared.subscriptions.0);
            if let Some(subscriptions) = all.get_mut(uri) {
                subscriptions.is_reporting = false;
                subscriptions.reported = is_subscribed.then_some(resource);
            }
        }
    }

    /// Begins the next report about a URI, and forgets a URI without subscriptions.
    fn next_report(&self, uri: &str, found: Option<MountedResource>) -> Option<Report> {
        let mut all = lock(&self.shared.subscriptions.0);
        let subscriptions = all.get_mut(uri)?;
        let report = subscriptions.next_report(found);
        if report.is_some() {
            subscriptions.is_reporting = true;
        } else if subscriptions.count == 0 && !subscriptions.is_reporting {
            all.remove(uri);
        }
        report
    }

    /// Returns the resource at a URI, if it is mounted.
    fn mounted_resource(&self, uri: &str) -> Option<MountedResource> {
        let snapshot = self.snapshot();
        let resource = snapshot.find_resource(uri, &Viewer::unfiltered())?;
        let mount = resource.origin()?.mount;
        Some(MountedResource {
            source: self.mounted_source(mount)?,
            uri: MountUris::new(&snapshot.uris, mount).own_uri(uri),
        })
    }
}
