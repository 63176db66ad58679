//! What the proxy remembers, as it stands in the store: sealed, each under the digest of what it is found by.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolwire_types::auth::Secret;

use super::upstream::UpstreamUser;
use crate::store::ProxyRecord;

/// What a record is found by: the digest of something secret.
pub(super) type Key = [u8; 32];

/// Something that is kept in the store.
pub(super) trait Record: Serialize + DeserializeOwned {
    const KIND: ProxyRecord;
}

/// A client, registered here or described by a document of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) client_id: String,
    /// The digest of its password; public clients have none.
    pub(super) secret: Option<Key>,
    pub(super) redirect_uris: Vec<String>,
    pub(super) name: Option<String>,
}

impl Record for Client {
    const KIND: ProxyRecord = ProxyRecord::Client;
}

/// What a client asked for, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) client_id: String,
    pub(super) redirect_uri: String,
    pub(super) state: Option<String>,
    pub(super) code_challenge: String,
    /// Separated by spaces.
    pub(super) scopes: String,
}

/// A user on the way to the identity provider and back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Login {
    pub(super) asked: Asked,
    /// The proxy's own, for the identity provider.
    pub(super) code_verifier: Secret,
}

impl Record for Login {
    const KIND: ProxyRecord = ProxyRecord::Login;
}

/// A code that was not redeemed yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Code {
    pub(super) client_id: String,
    pub(super) redirect_uri: String,
    pub(super) code_challenge: String,
}

impl Record for Code {
    const KIND: ProxyRecord = ProxyRecord::Code;
}

/// What a user granted to a client. While it is there its tokens are good.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) client_id: String,
    pub(super) scopes: String,
    pub(super) user: UpstreamUser,
    pub(super) upstream: UpstreamTokens,
    /// Seconds since the Unix epoch.
    pub(super) ends_at: u64,
}

impl Record for Grant {
    const KIND: ProxyRecord = ProxyRecord::Grant;
}

/// The tokens of the identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UpstreamTokens {
    pub(super) access_token: Secret,
    pub(super) refresh_token: Option<Secret>,
    pub(super) expires_at: Option<u64>,
}

/// An access token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AccessToken {
    pub(super) grant: Key,
    pub(super) client_id: String,
    pub(super) scopes: String,
    /// Whom it is for.
    pub(super) resource: String,
    pub(super) expires_at: u64,
}

impl Record for AccessToken {
    const KIND: ProxyRecord = ProxyRecord::AccessToken;
}

/// A refresh token that was not used yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RefreshToken {
    pub(super) client_id: String,
    pub(super) scopes: String,
}

impl Record for RefreshToken {
    const KIND: ProxyRecord = ProxyRecord::RefreshToken;
}
