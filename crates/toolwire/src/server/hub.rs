//! Who wants to hear about changes.
//!
//! Every open stream registers a listener; a change is offered to each of them, and each decides by its own filter.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwire_proto::subscriptions::Change;

/// The receiving end of one stream.
pub(crate) trait ChangeListener: Send + Sync {
    /// Takes the change if it passes the filter; never waits. Says whether it did.
    fn deliver(&self, change: &Change) -> bool;
}

/// All listeners of one server.
#[derive(Default)]
pub(crate) struct Hub {
    listeners: Mutex<Listeners>,
}

#[derive(Default)]
struct Listeners {
    next_key: u64,
    by_key: BTreeMap<u64, Arc<dyn ChangeListener>>,
}

impl Hub {
    /// Registers a listener for as long as the returned value lives.
    pub(crate) fn listen(self: &Arc<Self>, listener: Arc<dyn ChangeListener>) -> Listening {
        let mut listeners = self.listeners();
        let key = listeners.next_key;
        listeners.next_key += 1;
        listeners.by_key.insert(key, listener);
        Listening {
            hub: Arc::clone(self),
            key,
        }
    }

    /// Offers a change to everybody; returns how many took it.
    pub(crate) fn publish(&self, change: &Change) -> usize {
        // Delivered outside the lock, so that a listener may come or go meanwhile.
        let listeners: Vec<_> = self.listeners().by_key.values().cloned().collect();
        listeners
            .iter()
            .filter(|listener| listener.deliver(change))
            .count()
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
pub(crate) struct Listening {
    hub: Arc<Hub>,
    key: u64,
}

impl Drop for Listening {
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
