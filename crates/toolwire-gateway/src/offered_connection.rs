//! The connection whose entries an upstream offers, also while a new one replaces it.

use std::any::Any;
use std::sync::Mutex;

use toolwire::relay::{RelayLoad, UpstreamSource};
use toolwire::{Catalog, Source as _, SourceListener};

use crate::sync::lock;

/// The connection of an upstream. While its lists are not known yet, the entries of the connection that it replaces stay.
pub(crate) struct OfferedConnection {
    own: UpstreamSource,
    /// The replaced connection, until it is not needed any more.
    previous: Mutex<Option<UpstreamSource>>,
}

/// The entries of an upstream, and the connection that they come from.
pub(crate) struct OfferedEntries {
    pub(crate) catalog: Catalog,
    /// Whether these are the entries of the replaced connection.
    pub(crate) are_previous: bool,
}

impl OfferedConnection {
    pub(crate) fn new(own: UpstreamSource) -> Self {
        Self {
            own,
            previous: Mutex::default(),
        }
    }

    /// Returns the own connection.
    pub(crate) fn own(&self) -> &UpstreamSource {
        &self.own
    }

    /// Offers the entries of a replaced connection until those of the own one are known.
    pub(crate) fn set_previous(&self, previous: UpstreamSource) {
        *lock(&self.previous) = Some(previous);
    }

    /// Ends the use of the replaced connection, and returns it.
    pub(crate) fn take_previous(&self) -> Option<UpstreamSource> {
        lock(&self.previous).take()
    }

    /// Returns the replaced connection, if it is still used.
    pub(crate) fn previous(&self) -> Option<UpstreamSource> {
        lock(&self.previous).clone()
    }

    /// Returns the replaced connection, if its entries are offered.
    pub(crate) fn offered_previous(&self) -> Option<UpstreamSource> {
        let is_known = !self.own.catalog().has_unknown_entries();
        self.previous().filter(|_| !is_known)
    }

    /// Leaves a connection that a successor still offers to it. Returns `true` if that is the own one, so that it stays open.
    ///
    /// The own connection may have been unknown when the successor chose, and known now. So its state does not tell which
    /// one the successor has.
    pub(crate) fn is_handed_over_to(&self, successor: &Self) -> bool {
        let Some(offered) = successor.previous() else {
            return false;
        };
        if self.previous().as_ref() == Some(&offered) {
            drop(self.take_previous());
        }
        offered == self.own
    }

    /// Returns what the own connection holds.
    pub(crate) fn load(&self) -> RelayLoad {
        self.own.load()
    }

    /// Returns the entries that are offered now.
    pub(crate) fn entries(&self) -> OfferedEntries {
        let catalog = self.own.catalog();
        let previous = self.previous();
        match previous.filter(|_| catalog.has_unknown_entries()) {
            Some(previous) => OfferedEntries {
                catalog: previous.catalog(),
                are_previous: true,
            },
            None => OfferedEntries {
                catalog,
                are_previous: false,
            },
        }
    }

    pub(crate) fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        self.own.watch(listener)
    }

    /// Subscribes at the own connection, also while the entries of the replaced one are offered. So an update of a resource
    /// arrives only after the own connection is open.
    pub(crate) fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        self.own.set_subscribed(uri, is_subscribed);
    }
}

#[cfg(test)]
mod tests {
    use toolwire::relay::Upstream;

    use super::*;

    #[test]
    fn successor_gets_the_connection_that_it_offers() {
        let source = || Upstream::new(|builder| builder.connect("http://127.0.0.1:9/mcp")).source();
        let (first, second) = (source(), source());
        let replaced = OfferedConnection::new(second.clone());
        replaced.set_previous(first.clone());
        let successor = OfferedConnection::new(source());
        // The successor offers nothing of the replaced upstream, which closes both.
        assert!(!replaced.is_handed_over_to(&successor));
        assert_eq!(replaced.previous(), Some(first.clone()));
        // The successor goes on with the oldest connection, so only the second one closes.
        successor.set_previous(first);
        assert!(!replaced.is_handed_over_to(&successor));
        assert_eq!(replaced.previous(), None);
        successor.set_previous(second);
        assert!(replaced.is_handed_over_to(&successor));
    }
}
