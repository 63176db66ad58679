//! Registers change listeners and connected clients, and delivers changes and notifications to them.
//!
//! Each open stream registers a listener. Each change is offered to all listeners, and each listener applies its own
//! filter.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use toolwire_proto::subscriptions::Change;
use toolwire_types::Notification;

use crate::engine::TransportContext;
#[cfg(feature = "input")]
use crate::engine::UrlElicitations;
use crate::sync::lock;

/// The receiver of changes for one stream.
pub(crate) trait ChangeListener: Send + Sync {
    /// Accepts the change if it passes the filter, without waiting. Returns `true` if it did.
    fn deliver(&self, change: &Change) -> bool;

    /// Accepts every change that the filter permits, because it is unknown which changes were missed.
    #[cfg(feature = "http-server")]
    fn resync(&self);

    /// Accepts a notification that the protocol does not define, without waiting. Returns `true` if it did. Listeners of
    /// revisions without such notifications accept none.
    fn notify(&self, notification: &Notification) -> bool {
        let _ = notification;
        false
    }
}

/// A connection to the other nodes of the service.
pub(crate) trait ChangeForwarder: Send + Sync {
    /// Sends a change to the other nodes, without waiting.
    fn forward(&self, change: &Change);

    /// Sends a notification that the protocol does not define to the other nodes, without waiting.
    fn forward_notification(&self, notification: &Notification);
}

/// All listeners and connected clients of one server.
#[derive(Default)]
pub(crate) struct Hub {
    listeners: Registry<dyn ChangeListener>,
    clients: Registry<dyn TransportContext>,
    #[cfg(feature = "input")]
    pub(crate) elicitations: UrlElicitations,
    forwarder: OnceLock<Arc<dyn ChangeForwarder>>,
}

/// Values that are registered for as long as a guard of theirs lives.
struct Registry<T: ?Sized> {
    entries: Mutex<Entries<T>>,
}

struct Entries<T: ?Sized> {
    next_key: u64,
    by_key: BTreeMap<u64, Arc<T>>,
}

impl<T: ?Sized> Default for Registry<T> {
    fn default() -> Self {
        let entries = Entries {
            next_key: 0,
            by_key: BTreeMap::new(),
        };
        Self {
            entries: Mutex::new(entries),
        }
    }
}

impl<T: ?Sized> Registry<T> {
    /// Adds a value and returns its key.
    fn add(&self, value: Arc<T>) -> u64 {
        let mut entries = self.lock();
        let key = entries.next_key;
        entries.next_key += 1;
        entries.by_key.insert(key, value);
        key
    }

    fn remove(&self, key: u64) {
        let removed = self.lock().by_key.remove(&key);
        // Dropped after the lock is released.
        drop(removed);
    }

    /// Returns the values. They are used outside the lock, so that values can be added and removed meanwhile.
    fn all(&self) -> Vec<Arc<T>> {
        self.lock().by_key.values().cloned().collect()
    }

    fn len(&self) -> usize {
        self.lock().by_key.len()
    }

    fn lock(&self) -> MutexGuard<'_, Entries<T>> {
        lock(&self.entries)
    }
}

impl Hub {
    /// Registers a listener for as long as the returned value lives.
    pub(crate) fn listen(self: &Arc<Self>, listener: Arc<dyn ChangeListener>) -> ListenerGuard {
        ListenerGuard {
            key: self.listeners.add(listener),
            hub: Arc::clone(self),
        }
    }

    /// Registers the channel to a client for as long as the returned value lives.
    pub(crate) fn connect(self: &Arc<Self>, client: Arc<dyn TransportContext>) -> ClientGuard {
        ClientGuard {
            key: self.clients.add(client),
            hub: Arc::clone(self),
        }
    }

    /// Returns the channels to the connected clients.
    pub(crate) fn clients(&self) -> Vec<Arc<dyn TransportContext>> {
        self.clients.all()
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
        let listeners = self.listeners.all();
        let delivered = listeners.iter().filter(|listener| listener.deliver(change));
        delivered.count()
    }

    /// Sends a notification that the protocol does not define to all clients that accept it, on this and other nodes.
    /// Returns the number of clients on this node that accepted it.
    pub(crate) fn publish_notification(&self, notification: &Notification) -> usize {
        if let Some(forwarder) = self.forwarder.get() {
            forwarder.forward_notification(notification);
        }
        self.publish_notification_local(notification)
    }

    /// Sends such a notification to the clients of this node. Returns the number of clients that accepted it.
    pub(crate) fn publish_notification_local(&self, notification: &Notification) -> usize {
        let listeners = self.listeners.all();
        let delivered = listeners
            .iter()
            .filter(|listener| listener.notify(notification));
        delivered.count()
    }

    /// Notifies all listeners on this node that they may have missed changes.
    #[cfg(feature = "http-server")]
    pub(crate) fn resync(&self) {
        for listener in self.listeners.all() {
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
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("listeners", &self.listeners.len())
            .field("clients", &self.clients.len())
            .finish_non_exhaustive()
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
        self.hub.listeners.remove(self.key);
    }
}

/// The registration of a connected client, which ends when the guard is dropped.
#[derive(Debug)]
pub(crate) struct ClientGuard {
    hub: Arc<Hub>,
    key: u64,
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        self.hub.clients.remove(self.key);
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
