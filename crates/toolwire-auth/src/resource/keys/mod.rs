//! Fetches and caches the keys of an issuer.
//!
//! A token that names an unknown key causes a new fetch, because issuers rotate keys. One fetch serves all waiting
//! requests. Tokens with invented keys cause at most one fetch per 30 s.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolwire_types::ProtocolVersion;

use crate::documents::{AuthorizationServerMetadata, Jwk, JwkSet};
use crate::fetch::{DocumentFetcher, FetchError};
use crate::rules::metadata_rules::{IssuerPolicy, keys_url};
use crate::rules::signing_algorithm::SigningAlgorithm;
use crate::rules::well_known::server_metadata_urls;
use crate::sync::lock;

/// How long keys are used before they are fetched again.
const FRESH: Duration = Duration::from_secs(60 * 60);

/// How long stale keys may be used while fetches fail.
const STALE_TTL: Duration = Duration::from_secs(60 * 60);

/// The minimum time between two fetches.
const COOL_DOWN: Duration = Duration::from_secs(30);

/// The minimum time between two fetches while there are no keys, so that a short outage of the issuer has a short
/// effect.
const COOL_DOWN_WITHOUT_KEYS: Duration = Duration::from_secs(5);

/// The maximum number of keys of an issuer.
const MAX_KEYS: usize = 64;

/// The maximum number of keys that are tried if a token names no key.
const MAX_TRIED_KEYS: usize = 8;

/// The source of an issuer's keys.
#[derive(Debug, Clone)]
pub(super) enum KeySource {
    /// The URL of a key set.
    Url(String),
    /// The issuer's metadata.
    Metadata(String),
    /// Fixed keys.
    Given(Arc<Vec<Jwk>>),
}

/// The keys of one issuer.
#[derive(Debug)]
pub(super) struct IssuerKeys {
    fetcher: DocumentFetcher,
    place: KeySource,
    state: Mutex<KeyState>,
    /// Locked while keys are fetched.
    fetching: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct KeyState {
    keys: Option<(Arc<Vec<Jwk>>, Instant)>,
    last_try: Option<Instant>,
}

impl IssuerKeys {
    pub(super) fn new(fetcher: DocumentFetcher, place: KeySource) -> Self {
        Self {
            fetcher,
            place,
            state: Mutex::default(),
            fetching: Arc::default(),
        }
    }

    /// Returns the keys that may verify a signature.
    pub(super) async fn candidates(
        self: &Arc<Self>,
        kid: Option<&str>,
        algorithm: SigningAlgorithm,
    ) -> Result<Vec<Jwk>, FetchError> {
        if let KeySource::Given(keys) = &self.place {
            return Ok(fitting(keys, kid, algorithm));
        }
        if let Some((keys, is_fresh)) = self.known() {
            let found = fitting(&keys, kid, algorithm);
            if !found.is_empty() {
                if !is_fresh && let Ok(only_one) = Arc::clone(&self.fetching).try_lock_owned() {
                    // The caller does not wait, because the stale keys are still usable.
                    drop(self.fetch(only_one));
                }
                return Ok(found);
            }
        }
        // Concurrent requests wait for the running fetch.
        let only_one = Arc::clone(&self.fetching).lock_owned().await;
        let problem = match self.fetch(only_one) {
            Some(fetching) => match fetching.await {
                Ok(fetched) => fetched.err(),
                Err(_) => Some(self.problem("fetching its keys was interrupted")),
            },
            None => None,
        };
        match self.known() {
            // If the issuer's keys are known, an unknown key is not an error.
            Some((keys, _)) => Ok(fitting(&keys, kid, algorithm)),
            None => Err(problem.unwrap_or_else(|| self.problem("its keys could not be fetched"))),
        }
    }

    /// Returns the usable keys, and whether they are fresh.
    fn known(&self) -> Option<(Arc<Vec<Jwk>>, bool)> {
        let state = self.state();
        let (keys, fetched) = state.keys.as_ref()?;
        let age = fetched.elapsed();
        (age < FRESH + STALE_TTL).then(|| (Arc::clone(keys), age < FRESH))
    }

    /// Starts to fetch the keys, unless a fetch was tried recently.
    ///
    /// The fetch runs in a separate task, so that a client that sends an invented key and disconnects cannot cancel it.
    /// The time limit of the fetcher ends it.
    fn fetch(
        self: &Arc<Self>,
        only_one: OwnedMutexGuard<()>,
    ) -> Option<JoinHandle<Result<(), FetchError>>> {
        {
            let mut state = self.state();
            let cool_down = match state.keys {
                Some(_) => COOL_DOWN,
                None => COOL_DOWN_WITHOUT_KEYS,
            };
            let tried = state.last_try;
            if tried.is_some_and(|tried| tried.elapsed() < cool_down) {
                return None;
            }
            state.last_try = Some(Instant::now());
        }
        let own = Arc::clone(self);
        Some(tokio::spawn(async move {
            let fetched = own.fetch_now().await;
            let mut state = own.state();
            // Counted from the end of the fetch, so that a slow issuer also gets a pause.
            state.last_try = Some(Instant::now());
            let outcome = match fetched {
                Ok(keys) => {
                    state.keys = Some((Arc::new(keys), Instant::now()));
                    Ok(())
                }
                Err(error) => {
                    tracing::warn!(%error, "the keys of an issuer cannot be fetched");
                    Err(error)
                }
            };
            drop(state);
            drop(only_one);
            outcome
        }))
    }

    fn problem(&self, why: &str) -> FetchError {
        let place = match &self.place {
            KeySource::Url(url) | KeySource::Metadata(url) => url,
            KeySource::Given(_) => "",
        };
        FetchError::unusable(place, why.to_owned())
    }

    async fn fetch_now(&self) -> Result<Vec<Jwk>, FetchError> {
        let url = match &self.place {
            KeySource::Url(url) => url.clone(),
            KeySource::Metadata(issuer) => self.find(issuer).await?,
            KeySource::Given(keys) => return Ok(keys.to_vec()),
        };
        let set: JwkSet = self.fetcher.get(&url).await?;
        Ok(set.keys.into_iter().take(MAX_KEYS).collect())
    }

    /// Returns the URL of the keys from the issuer's metadata.
    async fn find(&self, issuer: &str) -> Result<String, FetchError> {
        let version = ProtocolVersion::LATEST;
        let urls = server_metadata_urls(issuer, version)
            .map_err(|invalid| FetchError::unusable(issuer, invalid.to_string()))?;
        let mut problem = FetchError::unusable(issuer, "it has no metadata".to_owned());
        for url in urls {
            match self.fetcher.get::<AuthorizationServerMetadata>(&url).await {
                Ok(metadata) => {
                    let named = keys_url(&metadata, issuer, IssuerPolicy::new(version));
                    return named
                        .map(str::to_owned)
                        .map_err(|error| FetchError::unusable(issuer, error.to_string()));
                }
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    fn state(&self) -> MutexGuard<'_, KeyState> {
        lock(&self.state)
    }
}

fn fitting(keys: &[Jwk], kid: Option<&str>, algorithm: SigningAlgorithm) -> Vec<Jwk> {
    let fits = |key: &&Jwk| {
        let named = kid.is_none_or(|kid| key.kid.as_deref() == Some(kid));
        named && algorithm.fits(key)
    };
    keys.iter()
        .filter(fits)
        .take(MAX_TRIED_KEYS)
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests;
