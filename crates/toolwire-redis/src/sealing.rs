//! Encryption of stored values.
//!
//! A value is bound to the name under which it is stored: a value that was moved to another name does not open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwire::KeyRing;
use toolwire::store::StoreError;
use toolwire_proto::request_state::{self, Binding};

/// The maximum size of a sealed value. The stores have smaller limits of their own.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The keys that seal values.
#[derive(Debug, Clone)]
pub(crate) struct Sealing {
    keys: KeyRing,
    /// The number of values that did not open. Clones share it.
    unopened: Arc<AtomicU64>,
}

impl Sealing {
    pub(crate) fn new(keys: KeyRing) -> Self {
        Self {
            keys: keys.with_max_payload(MAX_BYTES),
            unopened: Arc::default(),
        }
    }

    /// Seals a value for a name.
    pub(crate) fn seal(&self, name: &str, value: &[u8]) -> Result<String, StoreError> {
        let mut nonce = [0; 24];
        getrandom::fill(&mut nonce)
            .map_err(|error| StoreError::unavailable(format!("no random bytes: {error}")))?;
        // The engine removes expired values, so the seal does not expire.
        let sealed = request_state::seal(
            &self.keys,
            &binding(name),
            value,
            since_epoch(),
            Duration::MAX,
            nonce,
        );
        sealed.map_err(StoreError::unavailable)
    }

    /// Opens a value that was sealed for this name. Returns `None` if it was not.
    pub(crate) fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let opened = str::from_utf8(sealed).ok().and_then(|sealed| {
            request_state::open(&self.keys, &binding(name), sealed, since_epoch()).ok()
        });
        if opened.is_none() {
            self.unopened.fetch_add(1, Ordering::Relaxed);
        }
        opened
    }

    /// Returns the number of values that did not open.
    pub(crate) fn unopened(&self) -> u64 {
        self.unopened.load(Ordering::Relaxed)
    }
}

fn binding(name: &str) -> Binding<'_> {
    Binding {
        principal: None,
        method: "toolwire redis",
        name,
        params_digest: [0; 32],
        audience: "",
    }
}

fn since_epoch() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use toolwire::StateKey;

    use super::*;

    fn sealing(byte: u8) -> Sealing {
        Sealing::new(KeyRing::new(StateKey::new([byte; 32])))
    }

    #[test]
    fn sealed_value_opens_only_with_its_name_and_key() {
        let sealed = sealing(1).seal("a", b"secret \xff").unwrap();
        assert!(!sealed.contains("secret"));
        let sealed = sealed.as_bytes();
        assert_eq!(sealing(1).open("a", sealed).unwrap(), b"secret \xff");
        assert_eq!(sealing(1).open("b", sealed), None);
        assert_eq!(sealing(2).open("a", sealed), None);
        assert_eq!(sealing(1).open("a", b"secret"), None);
        let mut changed = sealed.to_vec();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(sealing(1).open("a", &changed), None);
    }

    #[test]
    fn rotated_keys_open_older_values() {
        let sealed = sealing(1).seal("a", b"x").unwrap();
        let rotated = KeyRing::new(StateKey::new([2; 32])).with_older(StateKey::new([1; 32]));
        let opened = Sealing::new(rotated).open("a", sealed.as_bytes());
        assert_eq!(opened.unwrap(), b"x");
    }
}
