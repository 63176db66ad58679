//! A session store in memory.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::{BuildNameHasher, Principal, deadline_after};
use crate::store::{
    ExpiredSession, LoadedSession, SessionRecord, SessionStore, StoreError, StoreFuture,
    StoredSession,
};
use crate::sync::lock;

/// The limits of a [`MemorySessionStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemorySessionLimits {
    /// The maximum number of sessions. Default: 10 000.
    pub sessions: usize,
    /// The maximum number of sessions of one principal. Default: 100. It does not apply to the anonymous principal,
    /// because all clients without authorization share it.
    pub sessions_per_principal: usize,
    /// The maximum number of bytes of all session records. Default: 64 MiB.
    pub bytes: usize,
    /// The maximum number of anonymous sessions of one IPv4 address, or of one IPv6 network of 64 bits. Behind a
    /// reverse proxy, all clients have one address, unless `with_trusted_proxies` is set. Default: no limit.
    pub sessions_per_address: Option<usize>,
}

impl Default for MemorySessionLimits {
    fn default() -> Self {
        Self {
            sessions: 10_000,
            sessions_per_principal: 100,
            bytes: 64 * 1024 * 1024,
            sessions_per_address: None,
        }
    }
}

impl MemorySessionLimits {
    /// Sets the maximum number of sessions.
    #[must_use]
    pub fn with_sessions(mut self, sessions: usize) -> Self {
        self.sessions = sessions;
        self
    }

    /// Sets the maximum number of sessions of one principal, except the anonymous one.
    #[must_use]
    pub fn with_sessions_per_principal(mut self, sessions: usize) -> Self {
        self.sessions_per_principal = sessions;
        self
    }

    /// Sets the maximum number of anonymous sessions of one address.
    #[must_use]
    pub fn with_sessions_per_address(mut self, sessions: usize) -> Self {
        self.sessions_per_address = Some(sessions);
        self
    }

    /// Sets the maximum number of bytes of all records.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
}

/// A session store in the memory of this process.
#[derive(Default)]
#[doc(alias = "LocalSessionManager")]
pub struct MemorySessionStore {
    limits: MemorySessionLimits,
    sessions: Mutex<Sessions>,
}

impl MemorySessionStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new(limits: MemorySessionLimits) -> Self {
        Self {
            limits,
            sessions: Mutex::default(),
        }
    }

    /// Returns the number of sessions that have not ended.
    #[must_use]
    pub fn len(&self) -> usize {
        let mut sessions = self.lock();
        sessions.remove_expired(Instant::now());
        sessions.by_id.len()
    }

    /// Returns `true` if there are no sessions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        lock(&self.sessions)
    }
}

impl fmt::Debug for MemorySessionStore {
    /// Omits session ids, because an id grants access to its session.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessionStore")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl SessionStore for MemorySessionStore {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: SessionRecord,
        ttl: Duration,
    ) -> StoreFuture<'a, StoredSession> {
        Box::pin(async move {
            let now = Instant::now();
            self.lock()
                .create(self.limits, id, principal, record, now, ttl)
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
        known: Option<u64>,
    ) -> StoreFuture<'a, Option<LoadedSession>> {
        Box::pin(async move {
            let mut sessions = self.lock();
            let session = sessions.extend_ttl(id, principal, Instant::now(), ttl);
            Ok(session.map(|session| {
                if known == Some(session.revision) {
                    return LoadedSession::Same;
                }
                let record = Arc::clone(&session.record);
                LoadedSession::Newer(StoredSession::new(record, session.revision))
            }))
        })
    }

    fn touch<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let mut sessions = self.lock();
            let session = sessions.extend_ttl(id, principal, Instant::now(), ttl);
            Ok(session.is_some())
        })
    }

    fn touch_many<'a>(
        &'a self,
        sessions: &'a [(String, Principal)],
        ttl: Duration,
    ) -> StoreFuture<'a, Vec<bool>> {
        Box::pin(async move {
            let (mut stored, now) = (self.lock(), Instant::now());
            let exist = sessions.iter().map(|(id, principal)| {
                let session = stored.extend_ttl(id, principal, now, ttl);
                session.is_some()
            });
            Ok(exist.collect())
        })
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: SessionRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        Box::pin(async move {
            let mut sessions = self.lock();
            let Some(session) = sessions.find(id, principal, Instant::now()) else {
                return Ok(None);
            };
            if session.revision != revision {
                return Ok(None);
            }
            let bytes = record.memory_bytes();
            let before = session.bytes;
            let others = sessions.bytes - before;
            // A record that shrinks is always accepted.
            if bytes > before && others.saturating_add(bytes) > self.limits.bytes {
                return Err(StoreError::Full);
            }
            sessions.bytes = others + bytes;
            let Some(session) = sessions.by_id.get_mut(id) else {
                return Ok(None);
            };
            session.bytes = bytes;
            session.record = Arc::new(record);
            session.revision += 1;
            Ok(Some(session.revision))
        })
    }

    fn delete<'a>(&'a self, id: &'a str, principal: &'a Principal) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let mut sessions = self.lock();
            let found = sessions.find(id, principal, Instant::now()).is_some();
            if found {
                sessions.remove(id);
            }
            Ok(found)
        })
    }

    fn take_expired(&self) -> StoreFuture<'_, Vec<ExpiredSession>> {
        Box::pin(async {
            let mut sessions = self.lock();
            sessions.remove_expired(Instant::now());
            Ok(std::mem::take(&mut sessions.expired).into())
        })
    }
}

#[derive(Debug, Default)]
struct Sessions {
    /// Sessions by id. The server creates random ids.
    by_id: HashMap<Arc<str>, MemorySession, BuildNameHasher>,
    /// Each session once, under a time that is not after its deadline. A lookup only moves the deadline. The position
    /// here is corrected at that time, so that active sessions cost nothing.
    by_deadline: BTreeSet<(Instant, Arc<str>)>,
    /// The number of sessions of each principal, without the anonymous one.
    owned: HashMap<Principal, usize>,
    /// The number of anonymous sessions of each network, if it is known.
    anonymous: HashMap<IpAddr, usize>,
    /// The bytes of all records.
    bytes: usize,
    /// Sessions that have expired and were not taken yet, oldest first.
    expired: VecDeque<ExpiredSession>,
}

/// The maximum number of expired sessions that wait to be taken. Beyond it, the oldest are dropped. A server takes them
/// regularly.
const MAX_EXPIRED: usize = 10_000;

#[derive(Debug)]
struct MemorySession {
    principal: Principal,
    /// The network that opened the session.
    network: Option<IpAddr>,
    record: Arc<SessionRecord>,
    /// The size of the record in memory.
    bytes: usize,
    revision: u64,
    deadline: Instant,
    /// The time of the session in `by_deadline`.
    listed: Instant,
}

impl Sessions {
    fn create(
        &mut self,
        limits: MemorySessionLimits,
        id: &str,
        principal: &Principal,
        record: SessionRecord,
        now: Instant,
        ttl: Duration,
    ) -> Result<StoredSession, StoreError> {
        self.remove_expired(now);
        if self.by_id.contains_key(id) {
            return Err(StoreError::Taken);
        }
        let bytes = record.memory_bytes();
        if self.by_id.len() >= limits.sessions || self.bytes.saturating_add(bytes) > limits.bytes {
            return Err(StoreError::Full);
        }
        if principal.as_str().is_some() {
            let owned = self.owned.get(principal).copied().unwrap_or_default();
            if owned >= limits.sessions_per_principal {
                return Err(StoreError::Full);
            }
            self.owned.insert(principal.clone(), owned + 1);
        }
        if let Some(network) = record.network {
            let limit = limits.sessions_per_address.unwrap_or(usize::MAX);
            let opened = self.anonymous.get(&network).copied().unwrap_or_default();
            if opened >= limit {
                return Err(StoreError::OwnerFull);
            }
            self.anonymous.insert(network, opened + 1);
        }
        let id: Arc<str> = id.into();
        let record = Arc::new(record);
        let deadline = deadline_after(now, ttl);
        let session = MemorySession {
            principal: principal.clone(),
            network: record.network,
            record: Arc::clone(&record),
            bytes,
            revision: 1,
            deadline,
            listed: deadline,
        };
        self.by_deadline.insert((deadline, Arc::clone(&id)));
        self.by_id.insert(id, session);
        self.bytes += bytes;
        Ok(StoredSession::new(record, 1))
    }

    /// Returns the session if it has not ended and belongs to the principal.
    fn find(
        &mut self,
        id: &str,
        principal: &Principal,
        now: Instant,
    ) -> Option<&mut MemorySession> {
        self.by_id
            .get_mut(id)
            .filter(|session| session.principal == *principal && session.deadline > now)
    }

    /// Extends the life of a session by `ttl` from now.
    fn extend_ttl(
        &mut self,
        id: &str,
        principal: &Principal,
        now: Instant,
        ttl: Duration,
    ) -> Option<&MemorySession> {
        let session = self.find(id, principal, now)?;
        session.deadline = deadline_after(now, ttl);
        if session.deadline < session.listed {
            self.list_again(id);
        }
        self.by_id.get(id)
    }

    /// Removes all ended sessions. A session that was used since it was listed is listed again, at most once per
    /// lifetime. So this is cheap on average.
    fn remove_expired(&mut self, now: Instant) {
        while let Some((_, id)) = self.by_deadline.first().filter(|(time, _)| *time <= now) {
            let id = Arc::clone(id);
            if self
                .by_id
                .get(&id)
                .is_some_and(|session| session.deadline > now)
            {
                self.list_again(&id);
            } else {
                self.expire(&id);
            }
        }
    }

    fn expire(&mut self, id: &str) {
        let Some(session) = self.by_id.get(id) else {
            return;
        };
        let expired = ExpiredSession::new(id, session.principal.clone());
        self.remove(id);
        if self.expired.len() >= MAX_EXPIRED {
            self.expired.pop_front();
        }
        self.expired.push_back(expired);
    }

    fn list_again(&mut self, id: &str) {
        let Some((id, session)) = self.by_id.get_key_value(id) else {
            return;
        };
        let id = Arc::clone(id);
        let deadline = session.deadline;
        self.by_deadline.remove(&(session.listed, Arc::clone(&id)));
        if let Some(session) = self.by_id.get_mut(&id) {
            session.listed = deadline;
        }
        self.by_deadline.insert((deadline, id));
    }

    fn remove(&mut self, id: &str) {
        let Some((id, session)) = self.by_id.remove_entry(id) else {
            return;
        };
        self.by_deadline.remove(&(session.listed, id));
        self.bytes -= session.bytes;
        decrement(&mut self.owned, &session.principal);
        if let Some(network) = session.network {
            decrement(&mut self.anonymous, &network);
        }
    }
}

/// Decrements a count and removes it at zero.
fn decrement<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
