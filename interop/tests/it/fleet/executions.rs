//! Counts how often the calls of a workload were executed.
//!
//! Each call prints a key of its own, and all nodes print to one file. A call that is sent again after a rejection has
//! the same key, so that a rejected call that was executed nevertheless is noticed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// The tool that prints a text.
pub(super) const TOOL: &str = "print";

/// The keys of all calls.
#[derive(Debug, Default)]
pub(super) struct Executions {
    next: AtomicU64,
    /// The keys of the calls with a result.
    succeeded: Mutex<Vec<String>>,
}

impl Executions {
    /// Returns the key of the next call of an operation.
    pub(super) fn next_key(&self, operation: &str) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{operation} {number}")
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.succeeded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the call with this key has a result.
    pub(super) fn record_success(&self, key: String) {
        self.lock().push(key);
    }

    /// Returns what is wrong with the lines that the nodes have printed: each call was executed at most once, and a call
    /// with a result exactly once.
    pub(super) fn problems(&self, printed: &str) -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for line in printed.lines() {
            *counts.entry(line).or_default() += 1;
        }
        let twice = counts.iter().filter(|(_, count)| **count > 1);
        let mut problems: Vec<String> = twice
            .map(|(key, count)| format!("`{key}` was executed {count} times"))
            .collect();
        let succeeded = self.lock();
        let missing = succeeded
            .iter()
            .filter(|key| !counts.contains_key(key.as_str()));
        problems.extend(missing.map(|key| format!("`{key}` has a result and was not executed")));
        problems
    }
}

/// Returns the arguments of a call that prints its key.
pub(super) fn arguments(key: &str) -> Value {
    json!({ "text": key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_missing_executions_are_problems() {
        let executions = Executions::default();
        let keys: Vec<String> = (0..3).map(|_| executions.next_key("call")).collect();
        for key in &keys[..2] {
            executions.record_success(key.clone());
        }
        for (printed, expected) in [
            ("call 0\ncall 1\n", 0),
            // The call 2 has failed, so it may have been executed.
            ("call 0\ncall 1\ncall 2\n", 0),
            ("call 0\ncall 1\ncall 0\n", 1),
            ("call 1\ncall 2\ncall 2\n", 2),
        ] {
            let problems = executions.problems(printed);
            assert_eq!(problems.len(), expected, "{printed}: {problems:?}");
        }
    }
}
