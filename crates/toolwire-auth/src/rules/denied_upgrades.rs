//! Denied step-ups, so that a user is not asked repeatedly for the same scopes.
//!
//! Spec 2026-07-28, authorization, "Step-Up Authorization Flow": attempts are tracked for each resource and operation.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire_proto::mirrored_headers::routing_headers;
use toolwire_proto::scopes::ScopeSet;

/// The maximum number of stored operations. One more removes the oldest.
pub(crate) const MAX_DENIED: usize = 256;

/// How long an operation is stored, in seconds.
pub(crate) const DENIED_FOR: u64 = 300;

/// Returns the operation of a message: its method, and the tool, prompt or resource that it names. Returns an empty
/// text if the message is not a request.
#[must_use]
pub(crate) fn operation(message: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Sent<'a> {
        method: String,
        #[serde(borrow, default)]
        params: Option<&'a RawValue>,
    }

    let Ok(sent) = serde_json::from_slice::<Sent<'_>>(message) else {
        return String::new();
    };
    let values = match sent.params {
        Some(params) => routing_headers(&sent.method, Some(params)).0,
        None => return sent.method,
    };
    let values: Vec<_> = values.into_iter().map(|(_, value)| value).collect();
    values.join(" ")
}

/// The recently denied step-ups.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeniedUpgrades {
    /// The denied scopes by resource and operation, oldest first.
    denied: IndexMap<(String, String), Denied>,
}

#[derive(Debug, Clone)]
struct Denied {
    scopes: ScopeSet,
    until: u64,
}

impl DeniedUpgrades {
    /// Records that an operation on a resource was rejected with these scopes, or that they were not granted.
    pub(crate) fn insert(&mut self, resource: &str, operation: &str, scopes: ScopeSet, now: u64) {
        let key = (resource.to_owned(), operation.to_owned());
        // Removed and inserted again, so that the order is that of time.
        self.denied.shift_remove(&key);
        if self.denied.len() == MAX_DENIED {
            self.denied.shift_remove_index(0);
        }
        let until = now.saturating_add(DENIED_FOR);
        self.denied.insert(key, Denied { scopes, until });
    }

    /// Returns `true` if requesting these scopes for this operation failed recently. Other scopes may still help.
    #[must_use]
    pub(crate) fn contains(
        &self,
        resource: &str,
        operation: &str,
        scopes: &ScopeSet,
        now: u64,
    ) -> bool {
        let key = (resource.to_owned(), operation.to_owned());
        let denied = self.denied.get(&key);
        denied.is_some_and(|denied| now < denied.until && denied.scopes.contains_all(scopes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> ScopeSet {
        ScopeSet::parse(text).unwrap()
    }

    #[test]
    fn operation_is_the_method_and_its_target() {
        for (message, expected) in [
            (
                r#"{"method":"tools/call","params":{"name":"deploy","arguments":{}}}"#,
                "tools/call deploy",
            ),
            (
                r#"{"method":"resources/read","params":{"uri":"file:///a"}}"#,
                "resources/read file:///a",
            ),
            (r#"{"method":"tools/list","params":{}}"#, "tools/list"),
            (r#"{"method":"ping"}"#, "ping"),
            (r#"{"id":1,"result":{}}"#, ""),
            ("", ""),
        ] {
            assert_eq!(operation(message.as_bytes()), expected, "{message}");
        }
    }

    #[test]
    fn denied_scopes_are_stored_per_operation_until_they_expire() {
        let mut denied = DeniedUpgrades::default();
        denied.insert("https://a", "tools/call deploy", scopes("x y"), 1_000);
        let check = |resource: &str, operation: &str, wanted: &str, now: u64, expected: bool| {
            let denied = denied.contains(resource, operation, &scopes(wanted), now);
            assert_eq!(denied, expected, "{resource} {operation} {wanted} {now}");
        };
        check("https://a", "tools/call deploy", "x", 1_000, true);
        check(
            "https://a",
            "tools/call deploy",
            "y x",
            1_000 + DENIED_FOR - 1,
            true,
        );
        check(
            "https://a",
            "tools/call deploy",
            "x",
            1_000 + DENIED_FOR,
            false,
        );
        check("https://a", "tools/call deploy", "x z", 1_000, false);
        check("https://a", "tools/call other", "x", 1_000, false);
        check("https://b", "tools/call deploy", "x", 1_000, false);
    }

    #[test]
    fn oldest_operation_is_removed_first() {
        let mut denied = DeniedUpgrades::default();
        for number in 0..MAX_DENIED {
            denied.insert("https://a", &number.to_string(), scopes("x"), 0);
        }
        // Denied again, so it is not the oldest any more.
        denied.insert("https://a", "0", scopes("x"), 0);
        assert!(denied.contains("https://a", "1", &scopes("x"), 0));
        denied.insert("https://a", "one more", scopes("x"), 0);
        assert!(denied.contains("https://a", "0", &scopes("x"), 0));
        assert!(!denied.contains("https://a", "1", &scopes("x"), 0));
        assert!(denied.contains("https://a", "2", &scopes("x"), 0));
        assert!(denied.contains("https://a", "one more", &scopes("x"), 0));
    }
}
