//! A skill as a value of the author.

use std::future::Future;

use bytes::Bytes;
use serde_json::Value;
use toolwire_proto::skills::SKILL_FILE;
use toolwire_types::skills::JsonObject;

use crate::engine::BoxFuture;
use crate::server::RequestContext;
use crate::server::registry::RegistrationError;
use crate::server::skills::content::{
    InvalidSkill, SizeRule, SkillContent, SkillFile, collect_skills, join, parents,
    read_front_matter,
};
use crate::server::skills::dynamic_body::DynamicBody;
use crate::server::tool_error::{IntoToolError, ToolError};

/// A skill: a name, a description, instructions and further files.
///
/// ```
/// use toolwire::Server;
/// use toolwire::skills::Skill;
///
/// let release = Skill::new("release", "Cut a release", "# Steps\nRead `references/CHECKLIST.md` first.")
///     .with_field("license", "MIT")
///     .with_file("references/CHECKLIST.md", "1. Update the changelog.")
///     .under("team");
/// let server = Server::new("docs", "1.0.0").skills(release);
/// // Served as skill://team/release/SKILL.md.
/// ```
#[derive(Debug, Clone)]
#[must_use = "a skill has no effect until a server serves it"]
pub struct Skill {
    fields: JsonObject,
    body: SkillBody,
    files: Vec<SkillFile>,
    pub(super) prefix: String,
}

#[derive(Debug, Clone)]
enum SkillBody {
    Text(String),
    Dynamic(DynamicBody),
}

impl Skill {
    /// Creates a skill with fixed instructions. `body` is the text of the `SKILL.md` after its front matter.
    ///
    /// The name has 1 to 64 of `a` to `z`, `0` to `9` and single hyphens inside.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        body: impl Into<String>,
    ) -> Self {
        Self::with_body(
            name.into(),
            description.into(),
            SkillBody::Text(body.into()),
        )
    }

    /// Creates a skill whose instructions are created each time they are read.
    ///
    /// Clients cannot verify such a skill by digests, and do not store approvals of it. Prefer [`new`](Self::new) for
    /// instructions that rarely change.
    ///
    /// ```
    /// use toolwire::skills::Skill;
    /// use toolwire::{RequestContext, Server, ToolError};
    ///
    /// let daily = Skill::dynamic("daily", "Today's report", |_: RequestContext| async {
    ///     Ok::<_, ToolError>("# Report\nNothing happened.".to_owned())
    /// });
    /// let server = Server::new("reports", "1.0.0").skills(daily);
    /// ```
    pub fn dynamic<F, Fut, E>(
        name: impl Into<String>,
        description: impl Into<String>,
        body: F,
    ) -> Self
    where
        F: Fn(RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, E>> + Send + 'static,
        E: IntoToolError,
    {
        let handler = move |ctx: RequestContext| -> BoxFuture<'static, Result<String, ToolError>> {
            let creating = body(ctx);
            Box::pin(async move { creating.await.map_err(IntoToolError::into_tool_error) })
        };
        let body = SkillBody::Dynamic(DynamicBody::new(handler));
        Self::with_body(name.into(), description.into(), body)
    }

    fn with_body(name: String, description: String, body: SkillBody) -> Self {
        let fields = [("name", name), ("description", description)];
        let fields = fields.map(|(field, text)| (field.to_owned(), Value::String(text)));
        Self {
            fields: fields.into_iter().collect(),
            body,
            files: Vec::new(),
            prefix: String::new(),
        }
    }

    /// Sets a field of the front matter, such as `license` or `metadata`.
    pub fn with_field(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(field.into(), value.into());
        self
    }

    /// Adds a file. The path is relative to the skill: `references/names.md`.
    pub fn with_file(mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = Bytes::from(bytes.into());
        self.files.push(SkillFile::new(path, bytes));
        self
    }

    /// Sets the path before the name in the URIs. Default: none.
    pub fn under(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    fn name(&self) -> &str {
        let name = self.fields.get("name").and_then(Value::as_str);
        name.unwrap_or_default()
    }

    /// Returns the front matter. JSON texts are also YAML, and their types do not depend on their content.
    fn head(&self) -> String {
        let fields = self.fields.iter().map(|(field, value)| {
            let field = Value::from(field.as_str());
            format!("{field}: {value}\n")
        });
        format!("---\n{}---\n\n", fields.collect::<String>())
    }

    pub(super) fn into_content(self) -> Result<SkillContent, RegistrationError> {
        let name = self.name().to_owned();
        let invalid = |problem: InvalidSkill| {
            RegistrationError::new(format!(
                "skill `{name}`: {}: {}",
                problem.path, problem.reason
            ))
        };
        let head = self.head();
        match self.body {
            SkillBody::Dynamic(body) => {
                let front_matter = read_front_matter(&name, head.as_bytes()).map_err(|reason| {
                    let path = join(&name, SKILL_FILE);
                    invalid(InvalidSkill { path, reason })
                })?;
                if let Some(file) = self.files.iter().find(|file| file.path == SKILL_FILE) {
                    let path = join(&name, &file.path);
                    let reason = "the skill creates this file; remove it".to_owned();
                    return Err(invalid(InvalidSkill { path, reason }));
                }
                let body = body.with_head(head);
                SkillContent::dynamic(&name, front_matter, self.files, body).map_err(invalid)
            }
            SkillBody::Text(text) => {
                let skill_file = SkillFile::new(SKILL_FILE, Bytes::from(head + &text));
                let files = [skill_file].into_iter().chain(self.files);
                let files = files.map(|file| {
                    let path = join(&name, &file.path);
                    file.with_path(path)
                });
                let files: Vec<SkillFile> = files.collect();
                let (skills, problems) = collect_skills(&files, &parents(&files), SizeRule::Reject);
                // A `SKILL.md` among the further files is part of this skill, and not a skill of its own.
                let skill = skills.into_iter().find(|skill| skill.path == name);
                skill.ok_or_else(|| {
                    let problem = problems.into_iter().next();
                    problem.map_or_else(
                        || RegistrationError::new(format!("skill `{name}` is invalid")),
                        invalid,
                    )
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error_of(skill: Skill) -> String {
        skill.into_content().expect_err("invalid").to_string()
    }

    #[test]
    fn front_matter_has_the_given_values() {
        for description in [
            "d",
            "a: b # c",
            "- x\n---\n\"quoted\" \\ ü \u{1}",
            "null",
            "1.0",
        ] {
            let skill = Skill::new("null", description, "---\nbody")
                .with_field(
                    "metadata",
                    json!({"version": "1.0", "n": [1, 1.5, null, true]}),
                )
                .with_field("yes", "no");
            let content = skill.into_content().expect("valid");
            let expected = json!({
                "name": "null", "description": description,
                "metadata": {"version": "1.0", "n": [1, 1.5, null, true]}, "yes": "no",
            });
            assert_eq!(Value::Object(content.front_matter), expected);
            let text = std::str::from_utf8(&content.files[0].bytes).expect("text");
            assert!(text.ends_with("\n---\n\n---\nbody"), "{text}");
        }
    }

    #[test]
    fn invalid_values_are_named() {
        let skill = |name: &str| Skill::new(name, "d", "");
        let check = |skill: Skill, expected: &str| {
            let error = error_of(skill);
            assert!(error.contains(expected), "{error}");
        };
        check(
            skill("Bad"),
            "skill `Bad`: Bad/SKILL.md: the name has the character 'B'",
        );
        check(skill(""), "skill ``");
        check(skill("a/b"), "the name has the character '/'");
        check(
            Skill::new("a", "", ""),
            "skill `a`: a/SKILL.md: the description is empty",
        );
        check(skill("a").with_field("name", 1), "`name`");
        check(skill("a").with_file("../b", ""), "a/../b: the path");
        check(skill("a").with_file("", ""), "the path");
        check(
            skill("a").with_file("b", "1").with_file("b", "2"),
            "a/b: the path is there twice",
        );
        check(
            skill("a").with_file("SKILL.md", "1"),
            "a/SKILL.md: the path is there twice",
        );
        let dynamic = || Skill::dynamic("a", "d", |_| async { Ok::<_, ToolError>(String::new()) });
        check(
            dynamic().with_file("SKILL.md", ""),
            "a/SKILL.md: the skill creates this file",
        );
        check(dynamic().with_file("b/", ""), "a/b/: the path");
        check(
            dynamic().with_field("description", 1),
            "a/SKILL.md: the front matter has no text",
        );
    }
}
