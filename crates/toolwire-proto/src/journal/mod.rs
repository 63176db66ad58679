//! The journal of a handler that runs several times: responses that arrived and effects that were executed.
//!
//! A handler asks by key. In a revision without server requests, the first input request without a response ends the
//! run. The handler runs again from the start when the client retries the request. Every key that it used before then
//! returns the same value at once. The journal stores these values and is sent to the client in the sealed request
//! state.
//!
//! A value belongs to a key *and* to one exact input request. A response is never used for another input request. This
//! holds if a new version of the server asks something else under the same key, and if a client responds without a
//! request. The input request is then sent again. Spec 2026-07-28, basic/patterns/mrtr.

mod state;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use indexmap::IndexMap;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use toolwire_types::{
    ElicitRequestParams, ErrorObject, InputRequest, InputRequests, InputResponses, RawJson,
};

pub use state::UnreadableState;

/// The maximum number of rounds in which one request may end with input requests.
///
/// Only a handler that never repeats an input request reaches this limit, for example because its text changes each
/// time.
pub const MAX_ROUNDS: u32 = 64;

/// The maximum length of a key in bytes.
pub const MAX_KEY_BYTES: usize = 256;

/// The digest of the input request, or the kind of value, that a key stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryDigest([u8; 16]);

impl EntryDigest {
    /// A side effect, which is identified by its key alone.
    pub const EFFECT: Self = Self([0; 16]);

    /// Returns the digest of an input request. It covers everything that the user or the model sees.
    #[must_use]
    pub fn of(request: &InputRequest) -> Self {
        // The id of an elicitation relates messages to each other and is new each time.
        let unnamed = match request {
            InputRequest::Elicitation(ElicitRequestParams::Url(url)) => {
                let mut url = url.clone();
                url.elicitation_id = None;
                Some(InputRequest::from(url))
            }
            _ => None,
        };
        let written = serde_json::to_vec(unnamed.as_ref().unwrap_or(request))
            .expect("an input request always serializes as JSON");
        let hash: [u8; 32] = Sha256::digest(written).into();
        let mut digest = [0; 16];
        digest.copy_from_slice(hash.split_at(16).0);
        Self(digest)
    }
}

impl fmt::Debug for EntryDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl Serialize for EntryDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de> Deserialize<'de> for EntryDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(D::Error::custom)?;
        let digest = bytes
            .try_into()
            .map_err(|_| D::Error::custom("a digest has 16 bytes"))?;
        Ok(Self(digest))
    }
}

/// The value that a key has.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a value is stored, new or absent")]
pub enum JournalLookup {
    /// A value of this run or of an earlier round.
    Stored(RawJson),
    /// The client's response to this input request, not checked yet. The caller checks it and then calls
    /// [`store`](Journal::store).
    Received(RawJson),
    /// No value. The caller sends the input request or executes the effect.
    Absent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry(EntryDigest, RawJson);

/// The values that one request has collected, and its pending input requests.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// Responses and results of effects, by key.
    values: IndexMap<String, Entry>,
    /// The input requests of the previous round.
    requested: IndexMap<String, EntryDigest>,
    rounds: u32,
    /// The digests for which this run has used its keys.
    used: HashMap<String, EntryDigest>,
    /// The effects that are running.
    running: HashSet<String>,
    /// The input requests of this run that have no response.
    pending: InputRequests,
    /// This run requests another run without an input request.
    needs_rerun: bool,
}

impl Journal {
    /// Looks up a key. `responses` are the client's responses in this round.
    ///
    /// # Errors
    /// Returns an error if the key is empty or too long, or if this run has used it for something else.
    pub fn look_up(
        &mut self,
        key: &str,
        digest: EntryDigest,
        responses: &InputResponses,
    ) -> Result<JournalLookup, InvalidKey> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(InvalidKey::Length);
        }
        let used = self.used.entry(key.to_owned()).or_insert(digest);
        if *used != digest {
            return Err(InvalidKey::Reused(key.to_owned()));
        }
        match self.values.get(key) {
            Some(Entry(stored, value)) if *stored == digest => {
                return Ok(JournalLookup::Stored(value.clone()));
            }
            // An effect was executed under this key, so the key cannot mean anything else.
            Some(Entry(EntryDigest::EFFECT, _)) => return Err(InvalidKey::Reused(key.to_owned())),
            Some(_) if digest == EntryDigest::EFFECT => {
                return Err(InvalidKey::Reused(key.to_owned()));
            }
            _ => {}
        }
        let response = responses
            .get(key)
            .filter(|_| self.requested.get(key) == Some(&digest));
        Ok(match response {
            Some(response) => JournalLookup::Received(response.clone()),
            None => JournalLookup::Absent,
        })
    }

    /// Stores a value for all later runs.
    pub fn store(&mut self, key: impl Into<String>, digest: EntryDigest, value: RawJson) {
        let key = key.into();
        self.pending.remove(&key);
        self.values.insert(key, Entry(digest, value));
    }

    /// Starts an effect that [`look_up`](Self::look_up) did not find. The caller must always [`end`](Self::end) it.
    ///
    /// # Errors
    /// Returns an error if the effect is running, so that it is not executed twice.
    pub fn begin(&mut self, key: &str) -> Result<(), InvalidKey> {
        if self.running.insert(key.to_owned()) {
            Ok(())
        } else {
            Err(InvalidKey::Running(key.to_owned()))
        }
    }

    /// Ends an effect, whether it succeeded or not.
    pub fn end(&mut self, key: &str) {
        self.running.remove(key);
    }

    /// Adds an input request that needs a response before the handler can continue.
    pub fn request_input(&mut self, key: impl Into<String>, request: InputRequest) {
        self.pending.insert(key, request);
    }

    /// Requests another run of the handler without an input request.
    pub fn request_rerun(&mut self) {
        self.needs_rerun = true;
    }

    /// Returns `true` if this run has pending input requests or requests another run.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.needs_rerun || !self.pending.is_empty()
    }

    /// Ends a run that is not complete, and returns its pending input requests. The list is empty if the run only
    /// requests another run. Returns `None` if the run ended for another reason. The used keys are cleared for the next
    /// run.
    ///
    /// # Errors
    /// Returns an error if the request has reached [`MAX_ROUNDS`].
    pub fn suspend(&mut self) -> Result<Option<InputRequests>, RoundLimitError> {
        let is_unfinished = self.is_unfinished();
        let pending = std::mem::take(&mut self.pending);
        self.needs_rerun = false;
        self.used.clear();
        self.requested = pending
            .iter()
            .map(|(key, request)| (key.to_owned(), EntryDigest::of(request)))
            .collect();
        if !is_unfinished {
            return Ok(None);
        }
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds > MAX_ROUNDS {
            Err(RoundLimitError(()))
        } else {
            Ok(Some(pending))
        }
    }

    /// Ends a run whose handler completed with its own input requests. Pending input requests of the journal are
    /// dropped.
    pub fn discard_requests(&mut self) {
        self.pending = InputRequests::new();
        self.needs_rerun = false;
        self.used.clear();
        self.requested.clear();
    }

    /// Returns `true` if a later round needs nothing from this journal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.requested.is_empty() && self.rounds == 0
    }
}

/// A key that is invalid for its use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidKey {
    /// The key is empty or longer than [`MAX_KEY_BYTES`].
    Length,
    /// The key stands for another input request or effect of the same request.
    Reused(String),
    /// The effect of this key is running.
    Running(String),
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => write!(f, "a key has 1 to {MAX_KEY_BYTES} bytes"),
            Self::Reused(key) => write!(
                f,
                "the key {key:?} is used for two purposes; give every input request and every effect of a handler \
                 its own key"
            ),
            Self::Running(key) => write!(f, "the effect {key:?} is already running; wait for it"),
        }
    }
}

impl std::error::Error for InvalidKey {}

impl From<InvalidKey> for ErrorObject {
    fn from(invalid: InvalidKey) -> Self {
        Self::internal(invalid.to_string())
    }
}

/// A request that has reached the maximum number of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundLimitError(());

impl fmt::Display for RoundLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the handler sent input requests in {MAX_ROUNDS} rounds and is not complete; its input requests \
             must be the same in each run"
        )
    }
}

impl std::error::Error for RoundLimitError {}

impl From<RoundLimitError> for ErrorObject {
    fn from(error: RoundLimitError) -> Self {
        Self::internal(error.to_string())
    }
}
