//! A journal as text: the content of the sealed request state, beside the text of the handler's author.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::journal::{Entry, EntryDigest, Journal};

/// Members have short names because a client carries them back and forth.
#[derive(Serialize, Deserialize)]
struct Wire {
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    author_state: Option<String>,
    #[serde(rename = "k", default, skip_serializing_if = "IndexMap::is_empty")]
    known: IndexMap<String, Entry>,
    #[serde(rename = "q", default, skip_serializing_if = "IndexMap::is_empty")]
    asked: IndexMap<String, EntryDigest>,
    #[serde(rename = "r")]
    rounds: u32,
}

impl Journal {
    /// Writes what a later round has to know, and the state of the author.
    #[must_use]
    pub fn to_state(&self, author_state: Option<String>) -> String {
        let wire = Wire {
            author_state,
            known: self.known.clone(),
            asked: self.asked.clone(),
            rounds: self.rounds,
        };
        serde_json::to_string(&wire).expect("texts, numbers and JSON by text are JSON")
    }

    /// Reads what [`to_state`](Self::to_state) wrote, once it is known to be authentic.
    ///
    /// # Errors
    /// When it is not of that shape: another version of the server wrote it.
    pub fn from_state(text: &str) -> Result<(Self, Option<String>), UnreadableState> {
        let wire: Wire = serde_json::from_str(text).map_err(|_| UnreadableState(()))?;
        let journal = Self {
            known: wire.known,
            asked: wire.asked,
            rounds: wire.rounds,
            ..Self::default()
        };
        Ok((journal, wire.author_state))
    }
}

/// A state of another shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableState(());

impl fmt::Display for UnreadableState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request state has another shape")
    }
}

impl std::error::Error for UnreadableState {}
