//! The store of an OAuth proxy.

use std::fmt;
use std::time::Duration;

use toolwire::BoxFuture;
use toolwire::store::StoreError;

/// A store of clients, logins and grants of an OAuth proxy (`toolwire_auth::OAuthProxy`).
///
/// Records are opaque: the proxy seals them, and their keys are digests. So a copy of the store grants no access. Nodes
/// of one proxy share the store and the sealing keys.
///
/// An expired record is treated exactly like an absent record.
///
/// # Limits
///
/// A store limits the records of each kind. A new record never removes a protected record of another owner. The store
/// returns [`StoreError::Full`](toolwire::store::StoreError::Full) instead.
pub trait ProxyStore: Send + Sync + fmt::Debug {
    /// Stores a record, and replaces a record with the same key. In this order:
    ///
    /// 1. If the record has an [owner](NewProxyRecord::owner) that has reached its limit of records of this kind, the
    ///    owner's [`OwnerLimit`] decides: its record that expires first is removed, or the new record is rejected.
    /// 2. If the store is full for this kind, the record whose [protection](NewProxyRecord::protection) ended first is
    ///    removed. If all are protected, the new record is rejected.
    ///
    /// # Errors
    /// Returns [`StoreError::Full`](toolwire::store::StoreError::Full) if the record is rejected, and another error if
    /// the store fails.
    fn put<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        record: NewProxyRecord,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns a record.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn get<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Removes and returns a record. Of concurrent calls, on all nodes, exactly one gets it.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn take<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Replaces a record if its text is still `expected`, and returns whether it was. Of concurrent calls with the same
    /// `expected` text, on all nodes, exactly one returns `true`. A taken record is not restored.
    ///
    /// The new record sets lifetime, protection and owner. If the owner then exceeds its limit, its other record that
    /// expires first is removed. A replacement is never rejected because the store is full.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn replace<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        expected: &'a str,
        record: NewProxyRecord,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Checks that the store can be used now. The default implementation returns `Ok`, for stores in memory.
    ///
    /// # Errors
    /// Returns an error if the store cannot be used.
    fn check(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

/// A record for a [`ProxyStore`], with its lifetime and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewProxyRecord {
    /// The sealed text.
    pub text: String,
    /// The record expires after this time.
    pub lifetime: Duration,
    /// During this time, the record is not removed for a record of another owner.
    pub protection: Duration,
    /// The owner of the record. `None` if it is unknown: then only the limits of the store apply.
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

/// The owner of records in a [`ProxyStore`]: a user, or the network address of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyOwner {
    /// The digest that identifies the owner.
    pub key: [u8; 32],
    /// The maximum number of records of one kind. At least 1.
    pub limit: usize,
    /// The treatment of a new record beyond the limit.
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

/// The treatment of a new record of an owner that has reached its limit.
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

/// The kind of a record. Kinds are separate: two records of different kinds may have one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProxyRecord {
    /// A registered client.
    Client,
    /// A login in progress at the identity provider.
    Login,
    /// A user's grant to a client, with the tokens of the identity provider and digests of the proxy's own tokens.
    Grant,
}

impl ProxyRecord {
    /// All kinds of records.
    pub const ALL: [Self; 3] = [Self::Client, Self::Login, Self::Grant];

    /// Returns a stable name for keys of a store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Login => "login",
            Self::Grant => "grant",
        }
    }
}
