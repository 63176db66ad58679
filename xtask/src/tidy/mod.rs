//! Project rules that neither the compiler nor clippy checks, checked on the text of the files.
//!
//! Each rule is a function from a file, or from all files, to findings. The rules run as a test of this crate and as `cargo xtask tidy`.

mod code;
mod crate_versions;
mod layers;
mod pure;
mod release_texts;
mod rust_version;
mod source;
pub(crate) mod style;
mod text;
mod threats;
mod versions;

use std::fmt;
use std::fs;
use std::path::Path;

use self::source::Source;
use crate::steps::Outcome;

/// Directories of built or installed files, which are not checked.
const UNCHECKED_DIRECTORIES: [&str; 4] = [".git", "target", "node_modules", ".venv"];

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    path: String,
    line: usize,
    rule: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.rule)
    }
}

/// A file of the repository. Its path is relative and uses `/`.
#[derive(Debug)]
struct File {
    path: String,
    text: String,
}

impl File {
    fn finding(&self, line: usize, rule: impl Into<String>) -> Finding {
        Finding {
            path: self.path.clone(),
            line,
            rule: rule.into(),
        }
    }
}

/// Checks every file below `root`. The error lists one finding per line.
pub(crate) fn report(root: &Path) -> Outcome {
    let findings = check_all(&read_files(root)?);
    if findings.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    Err(format!(
        "{}\ntidy: {} findings",
        lines.join("\n"),
        lines.len()
    ))
}

fn check_all(files: &[File]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = files.iter().flat_map(check_file).collect();
    findings.extend(threats::check(files));
    findings.extend(rust_version::check(files));
    findings.extend(crate_versions::check(files));
    findings.extend(release_texts::check(files));
    findings.extend(style::check(files));
    findings
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = text::check(file);
    if file.path.ends_with(".rs") {
        let source = Source::new(&file.text);
        findings.extend(code::check(file, &source));
        findings.extend(layers::check(file, &source));
        findings.extend(pure::check(file, &source));
        findings.extend(versions::check(file, &source));
        findings.extend(style::check_test_names(file, &source));
    }
    findings
}

/// Reads every text file, ordered by path. Files that are not UTF-8 are skipped.
fn read_files(root: &Path) -> Outcome<Vec<File>> {
    let cannot =
        |path: &Path, error: &std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(&directory).map_err(|error| cannot(&directory, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| cannot(&directory, &error))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| cannot(&path, &error))?;
            if UNCHECKED_DIRECTORIES
                .iter()
                .any(|name| entry.file_name() == *name)
            {
                continue;
            }
            if kind.is_dir() {
                directories.push(path);
            } else if kind.is_file() {
                let bytes = fs::read(&path).map_err(|error| cannot(&path, &error))?;
                let Ok(text) = String::from_utf8(bytes) else {
                    continue;
                };
                let relative = path.strip_prefix(root).unwrap_or(&path);
                let path = relative.to_string_lossy().replace('\\', "/");
                files.push(File { path, text });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_is_tidy() {
        if let Err(findings) = report(&crate::workspace_root()) {
            panic!("{findings}");
        }
    }

    #[test]
    fn repository_is_read() {
        let files = read_files(&crate::workspace_root()).unwrap();
        for path in [
            "Cargo.toml",
            "xtask/src/tidy/mod.rs",
            "crates/toolwire/src/lib.rs",
        ] {
            assert!(files.iter().any(|file| file.path == path), "{path}");
        }
    }
}
