//! The open connections to an upstream server, which are limited in number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use crate::client::Client;
use crate::sync::lock;

/// The open connections, including those that are being opened.
#[derive(Debug, Default)]
pub(super) struct OpenConnections(Mutex<OpenTable>);

#[derive(Debug, Default)]
struct OpenTable {
    next: u64,
    /// `None` while the connection is being opened.
    clients: HashMap<u64, Option<Client>>,
}

impl OpenConnections {
    /// Returns a permit for another connection, or `None` if there are `limit` connections.
    pub(super) fn try_acquire(self: &Arc<Self>, limit: usize) -> Option<ConnectionPermit> {
        let mut table = lock(&self.0);
        if table.clients.len() >= limit {
            return None;
        }
        let number = table.next;
        table.next += 1;
        table.clients.insert(number, None);
        Some(ConnectionPermit {
            open: Arc::clone(self),
            number,
            acquired: Instant::now(),
            is_lost: AtomicBool::new(false),
        })
    }

    /// Returns the clients of all connections that are open.
    pub(super) fn clients(&self) -> Vec<Client> {
        let table = lock(&self.0);
        table.clients.values().flatten().cloned().collect()
    }
}

/// The permit of one connection. It is released on drop.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    open: Arc<OpenConnections>,
    number: u64,
    acquired: Instant,
    is_lost: AtomicBool,
}

impl ConnectionPermit {
    /// Sets the client of the connection after it was opened.
    pub(super) fn set_client(&self, client: Client) {
        lock(&self.open.0).clients.insert(self.number, Some(client));
    }

    /// Returns when the permit was acquired.
    pub(super) fn acquired(&self) -> Instant {
        self.acquired
    }

    /// Records that the connection was lost. Returns `false` if that was recorded before.
    pub(super) fn set_lost(&self) -> bool {
        !self.is_lost.swap(true, Ordering::AcqRel)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let client = lock(&self.open.0).clients.remove(&self.number);
        // Dropped after the lock is released, because it may be the last one of the connection.
        drop(client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_limited_and_returned() {
        let open = Arc::new(OpenConnections::default());
        let [first, second] = [open.try_acquire(2), open.try_acquire(2)];
        assert!(first.is_some() && second.is_some());
        assert!(open.try_acquire(2).is_none());
        drop(first);
        assert!(open.try_acquire(2).is_some());
        assert!(open.try_acquire(0).is_none());
    }
}
