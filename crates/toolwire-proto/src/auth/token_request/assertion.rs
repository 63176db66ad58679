//! What a client signs to prove who it is.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

/// For how many seconds an assertion is good.
pub const ASSERTION_LIFETIME: u64 = 300;

/// The claims of a client's assertion (RFC 7523, section 3), to be signed with its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClientAssertionClaims {
    /// The client's id.
    pub iss: String,
    /// The client's id, again.
    pub sub: String,
    /// The issuer of the authorization server. Not its token endpoint: an attacker may publish another server's
    /// endpoint as his own, but not its issuer (draft-ietf-oauth-rfc7523bis, section 4).
    pub aud: String,
    /// An id that is used once.
    pub jti: String,
    /// When it was made.
    pub iat: u64,
    /// When it ends.
    pub exp: u64,
}

impl ClientAssertionClaims {
    /// The claims of a client to an issuer, at a time in seconds since the Unix epoch, with fresh random bytes.
    #[must_use]
    pub fn new(client_id: &str, issuer: &str, now: u64, random: [u8; 16]) -> Self {
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
