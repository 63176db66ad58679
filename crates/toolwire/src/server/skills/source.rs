//! The sources of skills that a server accepts.

use std::sync::Arc;

use bytes::Bytes;

use crate::server::registry::RegistrationError;
use crate::server::skills::content::{SizeRule, SkillContent, SkillFile, collect_skills, parents};
use crate::server::skills::directory::SkillDirectory;
use crate::server::skills::skill::Skill;

/// Skills that a server can serve: one or more [`Skill`]s, a [`SkillDirectory`], or files in the binary.
#[derive(Debug, Clone)]
#[must_use = "skills have no effect until a server serves them"]
pub struct Skills {
    kind: SkillsKind,
    prefix: Option<String>,
}

#[derive(Debug, Clone)]
enum SkillsKind {
    Values(Vec<Skill>),
    Directory(SkillDirectory),
    /// The paths and the bytes of files in the binary.
    Embedded(&'static [(&'static str, &'static [u8])]),
}

impl Skills {
    const fn of(kind: SkillsKind) -> Self {
        Self { kind, prefix: None }
    }

    /// Creates skills from files in the binary. `embedded!` calls it.
    #[doc(hidden)]
    pub const fn embedded(files: &'static [(&'static str, &'static [u8])]) -> Self {
        Self::of(SkillsKind::Embedded(files))
    }

    /// Sets the path before the names in the URIs. Default: that of the [`Skill`] or [`SkillDirectory`], if any.
    pub fn under(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Checks the skills, and returns them in the form of a catalog's sources.
    pub(super) fn into_sources(self) -> Result<Vec<SkillSource>, RegistrationError> {
        let chosen = self.prefix;
        let prefix = |own: &str| chosen.clone().unwrap_or_else(|| own.to_owned());
        match self.kind {
            SkillsKind::Values(skills) => skills
                .into_iter()
                .map(|skill| {
                    let prefix = prefix(&skill.prefix);
                    let contents = Arc::new(vec![skill.into_content()?]);
                    Ok(SkillSource::new(prefix, contents, None))
                })
                .collect(),
            SkillsKind::Directory(directory) => {
                let (prefix, contents) = (prefix(directory.prefix()), directory.contents());
                Ok(vec![SkillSource::new(prefix, contents, Some(directory))])
            }
            SkillsKind::Embedded(files) => {
                let contents = Arc::new(embedded_contents(files)?);
                Ok(vec![SkillSource::new(prefix(""), contents, None)])
            }
        }
    }
}

fn embedded_contents(
    files: &'static [(&'static str, &'static [u8])],
) -> Result<Vec<SkillContent>, RegistrationError> {
    let files = files.iter();
    let files = files.map(|(path, bytes)| SkillFile::new(*path, Bytes::from_static(bytes)));
    let files: Vec<SkillFile> = files.collect();
    let (skills, problems) = collect_skills(&files, &parents(&files), SizeRule::Reject);
    match problems.first() {
        Some(problem) => Err(RegistrationError::new(format!(
            "embedded skill {}: {}",
            problem.path, problem.reason
        ))),
        None => Ok(skills),
    }
}

impl From<Skill> for Skills {
    fn from(skill: Skill) -> Self {
        Self::from(vec![skill])
    }
}

impl From<Vec<Skill>> for Skills {
    fn from(skills: Vec<Skill>) -> Self {
        Self::of(SkillsKind::Values(skills))
    }
}

impl From<SkillDirectory> for Skills {
    fn from(directory: SkillDirectory) -> Self {
        Self::of(SkillsKind::Directory(directory))
    }
}

/// Skills with a common prefix, in a catalog.
#[derive(Debug, Clone)]
pub(crate) struct SkillSource {
    pub(crate) prefix: String,
    pub(crate) contents: Arc<Vec<SkillContent>>,
    /// The directory that the skills are read from again.
    pub(crate) directory: Option<SkillDirectory>,
}

impl SkillSource {
    fn new(
        prefix: String,
        contents: Arc<Vec<SkillContent>>,
        directory: Option<SkillDirectory>,
    ) -> Self {
        Self {
            prefix,
            contents,
            directory,
        }
    }
}
