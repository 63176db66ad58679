//! What issuers said about tokens that only they can read, remembered for a while.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use toolwire_types::auth::{AccessTokenClaims, Secret};

use crate::auth::fetch::FetchError;
use crate::auth::resource::verifier::TokenError;
use crate::engine::since_epoch;

/// How long an answer is believed, unless told otherwise: so long a token that was taken back goes on working.
const DEFAULT_TIME: Duration = Duration::from_secs(30);

/// The longest that an answer is believed, and the life of a token whose issuer does not say when it ends: what was opened
/// with it ends then, and it is asked about again.
const MOST_TIME: Duration = Duration::from_secs(60 * 60);

/// How many answers are kept.
const MOST_ANSWERS: usize = 10_000;

type Fingerprint = [u8; 32];

/// Answers by the digests of their tokens, so that no token is kept.
#[derive(Debug)]
pub(super) struct VerificationCache {
    time: Duration,
    kept: Mutex<CachedVerification>,
}

/// `None` stands for a token that is not good.
#[derive(Debug, Default)]
struct CachedVerification {
    known: HashMap<Fingerprint, (Instant, Option<AccessTokenClaims>)>,
    by_age: BTreeSet<(Instant, Fingerprint)>,
}

impl Default for VerificationCache {
    fn default() -> Self {
        Self {
            time: DEFAULT_TIME,
            kept: Mutex::default(),
        }
    }
}

impl VerificationCache {
    /// Believes answers for so long, an hour at most.
    pub(super) fn with_ttl(&mut self, time: Duration) {
        self.time = time.min(MOST_TIME);
    }

    /// What a token says: from memory, or else by asking.
    pub(super) async fn get_or_verify(
        &self,
        token: &Secret,
        asking: impl Future<Output = Result<Option<AccessTokenClaims>, FetchError>>,
    ) -> Result<AccessTokenClaims, TokenError> {
        let inactive = || TokenError::Invalid("the token is not active".to_owned());
        let fingerprint: Fingerprint = Sha256::digest(token.expose()).into();
        let known = self.kept().find(&fingerprint);
        if let Some(known) = known {
            return known.ok_or_else(inactive);
        }
        let answer = asking.await;
        let mut answer = answer.map_err(|error| TokenError::Unavailable(Box::new(error)))?;
        let mut lifetime = self.time;
        if let Some(claims) = &mut answer {
            let now = since_epoch();
            let end = *claims.exp.get_or_insert((now + MOST_TIME).as_secs());
            lifetime = lifetime.min(Duration::from_secs(end).saturating_sub(now));
        }
        self.kept().keep(fingerprint, answer.clone(), lifetime);
        answer.ok_or_else(inactive)
    }

    fn kept(&self) -> MutexGuard<'_, CachedVerification> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedVerification {
    fn find(&self, fingerprint: &Fingerprint) -> Option<Option<AccessTokenClaims>> {
        let (expiry, answer) = self.known.get(fingerprint)?;
        (*expiry > Instant::now()).then(|| answer.clone())
    }

    fn keep(
        &mut self,
        fingerprint: Fingerprint,
        answer: Option<AccessTokenClaims>,
        lifetime: Duration,
    ) {
        if lifetime.is_zero() {
            return;
        }
        let expiry = Instant::now() + lifetime;
        if let Some((older, _)) = self.known.insert(fingerprint, (expiry, answer)) {
            self.by_age.remove(&(older, fingerprint));
        }
        self.by_age.insert((expiry, fingerprint));
        while self.known.len() > MOST_ANSWERS
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests;
