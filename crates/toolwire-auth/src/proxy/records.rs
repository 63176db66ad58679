//! The records of the proxy in the store. Each is sealed and stored under the digest of its lookup value.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::documents::Secret;
use crate::proxy::store::ProxyRecord;
use crate::proxy::upstream::UpstreamUser;

/// The key of a record: the digest of a secret.
pub(super) type RecordDigest = [u8; 32];

/// A record that can be stored.
pub(super) trait ProxyEntry: Serialize + DeserializeOwned {
    const KIND: ProxyRecord;
}

/// A client that is registered here or described by a metadata document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClientRecord {
    pub(super) client_id: String,
    /// The digest of its secret. `None` for public clients.
    pub(super) secret: Option<RecordDigest>,
    pub(super) redirect_uris: Vec<String>,
    pub(super) name: Option<String>,
    /// The digest of the user who got the first token through it. `None` until then.
    pub(super) first_user: Option<RecordDigest>,
    /// When a token last prolonged the registration, in seconds since the Unix epoch. `None` until the first token.
    #[serde(default)]
    pub(super) prolonged_at: Option<u64>,
}

impl ProxyEntry for ClientRecord {
    const KIND: ProxyRecord = ProxyRecord::Client;
}

/// A checked authorization request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuthorizationRecord {
    pub(super) client_id: String,
    pub(super) redirect_uri: String,
    pub(super) state: Option<String>,
    pub(super) code_challenge: String,
    /// The scopes, separated by spaces.
    pub(super) scopes: String,
}

/// A login in progress at the identity provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LoginRecord {
    pub(super) authorization: AuthorizationRecord,
    /// The proxy's PKCE verifier for the identity provider.
    pub(super) code_verifier: Secret,
}

impl ProxyEntry for LoginRecord {
    const KIND: ProxyRecord = ProxyRecord::Login;
}

/// A user's grant to a client, with all tokens that were issued for it. The tokens are valid as long as the record
/// exists.
///
/// One record holds all of it, so that a store can limit the space of one user. Each step of a login replaces the
/// record: of two nodes that try the same step at once, one succeeds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct GrantRecord {
    pub(super) client_id: String,
    pub(super) scopes: String,
    /// The resource that its tokens are for.
    pub(super) resource: String,
    pub(super) user: UpstreamUser,
    /// All claims of the last ID token, for the user filter. `None` if the provider supports user info requests, or if
    /// there is no filter.
    pub(super) id_token_claims: Option<Map<String, Value>>,
    pub(super) upstream: UpstreamTokens,
    /// The end, in seconds since the Unix epoch.
    pub(super) ends_at: u64,
    /// The code, until it is redeemed.
    pub(super) code: Option<CodeRecord>,
    /// The digest of the valid refresh token.
    pub(super) refresh: Option<RecordDigest>,
    /// The previous refresh token.
    pub(super) used_refresh: Option<UsedRefresh>,
    /// The access tokens, oldest first.
    pub(super) access: Vec<AccessToken>,
    /// The renewal of the tokens of the identity provider that is in progress.
    #[serde(default)]
    pub(super) renewal: Option<Renewal>,
}

impl ProxyEntry for GrantRecord {
    const KIND: ProxyRecord = ProxyRecord::Grant;
}

/// A code that is not redeemed yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CodeRecord {
    pub(super) digest: RecordDigest,
    pub(super) redirect_uri: String,
    pub(super) code_challenge: String,
    /// The expiry, in seconds since the Unix epoch.
    pub(super) expires_at: u64,
}

/// A used refresh token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct UsedRefresh {
    pub(super) digest: RecordDigest,
    /// The time of the first use, in seconds since the Unix epoch.
    pub(super) used_at: u64,
    /// The salt of the successor, which is derived from it and the token itself. The token is not stored.
    pub(super) salt: RecordDigest,
}

/// A renewal of the tokens of the identity provider. All nodes see it, so that one of them uses the refresh token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Renewal {
    /// The id of the renewal.
    pub(super) id: RecordDigest,
    /// When another node may renew the tokens, in seconds since the Unix epoch.
    pub(super) until: u64,
}

/// An issued access token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AccessToken {
    pub(super) digest: RecordDigest,
    pub(super) scopes: String,
    /// The expiry, in seconds since the Unix epoch.
    pub(super) expires_at: u64,
}

/// The tokens of the identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UpstreamTokens {
    pub(super) access_token: Secret,
    pub(super) refresh_token: Option<Secret>,
    pub(super) expires_at: Option<u64>,
}
