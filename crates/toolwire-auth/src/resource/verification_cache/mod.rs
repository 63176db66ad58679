//! Caches the verification results of opaque tokens.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::clock::since_epoch;
use crate::documents::{AccessTokenClaims, Secret};
use crate::fetch::FetchError;
use crate::resource::verifier::TokenError;
use crate::sync::lock;

/// How long a result is cached by default. A revoked token stays usable for this time.
const DEFAULT_TTL: Duration = Duration::from_secs(30);

/// The maximum cache time. It is also the lifetime of a token without a stated expiry: streams opened with it end then,
/// and the token is verified again.
const MAX_TTL: Duration = Duration::from_secs(60 * 60);

/// The maximum number of cached results.
const MAX_RESULTS: usize = 10_000;

type Fingerprint = [u8; 32];

/// Cached results by the digests of their tokens, so that no token is stored.
#[derive(Debug)]
pub(super) struct VerificationCache {
    ttl: Duration,
    entries: Mutex<CachedVerification>,
}

/// The cached results. `None` is the result for an invalid token.
#[derive(Debug, Default)]
struct CachedVerification {
    results: HashMap<Fingerprint, (Instant, Option<AccessTokenClaims>)>,
    by_expiry: BTreeSet<(Instant, Fingerprint)>,
}

impl Default for VerificationCache {
    fn default() -> Self {
        Self {
            ttl: DEFAULT_TTL,
            entries: Mutex::default(),
        }
    }
}

impl VerificationCache {
    /// Sets how long results are cached. The maximum is 1 h.
    pub(super) fn set_ttl(&mut self, ttl: Duration) {
        self.ttl = ttl.min(MAX_TTL);
    }

    /// Returns the claims of a token from the cache, or runs `verification`.
    pub(super) async fn get_or_verify(
        &self,
        token: &Secret,
        verification: impl Future<Output = Result<Option<AccessTokenClaims>, FetchError>>,
    ) -> Result<AccessTokenClaims, TokenError> {
        let inactive = || TokenError::Invalid("the token is not active".to_owned());
        let fingerprint: Fingerprint = Sha256::digest(token.expose()).into();
        let cached = self.entries().get(&fingerprint);
        if let Some(cached) = cached {
            return cached.ok_or_else(inactive);
        }
        let result = verification.await;
        let mut result = result.map_err(|error| TokenError::Unavailable(Box::new(error)))?;
        let mut lifetime = self.ttl;
        if let Some(claims) = &mut result {
            let now = since_epoch();
            let expiry = *claims.exp.get_or_insert((now + MAX_TTL).as_secs());
            lifetime = lifetime.min(Duration::from_secs(expiry).saturating_sub(now));
        }
        self.entries().insert(fingerprint, result.clone(), lifetime);
        result.ok_or_else(inactive)
    }

    fn entries(&self) -> MutexGuard<'_, CachedVerification> {
        lock(&self.entries)
    }
}

impl CachedVerification {
    fn get(&self, fingerprint: &Fingerprint) -> Option<Option<AccessTokenClaims>> {
        let (expiry, result) = self.results.get(fingerprint)?;
        (*expiry > Instant::now()).then(|| result.clone())
    }

    fn insert(
        &mut self,
        fingerprint: Fingerprint,
        result: Option<AccessTokenClaims>,
        lifetime: Duration,
    ) {
        if lifetime.is_zero() {
            return;
        }
        let expiry = Instant::now() + lifetime;
        if let Some((old_expiry, _)) = self.results.insert(fingerprint, (expiry, result)) {
            self.by_expiry.remove(&(old_expiry, fingerprint));
        }
        self.by_expiry.insert((expiry, fingerprint));
        while self.results.len() > MAX_RESULTS
            && let Some((_, first_to_expire)) = self.by_expiry.pop_first()
        {
            self.results.remove(&first_to_expire);
        }
    }
}

#[cfg(test)]
mod tests;
