//! Texts with the form of a token or a key.

use std::borrow::Cow;
use std::ops::Range;

use crate::record::redaction::names::secret_value;
use crate::record::redaction::{START, replacement};

/// The starts of keys of known services, and the shortest length of such a key.
const KEYS: [(&str, usize); 26] = [
    ("sk-", 20),
    ("sk_live_", 20),
    ("sk_test_", 20),
    ("rk_live_", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("xoxa-", 15),
    ("xoxb-", 15),
    ("xoxp-", 15),
    ("xoxr-", 15),
    ("xoxs-", 15),
    ("xapp-", 15),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 39),
    ("hf_", 30),
    ("npm_", 36),
    ("pypi-", 40),
    ("dop_v1_", 40),
    ("shpat_", 30),
    ("ya29.", 30),
];

/// The shortest credential after `Bearer` or `Basic`. Shorter words may be prose.
const MIN_CREDENTIAL: usize = 16;

/// The shortest token with the form of a JWT.
const MIN_JWT: usize = 30;

const PEM_START: &str = "-----BEGIN ";
const PEM_KEY: &str = "PRIVATE KEY-----";
const PEM_END: &str = "-----END ";

/// Replaces the secrets in a text.
pub(in crate::record) fn redact_text(text: &str) -> Cow<'_, str> {
    redact(text, false)
}

/// Replaces the secrets in a line of a log, where `password=…` and `token: …` are secrets, too.
pub(in crate::record) fn redact_log_line(text: &str) -> Cow<'_, str> {
    redact(text, true)
}

fn redact(text: &str, has_assignments: bool) -> Cow<'_, str> {
    let mut ranges = private_keys(text);
    ranges.extend(url_passwords(text));
    let words = words(text);
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| words.get(index));
        let is_secret = is_key(&text[word.clone()])
            || before.is_some_and(|before| {
                let name = &text[before.clone()];
                let between = &text[before.end..word.start];
                is_credential(name, between, &text[word.clone()])
                    || is_value(text, before, between, has_assignments)
            });
        if is_secret {
            ranges.push(word.clone());
        }
    }
    replace(text, ranges)
}

fn replace(text: &str, mut ranges: Vec<Range<usize>>) -> Cow<'_, str> {
    ranges.retain(|range| !range.is_empty() && !is_in_replacement(text, range));
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut redacted = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        if range.start >= end {
            redacted.push_str(&text[end..range.start]);
            redacted.push_str(&replacement(&text[range.clone()]));
            end = range.end;
        }
    }
    redacted.push_str(&text[end..]);
    Cow::Owned(redacted)
}

/// Returns `true` if a range is a part of an earlier replacement.
fn is_in_replacement(text: &str, range: &Range<usize>) -> bool {
    text[..range.start]
        .rfind(START)
        .is_some_and(|start| !text[start..range.start].contains(']'))
}

/// Returns the words of a text: what keys and tokens consist of.
fn words(text: &str) -> Vec<Range<usize>> {
    let is_part =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '~');
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (is_part(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    words.extend(start.map(|from| from..text.len()));
    words
}

/// Returns `true` for a JWT, and for a key of a known service. The word may begin with a path.
fn is_key(word: &str) -> bool {
    word.split('/').any(|part| {
        let is_known = KEYS
            .iter()
            .any(|(start, length)| part.len() >= *length && part.starts_with(start));
        is_known || is_jwt(part)
    })
}

fn is_jwt(word: &str) -> bool {
    let is_base64 = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let parts: Vec<&str> = word.split('.').collect();
    word.len() >= MIN_JWT
        && word.starts_with("eyJ")
        && parts.len() >= 3
        && parts.iter().all(|part| is_base64(part))
}

/// Returns `true` for the credential after `Bearer` or `Basic`.
fn is_credential(scheme: &str, between: &str, word: &str) -> bool {
    let is_scheme = ["bearer", "basic", "dpop"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(scheme));
    is_scheme && between == " " && word.len() >= MIN_CREDENTIAL
}

/// Returns `true` for the value of a name: in the query of a URL, and in a log in every assignment.
fn is_value(text: &str, name: &Range<usize>, between: &str, has_assignments: bool) -> bool {
    let before = text[..name.start].chars().next_back();
    let is_query = between == "=" && matches!(before, Some('?' | '&'));
    let is_assignment = has_assignments
        && matches!(
            between,
            "=" | ":" | ": " | "=\"" | "='" | ":\"" | ": \"" | "\":\"" | "\": \""
        );
    // In `--password`, the name begins with hyphens.
    let name = text[name.clone()].trim_start_matches('-');
    (is_query || is_assignment) && secret_value(name).is_some()
}

/// Returns the private keys in PEM form.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut keys = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(PEM_START).map(|at| from + at) {
        let line = text[start..].lines().next().unwrap_or_default();
        let end = text[start..]
            .find(PEM_END)
            .map_or(text.len(), |at| start + at);
        if line.contains(PEM_KEY) {
            keys.push(start..end);
        }
        from = (start + PEM_START.len()).max(end);
    }
    keys
}

/// Returns the passwords in URLs: `https://name:password@host`.
fn url_passwords(text: &str) -> Vec<Range<usize>> {
    let mut passwords = Vec::new();
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let rest = &text[start..];
        let end = rest.find(|c: char| c == '/' || c == '?' || c.is_whitespace() || c == '"');
        let authority = &rest[..end.unwrap_or(rest.len())];
        if let Some((user, _)) = authority.rsplit_once('@') {
            let password = user.split_once(':').map_or(user, |(_, password)| password);
            let end = start + user.len();
            passwords.push(end - password.len()..end);
        }
    }
    passwords
}

#[cfg(test)]
mod tests {
    use super::*;

    const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJib2IifQ.c2lnbmF0dXJl";

    #[test]
    fn tokens_and_keys_are_replaced() {
        let github = format!("ghp_{}", "a".repeat(36));
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n";
        for secret in [
            JWT,
            &github,
            "sk-ant-api03-abcdefghijkl",
            "AKIAIOSFODNN7EXAMPLE",
            "xoxb-1234567890-abc",
            pem,
        ] {
            let text = format!("use \"{secret}\", then go");
            let redacted = redact_text(&text);
            assert!(!redacted.contains(secret), "{redacted}");
            assert!(redacted.starts_with("use "), "{redacted}");
            assert_eq!(redact_text(&redacted), redacted, "again");
        }
        let expected = replacement("0123456789abcdef");
        assert_eq!(
            redact_text("Bearer 0123456789abcdef"),
            format!("Bearer {expected}")
        );
    }

    #[test]
    fn parts_of_urls_are_replaced() {
        let check = |text: &str, secret: &str, kept: &str| {
            let redacted = redact_text(text);
            assert!(!redacted.contains(secret), "{redacted}");
            assert!(redacted.contains(kept), "{redacted}");
        };
        check("https://me:hunter2@example.com/a", "hunter2", "https://me:");
        check(
            "https://example.com/?a=1&api_key=hunter2&b=2",
            "hunter2",
            "&b=2",
        );
        check(
            "see https://example.com/?token=hunter2",
            "hunter2",
            "?token=",
        );
    }

    #[test]
    fn assignments_are_replaced_in_logs_only() {
        for line in [
            "password=hunter2",
            "token: hunter2",
            "{\"api_key\": \"hunter2\"}",
            "--password=hunter2",
        ] {
            let redacted = redact_log_line(line);
            assert!(!redacted.contains("hunter2"), "{redacted}");
        }
        assert_eq!(redact_text("token: hunter2"), "token: hunter2");
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "",
            "a task-list of sk- keys",
            "Bearer of news",
            "eyJ is a start",
            "https://example.com/a?b=c",
            "1.5.2",
        ] {
            assert!(matches!(redact_log_line(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
