//! Reads a directory of skills into memory, and reports everything that is invalid.
//!
//! Links are followed only inside of the directory. Each file is opened through the directories above it, without
//! following a link, so that a link that appears during the scan leads nowhere.

mod beneath;
mod fault;
mod skipped;

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use toolwire_proto::skills::{MAX_FILES, MAX_SKILL_BYTES, SKILL_FILE};

use crate::server::skills::content::{SizeRule, SkillContent, SkillFile, collect_skills, join};
use beneath::Root;
pub use fault::SkillFault;
use skipped::is_skipped;

/// The maximum number of files and directories that a scan visits. Links can multiply them.
const MAX_VISITED: usize = 100_000;

/// The maximum depth of directories.
const MAX_DEPTH: usize = 64;

/// Reads all skills of a directory, sorted by path.
///
/// # Errors
/// Returns all faults if there is at least one.
pub(super) fn scan(path: &Path, rule: SizeRule) -> Result<Vec<SkillContent>, Vec<SkillFault>> {
    scan_within(path, rule, MAX_VISITED)
}

fn scan_within(
    path: &Path,
    rule: SizeRule,
    max_visited: usize,
) -> Result<Vec<SkillContent>, Vec<SkillFault>> {
    let root = match Root::open(path) {
        Ok(root) => root,
        Err(error) => return Err(vec![SkillFault::new(path, cannot_read(&error))]),
    };
    let mut scan = Scan {
        shown: path,
        rule,
        base: base_name(&root),
        files: Vec::new(),
        directories: Vec::new(),
        faults: Vec::new(),
        visited: 0,
        max_visited,
        outer_skill: OuterSkill::default(),
        ancestors: vec![root.path().to_owned()],
        root: &root,
    };
    scan.visit(root.path(), "", false);
    scan.finish()
}

/// Returns the name of the directory if it is a skill itself.
fn base_name(root: &Root) -> Option<String> {
    root.path().join(SKILL_FILE).symlink_metadata().ok()?;
    let name = root.path().file_name()?;
    Some(name.to_string_lossy().into_owned())
}

struct Scan<'a> {
    /// The directory as the author named it, for messages.
    shown: &'a Path,
    root: &'a Root,
    rule: SizeRule,
    /// The name of the directory, if it is a skill itself. All paths then start with it.
    base: Option<String>,
    files: Vec<SkillFile>,
    directories: Vec<String>,
    faults: Vec<SkillFault>,
    visited: usize,
    max_visited: usize,
    /// The current skill that is in no other skill.
    outer_skill: OuterSkill,
    /// The directories that are being visited, without links.
    ancestors: Vec<PathBuf>,
}

/// A skill that is in no other skill, as far as it was read.
#[derive(Default)]
struct OuterSkill {
    /// The path below the root.
    path: String,
    /// The index of its first file.
    first_file: usize,
    /// The bytes that were read.
    bytes: u64,
}

/// An entry of a directory, after links were resolved.
struct ScannedEntry {
    /// The path below the root, with `/` between its segments.
    path: String,
    name: String,
    /// The path without links.
    target: PathBuf,
    kind: Kind,
}

#[derive(PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    Special,
}

impl Scan<'_> {
    /// Visits a directory. `target` is its path without links, `path` the one below the root.
    fn visit(&mut self, target: &Path, path: &str, is_in_skill: bool) {
        let entries = match sorted_entries(target) {
            Ok(entries) => entries,
            Err(error) => return self.fault(path, cannot_read(&error)),
        };
        let entries: Vec<ScannedEntry> = entries
            .into_iter()
            .filter_map(|entry| self.find(&entry, path))
            .collect();
        let is_skill = entries.iter().any(|entry| entry.name == SKILL_FILE);
        if is_skill && !is_in_skill {
            self.outer_skill = OuterSkill {
                path: path.to_owned(),
                first_file: self.files.len(),
                bytes: 0,
            };
        }
        let is_in_skill = is_in_skill || is_skill;
        for entry in entries {
            self.visited += 1;
            if self.visited > self.max_visited {
                return;
            }
            match entry.kind {
                Kind::Directory if entry.name == SKILL_FILE => {
                    self.fault(&entry.path, "is a directory; make it a file");
                }
                Kind::Directory => self.descend(&entry, is_in_skill),
                Kind::File if is_in_skill => self.read(&entry),
                Kind::Special if is_in_skill => {
                    self.fault(&entry.path, "is not a file or a directory; remove it");
                }
                Kind::File | Kind::Special => {}
            }
        }
    }

    /// Resolves an entry of a directory. Returns `None` if it is skipped or cannot be used.
    fn find(&mut self, entry: &fs::DirEntry, directory: &str) -> Option<ScannedEntry> {
        let Ok(name) = entry.file_name().into_string() else {
            let shown = entry.file_name().to_string_lossy().into_owned();
            self.fault(
                &below(directory, &shown),
                "the name is not UTF-8; rename it",
            );
            return None;
        };
        if is_skipped(&name) {
            return None;
        }
        let path = below(directory, &name);
        let found = match resolve(&entry.path(), self.root.path()) {
            Ok((target, kind)) => ScannedEntry {
                path,
                name,
                target,
                kind,
            },
            Err(reason) => {
                self.fault(&path, reason);
                return None;
            }
        };
        Some(found)
    }

    fn descend(&mut self, entry: &ScannedEntry, is_in_skill: bool) {
        if self.ancestors.contains(&entry.target) {
            return self.fault(
                &entry.path,
                "is a link to a directory that contains it; remove it",
            );
        }
        if self.ancestors.len() > MAX_DEPTH {
            let reason = format!("is nested too deeply; use at most {MAX_DEPTH} levels");
            return self.fault(&entry.path, reason);
        }
        if is_in_skill {
            self.directories.push(self.source_path(&entry.path));
        }
        self.ancestors.push(entry.target.clone());
        self.visit(&entry.target, &entry.path, is_in_skill);
        self.ancestors.pop();
    }

    fn read(&mut self, entry: &ScannedEntry) {
        let max_bytes = match self.rule {
            SizeRule::Reject => MAX_SKILL_BYTES,
            SizeRule::Warn => u64::MAX - 1,
        };
        // The fault of a skill that is too large is reported already.
        let Some(limit) = max_bytes.checked_sub(self.outer_skill.bytes) else {
            return;
        };
        let bytes = match read_file(self.root, &entry.target, limit) {
            Ok(bytes) => bytes,
            Err(error) => return self.fault(&entry.path, cannot_read(&error)),
        };
        self.outer_skill.bytes += bytes.len() as u64;
        if self.outer_skill.bytes > max_bytes {
            // The files that were read are not needed, and the others are not read.
            self.files.truncate(self.outer_skill.first_file);
            let path = self.outer_skill.path.clone();
            let reason = format!(
                "the skill has more than {max_bytes} bytes; clients support {MAX_FILES} files and {max_bytes} bytes"
            );
            return self.fault(&path, reason);
        }
        let path = self.source_path(&entry.path);
        self.files.push(SkillFile::new(path, bytes));
    }

    /// Returns the path below the source, which starts with the name of the directory if that is a skill.
    fn source_path(&self, path: &str) -> String {
        match &self.base {
            Some(base) => join(base, path),
            None => path.to_owned(),
        }
    }

    fn fault(&mut self, path: &str, reason: impl Into<String>) {
        let path = match path {
            "" => self.shown.to_owned(),
            path => self.shown.join(path),
        };
        self.faults.push(SkillFault::new(&path, reason));
    }

    fn finish(mut self) -> Result<Vec<SkillContent>, Vec<SkillFault>> {
        if self.visited > self.max_visited {
            let reason = format!(
                "has more than {} files and directories; open a directory that has only skills",
                self.max_visited
            );
            return Err(vec![SkillFault::new(self.shown, reason)]);
        }
        let (skills, problems) = collect_skills(&self.files, &self.directories, self.rule);
        for problem in problems {
            let path = match &self.base {
                Some(base) => problem.path.strip_prefix(base.as_str()),
                None => Some(problem.path.as_str()),
            };
            let path = path.unwrap_or(&problem.path).trim_start_matches('/');
            self.fault(path, problem.reason);
        }
        if self.faults.is_empty() {
            Ok(skills)
        } else {
            Err(self.faults)
        }
    }
}

fn below(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        directory => join(directory, name),
    }
}

fn sorted_entries(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    Ok(entries)
}

/// Returns the path of an entry without links, and what is there. Rejects links that leave the root.
fn resolve(path: &Path, root: &Path) -> Result<(PathBuf, Kind), String> {
    let metadata = path
        .symlink_metadata()
        .map_err(|error| cannot_read(&error))?;
    if !metadata.is_symlink() {
        return Ok((path.to_owned(), kind_of(&metadata)));
    }
    let target = fs::canonicalize(path)
        .map_err(|error| format!("is a link that leads nowhere or to itself: {error}"))?;
    if !target.starts_with(root) {
        return Err("is a link that leaves the directory of skills; copy its target".to_owned());
    }
    let metadata = target
        .symlink_metadata()
        .map_err(|error| cannot_read(&error))?;
    Ok((target, kind_of(&metadata)))
}

fn kind_of(metadata: &fs::Metadata) -> Kind {
    if metadata.is_file() {
        Kind::File
    } else if metadata.is_dir() {
        Kind::Directory
    } else {
        Kind::Special
    }
}

/// Reads a file up to one byte more than the limit, which is enough to reject its skill.
fn read_file(root: &Root, target: &Path, limit: u64) -> io::Result<Bytes> {
    let file = root.open_file(target)?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(Bytes::from(bytes))
}

fn cannot_read(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_depth_of_directories_are_limited() {
        let name = format!("toolwire-scan-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("a")).expect("a directory");
        for name in ["SKILL.md", "1", "2", "3"] {
            let text = "---\nname: a\ndescription: d\n---\n";
            fs::write(root.join("a").join(name), text).expect("a file");
        }
        let scan = |max_visited| scan_within(&root, SizeRule::Reject, max_visited);
        let skills = scan(5).expect("five files and directories");
        assert_eq!(skills[0].files.len(), 4);
        let faults = scan(4).expect_err("too many");
        assert_eq!(faults.len(), 1);
        assert!(
            faults[0].reason.starts_with("has more than 4 files"),
            "{}",
            faults[0]
        );

        let nested = |levels: usize| root.join(vec!["x"; levels].join("/"));
        fs::create_dir_all(nested(MAX_DEPTH)).expect("directories");
        assert_eq!(scan(MAX_VISITED).expect("valid").len(), 1);
        fs::create_dir_all(nested(MAX_DEPTH + 1)).expect("directories");
        let faults = scan(MAX_VISITED).expect_err("too deep");
        assert_eq!(faults[0].path, nested(MAX_DEPTH + 1));
        assert!(
            faults[0].reason.starts_with("is nested too deeply"),
            "{}",
            faults[0]
        );
        fs::remove_dir_all(&root).expect("the directory exists");
    }

    #[test]
    fn bytes_beyond_the_limit_of_a_skill_are_not_read() {
        let name = format!("toolwire-scan-bytes-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&root);
        let head = "---\nname: a\ndescription: d\n---\n";
        for skill in ["a", "b"] {
            fs::create_dir_all(root.join(skill)).expect("a directory");
            let head = head.replace("name: a", &format!("name: {skill}"));
            fs::write(root.join(skill).join(SKILL_FILE), head).expect("a file");
        }
        let set_size = |path: &str, size: u64| {
            let file = fs::File::create(root.join(path)).expect("a file");
            file.set_len(size).expect("a sparse file");
        };
        let scan = || scan_within(&root, SizeRule::Reject, MAX_VISITED);
        // Each skill may have the maximum size.
        let rest = MAX_SKILL_BYTES - head.len() as u64;
        set_size("a/1", rest);
        set_size("b/1", rest);
        assert_eq!(scan().expect("the maximum size").len(), 2);

        // One byte more is a fault of the skill, and of nothing else in it.
        set_size("a/2", 1);
        let faults = scan().expect_err("too large");
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].path, root.join("a"));
        let expected = format!("the skill has more than {MAX_SKILL_BYTES} bytes;");
        assert!(faults[0].reason.starts_with(&expected), "{}", faults[0]);

        // `SKILL.md` is not read after the limit, and therefore not reported as incomplete.
        set_size("a/3", MAX_SKILL_BYTES);
        assert_eq!(scan().expect_err("too large"), faults);
        fs::remove_dir_all(&root).expect("the directory exists");
    }
}
