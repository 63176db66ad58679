//! The comparison of URIs and paths with the patterns of rules.
//!
//! One resource has many URIs: `file:///a/b`, `file:///a//b`, `FILE:///a/%62`, `file:///a/./b`. A caller that may choose the
//! form must not get around a rule. So each text is compared as it is written and in its normal form. If the two differ, or
//! if the text has a segment `..`, the stricter result counts: a rule that allows needs both to match, and a rule that
//! denies needs one.

use std::borrow::Cow;

use crate::relay::glob::Glob;

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
        let normalized = match normalize(written.as_str()) {
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
    /// A text without a normal form may be any text with the same scheme.
    #[must_use]
    pub fn may_match(&self, text: &str) -> bool {
        self.written.matches(text)
            || match normalize(text) {
                Some(normal) => {
                    let pattern = self.normal_pattern();
                    pattern.matches(&normal) || pattern.matches(without_query(&normal))
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
            Some(normal) => normal.starts_with(&*normalized_start(start)),
            None => may_have_start(text, start),
        }
}

/// Returns the normal form of a URI or path. Returns `None` if it has a segment `..` or a control character, so that its
/// meaning depends on its reader.
///
/// In the normal form (RFC 3986, section 6.2.2), percent-encoded characters are decoded, except `*` and `?`, which have a
/// meaning in patterns. A backslash is a slash. Empty segments and segments `.` are removed. The scheme and the authority are
/// in lower case, and a path directly after the scheme has an empty authority.
#[must_use]
pub fn normalize(text: &str) -> Option<Cow<'_, str>> {
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
        .split(['/', '?', '#'])
        .any(|segment| segment == "..")
    {
        return None;
    }
    let normal = resolve(&decoded);
    // `./file:/a` is a path, but `file:/a` is a URI.
    if resolve(&normal) != normal {
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
fn resolve(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once(':').filter(|(name, _)| is_scheme(name)) else {
        return without_empty_segments(text);
    };
    let mut normal = scheme.to_ascii_lowercase();
    normal.push(':');
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
        }
        normal.push_str(&without_empty_segments(rest));
    }
    normal
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
    match normalize(whole) {
        Some(Cow::Owned(normal)) => Cow::Owned(normal + &start[whole.len()..]),
        _ => Cow::Borrowed(start),
    }
}

/// Returns the part of a pattern before its first wildcard.
fn literal_start(pattern: &str) -> &str {
    &pattern[..pattern.find(['*', '?']).unwrap_or(pattern.len())]
}

/// Returns `true` if a text without a normal form may start with another text: if both have the same scheme, as far as the
/// start has one. A path has no scheme.
fn may_have_start(text: &str, start: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_uris_have_one_normal_form() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(normalize(text).as_deref(), expected, "{text}");
        };
        for text in [
            "file:///a/b",
            "FILE:///a/b",
            "file:/a/b",
            "file://localhost/a/b",
            "file:////a//b",
            "file:///a/./b",
            "file:///%61/%62",
            "file:///a%2Fb",
            "file:///a%5Cb",
            "file:///a\\b",
            "file:///%2561/b",
        ] {
            check(text, Some("file:///a/b"));
        }
        for text in [
            "file:///a/../b",
            "..",
            "file:///a/%2e%2E/b",
            "/a/.%2e",
            "a\\..",
            "./F:",
            "file:///a/%252e%252e/b",
            "/a/%252525252561",
            "/a/.\t./b",
            "/a/%00",
            "a\n",
            "file:///a/..#",
            "file:///a/..?b",
        ] {
            check(text, None);
        }
        check("get_Issue", Some("get_Issue"));
        check("note://Inbox/A", Some("note://inbox/A"));
        check("/a/...", Some("/a/..."));
        check("/a/.", Some("/a/"));
        check("./a/", Some("a/"));
        check("urn:a:B", Some("urn:a:B"));
        check("/100%", Some("/100%"));
        check("/%2a%3f", Some("/%2A%3F"));
        check("note://{id}", Some("note://{id}"));
    }

    #[test]
    fn rules_read_doubtful_texts_strictly() {
        let check = |pattern: &str, text: &str, surely: bool, maybe: bool| {
            let pattern = UriPattern::new(pattern.parse().unwrap());
            let actual = (pattern.matches_surely(text), pattern.may_match(text));
            assert_eq!(actual, (surely, maybe), "{pattern:?} {text}");
        };
        check("file:///s/*", "file:///s/a", true, true);
        check("file:///s/*", "file:///t/a", false, false);
        check("file:///s/*", "file:///t/../s/a", false, true);
        check("file:///s/*", "file:///s/../t", false, true);
        check("file:///s/*", "file:///%73/a", false, true);
        check("file:///s/*", "file://///s/a", false, true);
        check("file:///s/*", "File:/s/a", false, true);
        check("file:///s/*", "file:///t/.\t./s/a", false, true);
        check("file:///s", "file:///s#a", false, true);
        check("file:///s", "file:///s/?a", false, true);
        check("note://a%2Fb", "note://a%2Fb", true, true);
        check("note://a%2Fb", "note://a/b", false, true);
        check("File:///s//*", "file:///s/a", false, true);
        check("file:/*", "file:///s", true, true);
        check("*://x/*", "note://x/a", true, true);
        check("*", "file:///s/a", true, true);
        check("*", "file:///s/../a", false, true);
        // A tool's pattern cannot match a URI of another scheme.
        check("drop_*", "file:///s/../a", false, false);
        check("FILE*", "file:///s/../a", false, true);
        check("drop_*", "s/../a", false, true);
        check("drop_*", "drop_table", true, true);
    }

    #[test]
    fn starts_of_paths_are_compared_like_patterns() {
        let check = |text: &str, start: &str, surely: bool, maybe: bool| {
            let actual = (starts_surely(text, start), may_start(text, start));
            assert_eq!(actual, (surely, maybe), "{text} {start}");
        };
        check("/public/a", "/public/", true, true);
        check("/private/a", "/public/", false, false);
        check("/public/../a", "/public/", false, true);
        check("//public/a", "/public/", false, true);
        check("/%70ublic/a", "/public/", false, true);
        check("/public//a", "/public/", true, true);
        check("/a/.git", "/a/.", true, true);
        check("/a//.git", "/a/.", false, true);
        check("/a/git", "/a/.", false, false);
    }

    proptest! {
        #[test]
        fn normal_form_of_a_normal_form_is_itself(text in "[aF:/.%2e\\\\*]{0,12}") {
            if let Some(normal) = normalize(&text) {
                prop_assert_eq!(normalize(&normal), Some(Cow::Borrowed(&*normal)));
            }
        }

        #[test]
        fn what_matches_surely_may_match(pattern in "[a:/.%2e*]{1,6}", text in "[a:/.%2e]{0,8}") {
            let pattern = UriPattern::new(pattern.parse().unwrap());
            prop_assert!(!pattern.matches_surely(&text) || pattern.may_match(&text));
        }
    }
}
