//! The store of sessions of the 2025 revisions. Any node can load a session.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire_types::{ClientCapabilities, Implementation, LoggingLevel, ProtocolVersion};

use crate::engine::{Principal, json_bytes};
use crate::store::StoreFuture;

/// The stored state of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionRecord {
    /// The version that `initialize` negotiated.
    pub version: ProtocolVersion,
    /// The capabilities that the client declared.
    pub capabilities: ClientCapabilities,
    /// The client's name and version.
    pub client_info: Option<Implementation>,
    /// Whether `notifications/initialized` was received.
    pub initialized: bool,
    /// The level of `logging/setLevel`.
    pub log_level: Option<LoggingLevel>,
    /// The resources of `resources/subscribe`.
    pub subscriptions: BTreeSet<String>,
    /// The network that opened an anonymous session, if it is known: an IPv4 address, or an IPv6 network of 64 bits. It
    /// is set at creation, for stores that limit the sessions of each network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<IpAddr>,
}

impl SessionRecord {
    /// Creates the record of a session that was just initialized.
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
    /// Returns the approximate size of this record in memory, in bytes, for stores that limit it.
    ///
    /// The server rejects clients whose record would exceed about 64 KiB.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + json_bytes(self)
    }

    /// Returns this record with the differences between `before` and `after`. For callers whose replacement failed
    /// because of a concurrent change.
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

/// A stored record with its revision.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredSession {
    /// The record.
    pub record: Arc<SessionRecord>,
    /// The revision. It grows with each replacement.
    pub revision: u64,
}

impl StoredSession {
    /// Creates a stored record.
    #[must_use]
    pub fn new(record: Arc<SessionRecord>, revision: u64) -> Self {
        Self { record, revision }
    }
}

/// A session that has expired.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpiredSession {
    /// The session id.
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
    /// Omits the session id, because it grants access to the session.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiredSession").finish_non_exhaustive()
    }
}

/// A store of sessions.
///
/// A session ends `ttl` after it was created, loaded or touched for the last time. After that, and for other
/// principals, it does not exist.
///
/// The streams of a session end with it. A store returns expired sessions from [`take_expired`](Self::take_expired),
/// and the server removes their streams from its [`EventLog`](crate::store::EventLog). A shared store that removes
/// expired sessions by itself, such as a database with a time to live, does the same. Otherwise, it expires the streams
/// of its event log no later than their session.
pub trait SessionStore: Send + Sync + fmt::Debug {
    /// Stores a new session under an unused id.
    ///
    /// # Errors
    /// Returns [`StoreError::Full`](crate::store::StoreError::Full) if the store or the principal has too many
    /// sessions, and [`StoreError::Unavailable`](crate::store::StoreError::Unavailable) if the id is in use.
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: SessionRecord,
        ttl: Duration,
    ) -> StoreFuture<'a, StoredSession>;

    /// Returns a session and extends its life by `ttl` from now.
    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, Option<StoredSession>>;

    /// Extends the life of a session by `ttl` from now. Returns `false` if it does not exist.
    fn touch<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Replaces a record if its revision is still `revision`. Returns the new revision, or `None` if another change
    /// came first or the session does not exist. The remaining time does not change.
    fn replace<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: SessionRecord,
    ) -> StoreFuture<'a, Option<u64>>;

    /// Ends a session. Returns `false` if it does not exist.
    fn delete<'a>(&'a self, id: &'a str, principal: &'a Principal) -> StoreFuture<'a, bool>;

    /// Returns the sessions that have expired since the last call. Each is returned at most once, by one node.
    ///
    /// The server calls it periodically. The default implementation returns nothing, for stores that expire the streams
    /// of a session themselves.
    fn take_expired(&self) -> StoreFuture<'_, Vec<ExpiredSession>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
