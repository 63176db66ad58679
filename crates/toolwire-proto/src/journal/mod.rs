//! What a handler that runs again must not do again: questions that were answered, effects that took place.
//!
//! A handler asks by key. On a revision without requests to the client the first unanswered question ends it; it runs
//! again from the top when the client comes back, and then every key it has used before gives the same value at once.
//! The journal holds these values and travels in the sealed request state.
//!
//! A value belongs to a key *and* to the very question that was put: an answer is never given to another question, be
//! it because a new version of the server asks something else under the same key or because a client answers what
//! nobody asked. Such a question is simply put again. Spec 2026-07-28, basic/patterns/mrtr.

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

/// How often one request may end with questions before the server gives up on it.
///
/// Only a handler that never asks the same question twice comes this far: one whose text changes each time, say.
pub const MAX_ROUNDS: u32 = 64;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 256;

/// Which question, or what kind of value, a key stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryDigest([u8; 16]);

impl EntryDigest {
    /// A side effect: what it results in is known by its key alone.
    pub const EFFECT: Self = Self([0; 16]);

    /// A question: everything the person or the model is told counts.
    #[must_use]
    pub fn of(question: &InputRequest) -> Self {
        // Ids of elicitations tie messages together and are new each time.
        let unnamed = match question {
            InputRequest::Elicitation(ElicitRequestParams::Url(url)) => {
                let mut url = url.clone();
                url.elicitation_id = None;
                Some(InputRequest::from(url))
            }
            _ => None,
        };
        let written = serde_json::to_vec(unnamed.as_ref().unwrap_or(question))
            .expect("a question is always JSON");
        let digest: [u8; 32] = Sha256::digest(written).into();
        let mut mark = [0; 16];
        mark.copy_from_slice(digest.split_at(16).0);
        Self(mark)
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
        let mark = bytes
            .try_into()
            .map_err(|_| D::Error::custom("a mark has 16 bytes"))?;
        Ok(Self(mark))
    }
}

/// What there is under a key.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a value is known, new, or not there"
)]
pub enum JournalLookup {
    /// A value of this run or of an earlier round.
    Remembered(RawJson),
    /// The client's answer to this question, which nobody has looked at yet: check it, then
    /// [`remember`](Journal::remember) it.
    Arrived(RawJson),
    /// Nothing: ask, or do it.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry(EntryDigest, RawJson);

/// The values one request has gathered, and what it still wants to know.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// Answers and results, by key.
    known: IndexMap<String, Entry>,
    /// What the round before asked.
    asked: IndexMap<String, EntryDigest>,
    rounds: u32,
    /// What this run has used its keys for.
    used: HashMap<String, EntryDigest>,
    /// The effects that take place at this moment.
    under_way: HashSet<String>,
    /// What this run could not find out.
    wanted: InputRequests,
    /// This run wants to be run again though it asks nothing.
    waits: bool,
}

impl Journal {
    /// Looks under a key. `responses` is what the client sent with this round.
    ///
    /// # Errors
    /// When the key is empty or too long, or this run has used it for something else.
    pub fn look_up(
        &mut self,
        key: &str,
        mark: EntryDigest,
        responses: &InputResponses,
    ) -> Result<JournalLookup, InvalidKey> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(InvalidKey::Length);
        }
        let used = self.used.entry(key.to_owned()).or_insert(mark);
        if *used != mark {
            return Err(InvalidKey::Reused(key.to_owned()));
        }
        match self.known.get(key) {
            Some(Entry(known, value)) if *known == mark => {
                return Ok(JournalLookup::Remembered(value.clone()));
            }
            // An effect took place, whatever the key means now.
            Some(Entry(EntryDigest::EFFECT, _)) => return Err(InvalidKey::Reused(key.to_owned())),
            Some(_) if mark == EntryDigest::EFFECT => {
                return Err(InvalidKey::Reused(key.to_owned()));
            }
            _ => {}
        }
        let answer = responses
            .get(key)
            .filter(|_| self.asked.get(key) == Some(&mark));
        Ok(match answer {
            Some(answer) => JournalLookup::Arrived(answer.clone()),
            None => JournalLookup::Nothing,
        })
    }

    /// Keeps a value for all later runs.
    pub fn remember(&mut self, key: impl Into<String>, mark: EntryDigest, value: RawJson) {
        let key = key.into();
        self.wanted.remove(&key);
        self.known.insert(key, Entry(mark, value));
    }

    /// Begins an effect that [`look_up`](Self::look_up) did not find; [`end`](Self::end) it in any case.
    ///
    /// # Errors
    /// When it is under way: it would take place twice.
    pub fn begin(&mut self, key: &str) -> Result<(), InvalidKey> {
        match self.under_way.insert(key.to_owned()) {
            true => Ok(()),
            false => Err(InvalidKey::UnderWay(key.to_owned())),
        }
    }

    /// Ends an effect, whether it took place or not.
    pub fn end(&mut self, key: &str) {
        self.under_way.remove(key);
    }

    /// Notes a question that has to be put to the client before the handler can go on.
    pub fn want(&mut self, key: impl Into<String>, question: InputRequest) {
        self.wanted.insert(key, question);
    }

    /// Notes that the handler wants to run again later, though it has nothing to ask.
    pub fn wait(&mut self) {
        self.waits = true;
    }

    /// Whether this run wants to be asked something, or to run again later.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.waits || !self.wanted.is_empty()
    }

    /// Ends a run that did not come to its end: what it wants to be asked (maybe nothing, for one that only waits), or
    /// `None` when it ended for another reason. What was used is forgotten, so that the next run may begin.
    ///
    /// # Errors
    /// When the request has had its rounds.
    pub fn suspend(&mut self) -> Result<Option<InputRequests>, RoundLimitError> {
        let is_unfinished = self.is_unfinished();
        let wanted = std::mem::take(&mut self.wanted);
        self.waits = false;
        self.used.clear();
        self.asked = wanted
            .iter()
            .map(|(key, question)| (key.to_owned(), EntryDigest::of(question)))
            .collect();
        if !is_unfinished {
            return Ok(None);
        }
        self.rounds = self.rounds.saturating_add(1);
        match self.rounds > MAX_ROUNDS {
            true => Err(RoundLimitError(())),
            false => Ok(Some(wanted)),
        }
    }

    /// Ends a run that came to its end and asks in its own way: what it wanted and did not find out is forgotten.
    pub fn set_aside(&mut self) {
        self.wanted = InputRequests::new();
        self.waits = false;
        self.used.clear();
        self.asked.clear();
    }

    /// True when there is nothing a later round would have to know.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.known.is_empty() && self.asked.is_empty() && self.rounds == 0
    }
}

/// A key that cannot be used for this.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidKey {
    /// It is empty or longer than [`MAX_KEY_BYTES`].
    Length,
    /// It stands for another question or effect of the same request.
    Reused(String),
    /// The effect it stands for takes place at this moment.
    UnderWay(String),
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => write!(f, "a key has 1 to {MAX_KEY_BYTES} bytes"),
            Self::Reused(key) => write!(
                f,
                "the key {key:?} stands for two different things; give every question and every effect of a handler \
                 a key of its own"
            ),
            Self::UnderWay(key) => write!(f, "the effect {key:?} takes place already; wait for it"),
        }
    }
}

impl std::error::Error for InvalidKey {}

impl From<InvalidKey> for ErrorObject {
    fn from(invalid: InvalidKey) -> Self {
        Self::internal(invalid.to_string())
    }
}

/// A request that asks and asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundLimitError(());

impl fmt::Display for RoundLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the handler asked in {MAX_ROUNDS} rounds and is not done; what it asks must not change from run to run"
        )
    }
}

impl std::error::Error for RoundLimitError {}

impl From<RoundLimitError> for ErrorObject {
    fn from(error: RoundLimitError) -> Self {
        Self::internal(error.to_string())
    }
}
