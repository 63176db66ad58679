//! The grammar of `_meta` keys and extension ids, and the keys that are reserved for the protocol.
//!
//! A key is `[label.label…/]name`. The reserved prefixes changed between revisions, so the `_for` functions take a
//! version. The other functions apply the rule of 2025-11-25 and later. The keys themselves are constants of
//! `toolwire-types`.

use toolwire_types::ProtocolVersion;

const PROTOCOL_LABELS: [&str; 2] = ["modelcontextprotocol", "mcp"];

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
