//! What an OAuth proxy remembers.

use std::fmt;
use std::time::Duration;

use crate::store::StoreFuture;

/// Remembers clients, logins and grants of an OAuth proxy (`toolwire::auth::OAuthProxy`).
///
/// Records are opaque: the proxy seals them, and the keys they are found by are digests, so that a copy of the store lets
/// nobody in. Nodes that stand for one proxy share the store and the keys that it seals with.
///
/// A record that has expired is treated exactly as one that was never there.
///
/// # Bounds
///
/// A store bounds the records of each kind. A new record never removes the record of another owner that is still
/// protected: the store returns [`StoreError::Full`](crate::store::StoreError::Full) instead.
pub trait ProxyStore: Send + Sync + fmt::Debug {
    /// Stores a record, in the place of one with the same key. In this order:
    ///
    /// 1. If the record has an [owner](NewProxyRecord::owner) that has as many records of this kind as its limit permits,
    ///    the owner's record that expires first is removed, or the new record is rejected, as the owner's
    ///    [`OwnerLimit`] says.
    /// 2. If the store has no room for another record of this kind, the record is removed whose
    ///    [protection](NewProxyRecord::protection) has ended first. If all are protected, the new record is rejected.
    ///
    /// # Errors
    /// Returns [`StoreError::Full`](crate::store::StoreError::Full) if the record is rejected, and another error if the
    /// store does not work.
    fn put<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        record: NewProxyRecord,
    ) -> StoreFuture<'a, ()>;

    /// Reads a record.
    ///
    /// # Errors
    /// When the store does not work.
    fn get<'a>(&'a self, kind: ProxyRecord, key: &'a [u8; 32]) -> StoreFuture<'a, Option<String>>;

    /// Takes a record away: of all who call at once, on all nodes, exactly one gets it.
    ///
    /// # Errors
    /// When the store does not work.
    fn take<'a>(&'a self, kind: ProxyRecord, key: &'a [u8; 32]) -> StoreFuture<'a, Option<String>>;

    /// Replaces a record if its text is still `expected`, and returns whether it was: of all calls at once with the same
    /// `expected` text, on all nodes, exactly one returns `true`. A record that was taken does not come back by this.
    ///
    /// Lifetime, protection and owner become those of the new record. If the owner then has more records than its limit
    /// permits, its other record that expires first is removed. A replacement is never rejected for lack of room.
    ///
    /// # Errors
    /// Returns an error if the store does not work.
    fn replace<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        expected: &'a str,
        record: NewProxyRecord,
    ) -> StoreFuture<'a, bool>;
}

/// A record for a [`ProxyStore`], with its lifetime and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewProxyRecord {
    /// The sealed text.
    pub text: String,
    /// The record expires after this time.
    pub lifetime: Duration,
    /// As long as this, the record is not removed to make room for a record of another owner.
    pub protection: Duration,
    /// On whose account the record is stored. `None` if that is not known: then only the bounds of the store apply.
    pub owner: Option<ProxyOwner>,
}

impl NewProxyRecord {
    /// Creates a record that is protected until it expires, and has no owner.
    #[must_use]
    pub fn new(text: impl Into<String>, lifetime: Duration) -> Self {
        Self {
            text: text.into(),
            lifetime,
            protection: lifetime,
            owner: None,
        }
    }

    /// Sets how long the record is protected. Default: until it expires.
    #[must_use]
    pub fn with_protection(mut self, protection: Duration) -> Self {
        self.protection = protection;
        self
    }

    /// Sets the owner.
    #[must_use]
    pub fn with_owner(mut self, owner: ProxyOwner) -> Self {
        self.owner = Some(owner);
        self
    }
}

/// The owner of records in a [`ProxyStore`]: a user, or the network address that a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyOwner {
    /// Identifies the owner. It is a digest.
    pub key: [u8; 32],
    /// How many records of one kind the owner may have. At least 1.
    pub limit: usize,
    /// What happens to a new record beyond the limit.
    pub at_limit: OwnerLimit,
}

impl ProxyOwner {
    /// Creates an owner that may have `limit` records of one kind.
    #[must_use]
    pub const fn new(key: [u8; 32], limit: usize, at_limit: OwnerLimit) -> Self {
        Self {
            key,
            limit,
            at_limit,
        }
    }
}

/// What happens to a new record of an owner that has as many as its limit permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a store has to implement each of them"
)]
pub enum OwnerLimit {
    /// The owner's record that expires first is removed.
    RemoveFirst,
    /// The new record is rejected.
    Reject,
}

/// What a record is about. Records of different kinds never meet, also under one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProxyRecord {
    /// A client that has registered.
    Client,
    /// A user on the way to the identity provider and back.
    Login,
    /// What a user granted to a client, with the tokens of the identity provider and digests of the proxy's own.
    Grant,
}

impl ProxyRecord {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Client, Self::Login, Self::Grant];

    /// A name for keys of a store, which does not change.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Login => "login",
            Self::Grant => "grant",
        }
    }
}
