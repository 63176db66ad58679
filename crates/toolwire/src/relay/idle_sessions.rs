//! Sessions with a legacy upstream server that no call uses. The next call of the same client gets one of them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::relay::connection::UpstreamConnection;
use crate::relay::session_owner::SessionOwner;
use crate::sync::lock;

/// The idle sessions of all clients.
#[derive(Debug)]
pub(super) struct IdleSessions {
    limits: IdleLimits,
    sessions: Mutex<HashMap<SessionOwner, Vec<IdleSession>>>,
}

/// The limits on idle connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdleLimits {
    /// The maximum number of idle sessions.
    pub(super) sessions: usize,
    /// How long a session, or the connection of a principal, may be idle.
    pub(super) timeout: Duration,
}

impl Default for IdleLimits {
    fn default() -> Self {
        Self {
            sessions: 8,
            timeout: Duration::from_secs(300),
        }
    }
}

#[derive(Debug)]
struct IdleSession {
    session: UpstreamConnection,
    since: Instant,
}

impl IdleSessions {
    /// Creates the table without sessions.
    pub(super) fn new(limits: IdleLimits) -> Self {
        Self {
            limits,
            sessions: Mutex::default(),
        }
    }

    /// Returns an idle session of this client.
    pub(super) fn take(&self, owner: &SessionOwner) -> Option<UpstreamConnection> {
        let mut idle = lock(&self.sessions);
        let sessions = idle.get_mut(owner)?;
        let mut found = None;
        while let Some(last) = sessions.pop() {
            if !last.session.is_closed() {
                found = Some(last.session);
                break;
            }
        }
        if sessions.is_empty() {
            idle.remove(owner);
        }
        found
    }

    /// Stores the session of a call that has ended. Returns it if there are too many.
    pub(super) fn store(
        &self,
        owner: SessionOwner,
        session: UpstreamConnection,
    ) -> Option<UpstreamConnection> {
        let mut idle = lock(&self.sessions);
        let count: usize = idle.values().map(Vec::len).sum();
        if count >= self.limits.sessions || session.is_closed() {
            return Some(session);
        }
        let since = Instant::now();
        let sessions = idle.entry(owner).or_default();
        sessions.push(IdleSession { session, since });
        None
    }

    /// Removes the session that was idle for the longest time.
    pub(super) fn take_oldest(&self) -> Option<UpstreamConnection> {
        let mut idle = lock(&self.sessions);
        // The first session of a client is its oldest one.
        let oldest = idle
            .iter()
            .filter_map(|(owner, sessions)| Some((owner, sessions.first()?.since)))
            .min_by_key(|(_, since)| *since);
        let owner = oldest?.0.clone();
        let sessions = idle.get_mut(&owner)?;
        let oldest = sessions.remove(0);
        if sessions.is_empty() {
            idle.remove(&owner);
        }
        Some(oldest.session)
    }

    /// Removes the sessions that are idle for too long or closed.
    pub(super) fn take_expired(&self) -> Vec<UpstreamConnection> {
        let mut expired = Vec::new();
        let timeout = self.limits.timeout;
        lock(&self.sessions).retain(|_, sessions| {
            let is_expired = |idle: &mut IdleSession| {
                idle.session.is_closed() || idle.since.elapsed() >= timeout
            };
            expired.extend(sessions.extract_if(.., is_expired));
            !sessions.is_empty()
        });
        expired.into_iter().map(|idle| idle.session).collect()
    }

    /// Removes all sessions.
    pub(super) fn take_all(&self) -> Vec<UpstreamConnection> {
        let idle = std::mem::take(&mut *lock(&self.sessions));
        let idle = idle.into_values().flatten();
        idle.map(|idle| idle.session).collect()
    }
}
