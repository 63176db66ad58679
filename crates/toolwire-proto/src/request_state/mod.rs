//! Sealed `requestState`: the state of a server between two rounds, stored by the client and readable only by the
//! server.
//!
//! A token is encrypted and authenticated (XChaCha20-Poly1305) together with the principal, the request and the expiry
//! time. It opens only for the same principal and request, before it expires, with a key of the ring. All other tokens
//! fail with the same error. A token can be replayed until it expires. Where single use matters, the caller stores its
//! [`fingerprint`].

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use toolwire_types::ErrorObject;

/// The default maximum payload in bytes.
pub const DEFAULT_MAX_PAYLOAD: usize = 64 * 1024;

/// How far the clock of the sealing server may be ahead of the clock of the opening one.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The prefix of this token layout. Other layouts will have another prefix.
const TOKEN_PREFIX: &str = "tw1.";
const CONTEXT: &[u8] = b"toolwire request state 1";
const KEY_ID_BYTES: usize = 4;
const NONCE_BYTES: usize = 24;
const TIME_BYTES: usize = 8;
const HEADER_BYTES: usize = KEY_ID_BYTES + NONCE_BYTES + 2 * TIME_BYTES;
const TAG_BYTES: usize = 16;

/// The largest integer that a JSON float represents exactly.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A secret of 32 random bytes.
#[derive(Clone)]
pub struct StateKey([u8; 32]);

impl StateKey {
    /// Creates a key from the secret.
    #[must_use]
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Parses the secret from 64 hexadecimal digits, as in a configuration. Returns `None` for any other text.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<Self> {
        let digits = digits.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut secret = [0; 32];
        for (byte, pair) in secret.iter_mut().zip(digits.chunks_exact(2)) {
            for &digit in pair {
                let value = char::from(digit).to_digit(16)?;
                *byte = *byte << 4 | u8::try_from(value).ok()?;
            }
        }
        Some(Self(secret))
    }

    fn id(&self) -> [u8; KEY_ID_BYTES] {
        let digest: [u8; 32] = Sha256::digest(self.0).into();
        let [a, b, c, d, ..] = digest;
        [a, b, c, d]
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateKey(redacted)")
    }
}

/// The keys of a server, newest first. It seals with the newest key and opens with all keys.
///
/// To rotate keys on several nodes, first add the new key as an older one on every node, then make it the newest, then
/// remove the old one.
#[derive(Debug, Clone)]
pub struct KeyRing {
    newest: StateKey,
    older: Vec<StateKey>,
    max_payload: usize,
}

impl KeyRing {
    /// Creates a ring of one key.
    #[must_use]
    pub const fn new(newest: StateKey) -> Self {
        Self {
            newest,
            older: Vec::new(),
            max_payload: DEFAULT_MAX_PAYLOAD,
        }
    }

    /// Adds a key that only opens tokens.
    #[must_use]
    pub fn with_older(mut self, key: StateKey) -> Self {
        self.older.push(key);
        self
    }

    /// Sets the maximum payload of one token in bytes. Default: 64 KiB.
    #[must_use]
    pub const fn with_max_payload(mut self, bytes: usize) -> Self {
        self.max_payload = bytes;
        self
    }

    fn keys(&self) -> impl Iterator<Item = &StateKey> {
        std::iter::once(&self.newest).chain(&self.older)
    }
}

/// The request that a token is bound to. All fields must match when the token is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that omits a new member would weaken the binding"
)]
pub struct Binding<'a> {
    /// The principal of the request. `None` if callers are anonymous.
    pub principal: Option<&'a str>,
    /// The method of the original request.
    pub method: &'a str,
    /// The tool, prompt or resource of the request.
    pub name: &'a str,
    /// The [`params_digest`] of its arguments.
    pub params_digest: [u8; 32],
    /// The server or deployment that the token is for.
    pub audience: &'a str,
}

impl Binding<'_> {
    /// Returns the data authenticated with a token. Every part has a length prefix, so that different bindings have
    /// different data.
    fn authenticated_data(&self, header: &[u8]) -> Vec<u8> {
        let mut data = Vec::with_capacity(256);
        data.extend_from_slice(CONTEXT);
        data.extend_from_slice(header);
        data.push(u8::from(self.principal.is_some()));
        for part in [
            self.principal.unwrap_or_default(),
            self.method,
            self.name,
            self.audience,
        ] {
            data.extend_from_slice(&(part.len() as u64).to_be_bytes());
            data.extend_from_slice(part.as_bytes());
        }
        data.extend_from_slice(&self.params_digest);
        data
    }
}

/// Seals a payload into a token. `issued_at` is the time since the Unix epoch, `nonce` is 24 fresh random bytes.
///
/// # Errors
/// Returns an error if the payload is larger than the ring allows, or if `issued_at` is out of range.
pub fn seal(
    ring: &KeyRing,
    binding: &Binding<'_>,
    payload: &[u8],
    issued_at: Duration,
    ttl: Duration,
    nonce: [u8; NONCE_BYTES],
) -> Result<String, SealError> {
    if payload.len() > ring.max_payload {
        return Err(SealError::TooLarge {
            limit: ring.max_payload,
        });
    }
    let issued = milliseconds(issued_at).ok_or(SealError::TimeOutOfRange)?;
    // A lifetime that is out of range never expires.
    let expires = milliseconds(issued_at.saturating_add(ttl)).unwrap_or(u64::MAX);

    let mut token = Vec::with_capacity(HEADER_BYTES + payload.len() + TAG_BYTES);
    token.extend_from_slice(&ring.newest.id());
    token.extend_from_slice(&nonce);
    token.extend_from_slice(&issued.to_be_bytes());
    token.extend_from_slice(&expires.to_be_bytes());
    let authenticated = Payload {
        msg: payload,
        aad: &binding.authenticated_data(&token),
    };
    let sealed = ring
        .newest
        .cipher()
        .encrypt(&XNonce::from(nonce), authenticated)
        .map_err(|_| SealError::TooLarge {
            limit: ring.max_payload,
        })?;
    token.extend_from_slice(&sealed);
    Ok(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(token)))
}

/// Opens a token at `now`, the time since the Unix epoch, and returns the payload.
///
/// # Errors
/// Returns an error if this ring did not seal the token for this binding, or if the token is expired or not yet valid.
/// The error does not distinguish these cases, so that guessing reveals nothing.
pub fn open(
    ring: &KeyRing,
    binding: &Binding<'_>,
    token: &str,
    now: Duration,
) -> Result<Vec<u8>, StateError> {
    let longest = HEADER_BYTES
        .saturating_add(TAG_BYTES)
        .saturating_add(ring.max_payload);
    let encoded = token.strip_prefix(TOKEN_PREFIX).ok_or(StateError(()))?;
    if encoded.len() > longest.div_ceil(3).saturating_mul(4) {
        return Err(StateError(()));
    }
    let bytes = URL_SAFE_NO_PAD
        .decode(encoded)
        .map_err(|_| StateError(()))?;
    let (header, sealed) = bytes.split_at_checked(HEADER_BYTES).ok_or(StateError(()))?;
    let parts = TokenHeader::read(header).ok_or(StateError(()))?;

    let nonce = XNonce::from(parts.nonce);
    let data = binding.authenticated_data(header);
    let payload = ring
        .keys()
        .filter(|key| key.id() == parts.key_id)
        .find_map(|key| {
            let authenticated = Payload {
                msg: sealed,
                aad: &data,
            };
            key.cipher().decrypt(&nonce, authenticated).ok()
        })
        .ok_or(StateError(()))?;

    // The times are authentic only from here on.
    let from_the_future = parts.issued > now.saturating_add(MAX_CLOCK_SKEW);
    if from_the_future || now >= parts.expires || payload.len() > ring.max_payload {
        return Err(StateError(()));
    }
    Ok(payload)
}

/// Returns the expiry time of an opened token, as time since the Unix epoch.
///
/// The value is meaningful only for a token that opened. Other tokens may be forged.
#[must_use]
pub fn expiry(token: &str) -> Option<Duration> {
    let encoded = token.strip_prefix(TOKEN_PREFIX)?;
    let bytes = URL_SAFE_NO_PAD.decode(encoded).ok()?;
    Some(TokenHeader::read(&bytes)?.expires)
}

/// Returns `true` if a text may be a token of this kind, and not a state of another kind.
#[must_use]
pub fn is_sealed(state: &str) -> bool {
    state.starts_with(TOKEN_PREFIX)
}

/// Returns a digest of a token, for callers that store used tokens to prevent a second use.
///
/// A token that opens has only one spelling, so fingerprints differ exactly if the tokens do.
#[must_use]
pub fn fingerprint(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Returns a digest of the arguments of a request. It ignores white space, the order of members and the spelling of
/// numbers.
///
/// Absent arguments count as `{}`. Callers omit the members that change between the rounds of one request: `_meta`,
/// `inputResponses` and `requestState`.
#[must_use]
pub fn params_digest(arguments: Option<&RawValue>) -> [u8; 32] {
    let text = arguments.map_or("{}", RawValue::get);
    let mut hash = Sha256::new();
    match serde_json::from_str(text) {
        Ok(value) => absorb(&mut hash, &value),
        // The text is too deep for the JSON parser, or has a number out of its range. The exact text is bound
        // instead.
        Err(_) => absorb_text(&mut hash, b'r', text),
    }
    hash.finalize().into()
}

/// A token that does not open. The error gives no reason on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateError(());

impl StateError {
    /// Returns the error for a token that was used before. It equals all other errors.
    #[must_use]
    pub const fn used() -> Self {
        Self(())
    }

    /// Returns the error for a token that opened, but whose payload is invalid.
    #[must_use]
    pub const fn unreadable() -> Self {
        Self(())
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(INVALID_STATE)
    }
}

impl std::error::Error for StateError {}

impl From<StateError> for ErrorObject {
    fn from(_: StateError) -> Self {
        Self::invalid_params(INVALID_STATE)
    }
}

const INVALID_STATE: &str = "requestState is invalid or has expired";

/// The reason why a payload cannot be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "only size and time can be invalid")]
pub enum SealError {
    /// The payload is larger than the maximum.
    TooLarge {
        /// The maximum in bytes.
        limit: usize,
    },
    /// The time of issue is out of range.
    TimeOutOfRange,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(f, "request state is larger than {limit} bytes"),
            Self::TimeOutOfRange => {
                f.write_str("the time of issue of a request state is out of range")
            }
        }
    }
}

impl std::error::Error for SealError {}

/// The part of a token before the ciphertext. It is not encrypted, but authenticated.
struct TokenHeader {
    key_id: [u8; KEY_ID_BYTES],
    nonce: [u8; NONCE_BYTES],
    issued: Duration,
    expires: Duration,
}

impl TokenHeader {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (key_id, rest) = bytes.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (issued, rest) = rest.split_first_chunk()?;
        let (expires, _) = rest.split_first_chunk()?;
        Some(Self {
            key_id: *key_id,
            nonce: *nonce,
            issued: Duration::from_millis(u64::from_be_bytes(*issued)),
            expires: Duration::from_millis(u64::from_be_bytes(*expires)),
        })
    }
}

fn milliseconds(time: Duration) -> Option<u64> {
    u64::try_from(time.as_millis()).ok()
}

/// Adds a value to the hash. Each part has a kind and a length prefix, so that different values have different input.
///
/// The recursion is bounded: the JSON parser rejects more than 127 levels.
fn absorb(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hash.update(b"n"),
        Value::Bool(false) => hash.update(b"f"),
        Value::Bool(true) => hash.update(b"t"),
        Value::Number(number) => {
            let text = match number.as_f64() {
                Some(float) if float.fract() == 0.0 && float.abs() <= MAX_SAFE_INTEGER => {
                    (float as i64).to_string()
                }
                _ => number.to_string(),
            };
            absorb_text(hash, b'd', &text);
        }
        Value::String(text) => absorb_text(hash, b's', text),
        Value::Array(items) => {
            absorb_length(hash, b'a', items.len());
            for item in items {
                absorb(hash, item);
            }
        }
        Value::Object(members) => {
            absorb_length(hash, b'o', members.len());
            // Features of other crates determine whether the map is already sorted.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in members {
                absorb_text(hash, b'k', name);
                absorb(hash, value);
            }
        }
    }
}

fn absorb_text(hash: &mut Sha256, kind: u8, text: &str) {
    absorb_length(hash, kind, text.len());
    hash.update(text);
}

fn absorb_length(hash: &mut Sha256, kind: u8, length: usize) {
    hash.update([kind]);
    hash.update((length as u64).to_be_bytes());
}
