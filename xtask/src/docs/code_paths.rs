//! Checks that the files and directories that pages about the code name exist.

use std::collections::BTreeMap;

/// The pages whose paths are checked.
const PAGES: [&str; 2] = ["ARCHITECTURE.md", "docs/internals.md"];

/// Returns a finding for each path in code that is not the end of the path of a file or a directory. `files` are all files
/// of the repository.
pub(super) fn check(pages: &BTreeMap<String, String>, files: &[String]) -> Vec<String> {
    let mut findings = Vec::new();
    for page in PAGES {
        let Some(text) = pages.get(page) else {
            findings.push(format!("there is no page {page}"));
            continue;
        };
        for (at, line) in text.lines().enumerate() {
            for path in line.split('`').skip(1).step_by(2) {
                if is_path(path) && !exists(path, files) {
                    findings.push(format!("{page}:{}: no file has the path {path}", at + 1));
                }
            }
        }
    }
    findings
}

/// Returns `true` for the path of a Rust file or of a directory with a final slash.
fn is_path(code: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_file = code.ends_with(".rs") || code.ends_with('/');
    is_file && !code.starts_with('/') && code.chars().all(is_allowed)
}

fn exists(path: &str, files: &[String]) -> bool {
    let inside = format!("/{path}");
    files.iter().any(|file| {
        if path.ends_with('/') {
            file.starts_with(path) || file.contains(&inside)
        } else {
            file == path || file.ends_with(&inside)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_paths_are_found() {
        let files = ["crates/a/src/b/c.rs".to_owned(), "xtask/d.rs".to_owned()];
        let check = |text: &str, missing: usize| {
            let pages = PAGES.map(|page| (page.to_owned(), text.to_owned()));
            let findings = check(&pages.into(), &files);
            assert_eq!(
                findings.len(),
                missing * PAGES.len(),
                "{text}: {findings:?}"
            );
        };
        check("`b/c.rs`, `c.rs`, `b/`, `xtask/d.rs`, `xtask/`", 0);
        check("`b.rs`", 1);
        check("`c/` and `a/c.rs`", 2);
        check("`tools/call`, `/mcp`, `Server::tool`, c/", 0);
        assert_eq!(super::check(&BTreeMap::new(), &files).len(), PAGES.len());
    }
}
