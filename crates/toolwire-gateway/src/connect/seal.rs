//! Seals addresses, forms and cookies, which users and browsers store for the gateway.
//!
//! Each is encrypted and bound to its purpose and to the upstream or browser that it is for. The key of addresses and forms
//! is that of the process, so that none of them opens after a restart. That of cookies is the key of `[logins]`, if it has one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::request_state::{self, Binding, KeyRing, StateKey};

/// The keys of a gateway.
#[derive(Debug)]
pub(super) struct Seals {
    keys: KeyRing,
}

impl Seals {
    /// Creates a new key.
    ///
    /// # Errors
    /// Returns an error if the system has no random bytes.
    pub(super) fn new() -> Result<Self, String> {
        let keys = KeyRing::new(StateKey::new(random()?));
        Ok(Self::with_keys(keys))
    }

    /// Uses the key of a configuration.
    ///
    /// # Errors
    /// Returns an error if the key is not valid.
    pub(super) fn from_hex(key: &str) -> Result<Self, String> {
        let key = StateKey::from_hex(key);
        let key = key.ok_or("the key of [logins] does not have 64 hexadecimal digits")?;
        Ok(Self::with_keys(KeyRing::new(key)))
    }

    /// Uses these keys.
    pub(super) fn with_keys(keys: KeyRing) -> Self {
        Self { keys }
    }

    /// Seals a value for a purpose, bound to a name.
    pub(super) fn seal(
        &self,
        purpose: &str,
        name: &str,
        content: &impl Serialize,
        (now, ttl): (Duration, Duration),
    ) -> Result<String, String> {
        let content = serde_json::to_vec(content).map_err(|error| error.to_string())?;
        let binding = binding(purpose, name);
        let sealed = request_state::seal(&self.keys, &binding, &content, now, ttl, random()?);
        sealed.map_err(|error| error.to_string())
    }

    /// Opens a value that was sealed for the same purpose and name and has not expired.
    pub(super) fn open<T: DeserializeOwned>(
        &self,
        purpose: &str,
        name: &str,
        sealed: &str,
    ) -> Option<T> {
        let content = request_state::open(&self.keys, &binding(purpose, name), sealed, now());
        serde_json::from_slice(&content.ok()?).ok()
    }
}

fn binding<'a>(purpose: &'a str, name: &'a str) -> Binding<'a> {
    Binding {
        principal: None,
        method: purpose,
        name,
        params_digest: [0; 32],
        audience: "toolwire-gateway connect",
    }
}

/// Returns the time since the Unix epoch.
pub(super) fn now() -> Duration {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.unwrap_or_default()
}

/// Returns random bytes of the system.
fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| "the system has no random bytes".to_owned())?;
    Ok(bytes)
}

/// Returns a random text that cannot be guessed.
pub(super) fn random_id() -> Result<String, String> {
    let bytes = random::<16>()?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
