//! The names of the keys.
//!
//! | key | type | content |
//! |---|---|---|
//! | `tw:<service>:{n:<owner>}:u:<fingerprint>` | string | a used nonce: the id of the call that used it |
//! | `tw:<service>:{n:<owner>}:i` | sorted set | the nonces of a principal by expiry |
//! | `tw:<service>:{tasks}:t:<id>` | hash | a task |
//! | `tw:<service>:{tasks}:owned` | sorted set | `<owner>:<id>` of all tasks, in this order |
//! | `tw:<service>:{tasks}:unfinished` | sorted set | the same, for tasks that have not ended |
//! | `tw:<service>:{tasks}:expiry` | sorted set | the ids of all tasks by expiry |
//! | `tw:<service>:{tasks}:w:<tool>` | sorted set | the ids of tasks that wait for a worker, by creation |
//! | `tw:<service>:{tasks}:l:<tool>` | sorted set | the ids of tasks that a worker runs, by the end of its lease |
//! | `tw:<service>:{s:<session>}:s:<owner>` | string | a session: its revision and its record |
//! | `tw:<service>:{p:<owner>}:i` | sorted set | the sessions of a principal by creation |
//! | `tw:<service>:{s:<session>}:m:<owner>:<stream>` | hash | a stream: its numbers and its writer |
//! | `tw:<service>:{s:<session>}:l:<owner>:<stream>` | list | the entries of a stream |
//! | `tw:<service>:{s:<session>}:x:<owner>` | sorted set | the names of the streams of a session by expiry |
//! | `tw:<service>:{proxy:<kind>}:r:<key>` | hash | a record of an OAuth proxy |
//! | `tw:<service>:{proxy:<kind>}:expiry`, `:protection` | sorted set | the records of a kind by expiry and protection |
//! | `tw:<service>:{proxy:<kind>}:o:<owner>` | sorted set | the records of an owner by expiry |
//! | `tw:<service>:{u:<user>}:v:<name>`, `:lock:<name>` | string | a sealed token of a client; its lock |
//! | `tw:<service>:{c:<server>}:e:<request>` | hash | a cached result of a client |
//! | `tw:<service>:{c:<server>}:tags` | hash | the versions of the tags of cached results |
//! | `tw:<service>:{w:<process>}:subscriptions` | hash | the sealed webhook subscriptions of a server process |
//! | `tw:<service>:{m:<number>}:o` | hash | the lease of the number of a node |
//! | `tw:<service>:{m:<number>}:l` | list | the messages in the mailbox of a node |
//! | `tw:<service>:bus`, `tw:<service>:wake` | channel | bus messages; streams with new entries for waiting readers |
//! | `tw:<service>:node:<id>` | channel | the mailboxes of a node with new messages |
//! | `tw:<service>:key` | string | a random key that all nodes share |
//! | `tw:<service>:nodes` | hash | the key layout of the node that started last, and values that it has sealed |
//! | `tw:<service>:check` | string | written, read and removed when a node starts |
//!
//! The part in braces selects the primary of a cluster, so that each script uses one primary. `<owner>` is a digest of
//! the principal: names of persons do not become keys.

use std::num::NonZeroU16;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use toolwire::Principal;
use toolwire::store::StreamKey;

use crate::ConnectError;

/// The maximum length of the name of a service.
const MAX_SERVICE: usize = 64;

/// The number of characters of a digest in keys: 132 bits.
const OWNER_LENGTH: usize = 22;

/// The owner of records of the anonymous principal. No digest has its length.
const ANONYMOUS: &str = "-";

/// The names of the keys of one service.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    /// `tw:<service>:`
    prefix: Arc<str>,
}

impl Keys {
    pub(crate) fn new(service: &str) -> Result<Self, ConnectError> {
        let is_valid = (1..=MAX_SERVICE).contains(&service.len())
            && service
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
        if !is_valid {
            return Err(ConnectError::InvalidService(service.to_owned()));
        }
        Ok(Self {
            prefix: format!("tw:{service}:").into(),
        })
    }

    pub(crate) fn check(&self) -> String {
        format!("{}check", self.prefix)
    }

    pub(crate) fn nodes(&self) -> String {
        format!("{}nodes", self.prefix)
    }

    pub(crate) fn shared_key(&self) -> String {
        format!("{}key", self.prefix)
    }

    pub(crate) fn nonce(&self, owner: &str, fingerprint: &[u8; 32]) -> String {
        let fingerprint = URL_SAFE_NO_PAD.encode(fingerprint);
        format!("{}{{n:{owner}}}:u:{fingerprint}", self.prefix)
    }

    pub(crate) fn nonces_of(&self, owner: &str) -> String {
        format!("{}{{n:{owner}}}:i", self.prefix)
    }

    pub(crate) fn session(&self, id: &str, owner: &str) -> String {
        self.of_session(id, &format!("s:{owner}"))
    }

    /// Returns the key of the sessions of a principal.
    pub(crate) fn sessions_of(&self, owner: &str) -> String {
        format!("{}{{p:{owner}}}:i", self.prefix)
    }

    /// Returns the key of a stream.
    pub(crate) fn stream(&self, key: &StreamKey, owner: &str) -> String {
        self.of_session(&key.session, &format!("m:{owner}:{}", key.stream))
    }

    /// Returns the key of the entries of a stream.
    pub(crate) fn entries(&self, key: &StreamKey, owner: &str) -> String {
        self.of_session(&key.session, &format!("l:{owner}:{}", key.stream))
    }

    /// Returns the key of the names of the streams of a session.
    pub(crate) fn streams_of(&self, session: &str, owner: &str) -> String {
        self.of_session(session, &format!("x:{owner}"))
    }

    pub(crate) fn bus_channel(&self) -> String {
        format!("{}bus", self.prefix)
    }

    pub(crate) fn wake_channel(&self) -> String {
        format!("{}wake", self.prefix)
    }

    /// Returns the channel that only one node hears.
    pub(crate) fn node_channel(&self, node: &str) -> String {
        format!("{}node:{node}", self.prefix)
    }

    /// Returns the key of the lease of the number of a node.
    pub(crate) fn node_lease(&self, node: NonZeroU16) -> String {
        format!("{}{{m:{node}}}:o", self.prefix)
    }

    /// Returns the key of the messages to a node.
    pub(crate) fn node_messages(&self, node: NonZeroU16) -> String {
        format!("{}{{m:{node}}}:l", self.prefix)
    }

    /// Returns a key that belongs to a session. Clients choose no session ids, but may send any text. Characters that
    /// could end the part in braces are encoded.
    fn of_session(&self, id: &str, name: &str) -> String {
        let id = id.replace('%', "%25").replace('}', "%7D");
        format!("{}{{s:{id}}}:{name}", self.prefix)
    }

    /// Returns the key of a task.
    pub(crate) fn task(&self, id: &str) -> String {
        self.of_tasks(&format!("t:{id}"))
    }

    /// Returns the key of the tasks that wait for a worker with this tool.
    pub(crate) fn waiting_tasks(&self, tool: &str) -> String {
        self.of_tasks(&format!("w:{tool}"))
    }

    /// Returns the key of the tasks of this tool that a worker runs.
    pub(crate) fn leased_tasks(&self, tool: &str) -> String {
        self.of_tasks(&format!("l:{tool}"))
    }

    /// Returns the key of something that all tasks share.
    pub(crate) fn of_tasks(&self, name: &str) -> String {
        format!("{}{{tasks}}:{name}", self.prefix)
    }
}

#[cfg(feature = "auth")]
impl Keys {
    /// Returns a key of records of an OAuth proxy.
    pub(crate) fn of_proxy(&self, kind: &str, name: &str) -> String {
        format!("{}{{proxy:{kind}}}:{name}", self.prefix)
    }

    /// Returns the key of a token of a user.
    pub(crate) fn token(&self, user: &str, name: &str) -> String {
        let name = digest(name.as_bytes());
        format!("{}{{u:{user}}}:v:{name}", self.prefix)
    }

    /// Returns the key of the lock of a token.
    pub(crate) fn token_lock(&self, user: &str, name: &str) -> String {
        let name = digest(name.as_bytes());
        format!("{}{{u:{user}}}:lock:{name}", self.prefix)
    }
}

#[cfg(feature = "client")]
impl Keys {
    /// Returns the key of a cached result. `request` identifies it.
    pub(crate) fn cache_entry(&self, server: &str, request: &[u8]) -> String {
        let (server, request) = (digest(server.as_bytes()), digest(request));
        format!("{}{{c:{server}}}:e:{request}", self.prefix)
    }

    /// Returns the key of the tags of cached results of a server.
    pub(crate) fn cache_tags(&self, server: &str) -> String {
        let server = digest(server.as_bytes());
        format!("{}{{c:{server}}}:tags", self.prefix)
    }
}

#[cfg(feature = "events")]
impl Keys {
    /// Returns the key of the webhook subscriptions of a server process.
    pub(crate) fn subscriptions(&self, process: &str) -> String {
        let process = digest(process.as_bytes());
        format!("{}{{w:{process}}}:subscriptions", self.prefix)
    }
}

/// Returns the part of keys that stands for a principal.
pub(crate) fn owner(principal: &Principal) -> String {
    match principal.as_str() {
        Some(text) => digest(text.as_bytes()),
        None => ANONYMOUS.to_owned(),
    }
}

/// Returns a digest as a part of keys.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let mut digest = URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
    digest.truncate(OWNER_LENGTH);
    digest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns all keys that a service makes of two names.
    fn keys_of(service: &str, id: &str, tool: &str, fingerprint: [u8; 32]) -> Vec<String> {
        let keys = Keys::new(service).unwrap();
        let owner = owner(&Principal::from_stored(Some(id)));
        let stream = StreamKey::new(id, tool);
        vec![
            keys.session(id, &owner),
            keys.sessions_of(&owner),
            keys.stream(&stream, &owner),
            keys.entries(&stream, &owner),
            keys.streams_of(id, &owner),
            keys.node_lease(NonZeroU16::MAX),
            keys.node_messages(NonZeroU16::MAX),
            keys.check(),
            keys.shared_key(),
            keys.nonce(&owner, &fingerprint),
            keys.nonces_of(&owner),
            keys.task(id),
            keys.waiting_tasks(tool),
            keys.leased_tasks(tool),
            keys.of_tasks("owned"),
            keys.of_tasks("unfinished"),
            keys.of_tasks("expiry"),
        ]
    }

    /// Returns the part of a key that selects the primary of a cluster.
    fn hash_tag(key: &str) -> Option<&str> {
        let (_, rest) = key.split_once('{')?;
        let (tag, _) = rest.split_once('}')?;
        (!tag.is_empty()).then_some(tag)
    }

    #[test]
    fn service_names_are_checked() {
        for valid in ["a", "my-service", "My_Service.2", &"x".repeat(64)] {
            assert!(Keys::new(valid).is_ok(), "{valid}");
        }
        for invalid in ["", "a b", "a:b", "a{b}", "a*", "ä", "a\n", &"x".repeat(65)] {
            assert!(Keys::new(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn anonymous_principal_has_its_own_owner() {
        assert_eq!(owner(&Principal::anonymous()), "-");
        assert_eq!(
            owner(&Principal::from_stored(Some("-"))).len(),
            OWNER_LENGTH
        );
    }

    proptest! {
        #[test]
        fn no_key_is_the_key_of_another_record(
            one in any::<String>(),
            two in any::<String>(),
            tool in any::<String>(),
            fingerprint in any::<[u8; 32]>(),
        ) {
            prop_assume!(one != two);
            let keys = Keys::new("service").unwrap();
            prop_assert_ne!(keys.task(&one), keys.task(&two));
            prop_assert_ne!(keys.waiting_tasks(&one), keys.waiting_tasks(&two));
            prop_assert_ne!(keys.session(&one, "-"), keys.session(&two, "-"));
            let stream = |session: &str, name: &str| keys.stream(&StreamKey::new(session, name), "-");
            prop_assert_ne!(stream(&one, &tool), stream(&two, &tool));
            prop_assert_ne!(stream(&tool, &one), stream(&tool, &two));
            let mut all = keys_of("service", &one, &tool, fingerprint);
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), count);
        }

        #[test]
        fn keys_of_tasks_are_on_one_primary(id in any::<String>(), tool in any::<String>()) {
            let keys = Keys::new("service").unwrap();
            for key in [keys.task(&id), keys.waiting_tasks(&tool), keys.leased_tasks(&tool), keys.of_tasks("expiry")] {
                prop_assert_eq!(hash_tag(&key), Some("tasks"));
            }
        }

        #[test]
        fn keys_of_a_session_are_on_one_primary(id in any::<String>(), name in any::<String>()) {
            let keys = Keys::new("service").unwrap();
            let stream = StreamKey::new(&id, &name);
            let session = keys.session(&id, "-");
            let tag = hash_tag(&session);
            prop_assert!(tag.is_some());
            for key in [keys.stream(&stream, "-"), keys.entries(&stream, "-"), keys.streams_of(&id, "-")] {
                prop_assert_eq!(hash_tag(&key), tag);
            }
        }

        #[test]
        fn services_have_different_keys(
            one in "[a-zA-Z0-9._-]{1,8}",
            two in "[a-zA-Z0-9._-]{1,8}",
            id in any::<String>(),
        ) {
            prop_assume!(one != two);
            let others = keys_of(&two, &id, &id, [0; 32]);
            for key in keys_of(&one, &id, &id, [0; 32]) {
                prop_assert!(!others.contains(&key));
            }
        }
    }
}
