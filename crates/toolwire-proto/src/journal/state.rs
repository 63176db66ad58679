//! A journal as text: the content of the sealed request state, with the handler's own state.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::journal::{Entry, EntryDigest, Journal};

/// The serialized form. Members have short names because the client sends them back with each round.
#[derive(Serialize, Deserialize)]
struct Wire {
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    author_state: Option<String>,
    #[serde(rename = "k", default, skip_serializing_if = "IndexMap::is_empty")]
    values: IndexMap<String, Entry>,
    #[serde(rename = "q", default, skip_serializing_if = "IndexMap::is_empty")]
    requested: IndexMap<String, EntryDigest>,
    #[serde(rename = "r")]
    rounds: u32,
}

impl Journal {
    /// Serializes the values that a later round needs, and the handler's own state.
    #[must_use]
    pub fn to_state(&self, author_state: Option<String>) -> String {
        let wire = Wire {
            author_state,
            values: self.values.clone(),
            requested: self.requested.clone(),
            rounds: self.rounds,
        };
        serde_json::to_string(&wire).expect("strings, numbers and raw JSON always serialize")
    }

    /// Parses a state that [`to_state`](Self::to_state) wrote and whose authenticity was checked.
    ///
    /// # Errors
    /// Returns an error if the state has another form, because another version of the server wrote it.
    pub fn from_state(text: &str) -> Result<(Self, Option<String>), UnreadableState> {
        let wire: Wire = serde_json::from_str(text).map_err(|_| UnreadableState(()))?;
        let journal = Self {
            values: wire.values,
            requested: wire.requested,
            rounds: wire.rounds,
            ..Self::default()
        };
        Ok((journal, wire.author_state))
    }
}

/// A state that has another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableState(());

impl fmt::Display for UnreadableState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request state has another shape")
    }
}

impl std::error::Error for UnreadableState {}
