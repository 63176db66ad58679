//! Who wants to hear about changes.
//!
//! Every open stream registers a listener; a change is offered to each of them, and each decides by its own filter.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use toolwire_proto::subscriptions::Change;

/// The receiving end of one stream.
pub(crate) trait ChangeListener: Send + Sync {
    /// Takes the change if it passes the filter; never waits. Says whether it did.
    fn deliver(&self, change: &Change) -> bool;

    /// Takes every change the filter lets pass, because nobody knows which of them were missed.
    #[cfg(feature = "http-server")]
    fn resync(&self);
}

/// The other nodes of the service.
pub(crate) trait ChangeForwarder: Send + Sync {
    /// Tells them of a change; never waits.
    fn publish_changes(&self, change: &Change);
}

/// All listeners of one server.
#[derive(Default)]
pub(crate) struct Hub {
    listeners: Mutex<Listeners>,
    neighbours: OnceLock<Arc<dyn ChangeForwarder>>,
}

#[derive(Default)]
struct Listeners {
    next_key: u64,
    by_key: BTreeMap<u64, Arc<dyn ChangeListener>>,
}

impl Hub {
    /// Registers a listener for as long as the returned value lives.
    pub(crate) fn listen(self: &Arc<Self>, listener: Arc<dyn ChangeListener>) -> ListenerGuard {
        let mut listeners = self.listeners();
        let key = listeners.next_key;
        listeners.next_key += 1;
        listeners.by_key.insert(key, listener);
        ListenerGuard {
            hub: Arc::clone(self),
            key,
        }
    }

    /// Offers a change to everybody, here and on other nodes; returns how many took it here.
    pub(crate) fn publish(&self, change: &Change) -> usize {
        if let Some(neighbours) = self.neighbours.get() {
            neighbours.publish_changes(change);
        }
        self.publish_local(change)
    }

    /// Offers a change to everybody on this node; returns how many took it.
    pub(crate) fn publish_local(&self, change: &Change) -> usize {
        self.snapshot()
            .iter()
            .filter(|listener| listener.deliver(change))
            .count()
    }

    /// Tells everybody on this node that they may have missed something.
    #[cfg(feature = "http-server")]
    pub(crate) fn resync(&self) {
        for listener in self.snapshot() {
            listener.resync();
        }
    }

    /// Whom to tell of changes from now on; the first to be named stay.
    #[cfg(feature = "http-server")]
    pub(crate) fn set_forwarder(&self, neighbours: Arc<dyn ChangeForwarder>) {
        if self.neighbours.set(neighbours).is_err() {
            tracing::warn!("the server already tells its changes to another bus");
        }
    }

    /// Changes are delivered outside the lock, so that a listener may come or go meanwhile.
    fn snapshot(&self) -> Vec<Arc<dyn ChangeListener>> {
        self.listeners().by_key.values().cloned().collect()
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("listeners", &self.listeners().by_key.len())
            .finish()
    }
}

/// Keeps a listener registered.
#[derive(Debug)]
pub(crate) struct ListenerGuard {
    hub: Arc<Hub>,
    key: u64,
}

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        self.hub.listeners().by_key.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Counter(AtomicUsize);

    impl ChangeListener for Counter {
        fn deliver(&self, change: &Change) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            *change == Change::ToolsListChanged
        }

        #[cfg(feature = "http-server")]
        fn resync(&self) {
            self.0.fetch_add(100, Ordering::Relaxed);
        }
    }

    #[test]
    fn every_listener_gets_its_own_copy_until_it_leaves() {
        let hub = Arc::new(Hub::default());
        let counter = Arc::new(Counter(AtomicUsize::new(0)));
        let first = hub.listen(counter.clone());
        let _second = hub.listen(counter.clone());
        assert_eq!(hub.publish(&Change::ToolsListChanged), 2);
        assert_eq!(
            hub.publish(&Change::PromptsListChanged),
            0,
            "offered, but not taken"
        );
        drop(first);
        assert_eq!(hub.publish(&Change::ToolsListChanged), 1);
        assert_eq!(counter.0.load(Ordering::Relaxed), 5);
    }
}
