//! The encoding of codes, access tokens and refresh tokens.
//!
//! ```text
//!   code, refresh token:  kind (1 byte)  family (16 bytes)            secret (32 bytes)
//!   access token:         kind (1 byte)  digest of family (16 bytes)  secret (32 bytes)
//! ```
//!
//! Each identifies its grant, so that reuse of a code or token is detected without a stored record of it, and its grant
//! can be ended. An access token does not reveal the family: a reader of a log that contains one cannot derive a
//! refresh token that ends the login.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use toolwire::store::StoreError;

use crate::documents::Secret;
use crate::proxy::records::RecordDigest;
use crate::proxy::sealed_store::random;

/// The kind of a token. One kind is never accepted as another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Code,
    Access,
    Refresh,
}

impl TokenKind {
    const fn byte(self) -> u8 {
        match self {
            Self::Code => 1,
            Self::Access => 2,
            Self::Refresh => 3,
        }
    }
}

/// The random value that the codes and refresh tokens of one grant share.
#[derive(Clone, Copy)]
pub(super) struct TokenFamily([u8; 16]);

impl TokenFamily {
    pub(super) fn new() -> Result<Self, StoreError> {
        random().map(Self)
    }

    /// Returns the family of a code or refresh token, valid or not. Returns `None` for any other text.
    pub(super) fn of(kind: TokenKind, token: &Secret) -> Option<Self> {
        decode(kind, token).map(Self)
    }

    /// Returns the key of the grant.
    pub(super) fn grant(self) -> RecordDigest {
        grant_key(self.public_id())
    }

    /// Creates a code, an access token or a refresh token.
    pub(super) fn token(self, kind: TokenKind) -> Result<Secret, StoreError> {
        let family = match kind {
            TokenKind::Code | TokenKind::Refresh => self.0,
            TokenKind::Access => self.public_id(),
        };
        Ok(encode(kind, family, random()?))
    }

    /// Returns the refresh token that follows a used one. It cannot be derived from the store and its keys alone,
    /// because it depends on the used token.
    pub(super) fn refresh_after(self, used: &Secret, salt: &RecordDigest) -> Secret {
        let mut digest = Sha256::new();
        digest.update(b"toolwire refresh");
        digest.update(salt);
        digest.update(used.expose());
        encode(TokenKind::Refresh, self.0, digest.finalize().into())
    }

    /// Returns the value that access tokens contain instead of the family.
    fn public_id(self) -> [u8; 16] {
        let mut hasher = Sha256::new();
        hasher.update(b"toolwire access");
        hasher.update(self.0);
        let digest: RecordDigest = hasher.finalize().into();
        let mut public_id = [0; 16];
        for (byte, digest_byte) in public_id.iter_mut().zip(digest) {
            *byte = digest_byte;
        }
        public_id
    }
}

/// Returns the key of the grant of an access token, valid or not. Returns `None` for any other text.
pub(super) fn grant_of_access_token(token: &Secret) -> Option<RecordDigest> {
    decode(TokenKind::Access, token).map(grant_key)
}

fn grant_key(public_id: [u8; 16]) -> RecordDigest {
    let mut digest = Sha256::new();
    digest.update(b"toolwire grant");
    digest.update(public_id);
    digest.finalize().into()
}

fn encode(kind: TokenKind, family: [u8; 16], secret: RecordDigest) -> Secret {
    let bytes = [&[kind.byte()][..], &family, &secret].concat();
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

fn decode(kind: TokenKind, token: &Secret) -> Option<[u8; 16]> {
    let bytes = URL_SAFE_NO_PAD.decode(token.expose()).ok()?;
    let (first, rest) = bytes.split_first()?;
    let (family, secret) = rest.split_at_checked(16)?;
    let is_valid = *first == kind.byte() && secret.len() == 32;
    is_valid.then(|| family.try_into().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_one_family_identify_one_grant() {
        let family = TokenFamily::new().unwrap();
        let token = |kind| family.token(kind).unwrap();
        let (code, refresh, access) = (
            token(TokenKind::Code),
            token(TokenKind::Refresh),
            token(TokenKind::Access),
        );
        let grant = |kind, token: &Secret| TokenFamily::of(kind, token).map(TokenFamily::grant);
        assert_eq!(grant(TokenKind::Code, &code), Some(family.grant()));
        assert_eq!(grant(TokenKind::Refresh, &refresh), Some(family.grant()));
        assert_eq!(grant_of_access_token(&access), Some(family.grant()));
        assert_ne!(refresh, token(TokenKind::Refresh));
        let unrelated = TokenFamily::new().unwrap().token(TokenKind::Code).unwrap();
        assert_ne!(grant(TokenKind::Code, &unrelated), Some(family.grant()));
    }

    #[test]
    fn token_kinds_are_not_interchangeable() {
        let family = TokenFamily::new().unwrap();
        let kinds = [TokenKind::Code, TokenKind::Access, TokenKind::Refresh];
        for (kind, other) in kinds
            .iter()
            .flat_map(|kind| kinds.map(|other| (*kind, other)))
        {
            let token = family.token(kind).unwrap();
            assert_eq!(decode(other, &token).is_some(), kind == other);
        }
        let zeros = "A".repeat(66);
        for text in ["", "A", "AAAA", "not base64!", zeros.as_str()] {
            for kind in kinds {
                assert_eq!(decode(kind, &text.into()), None, "{text}");
            }
        }
    }

    #[test]
    fn access_token_does_not_reveal_the_family() {
        let family = TokenFamily::new().unwrap();
        let access = family.token(TokenKind::Access).unwrap();
        assert_ne!(decode(TokenKind::Access, &access), Some(family.0));
    }

    #[test]
    fn next_refresh_token_depends_on_the_used_one_and_the_salt() {
        let family = TokenFamily::new().unwrap();
        let used = family.token(TokenKind::Refresh).unwrap();
        let other = family.token(TokenKind::Refresh).unwrap();
        let next = family.refresh_after(&used, &[1; 32]);
        assert_eq!(next, family.refresh_after(&used, &[1; 32]));
        assert_ne!(next, family.refresh_after(&used, &[2; 32]));
        assert_ne!(next, family.refresh_after(&other, &[1; 32]));
        let grant = TokenFamily::of(TokenKind::Refresh, &next).map(TokenFamily::grant);
        assert_eq!(grant, Some(family.grant()));
    }
}
