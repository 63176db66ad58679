//! Replaces secrets in the lines of standard error, also those of a private key with several lines.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::record::redaction::{redact_log_line, replacement};

/// The most lines of a private key. After them the end is missing, and the lines are a log again.
const MAX_KEY_LINES: usize = 200;

/// The redaction of one process.
#[derive(Debug, Default)]
pub(super) struct StderrLines {
    /// The number of lines that may still belong to a private key.
    key_lines: AtomicUsize,
}

impl StderrLines {
    /// Returns a line without its secrets.
    pub(super) fn redact<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let left = self.key_lines.load(Ordering::Relaxed);
        if left > 0 {
            let is_end = line.contains("-----END ");
            let left = if is_end { 0 } else { left - 1 };
            self.key_lines.store(left, Ordering::Relaxed);
            return Cow::Owned(replacement(line));
        }
        if begins_key(line) {
            self.key_lines.store(MAX_KEY_LINES, Ordering::Relaxed);
        }
        redact_log_line(line)
    }
}

/// Returns `true` if a private key begins in this line, but does not end in it.
fn begins_key(line: &str) -> bool {
    let start = line.rfind("-----BEGIN ");
    start.is_some_and(|start| {
        let rest = &line[start..];
        rest.contains("PRIVATE KEY-----") && !rest.contains("-----END ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_of_a_private_key_are_replaced() {
        let lines = StderrLines::default();
        let key = [
            "key: -----BEGIN RSA PRIVATE KEY-----",
            "canary",
            "canary==",
            "-----END RSA PRIVATE KEY-----",
        ];
        let redacted = key.map(|line| lines.redact(line).into_owned());
        assert!(!redacted.concat().contains("canary"), "{redacted:?}");
        assert_eq!(lines.redact("ready"), "ready");
        let certificate = ["-----BEGIN CERTIFICATE-----", "public"];
        let shown = certificate.map(|line| lines.redact(line).into_owned());
        assert_eq!(shown, certificate);
    }

    #[test]
    fn key_without_an_end_has_a_limit() {
        let lines = StderrLines::default();
        lines.redact("-----BEGIN PRIVATE KEY-----");
        for _ in 0..MAX_KEY_LINES {
            assert_ne!(lines.redact("text"), "text");
        }
        assert_eq!(lines.redact("text"), "text");
    }
}
