//! Fetches and caches the keys of an issuer.
//!
//! A token that names an unknown key, or that the known keys do not verify, causes a new fetch, because issuers rotate keys.
//! One fetch serves all waiting requests. Tokens with invented keys and signatures cause at most one fetch per 30 s.

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
const FRESH_TTL: Duration = Duration::from_secs(60 * 60);

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
    Fixed(Arc<Vec<Jwk>>),
}

/// The keys of one issuer.
#[derive(Debug)]
pub(super) struct IssuerKeys {
    fetcher: DocumentFetcher,
    source: KeySource,
    state: Mutex<KeyState>,
    /// Locked while keys are fetched.
    fetch_lock: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct KeyState {
    keys: Option<(Arc<Vec<Jwk>>, Instant)>,
    last_attempt: Option<Instant>,
}

impl IssuerKeys {
    pub(super) fn new(fetcher: DocumentFetcher, source: KeySource) -> Self {
        Self {
            fetcher,
            source,
            state: Mutex::default(),
            fetch_lock: Arc::default(),
        }
    }

    /// Returns the keys that may verify a signature.
    pub(super) async fn candidates(
        self: &Arc<Self>,
        kid: Option<&str>,
        algorithm: SigningAlgorithm,
    ) -> Result<Vec<Jwk>, FetchError> {
        if let KeySource::Fixed(keys) = &self.source {
            return Ok(matching_keys(keys, kid, algorithm));
        }
        if let Some((keys, is_fresh)) = self.cached_keys() {
            let matching = matching_keys(&keys, kid, algorithm);
            if !matching.is_empty() {
                if !is_fresh && let Ok(guard) = Arc::clone(&self.fetch_lock).try_lock_owned() {
                    // The caller does not wait, because the stale keys are still usable.
                    drop(self.start_fetch(guard));
                }
                return Ok(matching);
            }
        }
        let fetched = self.fetch_unless_recent().await;
        match self.cached_keys() {
            // If the issuer's keys are known, an unknown key is not an error.
            Some((keys, _)) => Ok(matching_keys(&keys, kid, algorithm)),
            None => Err(fetched
                .err()
                .unwrap_or_else(|| self.fetch_error("its keys could not be fetched"))),
        }
    }

    /// Fetches the keys again, because the candidates did not verify a signature. Returns those that are new.
    ///
    /// An issuer may replace a key by another one with the same id, or use no ids.
    pub(super) async fn new_candidates(
        self: &Arc<Self>,
        kid: Option<&str>,
        algorithm: SigningAlgorithm,
        tried: &[Jwk],
    ) -> Vec<Jwk> {
        // Without a known candidate, the keys were fetched just now.
        if tried.is_empty() || matches!(self.source, KeySource::Fixed(_)) {
            return Vec::new();
        }
        // The known keys are the best ones if the fetch fails, and the error is logged.
        let _ = self.fetch_unless_recent().await;
        let mut keys = match self.cached_keys() {
            Some((keys, _)) => matching_keys(&keys, kid, algorithm),
            None => Vec::new(),
        };
        keys.retain(|key| !tried.contains(key));
        keys
    }

    /// Fetches the keys, unless that was tried recently. Concurrent requests wait for the running fetch.
    async fn fetch_unless_recent(self: &Arc<Self>) -> Result<(), FetchError> {
        let guard = Arc::clone(&self.fetch_lock).lock_owned().await;
        match self.start_fetch(guard) {
            Some(task) => match task.await {
                Ok(outcome) => outcome,
                Err(_) => Err(self.fetch_error("fetching its keys was interrupted")),
            },
            None => Ok(()),
        }
    }

    /// Returns the usable keys, and whether they are fresh.
    fn cached_keys(&self) -> Option<(Arc<Vec<Jwk>>, bool)> {
        let state = self.state();
        let (keys, fetched_at) = state.keys.as_ref()?;
        let age = fetched_at.elapsed();
        (age < FRESH_TTL + STALE_TTL).then(|| (Arc::clone(keys), age < FRESH_TTL))
    }

    /// Starts to fetch the keys, unless a fetch was tried recently.
    ///
    /// The fetch runs in a separate task, so that a client that sends an invented key and disconnects cannot cancel it.
    /// The time limit of the fetcher ends it.
    fn start_fetch(
        self: &Arc<Self>,
        guard: OwnedMutexGuard<()>,
    ) -> Option<JoinHandle<Result<(), FetchError>>> {
        {
            let mut state = self.state();
            let cool_down = match state.keys {
                Some(_) => COOL_DOWN,
                None => COOL_DOWN_WITHOUT_KEYS,
            };
            let last_attempt = state.last_attempt;
            if last_attempt.is_some_and(|attempt| attempt.elapsed() < cool_down) {
                return None;
            }
            state.last_attempt = Some(Instant::now());
        }
        let issuer_keys = Arc::clone(self);
        Some(tokio::spawn(async move {
            let fetched = issuer_keys.fetch_keys().await;
            let mut state = issuer_keys.state();
            // Counted from the end of the fetch, so that a slow issuer also gets a pause.
            state.last_attempt = Some(Instant::now());
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
            drop(guard);
            outcome
        }))
    }

    fn fetch_error(&self, reason: &str) -> FetchError {
        let url = match &self.source {
            KeySource::Url(url) | KeySource::Metadata(url) => url,
            KeySource::Fixed(_) => "",
        };
        FetchError::unusable(url, reason.to_owned())
    }

    async fn fetch_keys(&self) -> Result<Vec<Jwk>, FetchError> {
        let url = match &self.source {
            KeySource::Url(url) => url.clone(),
            KeySource::Metadata(issuer) => self.discover_keys_url(issuer).await?,
            KeySource::Fixed(keys) => return Ok(keys.to_vec()),
        };
        let set: JwkSet = self.fetcher.get(&url).await?;
        Ok(set.keys.into_iter().take(MAX_KEYS).collect())
    }

    /// Returns the URL of the keys from the issuer's metadata.
    async fn discover_keys_url(&self, issuer: &str) -> Result<String, FetchError> {
        let version = ProtocolVersion::LATEST;
        let urls = server_metadata_urls(issuer, version)
            .map_err(|invalid| FetchError::unusable(issuer, invalid.to_string()))?;
        let mut last_error = FetchError::unusable(issuer, "it has no metadata".to_owned());
        for url in urls {
            match self.fetcher.get::<AuthorizationServerMetadata>(&url).await {
                Ok(metadata) => {
                    let url = keys_url(&metadata, issuer, IssuerPolicy::new(version));
                    return url
                        .map(str::to_owned)
                        .map_err(|error| FetchError::unusable(issuer, error.to_string()));
                }
                Err(error) => last_error = error,
            }
        }
        Err(last_error)
    }

    fn state(&self) -> MutexGuard<'_, KeyState> {
        lock(&self.state)
    }
}

fn matching_keys(keys: &[Jwk], kid: Option<&str>, algorithm: SigningAlgorithm) -> Vec<Jwk> {
    let is_match = |key: &&Jwk| {
        let has_kid = kid.is_none_or(|kid| key.kid.as_deref() == Some(kid));
        has_kid && algorithm.matches(key)
    };
    keys.iter()
        .filter(is_match)
        .take(MAX_TRIED_KEYS)
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests;
