//! The store of sessions of the 2025 revisions. Any node can load a session.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolwire_types::{ClientCapabilities, Implementation, LoggingLevel, ProtocolVersion};

use crate::engine::{Principal, json_bytes};
use crate::store::{Bus, StoreError, StoreFuture};

/// The first byte of an encoded record. A change that older versions cannot read increments it.
const RECORD_FORMAT: u8 = 1;

/// The stored state of one session.
///
/// Nodes of different versions may share a store. So every field except the version has a default, and fields of newer
/// versions are retained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionRecord {
    /// The version that `initialize` negotiated.
    pub version: ProtocolVersion,
    /// The capabilities that the client declared.
    #[serde(default)]
    pub capabilities: ClientCapabilities,
    /// The client's name and version.
    #[serde(default)]
    pub client_info: Option<Implementation>,
    /// Whether `notifications/initialized` was received.
    #[serde(default)]
    pub initialized: bool,
    /// The level of `logging/setLevel`.
    #[serde(default)]
    pub log_level: Option<LoggingLevel>,
    /// The resources of `resources/subscribe`.
    #[serde(default)]
    pub subscriptions: BTreeSet<String>,
    /// The network that opened an anonymous session, if it is known: an IPv4 address, or an IPv6 network of 64 bits. It
    /// is set at creation, for stores that limit the sessions of each network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<IpAddr>,
    /// The fields of newer versions.
    #[serde(flatten)]
    newer: Map<String, Value>,
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
            newer: Map::new(),
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

    /// Encodes this record for a store: one byte for the format, and JSON.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![RECORD_FORMAT];
        serde_json::to_writer(&mut bytes, self).expect("a record contains only JSON values");
        bytes
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// Returns [`StoreError::UnsupportedFormat`] if the bytes are not a record in a format that this version reads.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        let record = match bytes {
            [RECORD_FORMAT, json @ ..] => serde_json::from_slice(json).ok(),
            _ => None,
        };
        record.ok_or(StoreError::UnsupportedFormat)
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

/// A session that was loaded.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum LoadedSession {
    /// The record has the revision that the caller knows.
    Same,
    /// The record has another revision.
    Newer(StoredSession),
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
    /// sessions, and [`StoreError::Taken`](crate::store::StoreError::Taken) if the id is in use.
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: SessionRecord,
        ttl: Duration,
    ) -> StoreFuture<'a, StoredSession>;

    /// Returns a session and extends its life by `ttl` from now. The record is returned only if its revision is not
    /// `known`. Returns `None` if the session does not exist.
    ///
    /// A store may extend the life of a session that was extended a short time ago, up to an eighth of `ttl`, only later.
    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
        known: Option<u64>,
    ) -> StoreFuture<'a, Option<LoadedSession>>;

    /// Returns a session and extends its life like [`load`](Self::load), after `notifications/initialized` has arrived.
    ///
    /// A store that can do both in one step sets [`initialized`](SessionRecord::initialized) in the record before it returns
    /// it. Otherwise the server replaces the record afterwards. The default implementation only loads the session.
    fn load_initialized<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, Option<LoadedSession>> {
        self.load(id, principal, ttl, None)
    }

    /// Extends the life of a session by `ttl` from now. Returns `false` if it does not exist.
    fn touch<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, bool>;

    /// Extends the life of several sessions by `ttl` from now. Returns for each whether it exists.
    ///
    /// The server calls it at intervals for all sessions with an open stream. The default implementation calls
    /// [`touch`](Self::touch) for each.
    fn touch_many<'a>(
        &'a self,
        sessions: &'a [(String, Principal)],
        ttl: Duration,
    ) -> StoreFuture<'a, Vec<bool>> {
        Box::pin(async move {
            let mut exist = Vec::with_capacity(sessions.len());
            for (id, principal) in sessions {
                exist.push(self.touch(id, principal, ttl).await?);
            }
            Ok(exist)
        })
    }

    /// Replaces a record if its revision is still `revision`. Returns the new revision, or `None` if another change
    /// came first or the session does not exist. The remaining time does not change.
    fn replace<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: SessionRecord,
    ) -> StoreFuture<'a, Option<u64>>;

    /// Replaces a record like [`replace`](Self::replace), and publishes it to the other nodes in the same step, as a message of
    /// `node` ([`BusMessage::session_updated`](crate::store::BusMessage::session_updated)).
    ///
    /// Returns `None` if the store cannot publish on this bus, or not at this moment. Then the server replaces the record and publishes it afterwards.
    /// The default implementation returns `None`. A store finds out whether it uses the engine of the bus with
    /// [`Bus::as_any`].
    fn replace_and_publish<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: &'a SessionRecord,
        bus: &'a dyn Bus,
        node: &'a str,
    ) -> Option<StoreFuture<'a, Option<u64>>> {
        let _ = (id, principal, revision, record, bus, node);
        None
    }

    /// Ends a session. Returns `false` if it does not exist.
    fn delete<'a>(&'a self, id: &'a str, principal: &'a Principal) -> StoreFuture<'a, bool>;

    /// Returns the sessions that have expired since the last call. Each is returned at most once, by one node.
    ///
    /// The server calls it periodically. The default implementation returns nothing, for stores that expire the streams
    /// of a session themselves.
    fn take_expired(&self) -> StoreFuture<'_, Vec<ExpiredSession>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Checks that the store can be used now. The default implementation returns `Ok`, for stores in memory.
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as version 0.1.0 writes it.
    const RECORD_0_1_0: &str = "\u{1}{\"version\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}},\
        \"clientInfo\":{\"name\":\"client\",\"version\":\"1\"},\"initialized\":true,\"logLevel\":\"error\",\
        \"subscriptions\":[\"notes://a\"],\"network\":\"192.0.2.1\"}";

    fn parse(text: &str) -> Result<SessionRecord, StoreError> {
        SessionRecord::from_bytes(text.as_bytes())
    }

    #[test]
    fn records_of_earlier_versions_are_read_and_written_unchanged() {
        let record = parse(RECORD_0_1_0).unwrap();
        assert!(record.initialized);
        assert_eq!(record.log_level, Some(LoggingLevel::Error));
        assert!(record.subscriptions.contains("notes://a"));
        assert_eq!(record.network, Some(IpAddr::from([192, 0, 2, 1])));
        assert_eq!(record.to_bytes(), RECORD_0_1_0.as_bytes());
    }

    #[test]
    fn missing_fields_have_defaults() {
        let record = parse("\u{1}{\"version\":\"2025-06-18\"}").unwrap();
        let version = "2025-06-18".parse().unwrap();
        let expected = SessionRecord::new(version, ClientCapabilities::default(), None);
        assert_eq!(record, expected);
    }

    #[test]
    fn fields_of_newer_versions_survive_a_change() {
        let newer = RECORD_0_1_0.replace(
            "\"initialized\"",
            "\"quota\":{\"calls\":[7]},\"initialized\"",
        );
        let before = parse(&newer).unwrap();
        let mut after = before.clone();
        after.subscriptions.insert("notes://b".to_owned());
        after.newer.clear();
        let changed = before.with_changes(&before, &after);
        let written = String::from_utf8(changed.to_bytes()).unwrap();
        assert!(written.contains("\"quota\":{\"calls\":[7]}"), "{written}");
        assert!(written.contains("notes://b"), "{written}");
    }

    #[test]
    fn other_formats_are_rejected() {
        let json = &RECORD_0_1_0[1..];
        for text in ["", "\u{1}", "\u{1}{}", json, &format!("\u{2}{json}")] {
            let rejected = parse(text);
            assert!(
                matches!(rejected, Err(StoreError::UnsupportedFormat)),
                "{text}: {rejected:?}"
            );
        }
    }
}
