//! One skill as data: its front matter and its files, without URIs.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use toolwire_proto::skills::{
    MAX_FILES, MAX_SKILL_BYTES, SKILL_FILE, check_fields, digest, file_uri, parse_front_matter,
};
use toolwire_types::skills::JsonObject;

use crate::server::skills::dynamic_body::DynamicBody;

/// What happens with a skill that is larger than every client supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeRule {
    Reject,
    Warn,
}

/// A file of a skill.
#[derive(Clone)]
pub(crate) struct SkillFile {
    /// The path, with `/` between its segments: below the source, then below the skill.
    pub(crate) path: String,
    pub(crate) bytes: Bytes,
    /// The digest, computed at first use. Copies of the file share it.
    digest: Arc<OnceLock<String>>,
}

impl SkillFile {
    pub(crate) fn new(path: impl Into<String>, bytes: Bytes) -> Self {
        Self {
            path: path.into(),
            bytes,
            digest: Arc::default(),
        }
    }

    /// Returns the file with another path.
    pub(crate) fn with_path(self, path: String) -> Self {
        Self { path, ..self }
    }

    /// Returns the digest of the bytes.
    pub(crate) fn digest(&self) -> &str {
        self.digest.get_or_init(|| digest(&self.bytes))
    }
}

impl PartialEq for SkillFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.bytes == other.bytes
    }
}

impl fmt::Debug for SkillFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.path, self.bytes.len())
    }
}

/// The content of a skill.
#[derive(Debug, Clone)]
pub(crate) struct SkillContent {
    /// The path below the prefix of its source. The last segment is the name.
    pub(crate) path: String,
    pub(crate) front_matter: JsonObject,
    /// The files, with paths relative to the skill. The first one is the `SKILL.md`, unless the skill is dynamic.
    pub(crate) files: Vec<SkillFile>,
    /// The paths of its directories, without the skill's own.
    pub(crate) directories: Vec<String>,
    /// The handler that creates the instructions of a dynamic skill.
    pub(crate) body: Option<DynamicBody>,
}

/// The reason why the skill at a path is invalid.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidSkill {
    /// The path of the file or directory, below the source.
    pub(crate) path: String,
    pub(crate) reason: String,
}

impl SkillContent {
    /// Checks the files of a skill. Their paths are relative to it, and the first one is the `SKILL.md`.
    fn new(
        path: &str,
        files: Vec<SkillFile>,
        directories: Vec<String>,
        rule: SizeRule,
    ) -> Result<Self, InvalidSkill> {
        let invalid = |path: String, reason: String| Err(InvalidSkill { path, reason });
        let skill_file = files.first().filter(|file| file.path == SKILL_FILE);
        let Some(skill_file) = skill_file else {
            return invalid(path.to_owned(), format!("the skill has no `{SKILL_FILE}`"));
        };
        let front_matter = match read_front_matter(path, &skill_file.bytes) {
            Ok(front_matter) => front_matter,
            Err(reason) => return invalid(join(path, SKILL_FILE), reason),
        };
        check_size(path, &files, rule)?;
        let content = Self {
            path: path.to_owned(),
            front_matter,
            files,
            directories,
            body: None,
        };
        content.check_paths()?;
        Ok(content)
    }

    /// Checks the files of a dynamic skill, whose front matter is known.
    pub(super) fn dynamic(
        path: &str,
        front_matter: JsonObject,
        files: Vec<SkillFile>,
        body: DynamicBody,
    ) -> Result<Self, InvalidSkill> {
        check_size(path, &files, SizeRule::Reject)?;
        let content = Self {
            path: path.to_owned(),
            front_matter,
            directories: parents(&files),
            files,
            body: Some(body),
        };
        content.check_paths()?;
        Ok(content)
    }

    /// Rejects paths that are not valid in a URI, and duplicates.
    fn check_paths(&self) -> Result<(), InvalidSkill> {
        let mut seen = HashSet::new();
        let files = self.files.iter().map(|file| &file.path);
        for path in files.chain(&self.directories) {
            let reason = match file_uri(&self.path, path) {
                Err(error) => error.to_string(),
                Ok(_) if !seen.insert(path) => "the path is there twice; remove one".to_owned(),
                Ok(_) => continue,
            };
            return Err(InvalidSkill {
                path: join(&self.path, path),
                reason,
            });
        }
        Ok(())
    }

    /// Computes the digests of all files, before the server is locked for a change.
    pub(super) fn compute_digests(&self) {
        for file in &self.files {
            file.digest();
        }
    }

    /// Returns `true` if both have the same files.
    pub(crate) fn has_same_files(&self, other: &Self) -> bool {
        self.path == other.path
            && self.files == other.files
            && self.directories == other.directories
    }
}

/// Parses the front matter of a `SKILL.md`, and compares its name with the path of the skill.
pub(super) fn read_front_matter(path: &str, bytes: &[u8]) -> Result<JsonObject, String> {
    let front_matter = parse_front_matter(bytes).map_err(|error| error.to_string())?;
    check_fields(&front_matter).map_err(|error| error.to_string())?;
    let name = front_matter.get("name").and_then(|name| name.as_str());
    let directory = path.rsplit('/').next().unwrap_or(path);
    match name {
        Some(name) if name != directory => Err(format!(
            "the name `{name}` differs from the directory `{directory}`; rename one of them"
        )),
        _ => Ok(front_matter),
    }
}

/// Rejects a skill that is larger than every client supports, or logs a warning.
fn check_size(path: &str, files: &[SkillFile], rule: SizeRule) -> Result<(), InvalidSkill> {
    let bytes: u64 = files.iter().map(|file| file.bytes.len() as u64).sum();
    if files.len() <= MAX_FILES && bytes <= MAX_SKILL_BYTES {
        return Ok(());
    }
    let reason = format!(
        "the skill has {} files and {bytes} bytes; clients support {MAX_FILES} files and {MAX_SKILL_BYTES} bytes",
        files.len()
    );
    if rule == SizeRule::Warn {
        tracing::warn!(skill = path, "{reason}");
        return Ok(());
    }
    let path = path.to_owned();
    Err(InvalidSkill { path, reason })
}

/// Returns the skills among the files of a source: each directory with a `SKILL.md`, with all files below it.
///
/// A skill inside of another skill is both: a skill of its own, and part of the outer one.
pub(crate) fn collect_skills(
    files: &[SkillFile],
    directories: &[String],
    rule: SizeRule,
) -> (Vec<SkillContent>, Vec<InvalidSkill>) {
    let mut skills = Vec::new();
    let mut problems = Vec::new();
    for skill_file in files {
        let Some((path, SKILL_FILE)) = skill_file.path.rsplit_once('/') else {
            continue;
        };
        let below = |file: &str| {
            let rest = file.strip_prefix(path)?.strip_prefix('/')?;
            Some(rest.to_owned())
        };
        let own = files.iter().filter_map(|file| {
            let path = below(&file.path)?;
            Some(file.clone().with_path(path))
        });
        let mut own: Vec<SkillFile> = own.collect();
        own.sort_by(|left, right| {
            let key = |file: &SkillFile| (file.path != SKILL_FILE, file.path.clone());
            key(left).cmp(&key(right))
        });
        let directories = directories.iter().filter_map(|path| below(path));
        match SkillContent::new(path, own, directories.collect(), rule) {
            Ok(skill) => skills.push(skill),
            Err(problem) => problems.push(problem),
        }
    }
    skills.sort_by(|left, right| left.path.cmp(&right.path));
    (skills, problems)
}

/// Returns the directories that contain files.
pub(crate) fn parents(files: &[SkillFile]) -> Vec<String> {
    let mut directories: Vec<String> = Vec::new();
    for file in files {
        for (at, _) in file.path.match_indices('/') {
            directories.push(file.path[..at].to_owned());
        }
    }
    directories.sort_unstable();
    directories.dedup();
    directories
}

pub(super) fn join(directory: &str, name: &str) -> String {
    format!("{directory}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SkillFile {
        SkillFile::new(path, Bytes::copy_from_slice(text.as_bytes()))
    }

    fn skill(path: &str) -> SkillFile {
        let (directory, _) = path.rsplit_once('/').expect("a directory");
        let name = directory.rsplit('/').next().unwrap_or(directory);
        file(path, &format!("---\nname: {name}\ndescription: d\n---\n"))
    }

    fn collect(files: &[SkillFile]) -> (Vec<SkillContent>, Vec<InvalidSkill>) {
        collect_skills(files, &parents(files), SizeRule::Reject)
    }

    #[test]
    fn every_directory_with_a_skill_file_is_a_skill() {
        let (skills, problems) = collect(&[
            file("README.md", ""),
            file("team/a/B.md", "b"),
            file("team/a/x/y/c.md", "c"),
            skill("team/a/SKILL.md"),
            skill("team/a/x/SKILL.md"),
            skill("b/SKILL.md"),
            file("ab/c.md", ""),
        ]);
        assert_eq!(problems, []);
        let found: Vec<_> = skills
            .iter()
            .map(|skill| {
                let files: Vec<&str> = skill.files.iter().map(|file| &*file.path).collect();
                (
                    skill.path.as_str(),
                    files.join(" "),
                    skill.directories.join(" "),
                )
            })
            .collect();
        let expected = [
            ("b", "SKILL.md", ""),
            ("team/a", "SKILL.md B.md x/SKILL.md x/y/c.md", "x x/y"),
            ("team/a/x", "SKILL.md y/c.md", "y"),
        ];
        let expected = expected
            .map(|(path, files, directories)| (path, files.to_owned(), directories.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn invalid_skills_are_reported_with_their_path() {
        let check = |files: &[SkillFile], path: &str, reason: &str| {
            let (skills, problems) = collect(files);
            assert_eq!(skills.len(), 0);
            let [problem] = problems.as_slice() else {
                panic!("expected one problem, got {problems:?}")
            };
            assert_eq!(problem.path, path);
            assert!(problem.reason.contains(reason), "{}", problem.reason);
        };
        let head = "---\nname: b\ndescription: d\n---\n";
        check(
            &[file("a/SKILL.md", "")],
            "a/SKILL.md",
            "front matter is missing",
        );
        check(
            &[file("a/SKILL.md", head)],
            "a/SKILL.md",
            "the name `b` differs from the directory `a`",
        );
        check(
            &[file("A/SKILL.md", "---\nname: A\ndescription: d\n---\n")],
            "A/SKILL.md",
            "the name has the character 'A'",
        );
        check(
            &[skill("a/SKILL.md"), file("a/b", "1"), file("a/b", "2")],
            "a/b",
            "the path is there twice",
        );
        check(
            &[skill("a/SKILL.md"), file("a/b\n", "")],
            "a/b\n",
            "control character",
        );
        let mut many = vec![skill("a/SKILL.md")];
        many.extend((0..MAX_FILES).map(|number| file(&format!("a/{number}"), "")));
        check(&many, "a", "the skill has 513 files");
        let large = SkillFile::new("a/b", Bytes::from(vec![0; 16 * 1024 * 1024]));
        check(&[skill("a/SKILL.md"), large], "a", "16777216 bytes");
    }

    #[test]
    fn largest_skill_is_accepted() {
        let mut files = vec![skill("a/SKILL.md")];
        let rest = MAX_SKILL_BYTES - files[0].bytes.len() as u64;
        files.push(SkillFile::new("a/b", Bytes::from(vec![0; rest as usize])));
        files.extend((2..MAX_FILES).map(|number| file(&format!("a/{number}"), "")));
        let (skills, problems) = collect(&files);
        assert_eq!((skills.len(), problems), (1, Vec::new()));
        files.push(file("a/c", "1"));
        assert_eq!(collect(&files).0.len(), 0);
        let (skills, _) = collect_skills(&files, &[], SizeRule::Warn);
        assert_eq!(skills.len(), 1);
    }
}
