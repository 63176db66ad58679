//! What an OAuth proxy remembers.

use std::fmt;
use std::time::Duration;

use crate::store::StoreFuture;

/// Remembers clients, logins and tokens of an OAuth proxy (`toolwire::auth::OAuthProxy`).
///
/// Records are opaque: the proxy seals them, and the keys they are found by are digests, so that a copy of the store lets
/// nobody in. Nodes that stand for one proxy share the store and the keys that it seals with.
///
/// A record that has expired is treated exactly as one that was never there.
pub trait ProxyStore: Send + Sync + fmt::Debug {
    /// Keeps a record for a time, in the place of one that is there.
    ///
    /// # Errors
    /// When the store does not work. A store that is full makes room: those records go first that would expire first.
    fn put<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        record: String,
        lifetime: Duration,
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

    /// Keeps a record for a time if there is one in its place already, and says whether there was. A record that was
    /// taken does not come back by this.
    ///
    /// # Errors
    /// When the store does not work.
    fn replace<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        record: String,
        lifetime: Duration,
    ) -> StoreFuture<'a, bool>;
}

/// What a record is about. Records of different kinds never meet, also under one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProxyRecord {
    /// A client that has registered.
    Client,
    /// A user on the way to the identity provider and back.
    Login,
    /// A code that was not redeemed yet.
    Code,
    /// What a user granted to a client, with the tokens of the identity provider.
    Grant,
    /// An access token.
    AccessToken,
    /// A refresh token that was not used yet.
    RefreshToken,
}

impl ProxyRecord {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Client,
        Self::Login,
        Self::Code,
        Self::Grant,
        Self::AccessToken,
        Self::RefreshToken,
    ];

    /// A name for keys of a store, which does not change.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Login => "login",
            Self::Code => "code",
            Self::Grant => "grant",
            Self::AccessToken => "access-token",
            Self::RefreshToken => "refresh-token",
        }
    }
}
