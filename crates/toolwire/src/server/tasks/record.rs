//! The private parts of a task record: the call, and the journal of its handler. They are sealed in a durable store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolwire_proto::journal::{EntryDigest, Journal};
use toolwire_proto::request_state::{self, Binding, KeyRing};
use toolwire_proto::task_rules;
use toolwire_types::{ClientCapabilities, Implementation, InputResponses, ProgressToken, RawJson};

use crate::engine::{Principal, TokenInfo, since_epoch};
use crate::store::{MAX_TASK_RECORD_BYTES, token_record};

/// The call that became a task: all that a handler can see of it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskCall {
    pub(crate) arguments: RawJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<RawJson>,
    pub(crate) capabilities: ClientCapabilities,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_info: Option<Implementation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) progress_token: Option<ProgressToken>,
    /// Whether the caller came over a transport that identifies callers by tokens.
    pub(crate) uses_tokens: bool,
    #[serde(with = "token_record")]
    pub(crate) token: Arc<TokenInfo>,
}

/// The values of a handler so far, and its input requests.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskJournal {
    /// The journal and the handler's own state, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// The input requests that clients have seen, by the keys that clients see.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    asked: IndexMap<String, IssuedKey>,
    /// The responses, by the same keys.
    #[serde(default, skip_serializing_if = "InputResponses::is_empty")]
    pub(crate) input_responses: InputResponses,
}

/// An input request that clients have seen.
#[derive(Serialize, Deserialize)]
struct IssuedKey(String, EntryDigest);

impl TaskJournal {
    /// Returns the journal for a run of the handler, and the handler's own state.
    pub(crate) fn values(&self) -> Result<(Journal, Option<String>), UnreadableRecord> {
        match &self.state {
            Some(text) => Journal::from_state(text).map_err(|_| UnreadableRecord(())),
            None => Ok((Journal::default(), None)),
        }
    }

    pub(crate) fn set_values(&mut self, journal: &Journal, author_state: Option<String>) {
        self.state = Some(journal.to_state(author_state));
    }

    /// Returns the key under which clients see an input request. The same input request keeps its key when its handler
    /// runs again.
    pub(crate) fn input_key(&mut self, key: &str, digest: EntryDigest) -> String {
        let mut number = 0;
        for (seen, IssuedKey(asked_key, asked_digest)) in &self.asked {
            if asked_key == key {
                if *asked_digest == digest {
                    return seen.clone();
                }
                number += 1;
            }
        }
        // A handler may itself use a key such as `confirm~2`.
        let free = (number + 1..)
            .map(|number| task_rules::input_key(key, number))
            .find(|candidate| !self.asked.contains_key(candidate));
        let seen = free.unwrap_or_default();
        self.asked
            .insert(seen.clone(), IssuedKey(key.to_owned(), digest));
        seen
    }
}

/// Writes and reads the private parts of the records of one server.
#[derive(Debug, Clone)]
pub(crate) struct RecordSeal {
    keys: Option<KeyRing>,
    audience: String,
}

/// The record that a part belongs to.
#[derive(Clone, Copy)]
pub(crate) struct RecordPart<'a> {
    pub(crate) id: &'a str,
    pub(crate) principal: &'a Principal,
    pub(crate) part: &'static str,
}

impl RecordSeal {
    /// Creates the seal. Without keys, the parts are written as plain JSON.
    pub(crate) fn new(keys: Option<KeyRing>, audience: String) -> Self {
        Self {
            keys: keys.map(|keys| keys.with_max_payload(MAX_TASK_RECORD_BYTES)),
            audience,
        }
    }

    pub(crate) fn write<T: Serialize>(
        &self,
        part: RecordPart<'_>,
        value: &T,
    ) -> Result<RawJson, UnreadableRecord> {
        let plain = RawJson::from_serialize(value).map_err(|_| UnreadableRecord(()))?;
        let Some(keys) = &self.keys else {
            return Ok(plain);
        };
        let mut nonce = [0; 24];
        getrandom::fill(&mut nonce).map_err(|_| UnreadableRecord(()))?;
        let sealed = request_state::seal(
            keys,
            &self.binding(part),
            plain.get().as_bytes(),
            since_epoch(),
            Duration::MAX,
            nonce,
        );
        let sealed = sealed.map_err(|_| UnreadableRecord(()))?;
        RawJson::from_serialize(&sealed).map_err(|_| UnreadableRecord(()))
    }

    /// Reads a part. With keys, a part that was not sealed with them is rejected.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        part: RecordPart<'_>,
        written: &RawJson,
    ) -> Result<T, UnreadableRecord> {
        let unreadable = |_| UnreadableRecord(());
        let Some(keys) = &self.keys else {
            return written.parse().map_err(unreadable);
        };
        let sealed: String = written.parse().map_err(unreadable)?;
        let plain = request_state::open(keys, &self.binding(part), &sealed, since_epoch())
            .map_err(|_| UnreadableRecord(()))?;
        serde_json::from_slice(&plain).map_err(unreadable)
    }

    fn binding<'a>(&'a self, part: RecordPart<'a>) -> Binding<'a> {
        Binding {
            principal: part.principal.as_str(),
            method: part.part,
            name: part.id,
            params_digest: [0; 32],
            audience: &self.audience,
        }
    }
}

/// A record that cannot be read or written with the keys of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnreadableRecord(());

impl fmt::Display for UnreadableRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stored task cannot be read with the keys of this server")
    }
}

impl std::error::Error for UnreadableRecord {}

#[cfg(test)]
mod tests {
    use toolwire_proto::request_state::StateKey;
    use toolwire_types::InputRequest;

    use super::*;

    fn part<'a>(id: &'a str, principal: &'a Principal) -> RecordPart<'a> {
        RecordPart {
            id,
            principal,
            part: "call",
        }
    }

    #[test]
    fn sealed_part_opens_only_for_its_task_and_keys() {
        let ann = Principal::of(&TokenInfo::verified().with_subject("ann"));
        let bob = Principal::of(&TokenInfo::verified().with_subject("bob"));
        let seal = RecordSeal::new(Some(KeyRing::new(StateKey::new([1; 32]))), "s".to_owned());
        let other = RecordSeal::new(Some(KeyRing::new(StateKey::new([2; 32]))), "s".to_owned());
        let written = seal.write(part("a", &ann), &"secret").unwrap();
        assert!(!written.get().contains("secret"));
        let read = |seal: &RecordSeal, part| seal.read::<String>(part, &written).ok();
        assert_eq!(read(&seal, part("a", &ann)).as_deref(), Some("secret"));
        assert_eq!(read(&seal, part("b", &ann)), None);
        assert_eq!(read(&seal, part("a", &bob)), None);
        assert_eq!(read(&other, part("a", &ann)), None);
        let plain = RecordSeal::new(None, "s".to_owned());
        assert_eq!(
            read(&plain, part("a", &ann)),
            Some(written.parse().unwrap())
        );
        let unsealed = plain.write(part("a", &ann), &"open").unwrap();
        assert_eq!(unsealed.get(), "\"open\"");
        assert!(seal.read::<String>(part("a", &ann), &unsealed).is_err());
    }

    #[test]
    fn request_keeps_its_key_and_another_request_gets_another() {
        let roots = EntryDigest::of(&InputRequest::roots());
        let other = EntryDigest::EFFECT;
        let mut journal = TaskJournal::default();
        assert_eq!(journal.input_key("k", roots), "k");
        assert_eq!(journal.input_key("k", roots), "k");
        assert_eq!(journal.input_key("k", other), "k~2");
        assert_eq!(journal.input_key("k~2", roots), "k~2~2");
        let text = serde_json::to_string(&journal).unwrap();
        let mut read: TaskJournal = serde_json::from_str(&text).unwrap();
        assert_eq!(read.input_key("k", other), "k~2");
    }
}
