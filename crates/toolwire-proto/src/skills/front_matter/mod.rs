//! The front matter of a `SKILL.md`: a block of YAML between two lines `---`.
//!
//! Two readers must never interpret a front matter differently. It is therefore YAML 1.2 with the core schema, without
//! tags, with text as keys and without duplicates. Its size, its depth and the expansion of aliases are limited.

mod scalar;
#[cfg(test)]
mod tests;
mod yaml;

use std::fmt;

use toolwire_types::skills::JsonObject;

/// The maximum size of a front matter in bytes, without the lines `---`.
pub const MAX_FRONT_MATTER_BYTES: usize = 64 * 1024;

/// The maximum depth of nested values. The front matter itself has the depth 1.
pub const MAX_DEPTH: usize = 32;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The reason why a front matter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a front matter has a start, an end and YAML between them"
)]
pub enum FrontMatterError {
    /// The first line is not `---`.
    MissingStart,
    /// No later line is `---`.
    MissingEnd,
    /// The front matter is larger than [`MAX_FRONT_MATTER_BYTES`].
    TooLong,
    /// The front matter is not UTF-8.
    NotUtf8,
    /// The front matter is empty, or its YAML is not a mapping.
    NotMapping,
    /// The YAML is invalid, or uses something that a front matter must not have.
    Yaml {
        /// The line in the file, from 1 on.
        line: usize,
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for FrontMatterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingStart => f.write_str(
                "the front matter is missing; start the file with a line `---`, `name`, `description` and a line `---`",
            ),
            Self::MissingEnd => {
                f.write_str("the front matter has no end; add a line `---` after it")
            }
            Self::TooLong => write!(
                f,
                "the front matter is too long; it may have {MAX_FRONT_MATTER_BYTES} bytes"
            ),
            Self::NotUtf8 => f.write_str("the front matter is not UTF-8"),
            Self::NotMapping => {
                f.write_str("the front matter has no fields; write each as `field: value`")
            }
            Self::Yaml { line, reason } => write!(f, "line {line}: {reason}"),
        }
    }
}

impl std::error::Error for FrontMatterError {}

/// Parses the front matter at the start of a file.
///
/// It begins after a first line `---` and ends before the next line `---`. The file may start with a byte order mark,
/// and its lines end with LF or CRLF.
///
/// # Errors
/// Returns an error if the file has no front matter, or if its YAML is invalid or violates a limit.
///
/// ```
/// use serde_json::{Value, json};
/// use toolwire_proto::skills::parse_front_matter;
///
/// let file = b"---\nname: release\ndraft: no\nversion: 1.0\n---\n# Steps\n";
/// let fields = parse_front_matter(file).expect("valid front matter");
/// assert_eq!(Value::Object(fields), json!({"name": "release", "draft": "no", "version": 1.0}));
/// ```
pub fn parse_front_matter(bytes: &[u8]) -> Result<JsonObject, FrontMatterError> {
    let block = block(bytes)?;
    let text = std::str::from_utf8(block).map_err(|_| FrontMatterError::NotUtf8)?;
    yaml::parse_mapping(text)
}

/// Returns the instructions of a `SKILL.md`: its text after the front matter, without blank lines before it. Without a
/// front matter, it is all of the text.
///
/// ```
/// use toolwire_proto::skills::instructions;
///
/// assert_eq!(instructions("---\nname: release\n---\n\n# Steps\n"), "# Steps\n");
/// ```
#[must_use]
pub fn instructions(text: &str) -> &str {
    match split(text.as_bytes()) {
        Ok((_, after)) => text[text.len() - after.len()..].trim_start_matches(['\r', '\n']),
        Err(_) => text,
    }
}

/// Returns the bytes between the two lines `---`.
fn block(bytes: &[u8]) -> Result<&[u8], FrontMatterError> {
    split(bytes).map(|(block, _)| block)
}

/// Returns the bytes between the two lines `---`, and those after them.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), FrontMatterError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let (first, rest) = split_line(bytes);
    if !is_delimiter(first) {
        return Err(FrontMatterError::MissingStart);
    }
    let mut remaining = rest;
    loop {
        let length = rest.len() - remaining.len();
        if length > MAX_FRONT_MATTER_BYTES {
            return Err(FrontMatterError::TooLong);
        }
        if remaining.is_empty() {
            return Err(FrontMatterError::MissingEnd);
        }
        let (line, after) = split_line(remaining);
        if is_delimiter(line) {
            return Ok((&rest[..length], after));
        }
        remaining = after;
    }
}

/// Splits bytes after the first LF.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', bytes) {
        Some(at) => bytes.split_at(at + 1),
        None => (bytes, &[]),
    }
}

fn is_delimiter(line: &[u8]) -> bool {
    matches!(line, b"---" | b"---\n" | b"---\r\n")
}
