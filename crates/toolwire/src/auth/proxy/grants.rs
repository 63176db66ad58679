//! Grants: the tokens that are given out for them, and the tokens of the identity provider behind them.
//!
//! ```text
//!   callback          token endpoint          token endpoint
//!   grant ----------> code redeemed --------> refresh token used, again and again
//!   + code            access + refresh        access + the next refresh
//!      \                  \                       \
//!       +--- used twice ---+--- used twice --------+--> the grant is taken away, and with it all its tokens
//! ```
//!
//! Codes and refresh tokens name their grant inside, unreadable for nobody but useless without their own secret: so one
//! that was used already is recognised without remembering it.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use toolwire_proto::auth::authorization_server::lifetimes::{Lifetimes, UpstreamToken};
use toolwire_types::auth::{AccessTokenClaims, Secret, TokenResponse};

use super::clients::encoded;
use super::leg::{LegError, UpstreamLeg};
use super::records::{AccessToken, Code, Grant, Key, RefreshToken, UpstreamTokens};
use super::vault::{Vault, key_of, random};
use crate::engine::since_epoch;
use crate::store::StoreError;

/// How long a code is good (OAuth 2.1, section 4.1.2, allows ten times as much).
const CODE_TIME: Duration = Duration::from_secs(60);

/// How long a grant waits for its code to be redeemed.
const UNREDEEMED_TIME: Duration = Duration::from_secs(120);

/// A token of the identity provider is renewed when it has no more than this left, in seconds.
const RENEWAL_MARGIN: u64 = 5 * 60;

/// How many renewals run at once; of one grant there is never more than one.
const RENEWALS: usize = 64;

/// The claim by which a handler's token leads to its grant. It is a digest: nothing can be redeemed with it.
pub(super) const GRANT_CLAIM: &str = "toolwire_grant";

/// What codes and refresh tokens of one grant have in common.
#[derive(Clone, Copy)]
pub(super) struct Family([u8; 16]);

impl Family {
    pub(super) fn new() -> Result<Self, StoreError> {
        random().map(Self)
    }

    /// The family of a code or refresh token, whether it is good or not.
    pub(super) fn of(token: &Secret) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(token.expose()).ok()?;
        let (family, secret) = bytes.split_at_checked(16)?;
        let family: [u8; 16] = family.try_into().ok()?;
        (secret.len() == 32).then_some(Self(family))
    }

    /// What the grant is found by.
    pub(super) fn grant(self) -> Key {
        let mut digest = Sha256::new();
        digest.update(b"toolwire grant");
        digest.update(self.0);
        digest.finalize().into()
    }

    /// A new secret of this family.
    fn token(self) -> Result<Secret, StoreError> {
        let mut bytes = [0; 48];
        let parts = self.0.into_iter().chain(random::<32>()?);
        for (byte, part) in bytes.iter_mut().zip(parts) {
            *byte = part;
        }
        Ok(Secret::new(encoded(bytes)))
    }
}

/// Gives out tokens, knows them again, and takes them back.
pub(super) struct Grants {
    pub(super) lifetimes: Lifetimes,
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) renewals: [Mutex<()>; RENEWALS],
}

impl Grants {
    pub(super) fn new(lifetimes: Lifetimes, issuer: String, resource: String) -> Self {
        Self {
            lifetimes,
            issuer,
            resource,
            renewals: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    /// When a grant ends that begins now.
    pub(super) fn end(&self, upstream: &UpstreamTokens) -> u64 {
        self.lifetimes.grant_end(now(), times(upstream))
    }

    /// Keeps a grant and gives out the code for it.
    pub(super) async fn begin(
        &self,
        vault: &Vault,
        grant: &Grant,
        code: &Code,
    ) -> Result<Secret, StoreError> {
        let family = Family::new()?;
        // The grant comes first: whoever uses the code twice finds it.
        vault.put(&family.grant(), grant, UNREDEEMED_TIME).await?;
        let text = family.token()?;
        vault.put(&key_of(text.expose()), code, CODE_TIME).await?;
        Ok(text)
    }

    /// Gives out tokens for a grant that is still there; nothing when it no longer is.
    pub(super) async fn issue(
        &self,
        vault: &Vault,
        family: Family,
        grant: &Grant,
        scopes: &str,
    ) -> Result<Option<TokenResponse>, StoreError> {
        let now = now();
        let key = family.grant();
        let left = grant.ends_at.saturating_sub(now);
        let end = self
            .lifetimes
            .access_end(now, grant.ends_at, times(&grant.upstream));
        let lifetime = end.saturating_sub(now);
        if left == 0 || lifetime == 0 {
            return Ok(None);
        }
        // By replacing, a grant that somebody takes away at this moment stays away.
        if !vault.replace(&key, grant, seconds(left)).await? {
            return Ok(None);
        }
        let access = Secret::new(encoded(random::<32>()?));
        let record = AccessToken {
            grant: key,
            client_id: grant.client_id.clone(),
            scopes: scopes.to_owned(),
            resource: self.resource.clone(),
            expires_at: end,
        };
        vault
            .put(&key_of(access.expose()), &record, seconds(lifetime))
            .await?;
        let mut response = TokenResponse::new(access, "Bearer").with_expires_in(lifetime);
        if !scopes.is_empty() {
            response = response.with_scope(scopes);
        }
        if end < grant.ends_at {
            let refresh = family.token()?;
            let record = RefreshToken {
                client_id: grant.client_id.clone(),
                scopes: grant.scopes.clone(),
            };
            vault
                .put(&key_of(refresh.expose()), &record, seconds(left))
                .await?;
            response = response.with_refresh_token(refresh);
        }
        Ok(Some(response))
    }

    /// What an access token says; nothing when it is not good.
    pub(super) async fn claims(
        &self,
        vault: &Vault,
        token: &Secret,
    ) -> Result<Option<AccessTokenClaims>, StoreError> {
        let Some(access) = vault.get::<AccessToken>(&key_of(token.expose())).await? else {
            return Ok(None);
        };
        let Some(grant) = vault.get::<Grant>(&access.grant).await? else {
            return Ok(None);
        };
        let mut claims = AccessTokenClaims::default();
        claims.iss = Some(self.issuer.clone());
        claims.aud = Some(access.resource.as_str().into());
        claims.sub = Some(grant.user.subject);
        claims.client_id = Some(access.client_id);
        claims.scope = Some(access.scopes.as_str().into());
        claims.exp = Some(access.expires_at);
        claims.extra.extend(grant.user.claims);
        let grant = URL_SAFE_NO_PAD.encode(access.grant);
        claims.extra.insert(GRANT_CLAIM.to_owned(), grant.into());
        Ok(Some(claims))
    }

    /// The grant with a token of the identity provider that is good for a while, renewed if need be.
    ///
    /// Do not drop this once it has begun: the provider may take back the old tokens when it gives new ones.
    pub(super) async fn fresh(
        &self,
        vault: &Vault,
        leg: &UpstreamLeg,
        key: &Key,
    ) -> Result<Grant, Stale> {
        let grant = vault.get::<Grant>(key).await?.ok_or(Stale::Gone)?;
        if !needs_renewal(&grant.upstream) {
            return Ok(grant);
        }
        let [first, ..] = key;
        let lock = self.renewals.get(usize::from(*first) % RENEWALS);
        let _one_at_a_time = match lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        // Somebody else may have been faster.
        let mut grant = vault.get::<Grant>(key).await?.ok_or(Stale::Gone)?;
        let Some(refresh_token) = grant.upstream.refresh_token.clone() else {
            return Ok(grant);
        };
        if !needs_renewal(&grant.upstream) {
            return Ok(grant);
        }
        grant.upstream = match leg.renew(&refresh_token).await {
            Ok(renewed) => renewed,
            Err(LegError::Refused) => return self.renewed_elsewhere(vault, key, &grant).await,
            Err(error) => return Err(Stale::Unavailable(Box::new(error))),
        };
        let left = grant.ends_at.saturating_sub(now());
        match vault.replace(key, &grant, seconds(left)).await? {
            true => Ok(grant),
            false => Err(Stale::Gone),
        }
    }

    /// A refresh token that the provider refuses was used by another node, or the user has taken it back.
    async fn renewed_elsewhere(
        &self,
        vault: &Vault,
        key: &Key,
        before: &Grant,
    ) -> Result<Grant, Stale> {
        let now = vault.get::<Grant>(key).await?.ok_or(Stale::Gone)?;
        if now.upstream != before.upstream {
            return Ok(now);
        }
        vault.take::<Grant>(key).await?;
        Err(Stale::Gone)
    }

    /// Takes a grant away, and with it all its tokens.
    pub(super) async fn revoke(&self, vault: &Vault, key: &Key) -> Result<(), StoreError> {
        vault.take::<Grant>(key).await.map(|_| ())
    }
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants")
            .field("lifetimes", &self.lifetimes)
            .finish_non_exhaustive()
    }
}

/// Why there is no good token of the identity provider.
#[derive(Debug)]
pub(super) enum Stale {
    /// The grant is no longer there.
    Gone,
    /// It cannot be told at the moment.
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl From<StoreError> for Stale {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

fn needs_renewal(upstream: &UpstreamTokens) -> bool {
    let ends_soon = |end: u64| end <= now().saturating_add(RENEWAL_MARGIN);
    upstream.refresh_token.is_some() && upstream.expires_at.is_some_and(ends_soon)
}

fn times(upstream: &UpstreamTokens) -> UpstreamToken {
    UpstreamToken {
        expires_at: upstream.expires_at,
        can_be_refreshed: upstream.refresh_token.is_some(),
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn now() -> u64 {
    since_epoch().as_secs()
}

#[cfg(test)]
mod tests;
