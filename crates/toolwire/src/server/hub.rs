//! Registers change listeners and delivers changes to them.
//!
//! Each open stream registers a listener. Each change is offered to all listeners, and each listener applies its own
//! filter.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use toolwire_proto::subscriptions::Change;

use crate::sync::lock;

/// The receiver of changes for one stream.
pub(crate) trait ChangeListener: Send + Sync {
    /// Accepts the change if it passes the filter, without waiting. Returns `true` if it did.
    fn deliver(&self, change: &Change) -> bool;

    /// Accepts every change that the filter permits, because it is unknown which changes were missed.
    #[cfg(feature = "http-server")]
    fn resync(&self);
}

/// A connection to the other nodes of the service.
pub(crate) trait ChangeForwarder: Send + Sync {
    /// Sends a change to the other nodes, without waiting.
    fn forward(&self, change: &Change);
}

/// All listeners of one server.
#[derive(Default)]
pub(crate) struct Hub {
    listeners: Mutex<Listeners>,
    forwarder: OnceLock<Arc<dyn ChangeForwarder>>,
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

    /// Offers a change to all listeners, on this and other nodes. Returns the number of listeners on this node that
    /// accepted it.
    pub(crate) fn publish(&self, change: &Change) -> usize {
        if let Some(forwarder) = self.forwarder.get() {
            forwarder.forward(change);
        }
        self.publish_local(change)
    }

    /// Offers a change to all listeners on this node. Returns the number of listeners that accepted it.
    pub(crate) fn publish_local(&self, change: &Change) -> usize {
        self.snapshot()
            .iter()
            .filter(|listener| listener.deliver(change))
            .count()
    }

    /// Notifies all listeners on this node that they may have missed changes.
    #[cfg(feature = "http-server")]
    pub(crate) fn resync(&self) {
        for listener in self.snapshot() {
            listener.resync();
        }
    }

    /// Sets the forwarder of changes. Only the first call has an effect.
    #[cfg(feature = "http-server")]
    pub(crate) fn set_forwarder(&self, forwarder: Arc<dyn ChangeForwarder>) {
        if self.forwarder.set(forwarder).is_err() {
            tracing::warn!("the server already sends its changes to another bus");
        }
    }

    /// Returns the listeners. Changes are delivered outside the lock, so that listeners can be added and removed
    /// meanwhile.
    fn snapshot(&self) -> Vec<Arc<dyn ChangeListener>> {
        self.listeners().by_key.values().cloned().collect()
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        lock(&self.listeners)
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("listeners", &self.listeners().by_key.len())
            .finish()
    }
}

/// A registration that ends when the guard is dropped.
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
    fn each_listener_receives_changes_until_it_is_dropped() {
        let hub = Arc::new(Hub::default());
        let counter = Arc::new(Counter(AtomicUsize::new(0)));
        let first = hub.listen(counter.clone());
        let _second = hub.listen(counter.clone());
        assert_eq!(hub.publish(&Change::ToolsListChanged), 2);
        assert_eq!(
            hub.publish(&Change::PromptsListChanged),
            0,
            "offered, but not accepted"
        );
        drop(first);
        assert_eq!(hub.publish(&Change::ToolsListChanged), 1);
        assert_eq!(counter.0.load(Ordering::Relaxed), 5);
    }
}
