//! The connections for requests without a session: one for each principal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::features::VersionFeatures;

use crate::engine::Principal;
use crate::error::Error;
use crate::relay::connection::UpstreamConnection;
use crate::relay::connector::{UnusedConnections, UpstreamConnector};
use crate::relay::modern_client::LegacyUpstream;
use crate::relay::parked::ParkedCalls;
use crate::relay::required_task::runs_calls_as_tasks;
use crate::sync::lock;

/// The connection that the requests of one principal share.
#[derive(Debug, Clone)]
pub(super) enum SharedUpstream {
    Modern(UpstreamConnection),
    Legacy(Arc<LegacyUpstream>),
}

impl SharedUpstream {
    /// Opens a connection for a principal.
    async fn open(
        owner: &Principal,
        deadline: Instant,
        connector: &Arc<UpstreamConnector>,
        parked: &ParkedCalls,
    ) -> Result<Self, Error> {
        let upstream = connector.open_shared(owner, deadline).await?;
        if upstream.version().is_modern() {
            return Ok(Self::Modern(upstream));
        }
        let legacy = LegacyUpstream::start(Arc::clone(connector), parked.clone(), upstream).await?;
        Ok(Self::Legacy(Arc::new(legacy)))
    }

    /// Returns the session with a server whose tools may run as tasks of 2025-11-25.
    pub(super) fn with_core_tasks(&self) -> Option<&UpstreamConnection> {
        let Self::Legacy(upstream) = self else {
            return None;
        };
        let session = upstream.shared_session();
        runs_calls_as_tasks(session).then_some(session)
    }

    fn connection(&self) -> &UpstreamConnection {
        match self {
            Self::Modern(upstream) => upstream,
            Self::Legacy(upstream) => upstream.shared_session(),
        }
    }

    /// Returns `true` if no request uses this connection. `self` must be the only value outside of requests.
    fn is_unused(&self) -> bool {
        match self {
            Self::Modern(upstream) => upstream.is_unused(),
            Self::Legacy(upstream) => Arc::strong_count(upstream) == 1,
        }
    }
}

/// The shared connections of all principals.
#[derive(Debug, Default)]
pub(super) struct SharedUpstreams(Mutex<HashMap<Principal, Arc<PrincipalUpstream>>>);

/// The connection of one principal. It is taken from the entry and cloned only under the lock of all entries, so that a
/// connection that no request uses stays so while it is removed.
#[derive(Debug)]
struct PrincipalUpstream {
    open: Mutex<Option<SharedUpstream>>,
    /// When the connection was last known to be in use.
    used: Mutex<Instant>,
    /// Held while the connection is opened, so that one is opened for all that wait.
    opening: tokio::sync::Mutex<()>,
}

impl SharedUpstreams {
    /// Returns the connection of a principal. Opens it if it does not exist or is closed. While there are too many
    /// connections, waits until the deadline.
    pub(super) async fn get(
        &self,
        principal: Principal,
        deadline: Instant,
        connector: &Arc<UpstreamConnector>,
        parked: &ParkedCalls,
    ) -> Result<SharedUpstream, Error> {
        let entry = {
            let mut entries = lock(&self.0);
            let entry = entries
                .entry(principal.clone())
                .or_insert_with(PrincipalUpstream::new);
            if let Some(open) = entry.open() {
                return Ok(open);
            }
            Arc::clone(entry)
        };
        let _opening = entry.opening.lock().await;
        if let Some(open) = self.open_in(&entry) {
            return Ok(open);
        }
        if let Some(lost) = lock(&entry.open).take() {
            connector.record_loss(lost.connection());
        }
        let opened = SharedUpstream::open(&principal, deadline, connector, parked).await?;
        *lock(&entry.open) = Some(opened.clone());
        Ok(opened)
    }

    /// Uses a connection with a modern server, which was opened for a legacy client, for all requests of its principal.
    /// Returns the connection of the principal: another one if that is open already. Returns `None` while another one is
    /// being opened. If the connection is not used, it is dropped and thereby closed.
    pub(super) fn adopt(
        &self,
        principal: Principal,
        connection: UpstreamConnection,
        connector: &UpstreamConnector,
    ) -> Option<SharedUpstream> {
        let mut entries = lock(&self.0);
        let entry = entries
            .entry(principal)
            .or_insert_with(PrincipalUpstream::new);
        let entry = Arc::clone(entry);
        let _opening = entry.opening.try_lock().ok()?;
        if let Some(open) = entry.open() {
            return Some(open);
        }
        connector.share(&connection);
        let opened = SharedUpstream::Modern(connection);
        let lost = lock(&entry.open).replace(opened.clone());
        drop(entries);
        if let Some(lost) = lost {
            connector.record_loss(lost.connection());
        }
        Some(opened)
    }

    /// Returns `true` if the connection of a principal is open.
    pub(super) fn is_open(&self, principal: &Principal) -> bool {
        let entries = lock(&self.0);
        let entry = entries.get(principal);
        entry.is_some_and(|entry| entry.open().is_some())
    }

    /// Returns the connection of a principal, if it is open.
    #[cfg(feature = "http-server")]
    pub(super) fn open(&self, principal: &Principal) -> Option<SharedUpstream> {
        lock(&self.0).get(principal)?.open()
    }

    fn open_in(&self, entry: &PrincipalUpstream) -> Option<SharedUpstream> {
        let _entries = lock(&self.0);
        entry.open()
    }

    /// Removes the connection of a principal.
    pub(super) fn take(&self, principal: &Principal) -> Option<UpstreamConnection> {
        let entry = lock(&self.0).remove(principal)?;
        entry.take()
    }

    /// Removes the connections that no request used for this time. Those of callers without authorization stay, because
    /// there is only one.
    pub(super) fn take_expired(&self, timeout: Duration) -> Vec<UpstreamConnection> {
        let mut expired = Vec::new();
        lock(&self.0).retain(|principal, entry| {
            let is_waited_for = Arc::strong_count(entry) > 1;
            if is_waited_for || principal.as_str().is_none() || !entry.is_expired(timeout) {
                return true;
            }
            expired.extend(entry.take());
            false
        });
        expired
    }

    /// Removes all connections.
    pub(super) fn clear(&self) {
        let entries = std::mem::take(&mut *lock(&self.0));
        drop(entries);
    }
}

impl UnusedConnections for SharedUpstreams {
    fn take_unused(&self) -> Option<UpstreamConnection> {
        let mut entries = lock(&self.0);
        let unused = entries
            .iter()
            .filter(|(_, entry)| entry.is_unused())
            .min_by_key(|(_, entry)| *lock(&entry.used));
        let principal = unused?.0.clone();
        entries.remove(&principal)?.take()
    }
}

impl PrincipalUpstream {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            open: Mutex::default(),
            used: Mutex::new(Instant::now()),
            opening: tokio::sync::Mutex::default(),
        })
    }

    /// Returns the connection, unless it is closed.
    fn open(&self) -> Option<SharedUpstream> {
        let open = lock(&self.open).clone();
        let open = open.filter(|open| !open.connection().is_closed());
        if open.is_some() {
            *lock(&self.used) = Instant::now();
        }
        open
    }

    fn take(&self) -> Option<UpstreamConnection> {
        let taken = lock(&self.open).take();
        taken.map(|taken| taken.connection().clone())
    }

    /// Returns `true` if there is a connection that no request uses.
    fn is_unused(&self) -> bool {
        let open = lock(&self.open);
        open.as_ref().is_some_and(SharedUpstream::is_unused)
    }

    /// Returns `true` if no request used the connection for this time.
    fn is_expired(&self, timeout: Duration) -> bool {
        let is_used = lock(&self.open)
            .as_ref()
            .is_some_and(|open| !open.is_unused());
        let mut used = lock(&self.used);
        if is_used {
            *used = Instant::now();
        }
        used.elapsed() >= timeout
    }
}
