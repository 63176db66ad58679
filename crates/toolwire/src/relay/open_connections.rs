//! The open connections to an upstream server, which are limited in number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;

use crate::client::Client;
use crate::sync::lock;

/// The open connections, including those that are being opened or closed.
#[derive(Debug, Default)]
pub(super) struct OpenConnections {
    table: Mutex<OpenTable>,
    /// Notified when a permit was released, and when a connection may have become unused.
    freed: Notify,
}

#[derive(Debug, Default)]
struct OpenTable {
    next: u64,
    connections: HashMap<u64, OpenConnection>,
}

#[derive(Debug, Default)]
struct OpenConnection {
    /// `None` while the connection is being opened.
    client: Option<Client>,
    /// Whether the connection is being closed, so that its permit is released soon.
    is_closing: bool,
}

impl OpenConnections {
    /// Returns a permit for another connection, or `None` if there are `limit` connections.
    pub(super) fn try_acquire(self: &Arc<Self>, limit: usize) -> Option<ConnectionPermit> {
        let mut table = lock(&self.table);
        if table.connections.len() >= limit {
            return None;
        }
        let number = table.next;
        table.next += 1;
        table.connections.insert(number, OpenConnection::default());
        Some(ConnectionPermit {
            release: Some(PermitRelease {
                open: Arc::clone(self),
                number,
            }),
            acquired: Instant::now(),
            is_lost: AtomicBool::new(false),
        })
    }

    /// Returns `true` if a connection is being closed.
    pub(super) fn is_closing(&self) -> bool {
        let table = lock(&self.table);
        table.connections.values().any(|open| open.is_closing)
    }

    /// Returns a future that ends when another connection may be possible.
    pub(super) fn freed(&self) -> Notified<'_> {
        self.freed.notified()
    }

    /// Wakes the request that waits longest, because a connection may have become unused.
    pub(super) fn notify_freed(&self) {
        self.freed.notify_one();
    }

    /// Returns the clients of all connections that are open or being closed.
    pub(super) fn clients(&self) -> Vec<Client> {
        let table = lock(&self.table);
        let open = table.connections.values();
        open.filter_map(|open| open.client.clone()).collect()
    }
}

/// The permit of one connection. When it is dropped, the connection is closed. The permit is released after that, so that
/// processes that have not ended still count.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    /// `None` only while the permit is dropped.
    release: Option<PermitRelease>,
    acquired: Instant,
    is_lost: AtomicBool,
}

impl ConnectionPermit {
    /// Sets the client of the connection after it was opened.
    pub(super) fn set_client(&self, client: Client) {
        if let Some(release) = &self.release {
            release.update(|open| open.client = Some(client));
        }
    }

    /// Records that the connection is being closed.
    pub(super) fn set_closing(&self) {
        if let Some(release) = &self.release {
            release.update(|open| open.is_closing = true);
        }
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
        let Some(release) = self.release.take() else {
            return;
        };
        let mut client = None;
        release.update(|open| {
            open.is_closing = true;
            client.clone_from(&open.client);
        });
        if let (Some(client), Ok(runtime)) = (client, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                client.close().await;
                drop(release);
            });
        }
    }
}

/// The entry of a connection in the table. It is removed on drop.
#[derive(Debug)]
struct PermitRelease {
    open: Arc<OpenConnections>,
    number: u64,
}

impl PermitRelease {
    fn update(&self, change: impl FnOnce(&mut OpenConnection)) {
        if let Some(open) = lock(&self.open.table).connections.get_mut(&self.number) {
            change(open);
        }
    }
}

impl Drop for PermitRelease {
    fn drop(&mut self) {
        let removed = lock(&self.open.table).connections.remove(&self.number);
        // Dropped after the lock is released, because it may be the last one of the connection.
        drop(removed);
        self.open.freed.notify_one();
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
