//! The payload of the request state that a relay seals for a modern upstream.
//!
//! A call of a modern client that a modern upstream runs has the state of the upstream, which the relay seals again. The
//! payload is sealed by [`crate::request_state`], so that clients can neither read nor change it. It has a format byte,
//! so that nodes of different versions reject states that they do not know.

use sha2::{Digest, Sha256};

use crate::request_state::DEFAULT_MAX_PAYLOAD;

/// The maximum length of the name of an upstream in bytes.
pub const MAX_UPSTREAM_NAME_BYTES: usize = 256;

/// The maximum length of an upstream's own state in bytes, so that the payload fits into a sealed state.
pub const MAX_UPSTREAM_STATE_BYTES: usize = DEFAULT_MAX_PAYLOAD - 1024;

const FORMAT: u8 = 2;

/// The state of a call that an upstream continues by its own state.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that omits a new member would weaken the binding"
)]
pub struct ForwardedState {
    /// The upstream that gets the next round.
    pub upstream: String,
    /// The [`principal_digest`] of the caller.
    pub principal: [u8; 32],
    /// The `requestState` of the upstream.
    pub state: String,
}

impl ForwardedState {
    /// Returns the payload. Returns `None` if the name of the upstream or its state is too long.
    #[must_use]
    pub fn encode(&self) -> Option<Vec<u8>> {
        if self.upstream.len() > MAX_UPSTREAM_NAME_BYTES
            || self.state.len() > MAX_UPSTREAM_STATE_BYTES
        {
            return None;
        }
        let length = u16::try_from(self.upstream.len()).ok()?;
        let mut out = vec![FORMAT];
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(self.upstream.as_bytes());
        out.extend_from_slice(&self.principal);
        out.extend_from_slice(self.state.as_bytes());
        Some(out)
    }

    /// Reads a payload. Returns `None` for any other bytes.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let (&FORMAT, rest) = payload.split_first()? else {
            return None;
        };
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (upstream, rest) = rest.split_at_checked(length)?;
        let (principal, state) = rest.split_first_chunk()?;
        if length > MAX_UPSTREAM_NAME_BYTES || state.len() > MAX_UPSTREAM_STATE_BYTES {
            return None;
        }
        Some(Self {
            upstream: String::from_utf8(upstream.to_vec()).ok()?,
            principal: *principal,
            state: String::from_utf8(state.to_vec()).ok()?,
        })
    }
}

/// Returns the digest of a principal. `None` if callers are anonymous.
#[must_use]
pub fn principal_digest(principal: Option<&str>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update([u8::from(principal.is_some())]);
    hash.update(principal.unwrap_or_default());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forwarded(upstream: &str, state: impl Into<String>) -> ForwardedState {
        ForwardedState {
            upstream: upstream.to_owned(),
            principal: principal_digest(None),
            state: state.into(),
        }
    }

    #[test]
    fn payload_is_read_back() {
        for state in [
            forwarded("github", ""),
            forwarded("", "x"),
            forwarded("github", "x".repeat(MAX_UPSTREAM_STATE_BYTES)),
            forwarded(&"x".repeat(MAX_UPSTREAM_NAME_BYTES), "x"),
        ] {
            let payload = state.encode().expect("the state is not too long");
            assert!(payload.len() <= DEFAULT_MAX_PAYLOAD);
            assert_eq!(ForwardedState::decode(&payload), Some(state));
        }
    }

    #[test]
    fn long_states_and_names_are_rejected() {
        let state = "x".repeat(MAX_UPSTREAM_STATE_BYTES + 1);
        assert_eq!(forwarded("github", state).encode(), None);
        let name = "x".repeat(MAX_UPSTREAM_NAME_BYTES + 1);
        assert_eq!(forwarded(&name, "x").encode(), None);
    }

    #[test]
    fn other_bytes_are_rejected() {
        let payload = forwarded("github", "").encode().unwrap();
        for length in 0..payload.len() {
            assert_eq!(ForwardedState::decode(&payload[..length]), None, "{length}");
        }
        for format in [0, 1, 3] {
            let mut changed = payload.clone();
            changed[0] = format;
            assert_eq!(ForwardedState::decode(&changed), None);
        }
        let not_text: Vec<u8> = payload.iter().copied().chain([0xff]).collect();
        assert_eq!(ForwardedState::decode(&not_text), None);
    }

    #[test]
    fn anonymous_callers_have_a_digest_of_their_own() {
        assert_ne!(principal_digest(None), principal_digest(Some("")));
    }

    proptest! {
        #[test]
        fn decoding_never_panics_and_is_strict(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(state) = ForwardedState::decode(&bytes) {
                prop_assert_eq!(state.encode(), Some(bytes));
            }
        }
    }
}
