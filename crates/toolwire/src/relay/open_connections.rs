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

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionUse {
    /// The session of a legacy client, which may be open for hours.
    LegacyClient,
    /// The session of a call whose client can be asked for input.
    Call,
    /// The requests of a principal without a session.
    Principal,
}

/// The maximum number of connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    pub(super) all: usize,
    /// The maximum number of connections for [`ConnectionUse::Principal`].
    pub(super) principals: usize,
}

/// A limit that a further connection would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReachedLimit {
    All,
    Principals,
}

#[derive(Debug)]
struct OpenConnection {
    used_for: ConnectionUse,
    /// `None` while the connection is being opened.
    client: Option<Client>,
    /// Whether the connection is being closed, so that its permit is released soon.
    is_closing: bool,
}

impl OpenConnections {
    /// Returns a permit for another connection.
    ///
    /// # Errors
    /// Returns the limit that is reached.
    pub(super) fn try_acquire(
        self: &Arc<Self>,
        used_for: ConnectionUse,
        limits: ConnectionLimits,
    ) -> Result<ConnectionPermit, ReachedLimit> {
        let mut table = lock(&self.table);
        if used_for == ConnectionUse::Principal && table.count(used_for) >= limits.principals {
            return Err(ReachedLimit::Principals);
        }
        if table.connections.len() >= limits.all {
            return Err(ReachedLimit::All);
        }
        let number = table.next;
        table.next += 1;
        let connection = OpenConnection {
            used_for,
            client: None,
            is_closing: false,
        };
        table.connections.insert(number, connection);
        Ok(ConnectionPermit {
            release: Some(PermitRelease {
                open: Arc::clone(self),
                number,
            }),
            acquired: Instant::now(),
            is_lost: AtomicBool::new(false),
        })
    }

    /// Returns the number of connections.
    pub(super) fn len(&self) -> usize {
        lock(&self.table).connections.len()
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

    /// Wakes all requests that wait, because the relay was closed or the limits have changed.
    pub(super) fn notify_all(&self) {
        self.freed.notify_waiters();
    }

    /// Returns the clients of all connections that are open or being closed.
    pub(super) fn clients(&self) -> Vec<Client> {
        let table = lock(&self.table);
        let open = table.connections.values();
        open.filter_map(|open| open.client.clone()).collect()
    }
}

impl OpenTable {
    fn count(&self, used_for: ConnectionUse) -> usize {
        let open = self.connections.values();
        open.filter(|open| open.used_for == used_for).count()
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

    /// Changes what the connection is for.
    pub(super) fn set_use(&self, used_for: ConnectionUse) {
        if let Some(release) = &self.release {
            release.update(|open| open.used_for = used_for);
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

    const LIMITS: ConnectionLimits = ConnectionLimits {
        all: 2,
        principals: 1,
    };

    #[test]
    fn permits_are_limited_and_returned() {
        let open = Arc::new(OpenConnections::default());
        let acquire = || open.try_acquire(ConnectionUse::Call, LIMITS);
        let [first, second] = [acquire(), acquire()];
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(acquire().err(), Some(ReachedLimit::All));
        drop(first);
        assert!(acquire().is_ok());
    }

    #[test]
    fn connections_of_principals_have_a_limit_of_their_own() {
        let open = Arc::new(OpenConnections::default());
        let acquire = |used_for| open.try_acquire(used_for, LIMITS);
        let _first = acquire(ConnectionUse::Principal).expect("there is no connection");
        let second = acquire(ConnectionUse::Principal);
        assert_eq!(second.err(), Some(ReachedLimit::Principals));
        let _call = acquire(ConnectionUse::Call).expect("there is one connection");
        let client = acquire(ConnectionUse::LegacyClient);
        assert_eq!(client.err(), Some(ReachedLimit::All));
    }

    #[test]
    fn connection_of_a_legacy_client_can_become_that_of_a_principal() {
        let open = Arc::new(OpenConnections::default());
        let permit = open.try_acquire(ConnectionUse::LegacyClient, LIMITS);
        let permit = permit.expect("there is no connection");
        permit.set_use(ConnectionUse::Principal);
        let second = open.try_acquire(ConnectionUse::Principal, LIMITS);
        assert_eq!(second.err(), Some(ReachedLimit::Principals));
    }

    #[tokio::test]
    async fn changed_limits_wake_all_requests_that_wait() {
        let open = OpenConnections::default();
        let (mut first, mut second) = (Box::pin(open.freed()), Box::pin(open.freed()));
        assert!(!first.as_mut().enable() && !second.as_mut().enable());
        open.notify_all();
        first.await;
        second.await;
    }
}
