//! Sessions of the 2025 revisions, as any node may load them.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire_types::{ClientCapabilities, Implementation, LoggingLevel, ProtocolVersion};

use crate::engine::{Principal, json_bytes};
use crate::store::StoreFuture;

/// What is remembered about the client of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionRecord {
    /// What `initialize` negotiated.
    pub version: ProtocolVersion,
    /// What the client declared.
    pub capabilities: ClientCapabilities,
    /// What the client calls itself.
    pub client_info: Option<Implementation>,
    /// Whether `notifications/initialized` came.
    pub initialized: bool,
    /// The level of `logging/setLevel`.
    pub log_level: Option<LoggingLevel>,
    /// The resources of `resources/subscribe`.
    pub subscriptions: BTreeSet<String>,
    /// The network that opened an anonymous session, if it is known: an IPv4 address, or an IPv6 network of 64 bits. Set
    /// when the session is created, for stores that limit the sessions of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<IpAddr>,
}

impl SessionRecord {
    /// The record of a session that was just initialized.
    #[must_use]
    pub fn new(
        version: ProtocolVersion,
        capabilities: ClientCapabilities,
        client_info: Option<Implementation>,
    ) -> Self {
        Self {
            version,
            capabilities,
            client_info,
            initialized: false,
            log_level: None,
            subscriptions: BTreeSet::new(),
            network: None,
        }
    }
}

impl SessionRecord {
    /// Returns about how many bytes this record takes in memory, for stores that limit them.
    ///
    /// The server rejects clients whose record would take much more than 64 KiB.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + json_bytes(self)
    }

    /// This record with the changes that lead from `before` to `after`, for those who find that another change came first.
    #[must_use]
    pub fn with_changes(&self, before: &Self, after: &Self) -> Self {
        let mut merged = self.clone();
        merged.initialized |= after.initialized;
        if after.log_level != before.log_level {
            merged.log_level = after.log_level;
        }
        for added in after.subscriptions.difference(&before.subscriptions) {
            merged.subscriptions.insert(added.clone());
        }
        for removed in before.subscriptions.difference(&after.subscriptions) {
            merged.subscriptions.remove(removed);
        }
        merged
    }
}

/// A record with the number of its last change.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredSession {
    /// The record.
    pub record: Arc<SessionRecord>,
    /// Grows with every replacement.
    pub revision: u64,
}

impl StoredSession {
    /// A record as it is stored.
    #[must_use]
    pub fn new(record: Arc<SessionRecord>, revision: u64) -> Self {
        Self { record, revision }
    }
}

/// A session that has expired.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpiredSession {
    /// The id.
    pub id: String,
    /// The principal that the session belonged to.
    pub principal: Principal,
}

impl ExpiredSession {
    /// Creates the record of a session that has expired.
    #[must_use]
    pub fn new(id: impl Into<String>, principal: Principal) -> Self {
        Self {
            id: id.into(),
            principal,
        }
    }
}

impl fmt::Debug for ExpiredSession {
    /// Session ids do not print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiredSession").finish_non_exhaustive()
    }
}

/// Where sessions are kept.
///
/// A session ends `ttl` after it was created, loaded or touched for the last time. After that, and for anybody but its
/// principal, it does not exist.
///
/// The streams of a session end with it. A store returns expired sessions from [`take_expired`](Self::take_expired), and the
/// server removes their streams from its [`EventLog`](crate::store::EventLog). A shared store that removes expired sessions
/// by itself, as a database with a time to live does, either does the same or expires the streams of its event log no later
/// than their session.
pub trait SessionStore: Send + Sync + fmt::Debug {
    /// Keeps a new session under an id that was never used.
    ///
    /// # Errors
    /// [`StoreError::Full`](crate::store::StoreError::Full) when the store or the principal has too many sessions,
    /// [`StoreError::Unavailable`](crate::store::StoreError::Unavailable) when the id is in use after all.
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: SessionRecord,
        ttl: Duration,
    ) -> StoreFuture<'a, StoredSession>;

    /// Reads a session and lets it live for another `ttl`.
    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, Option<StoredSession>>;

    /// Lets a session live for another `ttl`; false when it does not exist.
    fn touch<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Replaces a record if it is still the one of `revision`; the new revision, or `None` when somebody else was
    /// faster or the session does not exist. The time it has left does not change.
    fn replace<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: SessionRecord,
    ) -> StoreFuture<'a, Option<u64>>;

    /// Ends a session; false when it does not exist.
    fn delete<'a>(&'a self, id: &'a str, principal: &'a Principal) -> StoreFuture<'a, bool>;

    /// Returns the sessions that have expired since the last call. Each is returned at most once, by one node.
    ///
    /// The server calls it from time to time. The default implementation returns nothing, for stores that expire the
    /// streams of a session themselves.
    fn take_expired(&self) -> StoreFuture<'_, Vec<ExpiredSession>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
