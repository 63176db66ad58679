//! The payloads of the request states that a relay seals.
//!
//! A call of a modern client that a legacy upstream runs stays open in the relay, and its state names it. A call of a
//! modern client that a modern upstream runs has the state of the upstream, which the relay seals again. The payloads
//! are sealed by [`crate::request_state`], so that clients can neither read nor change them. They have a format byte, so
//! that nodes of different versions reject states that they do not know.

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::request_state::{DEFAULT_MAX_PAYLOAD, params_digest};

/// The maximum length of the name of an upstream in bytes.
pub const MAX_UPSTREAM_NAME_BYTES: usize = 256;

/// The maximum length of an upstream's own state in bytes, so that the payload fits into a sealed state.
pub const MAX_UPSTREAM_STATE_BYTES: usize = DEFAULT_MAX_PAYLOAD - 1024;

const FORMAT: u8 = 1;
const KIND_PARKED: u8 = 1;
const KIND_FORWARDED: u8 = 2;

/// The state of a relay between two rounds of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayState {
    /// The call is open in the relay.
    Parked(ParkedState),
    /// The call is not open, and the next round is forwarded to the upstream.
    Forwarded(ForwardedState),
}

/// The state of a call that is open in the relay.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that omits a new member would weaken the binding"
)]
pub struct ParkedState {
    /// The upstream that runs the call.
    pub upstream: String,
    /// The [`principal_digest`] of the caller.
    pub principal: [u8; 32],
    /// The [`call_digest`] of the call.
    pub call: [u8; 32],
    /// The id of the call in the relay, from random bytes.
    pub id: [u8; 16],
    /// The number of the node that has the call.
    pub node: u64,
    /// The round of the responses that this state comes with.
    pub round: u32,
    /// The time until which the call stays open, in milliseconds since the Unix epoch.
    pub deadline_ms: u64,
}

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
    /// The `requestState` of the upstream. `None` if it sent none, and if the call is sent again from its start.
    pub state: Option<String>,
}

impl ParkedState {
    /// Returns `true` if the state belongs to this principal and call, and its deadline is not over.
    #[must_use]
    pub fn is_for(&self, principal: [u8; 32], call: [u8; 32], now_ms: u64) -> bool {
        self.principal == principal && self.call == call && now_ms < self.deadline_ms
    }
}

impl RelayState {
    /// Returns the payload. Returns `None` if the name of the upstream or its state is too long.
    #[must_use]
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut out = vec![FORMAT];
        match self {
            Self::Parked(parked) => {
                out.push(KIND_PARKED);
                write_upstream(&mut out, &parked.upstream)?;
                out.extend_from_slice(&parked.principal);
                out.extend_from_slice(&parked.call);
                out.extend_from_slice(&parked.id);
                out.extend_from_slice(&parked.node.to_be_bytes());
                out.extend_from_slice(&parked.round.to_be_bytes());
                out.extend_from_slice(&parked.deadline_ms.to_be_bytes());
            }
            Self::Forwarded(forwarded) => {
                out.push(KIND_FORWARDED);
                write_upstream(&mut out, &forwarded.upstream)?;
                out.extend_from_slice(&forwarded.principal);
                match &forwarded.state {
                    None => out.push(0),
                    Some(state) if state.len() > MAX_UPSTREAM_STATE_BYTES => return None,
                    Some(state) => {
                        out.push(1);
                        out.extend_from_slice(state.as_bytes());
                    }
                }
            }
        }
        Some(out)
    }

    /// Reads a payload. Returns `None` for any other bytes.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let mut reader = PayloadReader(payload);
        let [FORMAT, kind] = reader.array()? else {
            return None;
        };
        let upstream = reader.upstream()?;
        let principal = reader.array()?;
        match kind {
            KIND_PARKED => {
                let parked = ParkedState {
                    upstream,
                    principal,
                    call: reader.array()?,
                    id: reader.array()?,
                    node: u64::from_be_bytes(reader.array()?),
                    round: u32::from_be_bytes(reader.array()?),
                    deadline_ms: u64::from_be_bytes(reader.array()?),
                };
                reader.0.is_empty().then_some(Self::Parked(parked))
            }
            KIND_FORWARDED => {
                let state = match reader.array()? {
                    [0] if reader.0.is_empty() => None,
                    [1] if reader.0.len() <= MAX_UPSTREAM_STATE_BYTES => {
                        Some(String::from_utf8(reader.0.to_vec()).ok()?)
                    }
                    _ => return None,
                };
                Some(Self::Forwarded(ForwardedState {
                    upstream,
                    principal,
                    state,
                }))
            }
            _ => None,
        }
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

/// Returns the digest of what a call does: its method, the name of its tool, prompt or resource, and its arguments.
///
/// The spelling of the arguments does not matter, see [`params_digest`].
#[must_use]
pub fn call_digest(method: &str, name: &str, arguments: Option<&RawValue>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [method, name] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update(params_digest(arguments));
    hash.finalize().into()
}

fn write_upstream(out: &mut Vec<u8>, upstream: &str) -> Option<()> {
    if upstream.len() > MAX_UPSTREAM_NAME_BYTES {
        return None;
    }
    let length = u16::try_from(upstream.len()).ok()?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(upstream.as_bytes());
    Some(())
}

/// The bytes that are not read yet.
struct PayloadReader<'b>(&'b [u8]);

impl PayloadReader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn upstream(&mut self) -> Option<String> {
        let length = usize::from(u16::from_be_bytes(self.array()?));
        if length > MAX_UPSTREAM_NAME_BYTES {
            return None;
        }
        let (name, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(name.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toolwire_types::RawJson;

    use super::*;

    fn parked() -> ParkedState {
        ParkedState {
            upstream: "github".to_owned(),
            principal: principal_digest(Some("alice")),
            call: call_digest("tools/call", "a", None),
            id: [7; 16],
            node: 3,
            round: 2,
            deadline_ms: 1000,
        }
    }

    fn forwarded(state: Option<String>) -> RelayState {
        RelayState::Forwarded(ForwardedState {
            upstream: "github".to_owned(),
            principal: principal_digest(None),
            state,
        })
    }

    #[test]
    fn payload_is_read_back() {
        for state in [
            RelayState::Parked(parked()),
            forwarded(None),
            forwarded(Some(String::new())),
            forwarded(Some("x".repeat(MAX_UPSTREAM_STATE_BYTES))),
        ] {
            let payload = state.encode().expect("the state is not too long");
            assert!(payload.len() <= DEFAULT_MAX_PAYLOAD);
            assert_eq!(RelayState::decode(&payload), Some(state));
        }
    }

    #[test]
    fn long_states_and_names_are_rejected() {
        let state = "x".repeat(MAX_UPSTREAM_STATE_BYTES + 1);
        assert_eq!(forwarded(Some(state)).encode(), None);
        let mut state = parked();
        state.upstream = "x".repeat(MAX_UPSTREAM_NAME_BYTES);
        assert!(RelayState::Parked(state.clone()).encode().is_some());
        state.upstream.push('x');
        assert_eq!(RelayState::Parked(state).encode(), None);
    }

    #[test]
    fn other_bytes_are_rejected() {
        let payload = RelayState::Parked(parked()).encode().unwrap();
        for length in 0..payload.len() {
            assert_eq!(RelayState::decode(&payload[..length]), None, "{length}");
        }
        let longer: Vec<u8> = payload.iter().copied().chain([0]).collect();
        assert_eq!(RelayState::decode(&longer), None);
        for (position, value) in [(0, 0), (0, 2), (1, 0), (1, 3)] {
            let mut changed = payload.clone();
            changed[position] = value;
            assert_eq!(RelayState::decode(&changed), None);
        }
        let mut flag = forwarded(None).encode().unwrap();
        *flag.last_mut().unwrap() = 2;
        assert_eq!(RelayState::decode(&flag), None);
    }

    #[test]
    fn parked_state_belongs_to_one_principal_and_call() {
        let state = parked();
        let (alice, call) = (state.principal, state.call);
        assert!(state.is_for(alice, call, 999));
        assert!(!state.is_for(alice, call, 1000));
        assert!(!state.is_for(principal_digest(Some("bob")), call, 0));
        assert!(!state.is_for(alice, call_digest("tools/call", "b", None), 0));
        assert_ne!(principal_digest(None), principal_digest(Some("")));
        let arguments = |text: &str| RawJson::from_string(text.to_owned()).unwrap();
        let digest = |text: &str| call_digest("m", "n", Some(arguments(text).as_raw_value()));
        assert_eq!(digest(r#"{"a":1,"b":2}"#), digest(r#"{ "b":2.0,"a":1 }"#));
        assert_ne!(digest(r#"{"a":1}"#), digest(r#"{"a":2}"#));
        assert_ne!(call_digest("ab", "c", None), call_digest("a", "bc", None));
    }

    proptest! {
        #[test]
        fn decoding_never_panics_and_is_strict(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(state) = RelayState::decode(&bytes) {
                prop_assert_eq!(state.encode(), Some(bytes));
            }
        }
    }
}
