//! The comparison of URIs and paths with the patterns of rules.
//!
//! One resource has many URIs: `file:///a/b`, `file:///a//b`, `FILE:///a/%62`, `file:///a/./b`, and so has one host:
//! `https://x/`, `https:/x`, `https://user@x:443/`. A caller that may choose the form must not get around a rule. So each
//! text is compared as it is written and in its normal form. If the two differ, or if the text has a segment `..`, the
//! stricter result counts: a rule that allows needs both to match, and a rule that denies needs one.

#[cfg(test)]
mod tests;
mod web_url;

use std::borrow::Cow;

use crate::relay::glob::Glob;
use crate::relay::policy::uri::web_url::{
    TextKind, authority_and_path, default_port, has_ambiguous_host, has_encoded_host, is_ambiguous,
    may_have_unicode_host,
};

/// The number of times that `%25` is decoded to `%`. A text with more levels has no normal form.
const MAX_DECODING_LEVELS: usize = 4;

/// A pattern for names, URIs and paths.
///
/// ```
/// use toolwire_proto::relay::policy::uri::UriPattern;
///
/// let pattern = UriPattern::new("file:///public/*".parse().unwrap());
/// assert!(pattern.matches_surely("file:///public/a"));
/// assert!(!pattern.matches_surely("file:///public/../secret"));
/// assert!(pattern.may_match("file:///secret/../public/a"));
/// assert!(pattern.may_match("file:////public/%61"));
/// assert!(!pattern.may_match("file:///other"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriPattern {
    written: Glob,
    /// The normal form, if it is another one.
    normalized: Option<Glob>,
}

impl UriPattern {
    /// Creates a pattern that compares URIs and paths also in their normal form.
    #[must_use]
    pub fn new(written: Glob) -> Self {
        let normalized = match normalize_as(written.as_str(), TextKind::Pattern) {
            Some(Cow::Owned(text)) => text.parse().ok(),
            _ => None,
        };
        Self {
            written,
            normalized,
        }
    }

    /// Returns `true` if the pattern matches each reading of a text. This is the test of a rule that allows.
    #[must_use]
    pub fn matches_surely(&self, text: &str) -> bool {
        let normal = normalize(text);
        normal.is_some_and(|normal| {
            self.written.matches(text) && self.normal_pattern().matches(&normal)
        })
    }

    /// Returns `true` if the pattern matches one reading of a text. This is the test of a rule that denies.
    ///
    /// A text without a normal form may be any text with the same scheme. A host that is not ASCII may be any host with the
    /// encoding of such names.
    #[must_use]
    pub fn may_match(&self, text: &str) -> bool {
        self.written.matches(text)
            || match normalize(text) {
                Some(normal) => {
                    let pattern = self.normal_pattern();
                    pattern.matches(&normal)
                        || pattern.matches(without_query(&normal))
                        || may_have_same_host(&normal, pattern.as_str())
                }
                None => may_have_start(text, literal_start(self.written.as_str())),
            }
    }

    /// Returns `true` if the pattern may match a URI of a template (RFC 6570): if the texts before the first `*`, `?` and `{`
    /// are equal as far as both go.
    #[must_use]
    pub fn may_match_template(&self, template: &str) -> bool {
        let pattern = literal_start(self.written.as_str()).as_bytes();
        let fixed = &template[..template.find('{').unwrap_or(template.len())];
        let length = pattern.len().min(fixed.len());
        pattern[..length].eq_ignore_ascii_case(&fixed.as_bytes()[..length])
    }

    fn normal_pattern(&self) -> &Glob {
        self.normalized.as_ref().unwrap_or(&self.written)
    }
}

impl From<Glob> for UriPattern {
    fn from(written: Glob) -> Self {
        Self::new(written)
    }
}

/// Returns `true` if each reading of a text starts with another text. This is the test of a rule that allows.
#[must_use]
pub fn starts_surely(text: &str, start: &str) -> bool {
    let normal = normalize(text);
    normal.is_some_and(|normal| {
        text.starts_with(start) && normal.starts_with(&*normalized_start(start))
    })
}

/// Returns `true` if one reading of a text starts with another text. This is the test of a rule that denies.
#[must_use]
pub fn may_start(text: &str, start: &str) -> bool {
    text.starts_with(start)
        || match normalize(text) {
            Some(normal) => {
                let start = normalized_start(start);
                normal.starts_with(&*start) || may_have_same_host(&normal, &start)
            }
            None => may_have_start(text, start),
        }
}

/// Returns the normal form of a URI or path. Returns `None` if it has a segment `..` or a control character, so that its
/// meaning depends on its reader.
///
/// In the normal form (RFC 3986, section 6.2.2), percent-encoded characters are decoded, except `*` and `?`, which have a
/// meaning in patterns. A backslash is a slash. Empty segments and segments `.` are removed. The scheme and the authority are
/// in lower case, and a path directly after the scheme has an empty authority. A URL of the web has its host alone: without
/// user information, a default port and a dot at its end. One whose host is not ASCII, or is an IP address in an unusual form,
/// has no normal form.
#[must_use]
pub fn normalize(text: &str) -> Option<Cow<'_, str>> {
    normalize_as(text, TextKind::Whole)
}

fn normalize_as(text: &str, kind: TextKind) -> Option<Cow<'_, str>> {
    let is_plain = !text.contains(|c: char| matches!(c, '/' | '\\' | '%' | ':') || c.is_control());
    if is_plain {
        return (text != "..").then_some(Cow::Borrowed(text));
    }
    let decoded = decode(text)?;
    // Some readers drop control characters (WHATWG URL, section 4.4).
    if decoded.contains(char::is_control) {
        return None;
    }
    if decoded
        .split(['/', '?', '#', ':'])
        .any(|segment| segment == "..")
    {
        return None;
    }
    if let Some((scheme, rest)) = split_scheme(text)
        && default_port(&scheme).is_some()
        && is_ambiguous(rest, decode)
    {
        return None;
    }
    let normal = resolve(&decoded, kind);
    // `./file:/a` is a path, but `file:/a` is a URI.
    if resolve(&normal, kind) != normal {
        return None;
    }
    if kind == TextKind::Whole
        && let Some((scheme, _)) = split_scheme(&normal)
        && default_port(&scheme).is_some()
        && has_ambiguous_host(&normal)
    {
        return None;
    }
    Some(if normal == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(normal)
    })
}

/// Returns a text without its query, its fragment and slashes at its end, which many readers of a URI ignore.
fn without_query(text: &str) -> &str {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    text[..end].trim_end_matches('/')
}

/// Decodes all levels of percent-encoding, and replaces backslashes. Returns `None` if there are too many levels.
fn decode(text: &str) -> Option<String> {
    let mut decoded = decode_once(text);
    for _ in 1..MAX_DECODING_LEVELS {
        decoded = decode_once(&decoded);
    }
    let is_complete = decode_once(&decoded) == decoded;
    is_complete.then(|| decoded.replace('\\', "/"))
}

fn decode_once(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let hex = |digit: u8| char::from(digit).to_digit(16);
        let encoded = match (byte, behind) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match encoded.map(|(high, low)| (high * 16 + low) as u8) {
            Some(b'*') => decoded.extend_from_slice(b"%2A"),
            Some(b'?') => decoded.extend_from_slice(b"%3F"),
            Some(value) => decoded.push(value),
            None => decoded.push(byte),
        }
        rest = &rest[if encoded.is_some() { 3 } else { 1 }..];
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Returns a decoded text with a scheme and an authority in lower case, and a path without segments that mean nothing.
fn resolve(text: &str, kind: TextKind) -> String {
    let Some((scheme, rest)) = split_scheme(text) else {
        return without_empty_segments(text);
    };
    if let Some(port) = default_port(&scheme) {
        let (authority, path) = authority_and_path(rest, port, kind);
        return format!("{scheme}://{authority}{}", without_empty_segments(&path));
    }
    let is_file = scheme == "file";
    let mut normal = scheme + ":";
    if let Some(rest) = rest.strip_prefix("//") {
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let authority = authority.to_ascii_lowercase();
        normal.push_str("//");
        if normal != "file://" || authority != "localhost" {
            normal.push_str(&authority);
        }
        normal.push_str(&without_empty_segments(path));
    } else {
        // RFC 8089, appendix B: `file:/path` is `file:///path`. In a pattern, `file:/*` also stands for the latter.
        if rest.starts_with('/') && !rest.starts_with("/*") {
            normal.push_str("//");
        } else if is_file && !rest.is_empty() && !rest.starts_with(['/', '*', '?']) {
            // Browsers read `file:path` as `file:///path`.
            normal.push_str("///");
        }
        normal.push_str(&without_empty_segments(rest));
    }
    normal
}

/// Returns the scheme of a URI in lower case, and what follows its colon. Spaces around a URI mean nothing (WHATWG URL,
/// section 4.4).
fn split_scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.trim_matches(' ').split_once(':')?;
    is_scheme(scheme).then(|| (scheme.to_ascii_lowercase(), rest))
}

/// Returns `true` if a text may be a scheme, or the pattern of one.
fn is_scheme(text: &str) -> bool {
    let permitted = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.*?".contains(&byte);
    !text.is_empty() && text.bytes().all(permitted)
}

/// Returns a path without empty segments and segments `.`. A slash at its end stays.
fn without_empty_segments(path: &str) -> String {
    let mut normal = String::with_capacity(path.len());
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        if segment == "." && (!is_last || !normal.is_empty()) {
            continue;
        }
        normal.push_str(segment);
        if !is_last && !normal.ends_with('/') {
            normal.push('/');
        }
    }
    normal
}

/// Returns the normal form of the start of a text. Dots at its end may be the start of a name such as `.git`.
fn normalized_start(start: &str) -> Cow<'_, str> {
    let whole = start.trim_end_matches('.');
    match normalize_as(whole, TextKind::Start) {
        Some(Cow::Owned(normal)) => Cow::Owned(normal + &start[whole.len()..]),
        _ => Cow::Borrowed(start),
    }
}

/// Returns the part of a pattern before its first wildcard.
fn literal_start(pattern: &str) -> &str {
    &pattern[..pattern.find(['*', '?']).unwrap_or(pattern.len())]
}

/// Returns `true` if a pattern, or a start, has a host that is not ASCII, and a URL the encoding of such a host. They are not
/// compared, because readers differ in how they encode names. Both are in their normal form.
fn may_have_same_host(normal: &str, pattern: &str) -> bool {
    may_have_unicode_host(pattern)
        && has_encoded_host(normal)
        && may_have_start(normal, literal_start(pattern))
}

/// Returns `true` if a text without a normal form may start with another text: if both have the same scheme, as far as the
/// start has one. A path has no scheme.
fn may_have_start(text: &str, start: &str) -> bool {
    let text = text.trim_start_matches(' ');
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    match scheme.filter(|scheme| is_scheme(scheme)) {
        None => true,
        Some(scheme) => {
            let length = start.len().min(scheme.len() + 1);
            let known = &text.as_bytes()[..length];
            known.eq_ignore_ascii_case(&start.as_bytes()[..length])
        }
    }
}
