//! What the proxy remembers, as it stands in the store: sealed, each under the digest of what it is found by.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolwire_types::auth::Secret;

use crate::auth::proxy::upstream::UpstreamUser;
use crate::store::ProxyRecord;

/// What a record is found by: the digest of something secret.
pub(super) type RecordDigest = [u8; 32];

/// Something that is kept in the store.
pub(super) trait ProxyEntry: Serialize + DeserializeOwned {
    const KIND: ProxyRecord;
}

/// A client, registered here or described by a document of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClientRecord {
    pub(super) client_id: String,
    /// The digest of its password; public clients have none.
    pub(super) secret: Option<RecordDigest>,
    pub(super) redirect_uris: Vec<String>,
    pub(super) name: Option<String>,
    /// The digest of the user who got the first token through it. `None` until then.
    pub(super) first_user: Option<RecordDigest>,
}

impl ProxyEntry for ClientRecord {
    const KIND: ProxyRecord = ProxyRecord::Client;
}

/// What a client asked for, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuthorizationRecord {
    pub(super) client_id: String,
    pub(super) redirect_uri: String,
    pub(super) state: Option<String>,
    pub(super) code_challenge: String,
    /// Separated by spaces.
    pub(super) scopes: String,
}

/// A user on the way to the identity provider and back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LoginRecord {
    pub(super) asked: AuthorizationRecord,
    /// The proxy's own, for the identity provider.
    pub(super) code_verifier: Secret,
}

impl ProxyEntry for LoginRecord {
    const KIND: ProxyRecord = ProxyRecord::Login;
}

/// What a user granted to a client, with everything that was issued for it. While it is there its tokens are good.
///
/// One record holds all of it, so that a store can bound what one user occupies, and so that every step of a login is
/// one replacement of the record: of two nodes that try the same step at once, one succeeds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct GrantRecord {
    pub(super) client_id: String,
    pub(super) scopes: String,
    /// The resource that its tokens are for.
    pub(super) resource: String,
    pub(super) user: UpstreamUser,
    /// All claims of the last ID token, for the filter of users. `None` if the provider can be asked again, or there is no
    /// filter.
    pub(super) id_token_claims: Option<Map<String, Value>>,
    pub(super) upstream: UpstreamTokens,
    /// Seconds since the Unix epoch.
    pub(super) ends_at: u64,
    /// The code, until it is redeemed.
    pub(super) code: Option<CodeRecord>,
    /// The digest of the refresh token that is good.
    pub(super) refresh: Option<RecordDigest>,
    /// The refresh token before it.
    pub(super) used_refresh: Option<UsedRefresh>,
    /// Oldest first.
    pub(super) access: Vec<AccessToken>,
}

impl ProxyEntry for GrantRecord {
    const KIND: ProxyRecord = ProxyRecord::Grant;
}

/// A code that was not redeemed yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CodeRecord {
    pub(super) digest: RecordDigest,
    pub(super) redirect_uri: String,
    pub(super) code_challenge: String,
    /// Seconds since the Unix epoch.
    pub(super) expires_at: u64,
}

/// A refresh token that was used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct UsedRefresh {
    pub(super) digest: RecordDigest,
    /// When it was used first, in seconds since the Unix epoch.
    pub(super) used_at: u64,
    /// The successor is derived from this and the token itself, which is not stored.
    pub(super) salt: RecordDigest,
}

/// An access token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AccessToken {
    pub(super) digest: RecordDigest,
    pub(super) scopes: String,
    /// Seconds since the Unix epoch.
    pub(super) expires_at: u64,
}

/// The tokens of the identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UpstreamTokens {
    pub(super) access_token: Secret,
    pub(super) refresh_token: Option<Secret>,
    pub(super) expires_at: Option<u64>,
}
