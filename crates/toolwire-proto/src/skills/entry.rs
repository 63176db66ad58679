//! The validity of an entry.

use std::collections::HashSet;
use std::fmt;

use toolwire_types::skills::{JsonObject, SkillEntry, SkillResources};

use crate::skills::digest::is_digest;
use crate::skills::name::{InvalidName, check_name};
use crate::skills::uri::{SkillUri, is_below};

/// The number of files up to which every client supports a skill.
pub const MAX_FILES: usize = 512;

/// The number of bytes, of all files together, up to which every client supports a skill.
pub const MAX_SKILL_BYTES: u64 = 16 * 1024 * 1024;

/// A front matter without a valid name and description.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the format requires exactly these two fields"
)]
pub enum InvalidFields {
    /// The field `name` or `description` is missing or not a text.
    NotText(&'static str),
    /// The name violates a rule.
    Name(InvalidName),
    /// The description has no characters except white space.
    EmptyDescription,
}

impl fmt::Display for InvalidFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText(field) => write!(
                f,
                "the front matter has no text `{field}`; add it, in quotes if it looks like a number"
            ),
            Self::Name(invalid) => invalid.fmt(f),
            Self::EmptyDescription => f.write_str("the description is empty"),
        }
    }
}

impl std::error::Error for InvalidFields {}

/// Checks the fields that every front matter has.
///
/// # Errors
/// Returns an error if the name or the description is missing or invalid.
pub fn check_fields(front_matter: &JsonObject) -> Result<(), InvalidFields> {
    let text = |field: &'static str| {
        let value = front_matter.get(field).and_then(|value| value.as_str());
        value.ok_or(InvalidFields::NotText(field))
    };
    check_name(text("name")?).map_err(InvalidFields::Name)?;
    if text("description")?.trim().is_empty() {
        return Err(InvalidFields::EmptyDescription);
    }
    Ok(())
}

/// The reason why an entry is invalid. Clients do not use such a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidEntry {
    /// The URI is not that of a `SKILL.md` in a directory.
    Uri,
    /// The front matter lacks a required field.
    Fields(InvalidFields),
    /// The name in the front matter is not the last segment of the skill path.
    NameDiffers {
        /// The name in the front matter.
        name: String,
    },
    /// `resources` is neither a list of URIs, digests and sizes nor `"dynamic"`.
    Resources,
    /// The files do not contain the `SKILL.md`.
    NoSkillFile,
    /// This file is not below the directory of the skill.
    Outside(String),
    /// This file is listed twice.
    Duplicate(String),
    /// The digest of this file is malformed.
    Digest(String),
}

impl fmt::Display for InvalidEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uri => f.write_str("the URI is not that of a `SKILL.md` in a directory"),
            Self::Fields(error) => error.fmt(f),
            Self::NameDiffers { name } => write!(
                f,
                "the name {name:?} differs from the last segment before `SKILL.md`"
            ),
            Self::Resources => {
                f.write_str("`resources` is neither a list of files nor \"dynamic\"")
            }
            Self::NoSkillFile => f.write_str("the files do not contain the `SKILL.md`"),
            Self::Outside(uri) => write!(f, "the file {uri:?} is outside of the directory"),
            Self::Duplicate(uri) => write!(f, "the file {uri:?} is listed twice"),
            Self::Digest(uri) => write!(f, "the digest of {uri:?} is malformed"),
        }
    }
}

impl std::error::Error for InvalidEntry {}

/// Checks an entry: its URI, its required fields and its files.
///
/// # Errors
/// Returns the first violated rule.
pub fn check_entry(entry: &SkillEntry) -> Result<(), InvalidEntry> {
    let uri = SkillUri::parse(&entry.uri).ok_or(InvalidEntry::Uri)?;
    check_fields(&entry.frontmatter).map_err(InvalidEntry::Fields)?;
    let name = entry.name().unwrap_or_default();
    if name != uri.name() {
        let name = name.to_owned();
        return Err(InvalidEntry::NameDiffers { name });
    }
    let resources = match &entry.resources {
        SkillResources::Listed(resources) => resources,
        SkillResources::Dynamic => return Ok(()),
        _ => return Err(InvalidEntry::Resources),
    };
    let mut seen = HashSet::new();
    for resource in resources {
        if !is_below(&resource.uri, uri.root()) {
            return Err(InvalidEntry::Outside(resource.uri.clone()));
        }
        if !is_digest(&resource.digest) {
            return Err(InvalidEntry::Digest(resource.uri.clone()));
        }
        if !seen.insert(resource.uri.as_str()) {
            return Err(InvalidEntry::Duplicate(resource.uri.clone()));
        }
    }
    if !seen.contains(entry.uri.as_str()) {
        return Err(InvalidEntry::NoSkillFile);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::skills::digest;

    fn check(uri: &str, front_matter: Value, resources: Value, expected: Option<InvalidEntry>) {
        let entry: SkillEntry = serde_json::from_value(
            json!({"uri": uri, "frontmatter": front_matter, "resources": resources}),
        )
        .expect("an entry");
        assert_eq!(check_entry(&entry).err(), expected, "{entry:?}");
    }

    fn file(uri: &str) -> Value {
        json!({"uri": uri, "digest": digest(b"a"), "size": 1})
    }

    #[test]
    fn entries_with_and_without_files_are_valid() {
        let fields = json!({"name": "a", "description": "d", "metadata": {"x": 1}});
        let root = "skill://t/a/SKILL.md";
        check(root, fields.clone(), json!("dynamic"), None);
        check(root, fields.clone(), json!([file(root)]), None);
        let files = [
            file("skill://t/a/x/SKILL.md"),
            file(root),
            file("skill://t/a/b"),
        ];
        check(root, fields, json!(files), None);
    }

    #[test]
    fn invalid_fields_are_named() {
        let check = |fields: Value, expected: InvalidFields| {
            let expected = Some(InvalidEntry::Fields(expected));
            check("skill://a/SKILL.md", fields, json!("dynamic"), expected);
        };
        check(json!({}), InvalidFields::NotText("name"));
        check(json!({"name": 1}), InvalidFields::NotText("name"));
        check(
            json!({"name": "A"}),
            InvalidFields::Name(InvalidName::Character('A')),
        );
        check(json!({"name": "a"}), InvalidFields::NotText("description"));
        let empty = json!({"name": "a", "description": " "});
        check(empty, InvalidFields::EmptyDescription);
    }

    #[test]
    fn invalid_files_are_named() {
        let root = "skill://a/SKILL.md";
        let check_at = |uri: &str, resources: Value, expected: InvalidEntry| {
            let fields = json!({"name": "a", "description": "d"});
            check(uri, fields, resources, Some(expected));
        };
        check_at("skill://a", json!("dynamic"), InvalidEntry::Uri);
        let name = "a".to_owned();
        let other = "skill://b/SKILL.md";
        check_at(other, json!("dynamic"), InvalidEntry::NameDiffers { name });

        let check = |resources: Value, expected: InvalidEntry| check_at(root, resources, expected);
        check(json!(null), InvalidEntry::Resources);
        check(json!("static"), InvalidEntry::Resources);
        check(json!([{"uri": root}]), InvalidEntry::Resources);
        check(json!([]), InvalidEntry::NoSkillFile);
        check(json!([file("skill://a/b")]), InvalidEntry::NoSkillFile);
        for outside in ["skill://b/c", "skill://a/../b", "skill://a", "skill://ab/c"] {
            let expected = InvalidEntry::Outside(outside.to_owned());
            check(json!([file(root), file(outside)]), expected);
        }
        let expected = InvalidEntry::Duplicate(root.to_owned());
        check(json!([file(root), file(root)]), expected);
        let malformed = json!([{"uri": root, "digest": "sha256:0", "size": 1}]);
        check(malformed, InvalidEntry::Digest(root.to_owned()));
    }
}
