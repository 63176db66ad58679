//! The verification of files against the entry of their skill.
//!
//! A client verifies each file that it reads. If a file differs, the skill is not used until the client fetched a new
//! entry with `skills/get`, and a changed set of files needs a new approval. Digests prove that the files belong
//! together, not that the server can be trusted.

use std::fmt;

use serde_json::Value;
use toolwire_types::skills::{SkillEntry, SkillResources};

use crate::http::truncated_for_display;
use crate::skills::digest::digest;
use crate::skills::front_matter::{FrontMatterError, parse_front_matter};

/// A difference between a file and the entry of its skill.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum VerificationError {
    /// The entry does not list the file.
    Unlisted {
        /// The URI of the file.
        uri: String,
    },
    /// The file has another size.
    Size {
        /// The URI of the file.
        uri: String,
        /// The size in the entry.
        expected: u64,
        /// The size of the file.
        actual: u64,
    },
    /// The file has another digest.
    Digest {
        /// The URI of the file.
        uri: String,
        /// The digest in the entry.
        expected: String,
        /// The digest of the file.
        actual: String,
    },
    /// The front matter of the `SKILL.md` cannot be read.
    FrontMatter(FrontMatterError),
    /// A field of the front matter has another value.
    FieldDiffers(String),
    /// The file lacks a field of the entry.
    FieldMissing(String),
    /// The file has a field that the entry lacks.
    FieldAdded(String),
}

impl fmt::Display for VerificationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = truncated_for_display;
        match self {
            Self::Unlisted { uri } => {
                write!(f, "the skill does not list the file {:?}", shown(uri))
            }
            Self::Size {
                uri,
                expected,
                actual,
            } => write!(
                f,
                "the file {:?} has {actual} bytes, the skill lists {expected}",
                shown(uri)
            ),
            Self::Digest {
                uri,
                expected,
                actual,
            } => write!(
                f,
                "the file {:?} has the digest {actual}, the skill lists {:?}",
                shown(uri),
                shown(expected)
            ),
            Self::FrontMatter(error) => write!(f, "`SKILL.md`: {error}"),
            Self::FieldDiffers(field) => write!(
                f,
                "the front matter field {:?} of `SKILL.md` differs from the listed one",
                shown(field)
            ),
            Self::FieldMissing(field) => write!(
                f,
                "`SKILL.md` lacks the listed front matter field {:?}",
                shown(field)
            ),
            Self::FieldAdded(field) => write!(
                f,
                "`SKILL.md` has the front matter field {:?}, which is not listed",
                shown(field)
            ),
        }
    }
}

impl std::error::Error for VerificationError {}

/// Verifies the bytes of a file: its size, then its digest.
///
/// Every file of a dynamic skill is accepted, because its entry lists none.
///
/// # Errors
/// Returns an error if the entry does not list the file, or if size or digest differ.
pub fn verify_file(entry: &SkillEntry, uri: &str, bytes: &[u8]) -> Result<(), VerificationError> {
    if entry.resources == SkillResources::Dynamic {
        return Ok(());
    }
    let Some(listed) = entry.resources.find(uri) else {
        let uri = uri.to_owned();
        return Err(VerificationError::Unlisted { uri });
    };
    let actual = bytes.len() as u64;
    if actual != listed.size {
        return Err(VerificationError::Size {
            uri: uri.to_owned(),
            expected: listed.size,
            actual,
        });
    }
    let actual = digest(bytes);
    if actual != listed.digest {
        return Err(VerificationError::Digest {
            uri: uri.to_owned(),
            expected: listed.digest.clone(),
            actual,
        });
    }
    Ok(())
}

/// Verifies the front matter of a `SKILL.md`, field by field.
///
/// Numbers are equal if their values are equal, because JSON has only one kind of number. The order of fields does not
/// matter.
///
/// # Errors
/// Returns an error if the front matter cannot be read, or if a field is missing, added or different.
pub fn verify_front_matter(entry: &SkillEntry, bytes: &[u8]) -> Result<(), VerificationError> {
    let actual = parse_front_matter(bytes).map_err(VerificationError::FrontMatter)?;
    for (field, expected) in &entry.frontmatter {
        match actual.get(field) {
            None => return Err(VerificationError::FieldMissing(field.clone())),
            Some(value) if !are_equal(value, expected) => {
                return Err(VerificationError::FieldDiffers(field.clone()));
            }
            Some(_) => {}
        }
    }
    let mut fields = actual.keys();
    match fields.find(|field| !entry.frontmatter.contains_key(*field)) {
        Some(added) => Err(VerificationError::FieldAdded(added.clone())),
        None => Ok(()),
    }
}

/// Compares JSON values, numbers by their value.
fn are_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right
                || match (left.as_i128(), right.as_i128()) {
                    (Some(_), Some(_)) => false,
                    _ => left.as_f64() == right.as_f64(),
                }
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| are_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| {
                    let right = right.get(name);
                    right.is_some_and(|right| are_equal(left, right))
                })
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::skills::{JsonObject, SkillResource};

    use super::*;

    const ROOT: &str = "skill://a/SKILL.md";

    fn listed(bytes: &[u8]) -> SkillEntry {
        let file = SkillResource::new(ROOT, digest(bytes), bytes.len() as u64);
        SkillEntry::new(ROOT, JsonObject::new(), vec![file])
    }

    #[test]
    fn size_is_compared_before_the_digest() {
        let entry = listed(b"abc");
        assert_eq!(verify_file(&entry, ROOT, b"abc"), Ok(()));
        let error = verify_file(&entry, ROOT, b"ab").unwrap_err();
        let text = "the file \"skill://a/SKILL.md\" has 2 bytes, the skill lists 3";
        assert_eq!(error.to_string(), text);
        let error = verify_file(&entry, ROOT, b"abd").unwrap_err();
        assert!(matches!(error, VerificationError::Digest { .. }), "{error}");
        assert!(
            error.to_string().contains("has the digest sha256:"),
            "{error}"
        );
    }

    #[test]
    fn unlisted_file_is_rejected_unless_the_skill_is_dynamic() {
        let mut entry = listed(b"abc");
        let error = verify_file(&entry, "skill://a/b", b"").unwrap_err();
        let text = "the skill does not list the file \"skill://a/b\"";
        assert_eq!(error.to_string(), text);
        entry.resources = SkillResources::Dynamic;
        assert_eq!(verify_file(&entry, "skill://a/b", b""), Ok(()));
        entry.resources = SkillResources::Other(json!(null));
        assert!(verify_file(&entry, ROOT, b"abc").is_err());
    }

    #[test]
    fn front_matter_is_compared_field_by_field() {
        let check = |yaml: &str, listed: Value, expected: &str| {
            let Value::Object(fields) = listed else {
                panic!("expected an object")
            };
            let entry = SkillEntry::new(ROOT, fields, SkillResources::Dynamic);
            let file = format!("---\n{yaml}\n---\nbody");
            let outcome = verify_front_matter(&entry, file.as_bytes());
            let message = outcome.err().map(|error| error.to_string());
            assert_eq!(message.unwrap_or_default(), expected, "{yaml}");
        };
        check("a: 1\nb: x", json!({"b": "x", "a": 1}), "");
        check("a: 1.0", json!({"a": 1}), "");
        check("a: {b: [1, 2.5]}", json!({"a": {"b": [1.0, 2.5]}}), "");
        let differs = "the front matter field \"a\" of `SKILL.md` differs from the listed one";
        check("a: 1", json!({"a": 2}), differs);
        check("a: 1", json!({"a": "1"}), differs);
        check("a: [1]", json!({"a": [1, 1]}), differs);
        check("a: {b: 1}", json!({"a": {"c": 1}}), differs);
        check("a: yes", json!({"a": true}), differs);
        check(
            "a: 9007199254740993",
            json!({"a": 9_007_199_254_740_992_u64}),
            differs,
        );
        check(
            "a: 1",
            json!({"a": 1, "b": 2}),
            "`SKILL.md` lacks the listed front matter field \"b\"",
        );
        check(
            "a: 1\nb: 2",
            json!({"a": 1}),
            "`SKILL.md` has the front matter field \"b\", which is not listed",
        );
        check(
            "a: &a [*a]",
            json!({"a": 1}),
            "`SKILL.md`: line 2: the alias refers to a value that contains it",
        );
    }
}
