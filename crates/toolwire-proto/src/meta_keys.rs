//! The grammar of `_meta` keys and extension ids, and the keys that are reserved for the protocol.
//!
//! A key is `[label.label…/]name`. The reserved prefixes changed between revisions, so the `_for` functions take a
//! version. The other functions apply the rule of 2025-11-25 and later. The keys themselves are constants of
//! `toolwire-types`. [`ForbiddenKey`] is the rule for authors of servers and clients.

use std::fmt;

use toolwire_types::{Meta, ProtocolVersion, meta_key};

const PROTOCOL_LABELS: [&str; 2] = ["modelcontextprotocol", "mcp"];

/// The keys with a reserved prefix that the specification itself defines.
const PROTOCOL_KEYS: [&str; 8] = [
    meta_key::PROTOCOL_VERSION,
    meta_key::CLIENT_CAPABILITIES,
    meta_key::CLIENT_INFO,
    meta_key::LOG_LEVEL,
    meta_key::SERVER_INFO,
    meta_key::SUBSCRIPTION_ID,
    meta_key::RELATED_TASK,
    meta_key::MODEL_IMMEDIATE_RESPONSE,
];

/// Returns `true` if the key is well formed: an optional prefix of dot-separated labels and `/`, then a name, which may
/// be empty.
///
/// ```
/// use toolwire_proto::meta_keys::is_valid_meta_key;
///
/// assert!(is_valid_meta_key("com.example/trace-id"));
/// assert!(!is_valid_meta_key("9lives/name"));
/// ```
#[must_use]
pub fn is_valid_meta_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => prefix.split('.').all(is_label) && is_name(name),
        None => is_name(key),
    }
}

/// Returns `true` if the key's second label makes its prefix reserved for the protocol since 2025-11-25.
///
/// `io.modelcontextprotocol/` and `com.mcp.tools/` are reserved, `com.example.mcp/` is not.
#[must_use]
pub fn is_reserved_prefix(key: &str) -> bool {
    prefix_of(key).is_some_and(|prefix| prefix.split('.').nth(1).is_some_and(is_protocol_label))
}

/// Returns `true` if the key's prefix is reserved for the protocol in a given revision.
///
/// Up to 2025-06-18 a protocol label at any position reserves the prefix if another label follows: `mcp.dev/` and
/// `api.modelcontextprotocol.org/`.
#[must_use]
pub fn is_reserved_prefix_for(key: &str, version: ProtocolVersion) -> bool {
    if version >= ProtocolVersion::V2025_11_25 {
        return is_reserved_prefix(key);
    }
    let Some((all_but_last, _)) = prefix_of(key).and_then(|prefix| prefix.rsplit_once('.')) else {
        return false;
    };
    all_but_last.split('.').any(is_protocol_label)
}

/// Returns `true` if code outside the protocol may use the key: it is well formed and its prefix is not reserved.
#[must_use]
pub fn is_user_meta_key_allowed(key: &str) -> bool {
    is_valid_meta_key(key) && !is_reserved_prefix(key)
}

/// Returns `true` if code outside the protocol may use the key in a given revision.
#[must_use]
pub fn is_user_meta_key_allowed_for(key: &str, version: ProtocolVersion) -> bool {
    is_valid_meta_key(key) && !is_reserved_prefix_for(key, version)
}

/// A key that the author of a server or client must not put into `_meta`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForbiddenKey {
    key: String,
    is_reserved: bool,
}

impl ForbiddenKey {
    /// Checks a key that an author sets. Keys that the specification defines are permitted, so that authors can forward
    /// them.
    ///
    /// # Errors
    /// Returns an error if the key is malformed, or if it has a reserved prefix and is not defined by the specification.
    pub fn check(key: &str) -> Result<(), Self> {
        if is_user_meta_key_allowed(key) || PROTOCOL_KEYS.contains(&key) {
            return Ok(());
        }
        Err(Self {
            key: key.to_owned(),
            is_reserved: is_valid_meta_key(key),
        })
    }

    /// Checks every key of a `_meta` object.
    ///
    /// # Errors
    /// Returns an error for the first key that [`check`](Self::check) rejects.
    pub fn check_all(meta: &Meta) -> Result<(), Self> {
        meta.iter().try_for_each(|(key, _)| Self::check(key))
    }

    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for ForbiddenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        if self.is_reserved {
            write!(
                f,
                "the prefix of the `_meta` key {key:?} is reserved for the protocol; use a prefix of your own, such as \
                 `com.example/`"
            )
        } else {
            write!(
                f,
                "the `_meta` key {key:?} is malformed; use a name, or a prefix and a name as in `com.example/name`"
            )
        }
    }
}

impl std::error::Error for ForbiddenKey {}

/// Returns `true` if the text is an extension id: a well-formed key with both a prefix and a name.
#[must_use]
pub fn is_valid_extension_id(id: &str) -> bool {
    is_valid_meta_key(id) && id.contains('/') && !id.ends_with('/')
}

fn prefix_of(key: &str) -> Option<&str> {
    key.split_once('/').map(|(prefix, _)| prefix)
}

fn is_protocol_label(label: &str) -> bool {
    PROTOCOL_LABELS.contains(&label)
}

fn is_label(label: &str) -> bool {
    label.starts_with(|first: char| first.is_ascii_alphabetic())
        && label.ends_with(|last: char| last.is_ascii_alphanumeric())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_name(name: &str) -> bool {
    name.is_empty()
        || name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.ends_with(|last: char| last.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use ProtocolVersion::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
    use proptest::prelude::*;
    use toolwire_types::RawJson;

    use super::*;

    #[test]
    fn keys_follow_the_grammar() {
        #[track_caller]
        fn check(key: &str, expected: bool) {
            assert_eq!(is_valid_meta_key(key), expected, "{key:?}");
        }
        check("progressToken", true);
        check("a", true);
        check("9", true);
        check("a.b_c-d", true);
        check("", true);
        check("com.example/", true);
        check("com.example/name", true);
        check("c9.ex-ample/1", true);
        check("example/name", true);
        check("-a", false);
        check("a-", false);
        check("a_", false);
        check(".a", false);
        check("a b", false);
        check("a\n", false);
        check("é", false);
        check("/name", false);
        check("com./name", false);
        check(".com/name", false);
        check("com..example/name", false);
        check("9com/name", false);
        check("com-/name", false);
        check("-com/name", false);
        check("com_x/name", false);
        check("com.example/a/b", false);
        check("com.example//", false);
    }

    #[test]
    fn reserved_prefixes_differ_by_revision() {
        #[track_caller]
        fn check(key: &str, until_june_2025: bool, since_november_2025: bool) {
            for version in [V2024_11_05, V2025_03_26, V2025_06_18] {
                assert_eq!(
                    is_reserved_prefix_for(key, version),
                    until_june_2025,
                    "{key}"
                );
            }
            for version in [V2025_11_25, V2026_07_28] {
                assert_eq!(
                    is_reserved_prefix_for(key, version),
                    since_november_2025,
                    "{key}"
                );
            }
            assert_eq!(is_reserved_prefix(key), since_november_2025, "{key}");
        }
        check("io.modelcontextprotocol/logLevel", false, true);
        check("dev.mcp/", false, true);
        check("com.mcp.tools/x", true, true);
        check("org.modelcontextprotocol.api/x", true, true);
        check("modelcontextprotocol.io/x", true, false);
        check("mcp.dev/x", true, false);
        check("api.modelcontextprotocol.org/x", true, true);
        check("com.example.mcp/x", false, false);
        check("a.b.mcp.d/x", true, false);
        check("mcp/x", false, false);
        check("mcp.x", false, false);
        check("com.mcpx/x", false, false);
        check("com.example/mcp.x", false, false);
    }

    #[test]
    fn users_may_use_well_formed_keys_outside_the_reserved_prefixes() {
        assert!(is_user_meta_key_allowed("com.example/x"));
        assert!(is_user_meta_key_allowed("traceparent"));
        assert!(is_user_meta_key_allowed("mcp.dev/x"));
        assert!(!is_user_meta_key_allowed("io.modelcontextprotocol/x"));
        assert!(!is_user_meta_key_allowed("com.example/ x"));
        assert!(!is_user_meta_key_allowed_for("mcp.dev/x", V2025_06_18));
        assert!(is_user_meta_key_allowed_for("mcp.dev/x", V2025_11_25));
    }

    #[test]
    fn authors_may_set_their_own_keys_and_forward_those_of_the_protocol() {
        #[track_caller]
        fn check(key: &str, expected: Option<&str>) {
            let error = ForbiddenKey::check(key).err();
            assert_eq!(error.as_ref().map(ForbiddenKey::key), expected.map(|_| key));
            let text = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(text.contains(expected.unwrap_or_default()), "{text}");
        }
        check("com.example/x", None);
        check("traceparent", None);
        for key in PROTOCOL_KEYS {
            assert!(is_reserved_prefix(key), "{key}");
            check(key, None);
        }
        check("io.modelcontextprotocol/x", Some("reserved"));
        check("dev.mcp/x", Some("reserved"));
        check("_private", Some("malformed"));
        check("com.example/a b", Some("malformed"));
        let meta = Meta::new()
            .with("a", RawJson::empty_object())
            .with("com.mcp/x", RawJson::empty_object());
        let error = ForbiddenKey::check_all(&meta).unwrap_err();
        assert_eq!(error.key(), "com.mcp/x");
    }

    #[test]
    fn extension_ids_need_a_prefix_and_a_name() {
        assert!(is_valid_extension_id("io.modelcontextprotocol/tasks"));
        assert!(is_valid_extension_id("com.example/my-extension"));
        for id in [
            "",
            "tasks",
            "com.example/",
            "/tasks",
            "com.example/a/b",
            "com.example/a-",
        ] {
            assert!(!is_valid_extension_id(id), "{id:?}");
        }
    }

    proptest! {
        #[test]
        fn checking_any_text_does_not_panic(key in any::<String>()) {
            let allowed = is_user_meta_key_allowed(&key);
            prop_assert!(!allowed || is_valid_meta_key(&key));
        }
    }
}
