//! Scopes that were asked for in vain, so that a user is not asked again and again for the same thing.
//!
//! Spec 2026-07-28, authorization, "Step-Up Authorization Flow": attempts are tracked for each resource and operation.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mirrored_headers::routing_headers;
use crate::scopes::ScopeSet;

/// How many operations are remembered; beyond that the oldest is forgotten.
pub const MAX_DENIED: usize = 256;

/// For how many seconds an operation is remembered.
pub const DENIED_FOR: u64 = 300;

/// What a message is about: its method, and the tool, prompt or resource that it names. What is no request is about
/// nothing.
#[must_use]
pub fn operation(message: &[u8]) -> String {
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

/// What was denied lately.
#[derive(Debug, Clone, Default)]
pub struct DeniedUpgrades {
    /// By resource and operation, the oldest first.
    denied: IndexMap<(String, String), Denied>,
}

#[derive(Debug, Clone)]
struct Denied {
    scopes: ScopeSet,
    until: u64,
}

impl DeniedUpgrades {
    /// Nothing was denied yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers that an operation on a resource was not allowed with these scopes, or that they were not granted.
    pub fn remember(&mut self, resource: &str, operation: &str, scopes: ScopeSet, now: u64) {
        let key = (resource.to_owned(), operation.to_owned());
        // Taken out and put in again, so that the order is that of time.
        self.denied.shift_remove(&key);
        if self.denied.len() == MAX_DENIED {
            self.denied.shift_remove_index(0);
        }
        let until = now.saturating_add(DENIED_FOR);
        self.denied.insert(key, Denied { scopes, until });
    }

    /// Whether asking for scopes for this operation was in vain a short while ago. Scopes that were not among those may
    /// still help.
    #[must_use]
    pub fn contains(&self, resource: &str, operation: &str, scopes: &ScopeSet, now: u64) -> bool {
        let key = (resource.to_owned(), operation.to_owned());
        let denied = self.denied.get(&key);
        denied.is_some_and(|denied| now < denied.until && denied.scopes.contains_all(scopes))
    }

    /// Forgets everything about a resource, for instance because the user asked to try again.
    pub fn forget(&mut self, resource: &str) {
        self.denied.retain(|(own, _), _| own != resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> ScopeSet {
        ScopeSet::parse(text).unwrap()
    }

    #[test]
    fn an_operation_is_a_method_and_what_it_names() {
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
    fn what_was_denied_is_remembered_for_its_operation_and_a_while() {
        let mut denied = DeniedUpgrades::new();
        denied.remember("https://a", "tools/call deploy", scopes("x y"), 1_000);
        let check = |resource: &str, operation: &str, wanted: &str, now: u64, expected: bool| {
            let found = denied.contains(resource, operation, &scopes(wanted), now);
            assert_eq!(found, expected, "{resource} {operation} {wanted} {now}");
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
    fn the_oldest_is_forgotten_first() {
        let mut denied = DeniedUpgrades::new();
        for number in 0..MAX_DENIED {
            denied.remember("https://a", &number.to_string(), scopes("x"), 0);
        }
        // Denied again, so no longer the oldest.
        denied.remember("https://a", "0", scopes("x"), 0);
        assert!(denied.contains("https://a", "1", &scopes("x"), 0));
        denied.remember("https://a", "one more", scopes("x"), 0);
        assert!(denied.contains("https://a", "0", &scopes("x"), 0));
        assert!(!denied.contains("https://a", "1", &scopes("x"), 0));
        assert!(denied.contains("https://a", "2", &scopes("x"), 0));
        assert!(denied.contains("https://a", "one more", &scopes("x"), 0));
    }

    #[test]
    fn a_resource_can_be_forgotten() {
        let mut denied = DeniedUpgrades::new();
        denied.remember("https://a", "o", scopes("x"), 0);
        denied.remember("https://b", "o", scopes("x"), 0);
        denied.forget("https://a");
        assert!(!denied.contains("https://a", "o", &scopes("x"), 0));
        assert!(denied.contains("https://b", "o", &scopes("x"), 0));
    }
}
