//! The parameters and results of the methods about skills.

use serde::{Deserialize, Serialize};

use crate::meta::Meta;
use crate::pagination::PaginatedRequestParams;
use crate::resources::Resource;
use crate::result::{CacheScope, Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;
use crate::skills::SkillEntry;

/// The parameters of `skills/list`.
pub type ListSkillsParams = PaginatedRequestParams;

/// The result of `skills/list`: one page of skills.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListSkillsResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The skills of this page.
    pub skills: Vec<SkillEntry>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long a client may cache the result, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Whether caches may share the result between users (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListSkillsResult {
    /// Creates a page. Without a cursor, it is the last page.
    #[must_use]
    pub fn new(skills: Vec<SkillEntry>) -> Self {
        Self {
            skills,
            ..Self::default()
        }
    }

    setters! {
        with_next_cursor(next_cursor: into String);
    }
}

/// The parameters of `skills/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetSkillParams {
    /// The URI of the `SKILL.md`.
    pub uri: String,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetSkillParams {
    /// Creates the parameters for a skill.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            meta: None,
        }
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

/// The result of `skills/get`: the entry of one skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetSkillResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The skill.
    pub skill: SkillEntry,
    /// How long a client may cache the result, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Whether caches may share the result between users (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl GetSkillResult {
    /// Creates a result with the entry of a skill.
    #[must_use]
    pub fn new(skill: SkillEntry) -> Self {
        Self {
            result_type: None,
            skill,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::new(),
        }
    }
}

/// The parameters of `resources/directory/read`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReadDirectoryParams {
    /// The URI of the directory, without a slash at its end.
    pub uri: String,
    /// The opaque cursor from the previous page. Absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ReadDirectoryParams {
    /// Creates the parameters for the first page of a directory.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            cursor: None,
            meta: None,
        }
    }

    setters! {
        with_cursor(cursor: into String);
        with_meta(meta: some Meta);
    }
}

/// The result of `resources/directory/read`: one page of the files and directories in a directory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadDirectoryResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The files and directories. A directory has the MIME type
    /// [`DIRECTORY_MIME_TYPE`](crate::skills::DIRECTORY_MIME_TYPE).
    pub resources: Vec<Resource>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ReadDirectoryResult {
    /// Creates a page. Without a cursor, it is the last page.
    #[must_use]
    pub fn new(resources: Vec<Resource>) -> Self {
        Self {
            resources,
            ..Self::default()
        }
    }

    setters! {
        with_next_cursor(next_cursor: into String);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn parameters_round_trip() {
        check::<ListSkillsParams>(json!({"cursor": "c"}));
        check::<GetSkillParams>(json!({"uri": "skill://a/SKILL.md", "_meta": {"b": 1}}));
        check::<ReadDirectoryParams>(json!({"uri": "skill://a"}));
        check::<ReadDirectoryParams>(json!({"uri": "skill://a", "cursor": "c", "_meta": {}}));
    }

    #[test]
    fn results_of_both_revisions_round_trip() {
        let skill = json!({
            "uri": "skill://a/SKILL.md", "frontmatter": {"name": "a"},
            "resources": [{"uri": "skill://a/SKILL.md", "digest": "sha256:00", "size": 1}],
        });
        check::<ListSkillsResult>(json!({"skills": []}));
        check::<ListSkillsResult>(json!({
            "resultType": "complete", "skills": [skill], "nextCursor": "n", "ttlMs": 1,
            "cacheScope": "public", "_meta": {"a": 1}, "later": 1,
        }));
        check::<GetSkillResult>(json!({"skill": skill}));
        check::<GetSkillResult>(json!({
            "resultType": "complete", "skill": skill, "ttlMs": 1, "cacheScope": "private", "later": 1,
        }));
        check::<ReadDirectoryResult>(json!({"resources": []}));
        check::<ReadDirectoryResult>(json!({
            "resultType": "complete", "nextCursor": "n", "_meta": {},
            "resources": [{"uri": "skill://a/b", "name": "b", "mimeType": "inode/directory"}], "later": 1,
        }));
    }
}
