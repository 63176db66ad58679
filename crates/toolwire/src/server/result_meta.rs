//! The `_meta` keys of results: keys that authors must not use are removed and reported.

use std::collections::BTreeSet;
use std::sync::Mutex;

use toolwire_proto::authored_meta::{AuthoredMeta, remove_forbidden_keys};
use toolwire_proto::meta_keys::ForbiddenKey;

use crate::sync::lock;

/// The maximum number of keys that a process reports, because a handler may invent keys.
const MAX_REPORTED: usize = 64;

/// The keys that this process has reported.
static REPORTED: Mutex<ReportedKeys> = Mutex::new(ReportedKeys(BTreeSet::new()));

struct ReportedKeys(BTreeSet<String>);

impl ReportedKeys {
    /// Returns `true` if the key has to be reported: it is new, and the limit is not reached.
    fn add(&mut self, key: &str) -> bool {
        self.0.len() < MAX_REPORTED && self.0.insert(key.to_owned())
    }
}

/// Removes the keys of a result that its author must not use. Each key is reported once per process, with the method and
/// the name of the handler.
pub(crate) fn remove_forbidden_meta(
    result: &mut impl AuthoredMeta,
    method: &str,
    name: Option<&str>,
) {
    let forbidden = remove_forbidden_keys(result);
    if !forbidden.is_empty() {
        report(&forbidden, method, name.unwrap_or_default());
    }
}

#[cold]
fn report(forbidden: &[ForbiddenKey], method: &str, name: &str) {
    for reason in forbidden {
        let is_new = lock(&REPORTED).add(reason.key());
        if is_new {
            tracing::warn!(method, name, "a key was removed from the result: {reason}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_reported_once_up_to_the_limit() {
        let mut reported = ReportedKeys(BTreeSet::new());
        for number in 0..MAX_REPORTED {
            assert!(reported.add(&number.to_string()));
            assert!(!reported.add(&number.to_string()));
        }
        assert!(!reported.add("one more"));
    }
}
