//! Grants, the tokens that are issued for them, and the tokens of the identity provider.
//!
//! ```text
//!   callback          token endpoint          token endpoint
//!   grant ----------> code redeemed --------> refresh token used, repeatedly
//!   + code            access + refresh        access + the next refresh
//!      \                  \                       \
//!       +--- used twice ---+--- used twice --------+--> the grant is removed with all its tokens
//!                               (after the grace period)
//! ```
//!
//! Each step reads the grant and replaces it. If the replacement fails because another request or node was faster, the
//! step is evaluated again with the stored grant.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use toolwire::store::StoreError;

use crate::clock::since_epoch;
use crate::documents::{AccessTokenClaims, Secret, TokenResponse};
use crate::proxy::records::{
    AccessToken, CodeRecord, GrantRecord, RecordDigest, UpstreamTokens, UsedRefresh,
};
use crate::proxy::sealed_store::{RecordTerms, Sealed, SealedStore, key_of, random};
use crate::proxy::store::{OwnerLimit, ProxyOwner};
use crate::proxy::tokens::{TokenFamily, TokenKind, grant_of_access_token};
use crate::rules::authorization_server::lifetimes::{Lifetimes, UpstreamToken};
use crate::rules::authorization_server::rotation::{Presented, RefreshTokens};
use crate::rules::pkce;

/// The lifetime of a code, in seconds (OAuth 2.1, section 4.1.2, permits ten times as much).
const CODE_TTL: u64 = 60;

/// The retention of a grant whose code is not redeemed.
const UNREDEEMED_TTL: Duration = Duration::from_secs(120);

/// The maximum number of valid access tokens of one grant. One more removes the oldest.
pub(super) const MAX_ACCESS_TOKENS: usize = 8;

/// The maximum number of grants of one user. One more removes the grant that ends first.
pub(super) const MAX_GRANTS: usize = 64;

/// The number of attempts of a step while other requests replace the same grant.
const ATTEMPTS: usize = 16;

/// The maximum number of concurrent renewals. Each grant has at most one.
const RENEWALS: usize = 64;

/// The claim that identifies the grant in a handler's token. It is a digest and cannot be redeemed.
pub(super) const GRANT_CLAIM: &str = "toolwire_grant";

/// The store of grants. It issues, verifies and revokes their tokens.
pub(super) struct GrantStore {
    pub(super) lifetimes: Lifetimes,
    /// How long a used refresh token is accepted again, in seconds.
    pub(super) grace: u64,
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) renewal_locks: [Mutex<()>; RENEWALS],
}

/// The tokens for a client, and their user.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) response: TokenResponse,
    pub(super) principal: RecordDigest,
}

/// The parameters that a client presents to redeem a code.
#[derive(Debug)]
pub(super) struct Redemption<'a> {
    pub(super) client_id: &'a str,
    pub(super) code: &'a Secret,
    pub(super) redirect_uri: &'a str,
    pub(super) verifier: &'a Secret,
}

impl GrantStore {
    pub(super) fn new(lifetimes: Lifetimes, grace: u64, issuer: String, resource: String) -> Self {
        Self {
            lifetimes,
            grace,
            issuer,
            resource,
            renewal_locks: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    /// Returns the end of a grant that starts now.
    pub(super) fn end_of_new_grant(&self, upstream: &UpstreamTokens) -> u64 {
        self.lifetimes.grant_end(now(), upstream_token(upstream))
    }

    /// Stores a grant and issues its code.
    pub(super) async fn create(
        &self,
        store: &SealedStore,
        grant: &mut GrantRecord,
        redirect_uri: &str,
        code_challenge: &str,
        now: u64,
    ) -> Result<Secret, StoreError> {
        let family = TokenFamily::new()?;
        let code = family.token(TokenKind::Code)?;
        grant.code = Some(CodeRecord {
            digest: key_of(code.expose()),
            redirect_uri: redirect_uri.to_owned(),
            code_challenge: code_challenge.to_owned(),
            expires_at: now.saturating_add(CODE_TTL),
        });
        let terms = RecordTerms::new(UNREDEEMED_TTL).with_owner(Some(self.owner(grant)));
        store.put(&family.grant(), grant, terms).await?;
        Ok(code)
    }

    /// Redeems a code. A code is valid once. An invalid use consumes it and ends its grant. Returns `None` if the code
    /// is invalid.
    pub(super) async fn redeem(
        &self,
        store: &SealedStore,
        redemption: &Redemption<'_>,
        now: u64,
    ) -> Result<Option<Issued>, StoreError> {
        let Some(family) = TokenFamily::of(TokenKind::Code, redemption.code) else {
            return Ok(None);
        };
        let key = family.grant();
        for _ in 0..ATTEMPTS {
            let Some((mut grant, read)) = store.read::<GrantRecord>(&key).await? else {
                return Ok(None);
            };
            let code = grant.code.take();
            if !code.is_some_and(|code| self.is_valid_redemption(&grant, &code, redemption, now)) {
                // OAuth 2.1, section 4.1.3: reuse of a code ends the grant that it was used for.
                tracing::warn!("a code was used twice, or by another client; its grant ends");
                self.revoke(store, &key).await?;
                return Ok(None);
            }
            let scopes = grant.scopes.clone();
            let refresh = family.token(TokenKind::Refresh)?;
            let Some(response) = self.issue(family, &mut grant, &scopes, refresh, now)? else {
                return Ok(None);
            };
            if self.save(store, &key, &read, &grant, now).await? {
                return Ok(Some(self.issued(&grant, response)));
            }
        }
        Err(contention_error())
    }

    fn is_valid_redemption(
        &self,
        grant: &GrantRecord,
        code: &CodeRecord,
        redemption: &Redemption<'_>,
        now: u64,
    ) -> bool {
        let verifier = redemption.verifier.expose();
        code.digest == key_of(redemption.code.expose())
            && now < code.expires_at
            && grant.client_id == redemption.client_id
            && grant.resource == self.resource
            && code.redirect_uri == redemption.redirect_uri
            && pkce::verify(verifier, &code.code_challenge, Some(pkce::METHOD)).is_ok()
    }

    /// Returns the grant of a refresh token that would be accepted now: its key, and the grant as it was read. Reuse of a
    /// token after the grace period ends its grant.
    pub(super) async fn refreshable(
        &self,
        store: &SealedStore,
        client_id: &str,
        token: &Secret,
        now: u64,
    ) -> Result<Option<(RecordDigest, GrantRecord, Sealed)>, StoreError> {
        let Some(key) = TokenFamily::of(TokenKind::Refresh, token).map(TokenFamily::grant) else {
            return Ok(None);
        };
        let read = store.read::<GrantRecord>(&key).await?;
        let Some((grant, read)) = read.filter(|(grant, _)| self.is_for(grant, client_id)) else {
            return Ok(None);
        };
        match self.classify(&grant, token, now) {
            Presented::Current | Presented::Repeated => Ok(Some((key, grant, read))),
            Presented::Reused => self.end_reused(store, &key).await.map(|()| None),
        }
    }

    /// Uses a refresh token: issues an access token and the next refresh token. Within the grace period, reuse issues
    /// the same refresh token again. Returns `None` if the token is invalid or the grant is absent.
    ///
    /// `unchanged` is the grant if it was read before. It is read again if it has changed since.
    pub(super) async fn refresh(
        &self,
        store: &SealedStore,
        client_id: &str,
        token: &Secret,
        scopes: &str,
        now: u64,
        mut unchanged: Option<(GrantRecord, Sealed)>,
    ) -> Result<Option<Issued>, StoreError> {
        let Some(family) = TokenFamily::of(TokenKind::Refresh, token) else {
            return Ok(None);
        };
        let key = family.grant();
        for _ in 0..ATTEMPTS {
            let read = match unchanged.take() {
                Some(read) => Some(read),
                None => store.read::<GrantRecord>(&key).await?,
            };
            let Some((mut grant, read)) = read.filter(|(grant, _)| self.is_for(grant, client_id))
            else {
                return Ok(None);
            };
            let salt = match self.classify(&grant, token, now) {
                Presented::Current => random()?,
                Presented::Repeated => grant
                    .used_refresh
                    .as_ref()
                    .map_or([0; 32], |used| used.salt),
                Presented::Reused => return self.end_reused(store, &key).await.map(|()| None),
            };
            let digest = key_of(token.expose());
            if grant.refresh == Some(digest) {
                grant.used_refresh = Some(UsedRefresh {
                    digest,
                    used_at: now,
                    salt,
                });
            }
            let next = family.refresh_after(token, &salt);
            let Some(response) = self.issue(family, &mut grant, scopes, next, now)? else {
                return Ok(None);
            };
            if self.save(store, &key, &read, &grant, now).await? {
                return Ok(Some(self.issued(&grant, response)));
            }
        }
        Err(contention_error())
    }

    fn is_for(&self, grant: &GrantRecord, client_id: &str) -> bool {
        grant.client_id == client_id && grant.resource == self.resource
    }

    fn classify(&self, grant: &GrantRecord, token: &Secret, now: u64) -> Presented {
        let used = grant.used_refresh.as_ref();
        let tokens = RefreshTokens {
            current: grant.refresh.as_ref(),
            used: used.map(|used| (&used.digest, used.used_at)),
        };
        tokens.classify(&key_of(token.expose()), now, self.grace)
    }

    /// Ends a grant whose refresh token was reused, because it is unknown which client stole the token.
    async fn end_reused(&self, store: &SealedStore, key: &RecordDigest) -> Result<(), StoreError> {
        tracing::warn!("an invalid refresh token was used; its grant ends");
        self.revoke(store, key).await
    }

    /// Adds tokens to a grant. Returns `None` if the grant has ended.
    fn issue(
        &self,
        family: TokenFamily,
        grant: &mut GrantRecord,
        scopes: &str,
        refresh: Secret,
        now: u64,
    ) -> Result<Option<TokenResponse>, StoreError> {
        let upstream = upstream_token(&grant.upstream);
        let expires_at = self.lifetimes.access_end(now, grant.ends_at, upstream);
        let lifetime = expires_at.saturating_sub(now);
        if lifetime == 0 {
            return Ok(None);
        }
        let access = family.token(TokenKind::Access)?;
        grant.access.retain(|token| token.expires_at > now);
        if grant.access.len() >= MAX_ACCESS_TOKENS {
            grant.access.remove(0);
        }
        grant.access.push(AccessToken {
            digest: key_of(access.expose()),
            scopes: scopes.to_owned(),
            expires_at,
        });
        let mut response = TokenResponse::new(access, "Bearer").with_expires_in(lifetime);
        if !scopes.is_empty() {
            response = response.with_scope(scopes);
        }
        let can_be_refreshed = expires_at < grant.ends_at;
        grant.refresh = can_be_refreshed.then(|| key_of(refresh.expose()));
        if can_be_refreshed {
            response = response.with_refresh_token(refresh);
        }
        Ok(Some(response))
    }

    fn issued(&self, grant: &GrantRecord, response: TokenResponse) -> Issued {
        Issued {
            response,
            principal: self.principal(grant),
        }
    }

    /// Returns the claims of an access token, or `None` if it is invalid.
    pub(super) async fn claims(
        &self,
        store: &SealedStore,
        token: &Secret,
        now: u64,
    ) -> Result<Option<AccessTokenClaims>, StoreError> {
        let Some(key) = grant_of_access_token(token) else {
            return Ok(None);
        };
        let Some(grant) = store.get::<GrantRecord>(&key).await? else {
            return Ok(None);
        };
        let digest = key_of(token.expose());
        let mut tokens = grant.access.iter();
        let is_valid = |access: &&AccessToken| access.digest == digest && access.expires_at > now;
        let Some(access) = tokens.find(is_valid) else {
            return Ok(None);
        };
        let mut claims = AccessTokenClaims {
            iss: Some(self.issuer.clone()),
            aud: Some(grant.resource.as_str().into()),
            scope: Some(access.scopes.as_str().into()),
            exp: Some(access.expires_at),
            sub: Some(grant.user.subject),
            client_id: Some(grant.client_id),
            ..AccessTokenClaims::default()
        };
        claims.extra.extend(grant.user.claims);
        let grant = URL_SAFE_NO_PAD.encode(key);
        claims.extra.insert(GRANT_CLAIM.to_owned(), grant.into());
        Ok(Some(claims))
    }

    /// Changes a grant and returns the changed grant, or `None` if it is absent. The change returns whether there is
    /// something to store, and may run several times.
    pub(super) async fn change(
        &self,
        store: &SealedStore,
        key: &RecordDigest,
        mut change: impl FnMut(&mut GrantRecord) -> bool,
    ) -> Result<Option<GrantRecord>, StoreError> {
        for _ in 0..ATTEMPTS {
            let Some((mut grant, read)) = store.read::<GrantRecord>(key).await? else {
                return Ok(None);
            };
            if !change(&mut grant) || self.save(store, key, &read, &grant, now()).await? {
                return Ok(Some(grant));
            }
        }
        Err(contention_error())
    }

    async fn save(
        &self,
        store: &SealedStore,
        key: &RecordDigest,
        read: &Sealed,
        grant: &GrantRecord,
        now: u64,
    ) -> Result<bool, StoreError> {
        let lifetime = Duration::from_secs(grant.ends_at.saturating_sub(now));
        let terms = RecordTerms::new(lifetime).with_owner(Some(self.owner(grant)));
        store.replace(key, read, grant, terms).await
    }

    /// Revokes a token that a client presents. Tokens of other clients and invalid tokens are ignored.
    pub(super) async fn revoke_token(
        &self,
        store: &SealedStore,
        client_id: &str,
        token: &Secret,
        now: u64,
    ) -> Result<(), StoreError> {
        if let Some(key) = grant_of_access_token(token) {
            let digest = key_of(token.expose());
            let removal = self.change(store, &key, |grant| {
                let count = grant.access.len();
                if grant.client_id == client_id {
                    grant.access.retain(|access| access.digest != digest);
                }
                grant.access.len() < count
            });
            return removal.await.map(|_| ());
        }
        let Some(key) = TokenFamily::of(TokenKind::Refresh, token).map(TokenFamily::grant) else {
            return Ok(());
        };
        let grant = store.get::<GrantRecord>(&key).await?;
        let is_valid = |grant: &GrantRecord| {
            grant.client_id == client_id && self.classify(grant, token, now) != Presented::Reused
        };
        if grant.as_ref().is_some_and(is_valid) {
            self.revoke(store, &key).await
        } else {
            Ok(())
        }
    }

    /// Removes a grant and all its tokens.
    pub(super) async fn revoke(
        &self,
        store: &SealedStore,
        key: &RecordDigest,
    ) -> Result<(), StoreError> {
        store.take::<GrantRecord>(key).await.map(|_| ())
    }

    /// Returns the user as an owner of grants, so that a user can only evict their own grants.
    fn owner(&self, grant: &GrantRecord) -> ProxyOwner {
        let principal = self.principal(grant);
        ProxyOwner::new(principal, MAX_GRANTS, OwnerLimit::RemoveFirst)
    }

    /// Returns the digest of a grant's user at this proxy.
    fn principal(&self, grant: &GrantRecord) -> RecordDigest {
        let mut digest = Sha256::new();
        digest.update(b"toolwire principal");
        for part in [&self.issuer, &grant.user.subject] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }
}

impl fmt::Debug for GrantStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrantStore")
            .field("lifetimes", &self.lifetimes)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}

fn contention_error() -> StoreError {
    StoreError::unavailable("too many requests change the same grant at once; try again")
}

fn upstream_token(upstream: &UpstreamTokens) -> UpstreamToken {
    UpstreamToken {
        expires_at: upstream.expires_at,
        can_be_refreshed: upstream.refresh_token.is_some(),
    }
}

pub(super) fn now() -> u64 {
    since_epoch().as_secs()
}

#[cfg(test)]
mod tests;
