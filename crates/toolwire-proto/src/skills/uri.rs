//! The URIs of skills: `<scheme>://<skill path>/<file path>`.
//!
//! The last segment of the skill path is the name of the skill. URIs are compared as text and never decoded, so `..`,
//! `%2e`, another case and the like are other URIs.

use std::fmt;

use crate::uri_scheme::is_scheme;

/// The name of the file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The scheme of the URIs that servers create.
const SCHEME: &str = "skill";

/// The longest URI that a skill or one of its files may have, in bytes.
const MAX_URI_BYTES: usize = 8 * 1024;

/// The URI of a `SKILL.md`, and its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillUri<'a> {
    uri: &'a str,
}

impl<'a> SkillUri<'a> {
    /// Parses the URI of a `SKILL.md`. Returns `None` if the URI has no scheme, no skill path, or another file name, and
    /// if a segment is empty, `.` or `..`.
    ///
    /// ```
    /// use toolwire_proto::skills::SkillUri;
    ///
    /// let uri = SkillUri::parse("skill://team/release/SKILL.md").expect("a skill");
    /// assert_eq!(uri.root(), "skill://team/release");
    /// assert_eq!(uri.name(), "release");
    /// assert_eq!(uri.path_of("skill://team/release/a/b.md"), Some("a/b.md"));
    /// ```
    #[must_use]
    pub fn parse(uri: &'a str) -> Option<Self> {
        let (scheme, path) = uri.split_once("://")?;
        let mut segments = path.split('/');
        let is_valid = uri.len() <= MAX_URI_BYTES
            && is_scheme(scheme)
            && path.split('/').all(is_uri_segment)
            && segments.next_back() == Some(SKILL_FILE)
            && segments.next_back().is_some();
        is_valid.then_some(Self { uri })
    }

    /// Returns the URI of the skill's directory, without a slash at its end.
    #[must_use]
    pub fn root(self) -> &'a str {
        let root = self.uri.strip_suffix(SKILL_FILE);
        root.and_then(|root| root.strip_suffix('/'))
            .unwrap_or(self.uri)
    }

    /// Returns the last segment of the skill path, which must be the name of the skill.
    #[must_use]
    pub fn name(self) -> &'a str {
        let root = self.root();
        root.rsplit('/').next().unwrap_or(root)
    }

    /// Returns the path of a file relative to the skill's directory, in the form of the URI. Returns `None` if the URI is
    /// not below the directory.
    #[must_use]
    pub fn path_of(self, uri: &'a str) -> Option<&'a str> {
        is_below(uri, self.root()).then(|| &uri[self.root().len() + 1..])
    }
}

/// Returns `true` if a URI is below a directory and its path has no empty segment, no `.` and no `..`.
#[must_use]
pub fn is_below(uri: &str, directory: &str) -> bool {
    let path = uri.strip_prefix(directory);
    let path = path.and_then(|path| path.strip_prefix('/'));
    uri.len() <= MAX_URI_BYTES && path.is_some_and(|path| path.split('/').all(is_uri_segment))
}

/// Returns the URI of the `SKILL.md` of a skill that a server creates.
///
/// `prefix` is the path before the name: `team`, `acme/team` or nothing.
///
/// # Errors
/// Returns an error if a segment of the prefix is empty, `.` or `..`, or if it has a control character.
///
/// ```
/// use toolwire_proto::skills::skill_uri;
///
/// assert_eq!(skill_uri("team", "release").unwrap(), "skill://team/release/SKILL.md");
/// assert_eq!(skill_uri("", "release").unwrap(), "skill://release/SKILL.md");
/// ```
pub fn skill_uri(prefix: &str, name: &str) -> Result<String, InvalidPath> {
    // Each segment adds the slash before it.
    let mut root = format!("{SCHEME}:/");
    if !prefix.is_empty() {
        push_path(&mut root, prefix)?;
    }
    push_path(&mut root, name)?;
    file_uri(&root, SKILL_FILE)
}

/// Returns the URI of a file below a directory. `path` has `/` between its segments, and is percent-encoded.
///
/// # Errors
/// Returns an error if a segment of the path is empty, `.` or `..`, or if it has a control character.
pub fn file_uri(directory: &str, path: &str) -> Result<String, InvalidPath> {
    let mut uri = directory.to_owned();
    push_path(&mut uri, path)?;
    if uri.len() > MAX_URI_BYTES {
        return Err(InvalidPath(path.to_owned()));
    }
    Ok(uri)
}

fn push_path(uri: &mut String, path: &str) -> Result<(), InvalidPath> {
    for segment in path.split('/') {
        uri.push('/');
        encode_segment(segment, uri).map_err(|_| InvalidPath(path.to_owned()))?;
    }
    Ok(())
}

/// Appends a segment, percent-encoded as in RFC 3986: letters, digits, `-`, `.`, `_` and `~` stay.
fn encode_segment(segment: &str, uri: &mut String) -> Result<(), InvalidPath> {
    const HEXADECIMAL: &[u8; 16] = b"0123456789ABCDEF";
    let is_invalid =
        matches!(segment, "" | "." | "..") || segment.contains(|c: char| c.is_control());
    if is_invalid {
        return Err(InvalidPath(segment.to_owned()));
    }
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.push(char::from(HEXADECIMAL[usize::from(byte >> 4)]));
            uri.push(char::from(HEXADECIMAL[usize::from(byte & 15)]));
        }
    }
    Ok(())
}

/// A path that cannot be part of a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidPath(pub String);

impl fmt::Display for InvalidPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the path {:?} has an empty segment, `.`, `..` or a control character, or is too long",
            self.0
        )
    }
}

impl std::error::Error for InvalidPath {}

/// Returns `true` for a segment of a URI of a peer. Control characters, white space, backslashes, queries and fragments
/// are never part of one, and encoded dots are not segments of their own.
fn is_uri_segment(segment: &str) -> bool {
    let dots = segment.to_ascii_lowercase().replace("%2e", ".");
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '\\' | '?' | '#');
    !segment.is_empty() && !matches!(dots.as_str(), "." | "..") && !segment.contains(forbidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_of_a_skill_has_a_root_and_a_name() {
        let check = |uri: &str, expected: Option<(&str, &str)>| {
            let parts = SkillUri::parse(uri).map(|uri| (uri.root(), uri.name()));
            assert_eq!(parts, expected, "{uri}");
        };
        check("skill://a/SKILL.md", Some(("skill://a", "a")));
        check("skill://x/y/a/SKILL.md", Some(("skill://x/y/a", "a")));
        check("docs+1://x/a/SKILL.md", Some(("docs+1://x/a", "a")));
        for uri in [
            "",
            "SKILL.md",
            "skill://SKILL.md",
            "skill:///SKILL.md",
            "skill:///a/SKILL.md",
            "skill://a/skill.md",
            "skill://a/SKILL.md/",
            "skill://a//SKILL.md",
            "skill://a/../SKILL.md",
            "skill://a/%2e%2E/SKILL.md",
            "skill://a/./SKILL.md",
            "skill://a\\b/SKILL.md",
            "skill://a/SKILL.md?x",
            "skill://a#/SKILL.md",
            "skill://a\0/SKILL.md",
            "1skill://a/SKILL.md",
            "://a/SKILL.md",
        ] {
            check(uri, None);
        }
    }

    #[test]
    fn files_of_a_skill_are_below_its_root() {
        let skill = SkillUri::parse("skill://t/a/SKILL.md").expect("a skill");
        let check =
            |uri: &str, expected: Option<&str>| assert_eq!(skill.path_of(uri), expected, "{uri}");
        check("skill://t/a/SKILL.md", Some("SKILL.md"));
        check("skill://t/a/b/c%20d.md", Some("b/c%20d.md"));
        check("skill://t/a/..b", Some("..b"));
        for uri in [
            "skill://t/a",
            "skill://t/a/",
            "skill://t/ab",
            "skill://t/A/b",
            "skill://t/a/../b",
            "skill://t/a/%2e%2e/b",
            "skill://t/a//b",
            "skill://t/a/b/",
            "skill://t/a\\b",
            "other://t/a/b",
        ] {
            check(uri, None);
        }
    }

    #[test]
    fn created_uris_are_percent_encoded() {
        let check = |prefix: &str, name: &str, expected: Option<&str>| {
            assert_eq!(skill_uri(prefix, name).ok().as_deref(), expected);
        };
        check("", "a", Some("skill://a/SKILL.md"));
        check("team", "a", Some("skill://team/a/SKILL.md"));
        check(
            "acme/my team",
            "a",
            Some("skill://acme/my%20team/a/SKILL.md"),
        );
        for prefix in ["/", "a/", "/a", "a//b", "..", "a/..", "a\n"] {
            check(prefix, "a", None);
        }
        let file = |path: &str| file_uri("skill://a", path);
        assert_eq!(file("b/c.md").unwrap(), "skill://a/b/c.md");
        assert_eq!(
            file("ü %?#\\.md").unwrap(),
            "skill://a/%C3%BC%20%25%3F%23%5C.md"
        );
        assert_eq!(file("~b_c-d").unwrap(), "skill://a/~b_c-d");
        for path in ["", "/b", "b/", "b//c", ".", "b/../c", "b\0", "b\u{85}"] {
            assert!(file(path).is_err(), "{path:?}");
        }
        assert!(file(&"a".repeat(MAX_URI_BYTES)).is_err());
    }

    #[test]
    fn created_uris_parse_again() {
        let uri = skill_uri("acme/my team", "a").unwrap();
        let skill = SkillUri::parse(&uri).expect("a skill");
        assert_eq!(skill.name(), "a");
        let file = file_uri(skill.root(), "x/ü.md").unwrap();
        assert_eq!(skill.path_of(&file), Some("x/%C3%BC.md"));
    }
}
