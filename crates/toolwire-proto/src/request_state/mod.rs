//! Sealed `requestState`: what a server remembers between two rounds, kept by the client and readable by nobody else.
//!
//! A token is encrypted and authenticated (XChaCha20-Poly1305) together with who asked, what was asked and until when.
//! It opens only for the same principal and the same request, in time, with a key of the ring; every other token fails
//! the same way. A token can be replayed while it lasts: where single use matters, remember its [`fingerprint`].

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

/// How many bytes may be sealed unless the ring says otherwise.
pub const DEFAULT_MAX_PAYLOAD: usize = 64 * 1024;

/// How far the clock of the server that sealed may be ahead of the one that opens.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Tokens of another layout will begin differently.
const TOKEN_PREFIX: &str = "tw1.";
const CONTEXT: &[u8] = b"toolwire request state 1";
const KEY_ID_BYTES: usize = 4;
const NONCE_BYTES: usize = 24;
const TIME_BYTES: usize = 8;
const HEADER_BYTES: usize = KEY_ID_BYTES + NONCE_BYTES + 2 * TIME_BYTES;
const TAG_BYTES: usize = 16;

/// The largest whole number a JSON float holds exactly.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A secret of 32 random bytes.
#[derive(Clone)]
pub struct StateKey([u8; 32]);

impl StateKey {
    /// Takes the secret.
    #[must_use]
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Reads the secret from 64 hexadecimal digits, as configuration holds it; `None` when it is anything else.
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

/// The keys of a server, newest first: it seals with the newest and opens with all.
///
/// To rotate on many nodes, first add the new key as an older one everywhere, then make it the newest, then drop the
/// old.
#[derive(Debug, Clone)]
pub struct KeyRing {
    newest: StateKey,
    older: Vec<StateKey>,
    max_payload: usize,
}

impl KeyRing {
    /// A ring of one key.
    #[must_use]
    pub const fn new(newest: StateKey) -> Self {
        Self {
            newest,
            older: Vec::new(),
            max_payload: DEFAULT_MAX_PAYLOAD,
        }
    }

    /// Adds a key that only opens.
    #[must_use]
    pub fn with_older(mut self, key: StateKey) -> Self {
        self.older.push(key);
        self
    }

    /// Changes how many bytes may be sealed in one token.
    #[must_use]
    pub const fn with_max_payload(mut self, bytes: usize) -> Self {
        self.max_payload = bytes;
        self
    }

    fn keys(&self) -> impl Iterator<Item = &StateKey> {
        std::iter::once(&self.newest).chain(&self.older)
    }
}

/// What a token is bound to; all of it must be the same when it comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets a new member would weaken the binding"
)]
pub struct Binding<'a> {
    /// Who asked; nothing when callers are anonymous.
    pub principal: Option<&'a str>,
    /// The method of the original request.
    pub method: &'a str,
    /// The tool, prompt or resource it was about.
    pub name: &'a str,
    /// [`params_digest`] of its arguments.
    pub params_digest: [u8; 32],
    /// Which server or deployment the token is for.
    pub audience: &'a str,
}

impl Binding<'_> {
    /// The data authenticated with a token: every part with its length, so that no two bindings read the same.
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

/// Seals a payload into a token; `issued_at` is time since the Unix epoch, and `nonce` 24 fresh random bytes.
///
/// # Errors
/// When the payload is larger than the ring allows, or the times do not fit a clock.
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
    // A lifetime beyond every clock is for ever.
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

/// Opens a token at `now`, time since the Unix epoch, and returns what was sealed.
///
/// # Errors
/// When the token was not sealed by this ring for this binding, or its time is over or has not come. The error does not
/// say which, so that nobody learns from guessing.
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

    // Only now are the times known to be ours.
    let from_the_future = parts.issued > now.saturating_add(MAX_CLOCK_SKEW);
    if from_the_future || now >= parts.expires || payload.len() > ring.max_payload {
        return Err(StateError(()));
    }
    Ok(payload)
}

/// When a token that opened expires, as time since the Unix epoch.
///
/// Of a token that did not open this says nothing: anybody may have written it.
#[must_use]
pub fn expiry(token: &str) -> Option<Duration> {
    let encoded = token.strip_prefix(TOKEN_PREFIX)?;
    let bytes = URL_SAFE_NO_PAD.decode(encoded).ok()?;
    Some(TokenHeader::read(&bytes)?.expires)
}

/// Whether a text may be one of these tokens, and not a state of another kind.
#[must_use]
pub fn is_sealed(state: &str) -> bool {
    state.starts_with(TOKEN_PREFIX)
}

/// A digest by which a used token can be remembered where it must not work twice.
///
/// A token that opens has only one spelling, so two fingerprints differ exactly when the tokens do.
#[must_use]
pub fn fingerprint(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// A digest of the arguments of a request that ignores white space, the order of members and how a number is spelled.
///
/// Absent arguments count as none given, like `{}`. Leave out what changes between the rounds of one request: `_meta`,
/// `inputResponses` and `requestState`.
#[must_use]
pub fn params_digest(arguments: Option<&RawValue>) -> [u8; 32] {
    let text = arguments.map_or("{}", RawValue::get);
    let mut hash = Sha256::new();
    match serde_json::from_str(text) {
        Ok(value) => absorb(&mut hash, &value),
        // Too deep for the JSON reader, or a number out of its range: bind the exact text instead.
        Err(_) => absorb_text(&mut hash, b'r', text),
    }
    hash.finalize().into()
}

/// A token that does not open; deliberately without a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateError(());

impl StateError {
    /// A token that opened before and must not do so again. It looks like any other.
    #[must_use]
    pub const fn used() -> Self {
        Self(())
    }

    /// A token that opened, with content of no use.
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

/// Why a payload could not be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "size and time are all that can be wrong"
)]
pub enum SealError {
    /// The payload has more bytes than a token may hold.
    TooLarge {
        /// The most a token may hold.
        limit: usize,
    },
    /// The time of issue does not fit a clock.
    TimeOutOfRange,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(f, "request state is larger than {limit} bytes"),
            Self::TimeOutOfRange => f.write_str("the time of a request state fits no clock"),
        }
    }
}

impl std::error::Error for SealError {}

/// The part of a token before the ciphertext: readable by all, but authenticated.
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

/// Feeds a value into the hash, each part with its kind and length, so that no two values read the same.
///
/// The recursion is bounded: the JSON reader refuses more than 127 levels.
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
            // Whether the map is already sorted depends on features other crates can turn on.
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
