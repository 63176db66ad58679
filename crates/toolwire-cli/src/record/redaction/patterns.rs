//! Texts with the form of a token or a key.

use std::borrow::Cow;
use std::ops::Range;

use toolwire_proto::secret_names::secret_value;

use crate::record::redaction::{START, replacement, replacement_len};

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
const PEM_LABEL_END: &str = "-----";
const PEM_KEY: &str = "PRIVATE KEY";
const PEM_END: &str = "-----END ";

/// What is between a name and its value in a log. A longer one is before its start.
const ASSIGNMENTS: [&str; 9] = [
    "\": \"", "\":\"", "=\"", "='", ":\"", ": \"", ": ", "=", ":",
];

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
    ranges.extend(values(text, &words, has_assignments));
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| words.get(index));
        let is_secret = is_key(&text[word.clone()])
            || before.is_some_and(|before| {
                let scheme = &text[before.clone()];
                let between = &text[before.end..word.start];
                is_credential(scheme, between, &text[word.clone()])
            });
        if is_secret {
            ranges.push(word.clone());
        }
    }
    replace(text, ranges)
}

/// Replaces ranges of a text. Ranges that overlap are replaced as one. Those within an earlier replacement stay.
fn replace(text: &str, mut ranges: Vec<Range<usize>>) -> Cow<'_, str> {
    ranges.sort_by_key(|range| range.start);
    let mut earlier = replacements(text).peekable();
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        while earlier.next_if(|other| other.end <= range.start).is_some() {}
        let is_replaced = earlier
            .peek()
            .is_some_and(|other| other.contains(&range.start));
        if range.is_empty() || is_replaced {
            continue;
        }
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    if merged.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut redacted = String::with_capacity(text.len());
    let mut end = 0;
    for range in merged {
        redacted.push_str(&text[end..range.start]);
        redacted.push_str(&replacement(&text[range.clone()]));
        end = range.end;
    }
    redacted.push_str(&text[end..]);
    Cow::Owned(redacted)
}

/// Returns the places of earlier replacements.
fn replacements(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices(START).filter_map(|(start, _)| {
        let len = replacement_len(&text[start..])?;
        Some(start..start + len)
    })
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

/// Returns the values of names: in the query of a URL, and in a log in every assignment. A value ends at white space, at a
/// quotation mark, or at the next parameter.
fn values(text: &str, words: &[Range<usize>], has_assignments: bool) -> Vec<Range<usize>> {
    let mut values: Vec<Range<usize>> = Vec::new();
    for word in words {
        // What looks like a name may be a part of a value.
        if values.last().is_some_and(|value| word.start < value.end) {
            continue;
        }
        let is_parameter = text[..word.start].ends_with(['?', '&']);
        let rest = &text[word.end..];
        let assignments = ASSIGNMENTS
            .iter()
            .filter(|assignment| has_assignments || (is_parameter && **assignment == "="));
        let Some(assignment) = assignments
            .into_iter()
            .find(|assignment| rest.starts_with(**assignment))
        else {
            continue;
        };
        // In `--password`, the name begins with hyphens.
        let name = text[word.clone()].trim_start_matches('-');
        let value = &rest[assignment.len()..];
        if secret_value(name).is_none() || replacement_len(value).is_some() {
            continue;
        }
        let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '&');
        let len = value.find(is_end).unwrap_or(value.len());
        let start = word.end + assignment.len();
        values.push(start..start + len);
    }
    values
}

/// Returns the private keys in PEM form.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut keys = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(PEM_START).map(|at| from + at) {
        from = start + PEM_START.len();
        let label = text[from..]
            .find(PEM_LABEL_END)
            .map(|len| &text[from..from + len]);
        if label.is_some_and(|label| label.contains(PEM_KEY) && !label.contains('\n')) {
            let end = text[from..].find(PEM_END);
            from = end.map_or(text.len(), |at| from + at);
            keys.push(start..from);
        }
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
    fn whole_values_are_replaced() {
        let expected = |value: &str| format!("?a=1&token={}&b=2", replacement(value));
        for value in ["ab%2Bcd", "ab!cd", "!ab,cd", "(ab)"] {
            let redacted = redact_text(&format!("?a=1&token={value}&b=2")).into_owned();
            assert_eq!(redacted, expected(value));
            assert_eq!(redact_log_line(&redacted), redacted, "again");
        }
        let line = redact_log_line("password='hunter2!x' user=bob").into_owned();
        let expected = format!("password='{}' user=bob", replacement("hunter2!x"));
        assert_eq!(line, expected);
    }

    #[test]
    fn private_key_after_another_block_is_replaced() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----";
        for before in [
            "-----BEGIN ",
            "-----BEGIN CERTIFICATE-----\nMIIC\n",
            "?token=x",
        ] {
            let redacted = redact_text(&format!("{before}{key} end")).into_owned();
            assert!(!redacted.contains("MIIE"), "{redacted}");
            assert!(redacted.ends_with(" end"), "{redacted}");
        }
    }

    #[test]
    fn text_that_only_looks_like_a_replacement_is_replaced() {
        let redacted = redact_text("[redacted AKIAIOSFODNN7EXAMPLE").into_owned();
        assert!(!redacted.contains("AKIA"), "{redacted}");
        assert_eq!(redact_text(&redacted), redacted, "again");
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
