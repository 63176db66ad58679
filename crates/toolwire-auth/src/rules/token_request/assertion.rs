//! The assertion that a client signs for its authentication.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

/// The validity of an assertion, in seconds.
pub(crate) const ASSERTION_LIFETIME: u64 = 300;

/// The claims of a client assertion (RFC 7523, section 3). The client signs them with its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub(crate) struct ClientAssertionClaims {
    /// The client's id.
    pub iss: String,
    /// The client's id, the same as `iss`.
    pub sub: String,
    /// The issuer of the authorization server. The token endpoint is not used: an attacker may publish another server's
    /// endpoint as its own, but not its issuer (draft-ietf-oauth-rfc7523bis, section 4).
    pub aud: String,
    /// A unique id.
    pub jti: String,
    /// The issue time.
    pub iat: u64,
    /// The expiry.
    pub exp: u64,
}

impl ClientAssertionClaims {
    /// Creates the claims of a client for an issuer, at a time in seconds since the Unix epoch, with random bytes.
    #[must_use]
    pub(crate) fn new(client_id: &str, issuer: &str, now: u64, random: [u8; 16]) -> Self {
        Self {
            iss: client_id.to_owned(),
            sub: client_id.to_owned(),
            aud: issuer.to_owned(),
            jti: URL_SAFE_NO_PAD.encode(random),
            iat: now,
            exp: now.saturating_add(ASSERTION_LIFETIME),
        }
    }
}
