//! Sessions in memory.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::{BuildNameHasher, Principal, deadline_after};
use crate::store::{
    ExpiredSession, SessionRecord, SessionStore, StoreError, StoreFuture, StoredSession,
};

/// How much a [`MemorySessionStore`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemorySessionLimits {
    /// Sessions of everybody together: 10 000 by default.
    pub sessions: usize,
    /// Sessions of one principal: 100 by default. Without authorization everybody is the anonymous principal, so this
    /// bound does not hold for it.
    pub sessions_per_principal: usize,
    /// Bytes of the records of all sessions together: 64 MiB by default.
    pub bytes: usize,
    /// Anonymous sessions of one IPv4 address, or one IPv6 network of 64 bits. Behind a reverse proxy all clients have one
    /// address. No limit by default.
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
    /// Bounds the sessions of everybody together.
    #[must_use]
    pub fn with_sessions(mut self, sessions: usize) -> Self {
        self.sessions = sessions;
        self
    }

    /// Bounds the sessions of one principal, except the anonymous one.
    #[must_use]
    pub fn with_sessions_per_principal(mut self, sessions: usize) -> Self {
        self.sessions_per_principal = sessions;
        self
    }

    /// Sets the limit on the anonymous sessions of one address.
    #[must_use]
    pub fn with_sessions_per_address(mut self, sessions: usize) -> Self {
        self.sessions_per_address = Some(sessions);
        self
    }

    /// Sets the limit on the bytes of all records together.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }
}

/// Keeps sessions in the memory of this process.
#[derive(Default)]
pub struct MemorySessionStore {
    limits: MemorySessionLimits,
    sessions: Mutex<Sessions>,
}

impl MemorySessionStore {
    /// A store without sessions.
    #[must_use]
    pub fn new(limits: MemorySessionLimits) -> Self {
        Self {
            limits,
            sessions: Mutex::default(),
        }
    }

    /// How many sessions there are that have not ended.
    #[must_use]
    pub fn len(&self) -> usize {
        let mut sessions = self.lock();
        sessions.remove_expired(Instant::now());
        sessions.by_id.len()
    }

    /// Whether there are no sessions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemorySessionStore {
    /// The ids of sessions are handles, so none prints.
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
    ) -> StoreFuture<'a, Option<StoredSession>> {
        Box::pin(async move { Ok(self.lock().extend_ttl(id, principal, Instant::now(), ttl)) })
    }

    fn touch<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let session = self.lock().extend_ttl(id, principal, Instant::now(), ttl);
            Ok(session.is_some())
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
            // A record that shrinks always fits.
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
    /// Ids are random, and made here.
    by_id: HashMap<Arc<str>, MemorySession, BuildNameHasher>,
    /// Every session once, under a time that is not after its deadline. A look-up only moves the deadline; the place
    /// in here is corrected when its time has come, so that the busy sessions cost nothing.
    by_deadline: BTreeSet<(Instant, Arc<str>)>,
    /// How many sessions each principal has, without the anonymous one.
    owned: HashMap<Principal, usize>,
    /// How many anonymous sessions each network has, where it is known.
    anonymous: HashMap<IpAddr, usize>,
    /// The bytes of all records.
    bytes: usize,
    /// Sessions that have expired and were not taken yet, the oldest first.
    expired: VecDeque<ExpiredSession>,
}

/// Expired sessions that wait to be taken. Beyond that the oldest are dropped: a server takes them regularly.
const MAX_EXPIRED: usize = 10_000;

#[derive(Debug)]
struct MemorySession {
    principal: Principal,
    /// The network that opened it.
    network: Option<IpAddr>,
    record: Arc<SessionRecord>,
    /// What the record takes in memory.
    bytes: usize,
    revision: u64,
    deadline: Instant,
    /// The time it has in `by_deadline`.
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
            return Err(StoreError::unavailable("the session id is in use"));
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

    /// The session, if it has not ended and belongs to the principal.
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

    /// Lets a session live for another `ttl`.
    fn extend_ttl(
        &mut self,
        id: &str,
        principal: &Principal,
        now: Instant,
        ttl: Duration,
    ) -> Option<StoredSession> {
        let session = self.find(id, principal, now)?;
        session.deadline = deadline_after(now, ttl);
        let stored = StoredSession::new(Arc::clone(&session.record), session.revision);
        if session.deadline < session.listed {
            self.list_again(id);
        }
        Some(stored)
    }

    /// Removes every session that has ended. A session that was used since it was listed is listed again, at most once
    /// per lifetime, which makes this cheap on average.
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

/// Counts one less, and removes a count that reaches zero.
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
