//! Caches the verification results of opaque tokens.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
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

/// The maximum number of cached results about valid tokens, and of those about invalid ones.
const MAX_RESULTS: usize = 10_000;

/// The maximum number of concurrent verifications. Others wait, so that a flood of invalid tokens does not become one of
/// requests to the authorization server. GitHub permits 100.
const MAX_VERIFICATIONS: usize = 100;

type Fingerprint = [u8; 32];

/// Cached results by the digests of their tokens, so that no token is stored.
#[derive(Debug)]
pub(super) struct VerificationCache {
    ttl: Duration,
    permits: Semaphore,
    valid: Mutex<ResultTable<AccessTokenClaims>>,
    /// They cannot evict results about valid tokens, because every client can invent tokens.
    invalid: Mutex<ResultTable<()>>,
}

/// The results of one kind.
#[derive(Debug)]
struct ResultTable<T> {
    results: HashMap<Fingerprint, (Instant, T)>,
    by_expiry: BTreeSet<(Instant, Fingerprint)>,
}

impl Default for VerificationCache {
    fn default() -> Self {
        Self {
            ttl: DEFAULT_TTL,
            permits: Semaphore::new(MAX_VERIFICATIONS),
            valid: Mutex::default(),
            invalid: Mutex::default(),
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
        if let Some(cached) = self.cached(&fingerprint) {
            return cached.ok_or_else(inactive);
        }
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        // Another request may have verified the token meanwhile.
        if let Some(cached) = self.cached(&fingerprint) {
            return cached.ok_or_else(inactive);
        }
        let result = verification.await;
        let result = result.map_err(|error| TokenError::Unavailable(Box::new(error)))?;
        let Some(mut claims) = result else {
            lock(&self.invalid).insert(fingerprint, (), self.ttl);
            return Err(inactive());
        };
        let now = since_epoch();
        let expiry = *claims.exp.get_or_insert((now + MAX_TTL).as_secs());
        let lifetime = Duration::from_secs(expiry).saturating_sub(now);
        lock(&self.valid).insert(fingerprint, claims.clone(), lifetime.min(self.ttl));
        Ok(claims)
    }

    /// Returns the cached result about a token: `None` for an invalid one.
    fn cached(&self, fingerprint: &Fingerprint) -> Option<Option<AccessTokenClaims>> {
        if let Some(claims) = lock(&self.valid).get(fingerprint) {
            return Some(Some(claims));
        }
        lock(&self.invalid).get(fingerprint).map(|()| None)
    }
}

impl<T: Clone> ResultTable<T> {
    fn get(&self, fingerprint: &Fingerprint) -> Option<T> {
        let (expiry, result) = self.results.get(fingerprint)?;
        (*expiry > Instant::now()).then(|| result.clone())
    }

    fn insert(&mut self, fingerprint: Fingerprint, result: T, lifetime: Duration) {
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

impl<T> Default for ResultTable<T> {
    fn default() -> Self {
        Self {
            results: HashMap::new(),
            by_expiry: BTreeSet::new(),
        }
    }
}

#[cfg(test)]
mod tests;
