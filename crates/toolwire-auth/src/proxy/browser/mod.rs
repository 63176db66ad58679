//! The state that a browser stores for the proxy in sealed cookies: its id, consents, and started logins.
//!
//! Spec 2026-07-28, security best practices, "Confused Deputy Problem": the callback of the identity provider is
//! accepted only in the browser whose user has just consented. So the cookie with the logins is set after consent and
//! not before.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Response};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toolwire::store::StoreError;

use crate::proxy::sealed_store::{SealedStore, random};

/// The name of the browser cookie. Browsers accept `__Host-` cookies only from the same host, over TLS, for all paths.
const BROWSER: &str = "__Host-toolwire-browser";
const LOGINS: &str = "__Host-toolwire-logins";

/// The lifetime of a stored consent: 30 days.
const CONSENT_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The maximum number of consents per browser. One more removes the oldest.
const MAX_CONSENTS: usize = 32;

/// The maximum number of logins in progress per browser. One more removes the oldest.
const MAX_LOGINS: usize = 4;

/// The time limit of a login.
pub(super) const LOGIN_TTL: Duration = Duration::from_secs(10 * 60);

/// A truncated digest, long enough to resist a second preimage.
type ConsentDigest = [u8; 16];

/// The state of a browser, from its cookies. They are sealed, so this proxy has written all of it.
#[derive(Debug, Clone)]
pub(super) struct BrowserSession {
    cookie_state: CookieState,
    logins: Vec<ConsentDigest>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CookieState {
    /// A random id. Values that are bound to it work in this browser only.
    id: String,
    /// The digests of consents, oldest first; see [`Consent::digest`].
    consents: Vec<String>,
}

impl BrowserSession {
    /// Returns the browser that sent these cookies, or `None` if it is unknown.
    pub(super) fn from_cookies(store: &SealedStore, headers: &HeaderMap) -> Option<Self> {
        let cookie_state: CookieState = store.open(BROWSER, "", cookie(headers, BROWSER)?)?;
        let logins = cookie(headers, LOGINS);
        let logins = logins.and_then(|sealed| store.open(LOGINS, &cookie_state.id, sealed));
        Some(Self {
            logins: logins.unwrap_or_default(),
            cookie_state,
        })
    }

    /// Creates the state of an unknown browser.
    pub(super) fn new() -> Result<Self, StoreError> {
        let id = random::<32>()?;
        Ok(Self {
            cookie_state: CookieState {
                id: URL_SAFE_NO_PAD.encode(id),
                consents: Vec::new(),
            },
            logins: Vec::new(),
        })
    }

    /// Returns the id that forms are bound to, so that no other browser can submit them.
    pub(super) fn id(&self) -> &str {
        &self.cookie_state.id
    }

    /// Returns `true` if the user of this browser has consented to exactly this.
    pub(super) fn has_consented_to(&self, consent: &Consent<'_>) -> bool {
        self.cookie_state.consents.contains(&consent.digest())
    }

    /// Returns `true` if the user of this browser has consented to a client before, with this registered redirect URI
    /// and any scopes.
    pub(super) fn has_consented_to_client(
        &self,
        client_id: &str,
        registered_redirect: &str,
    ) -> bool {
        let client = client_digest(client_id, registered_redirect);
        let mut consents = self.cookie_state.consents.iter();
        consents.any(|consent| consent.starts_with(&client))
    }

    pub(super) fn add_consent(&mut self, consent: &Consent<'_>) {
        push_limited(
            &mut self.cookie_state.consents,
            consent.digest(),
            MAX_CONSENTS,
        );
    }

    /// Returns `true` if a login with this `state` was started in this browser.
    pub(super) fn has_login(&self, state: &str) -> bool {
        self.logins.contains(&digest_of([state]))
    }

    pub(super) fn add_login(&mut self, state: &str) {
        push_limited(&mut self.logins, digest_of([state]), MAX_LOGINS);
    }

    pub(super) fn remove_login(&mut self, state: &str) {
        let removed = digest_of([state]);
        self.logins.retain(|login| *login != removed);
    }

    /// Sets the cookie with the browser's id and consents.
    pub(super) fn set_browser_cookie<T>(
        &self,
        store: &SealedStore,
        response: &mut Response<T>,
    ) -> Result<(), StoreError> {
        let sealed = store.seal(BROWSER, "", &self.cookie_state, CONSENT_TTL)?;
        set_cookie(response, BROWSER, &sealed, CONSENT_TTL)
    }

    /// Sets the cookie with the logins, which happens only after consent.
    pub(super) fn set_logins_cookie<T>(
        &self,
        store: &SealedStore,
        response: &mut Response<T>,
    ) -> Result<(), StoreError> {
        let sealed = store.seal(LOGINS, self.id(), &self.logins, LOGIN_TTL)?;
        let lifetime = if self.logins.is_empty() {
            Duration::ZERO
        } else {
            LOGIN_TTL
        };
        set_cookie(response, LOGINS, &sealed, lifetime)
    }
}

/// The subject of a consent: a client, a redirect URI and scopes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Consent<'a> {
    pub(super) client_id: &'a str,
    /// The registered redirect URI. The port of a program on the user's machine differs each time.
    pub(super) registered_redirect: &'a str,
    pub(super) scopes: &'a str,
}

impl Consent<'_> {
    /// Returns the digest of client and redirect URI, followed by that of the scopes. Encoded as text, 32 of them fit
    /// into the 4096 bytes that browsers store in one cookie.
    fn digest(&self) -> String {
        let mut scopes: Vec<&str> = self.scopes.split(' ').collect();
        scopes.sort_unstable();
        let mut consent = client_digest(self.client_id, self.registered_redirect);
        URL_SAFE_NO_PAD.encode_string(digest_of([&scopes.join(" ")]), &mut consent);
        consent
    }
}

/// Returns the first part of a consent's digest, which does not depend on the scopes.
fn client_digest(client_id: &str, registered_redirect: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest_of([client_id, registered_redirect]))
}

/// Returns a digest of all parts with their lengths, so that no two lists have the same input.
fn digest_of<const N: usize>(parts: [&str; N]) -> ConsentDigest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let mut truncated = [0; 16];
    for (byte, digest_byte) in truncated.iter_mut().zip(digest) {
        *byte = digest_byte;
    }
    truncated
}

/// Appends an item, and removes the oldest one if there are more than `limit`.
fn push_limited<T: PartialEq>(items: &mut Vec<T>, item: T, limit: usize) {
    items.retain(|existing| *existing != item);
    items.push(item);
    if items.len() > limit {
        items.remove(0);
    }
}

/// Returns the cookie with a name, if there is exactly one.
#[must_use]
pub fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(COOKIE).into_iter();
    let pairs = lines.filter_map(|line| line.to_str().ok());
    let mut values = pairs
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(cookie_name, _)| *cookie_name == name)
        .map(|(_, value)| value);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

fn set_cookie<T>(
    response: &mut Response<T>,
    name: &str,
    value: &str,
    lifetime: Duration,
) -> Result<(), StoreError> {
    let seconds = lifetime.as_secs();
    let text = format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={seconds}");
    let value = HeaderValue::try_from(text).map_err(StoreError::unavailable)?;
    response.headers_mut().append(SET_COOKIE, value);
    Ok(())
}

#[cfg(test)]
mod tests;
