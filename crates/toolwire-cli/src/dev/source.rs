//! A source whose server can be replaced while it is mounted.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use toolwire::relay::UpstreamSource;
use toolwire::{Catalog, Source, SourceListener};

use crate::sync::lock;

/// The entries of the newest server that has started. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct ReloadingSource<S = UpstreamSource>(Arc<SourceState<S>>);

#[derive(Debug)]
struct SourceState<S>(Mutex<ReplaceableServer<S>>);

#[derive(Debug)]
struct ReplaceableServer<S> {
    /// `None` before the first start.
    server: Option<S>,
    /// The number of servers so far, by which a watch recognizes that its server was replaced.
    replacements: u64,
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

impl<S> Default for ReloadingSource<S> {
    fn default() -> Self {
        Self(Arc::new(SourceState(Mutex::new(ReplaceableServer {
            server: None,
            replacements: 0,
            next_number: 0,
            mounts: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
        }))))
    }
}

impl<S: Source + Clone> ReloadingSource<S> {
    /// Uses another server from now on. The mounts compare the lists, and notify clients of those that differ.
    /// Subscriptions are made again.
    pub(super) fn replace(&self, server: S) {
        let (uris, listeners) = {
            let mut current = self.0.lock();
            for (uri, count) in &current.subscriptions {
                for _ in 0..*count {
                    server.set_subscribed(uri, true);
                }
            }
            current.server = Some(server);
            current.replacements += 1;
            let uris: Vec<String> = current.subscriptions.keys().cloned().collect();
            let mounts = current.mounts.iter();
            let listeners: Vec<_> = mounts
                .map(|(number, mounted)| (*number, mounted.listener.clone()))
                .collect();
            (uris, listeners)
        };
        for (number, listener) in listeners {
            self.watch_server(number, &listener);
            listener.catalog_changed();
            // A resource of the new server may have another content.
            for uri in &uris {
                listener.resource_updated(uri);
            }
        }
    }

    /// Lets a mount watch the current server. If the server is replaced meanwhile, the mount watches the next one.
    fn watch_server(&self, number: u64, listener: &SourceListener) {
        let (server, replacements) = {
            let current = self.0.lock();
            (current.server.clone(), current.replacements)
        };
        let watch = server.map(|server| server.watch(listener.clone()));
        let unused = {
            let mut current = self.0.lock();
            let is_current = current.replacements == replacements;
            match current.mounts.get_mut(&number) {
                Some(mounted) if is_current => std::mem::replace(&mut mounted.watch, watch),
                _ => watch,
            }
        };
        // A source may react to the end of a watch, so this happens outside of the lock.
        drop(unused);
    }
}

impl<S: Source + Clone> Source for ReloadingSource<S> {
    fn catalog(&self) -> Catalog {
        let server = self.0.lock().server.clone();
        match server {
            Some(server) => server.catalog(),
            None => Catalog::new().with_unknown_entries(),
        }
    }

    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        let number = {
            let mut current = self.0.lock();
            let number = current.next_number;
            current.next_number += 1;
            // From now on, the mount follows each replacement of the server.
            let mounted = Mounted {
                listener: listener.clone(),
                watch: None,
            };
            current.mounts.insert(number, mounted);
            number
        };
        self.watch_server(number, &listener);
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

impl<S> SourceState<S> {
    fn lock(&self) -> MutexGuard<'_, ReplaceableServer<S>> {
        lock(&self.0)
    }
}

/// The interest of a mount in changes, until it is dropped.
struct MountWatch<S> {
    source: Weak<SourceState<S>>,
    number: u64,
}

impl<S> Drop for MountWatch<S> {
    fn drop(&mut self) {
        if let Some(source) = self.source.upgrade() {
            let removed = source.lock().mounts.remove(&self.number);
            drop(removed);
        }
    }
}

#[cfg(test)]
mod tests {
    use toolwire::{Mount, Server};

    use super::*;

    /// The names of the servers that are watched.
    type Watched = Arc<Mutex<Vec<&'static str>>>;

    /// A server that may be replaced while a mount starts to watch it.
    #[derive(Debug, Clone)]
    struct FakeServer {
        name: &'static str,
        watched: Watched,
        next: Option<(ReloadingSource<FakeServer>, Box<FakeServer>)>,
    }

    struct FakeWatch(&'static str, Watched);

    impl Drop for FakeWatch {
        fn drop(&mut self) {
            lock(&self.1).retain(|name| *name != self.0);
        }
    }

    impl Source for FakeServer {
        fn catalog(&self) -> Catalog {
            Catalog::new()
        }

        fn watch(&self, _listener: SourceListener) -> Box<dyn Any + Send + Sync> {
            if let Some((source, next)) = &self.next {
                source.replace(FakeServer::clone(next));
            }
            lock(&self.watched).push(self.name);
            Box::new(FakeWatch(self.name, Arc::clone(&self.watched)))
        }
    }

    #[test]
    fn mount_watches_the_server_that_replaces_another_meanwhile() {
        let (source, watched) = (ReloadingSource::default(), Watched::default());
        let server = |name, next| FakeServer {
            name,
            watched: Arc::clone(&watched),
            next,
        };
        let second = Box::new(server("second", None));
        source.replace(server("first", Some((source.clone(), second))));
        let mount = Mount::new("mount", source.clone()).without_prefix();
        let mounted = Server::new("test", "1").mount_with(mount);
        assert_eq!(*lock(&watched), ["second"]);
        source.replace(server("third", None));
        assert_eq!(*lock(&watched), ["third"]);
        assert!(mounted.remove_mount("mount"));
        assert_eq!(*lock(&watched), [""; 0]);
    }
}
