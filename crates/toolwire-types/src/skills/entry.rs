//! The entry of a skill: its URI, its front matter and its files.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::result::Extra;

/// A JSON object, with its members in the order of the text.
pub type JsonObject = Map<String, Value>;

/// The value of `resources` in the entry of a dynamic skill.
const DYNAMIC: &str = "dynamic";

/// A skill as a server lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillEntry {
    /// The URI of the `SKILL.md`.
    pub uri: String,
    /// All fields of the YAML front matter of the `SKILL.md`.
    pub frontmatter: JsonObject,
    /// The files of the skill.
    pub resources: SkillResources,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SkillEntry {
    /// Creates an entry.
    #[must_use]
    pub fn new(
        uri: impl Into<String>,
        frontmatter: JsonObject,
        resources: impl Into<SkillResources>,
    ) -> Self {
        Self {
            uri: uri.into(),
            frontmatter,
            resources: resources.into(),
            extra: Extra::new(),
        }
    }

    /// Returns the name in the front matter, if it is a text.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.frontmatter.get("name")?.as_str()
    }

    /// Returns the description in the front matter, if it is a text.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.frontmatter.get("description")?.as_str()
    }
}

/// The files of a skill, in its entry.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SkillResources {
    /// All files, with their digests.
    Listed(Vec<SkillResource>),
    /// The skill is created when it is read, so its files are not known before.
    Dynamic,
    /// Another value, which makes the entry invalid. It is stored unchanged.
    Other(Value),
}

impl SkillResources {
    /// Returns the files, if the entry lists them.
    #[must_use]
    pub fn listed(&self) -> Option<&[SkillResource]> {
        match self {
            Self::Listed(resources) => Some(resources),
            _ => None,
        }
    }

    /// Returns the file with a URI, if the entry lists it.
    #[must_use]
    pub fn find(&self, uri: &str) -> Option<&SkillResource> {
        self.listed()?.iter().find(|resource| resource.uri == uri)
    }
}

impl From<Vec<SkillResource>> for SkillResources {
    fn from(resources: Vec<SkillResource>) -> Self {
        Self::Listed(resources)
    }
}

impl Serialize for SkillResources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Listed(resources) => resources.serialize(serializer),
            Self::Dynamic => serializer.serialize_str(DYNAMIC),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SkillResources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.as_str() == Some(DYNAMIC) {
            return Ok(Self::Dynamic);
        }
        if !value.is_array() {
            return Ok(Self::Other(value));
        }
        Ok(match Vec::<SkillResource>::deserialize(&value) {
            Ok(resources) => Self::Listed(resources),
            Err(_) => Self::Other(value),
        })
    }
}

/// A file of a skill, in its entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillResource {
    /// The URI of the file.
    pub uri: String,
    /// The SHA-256 digest of the bytes: `sha256:` and 64 lowercase hexadecimal digits.
    pub digest: String,
    /// The number of bytes.
    pub size: u64,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SkillResource {
    /// Creates the description of a file.
    #[must_use]
    pub fn new(uri: impl Into<String>, digest: impl Into<String>, size: u64) -> Self {
        Self {
            uri: uri.into(),
            digest: digest.into(),
            size,
            extra: Extra::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    fn entry(resources: &Value) -> SkillEntry {
        check(json!({
            "uri": "skill://a/SKILL.md", "frontmatter": {"name": "a", "description": "d", "z": [1.0, null]},
            "resources": resources, "later": true,
        }))
    }

    #[test]
    fn listed_and_dynamic_entries_round_trip() {
        let listed = entry(&json!([
            {"uri": "skill://a/SKILL.md", "digest": "sha256:00", "size": 5, "later": 1},
            {"uri": "skill://a/b", "digest": "sha256:01", "size": 0},
        ]));
        assert_eq!(
            (listed.name(), listed.description()),
            (Some("a"), Some("d"))
        );
        assert_eq!(listed.resources.listed().map(<[_]>::len), Some(2));
        assert_eq!(listed.resources.find("skill://a/b").unwrap().size, 0);
        assert_eq!(listed.resources.find("skill://a/c"), None);

        let dynamic = entry(&json!("dynamic"));
        assert_eq!(dynamic.resources, SkillResources::Dynamic);
        assert_eq!(dynamic.resources.listed(), None);
        let empty = entry(&json!([]));
        assert_eq!(empty.resources, SkillResources::Listed(Vec::new()));
    }

    #[test]
    fn other_values_of_resources_are_stored_unchanged() {
        for value in [
            json!("Dynamic"),
            json!(null),
            json!({"dynamic": true}),
            json!([{"uri": "skill://a/SKILL.md"}]),
            json!([{"uri": "skill://a/SKILL.md", "digest": "sha256:00", "size": -1}]),
            json!([{"uri": "skill://a/SKILL.md", "digest": "sha256:00", "size": 1.5}]),
        ] {
            assert_eq!(entry(&value).resources, SkillResources::Other(value));
        }
    }

    #[test]
    fn front_matter_must_be_an_object() {
        let text = r#"{"uri":"skill://a/SKILL.md","frontmatter":[],"resources":"dynamic"}"#;
        assert!(serde_json::from_str::<SkillEntry>(text).is_err());
        let absent = SkillEntry::new("a", JsonObject::new(), SkillResources::Dynamic);
        assert_eq!((absent.name(), absent.description()), (None, None));
    }
}
