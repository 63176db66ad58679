//! Sessions with a legacy upstream server that no call uses. The next call of the same client gets one of them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::relay::connection::UpstreamConnection;
use crate::relay::session_owner::SessionOwner;
use crate::sync::lock;

/// The maximum number of idle sessions.
const MAX_IDLE: usize = 8;

/// How long a connection may be idle.
pub(super) const MAX_IDLE_TIME: Duration = Duration::from_secs(300);

/// The idle sessions of all clients.
#[derive(Debug, Default)]
pub(super) struct IdleSessions(Mutex<HashMap<SessionOwner, Vec<IdleSession>>>);

#[derive(Debug)]
struct IdleSession {
    session: UpstreamConnection,
    since: Instant,
}

impl IdleSessions {
    /// Returns an idle session of this client.
    pub(super) fn take(&self, owner: &SessionOwner) -> Option<UpstreamConnection> {
        let mut idle = lock(&self.0);
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
        let mut idle = lock(&self.0);
        let count: usize = idle.values().map(Vec::len).sum();
        if count >= MAX_IDLE || session.is_closed() {
            return Some(session);
        }
        let since = Instant::now();
        let sessions = idle.entry(owner).or_default();
        sessions.push(IdleSession { session, since });
        None
    }

    /// Removes the session that was idle for the longest time.
    pub(super) fn take_oldest(&self) -> Option<UpstreamConnection> {
        let mut idle = lock(&self.0);
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
        lock(&self.0).retain(|_, sessions| {
            let is_expired = |idle: &mut IdleSession| {
                idle.session.is_closed() || idle.since.elapsed() >= MAX_IDLE_TIME
            };
            expired.extend(sessions.extract_if(.., is_expired));
            !sessions.is_empty()
        });
        expired.into_iter().map(|idle| idle.session).collect()
    }

    /// Removes all sessions.
    pub(super) fn take_all(&self) -> Vec<UpstreamConnection> {
        let idle = std::mem::take(&mut *lock(&self.0));
        let idle = idle.into_values().flatten();
        idle.map(|idle| idle.session).collect()
    }
}
