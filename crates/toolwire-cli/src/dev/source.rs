//! A source whose server can be replaced while it is mounted.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use toolwire::relay::UpstreamSource;
use toolwire::{Catalog, Source, SourceListener};

use crate::sync::lock;

/// The entries of the newest server that has started. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct ReloadingSource(Arc<SourceState>);

#[derive(Debug, Default)]
struct SourceState(Mutex<ReplaceableServer>);

#[derive(Debug, Default)]
struct ReplaceableServer {
    /// `None` before the first start.
    server: Option<UpstreamSource>,
    next_number: u64,
    /// The servers that mounted this source, by number.
    mounts: BTreeMap<u64, Mounted>,
    /// The number of subscriptions to each resource.
    subscriptions: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Mounted {
    listener: SourceListener,
    /// Reports the changes of the current server.
    watch: Option<Box<dyn Any + Send + Sync>>,
}

impl ReloadingSource {
    /// Uses another server from now on. The mounts compare the lists, and notify clients of those that differ.
    /// Subscriptions are made again.
    pub(super) fn replace(&self, server: UpstreamSource) {
        let (uris, listeners) = {
            let mut current = self.0.lock();
            for (uri, count) in &current.subscriptions {
                for _ in 0..*count {
                    server.set_subscribed(uri, true);
                }
            }
            current.server = Some(server.clone());
            let uris: Vec<String> = current.subscriptions.keys().cloned().collect();
            let mounts = current.mounts.iter();
            let listeners: Vec<_> = mounts
                .map(|(number, mounted)| (*number, mounted.listener.clone()))
                .collect();
            (uris, listeners)
        };
        for (number, listener) in listeners {
            let watch = server.watch(listener.clone());
            let replaced = match self.0.lock().mounts.get_mut(&number) {
                Some(mounted) => mounted.watch.replace(watch),
                None => Some(watch),
            };
            // A source may react to the end of a watch, so this happens outside of the lock.
            drop(replaced);
            listener.catalog_changed();
            // A resource of the new server may have another content.
            for uri in &uris {
                listener.resource_updated(uri);
            }
        }
    }
}

impl Source for ReloadingSource {
    fn catalog(&self) -> Catalog {
        let server = self.0.lock().server.clone();
        match server {
            Some(server) => server.catalog(),
            None => Catalog::new().with_unknown_entries(),
        }
    }

    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        let server = self.0.lock().server.clone();
        let watch = server.map(|server| server.watch(listener.clone()));
        let mut current = self.0.lock();
        let number = current.next_number;
        current.next_number += 1;
        current.mounts.insert(number, Mounted { listener, watch });
        Box::new(MountWatch {
            source: Arc::downgrade(&self.0),
            number,
        })
    }

    fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        let mut current = self.0.lock();
        if is_subscribed {
            *current.subscriptions.entry(uri.to_owned()).or_default() += 1;
        } else if let Some(count) = current.subscriptions.get_mut(uri) {
            *count -= 1;
            if *count == 0 {
                current.subscriptions.remove(uri);
            }
        }
        if let Some(server) = &current.server {
            server.set_subscribed(uri, is_subscribed);
        }
    }
}

impl SourceState {
    fn lock(&self) -> MutexGuard<'_, ReplaceableServer> {
        lock(&self.0)
    }
}

/// The interest of a mount in changes, until it is dropped.
struct MountWatch {
    source: Weak<SourceState>,
    number: u64,
}

impl Drop for MountWatch {
    fn drop(&mut self) {
        if let Some(source) = self.source.upgrade() {
            let removed = source.lock().mounts.remove(&self.number);
            drop(removed);
        }
    }
}
