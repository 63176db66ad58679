//! Checks the vocabulary and the structure.
//!
//! `cargo xtask tidy` reports these findings with all others. `cargo xtask style` prints their number per check.

mod cycles;
mod imports;
mod names;
mod words;

use std::fmt::Write as _;
use std::path::Path;

pub(super) use self::words::check_test_names;
use super::source::Source;
use super::{File, Finding, code, read_files};
use crate::steps::Outcome;

/// The name of each check, and what it finds.
const CHECKS: [(&str, &str); 5] = [
    (
        "words",
        "words outside the glossary in comments, texts and pages",
    ),
    (
        "identifiers",
        "words outside the glossary in names of items and files",
    ),
    (
        "names",
        "types that share their name with another of the crate",
    ),
    ("imports", "`super::` in shipped code"),
    (
        "cycles",
        "files in a cycle of imports that is longer than the limit of its folder",
    ),
];

/// Returns the findings of all checks.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    findings(files).into_iter().flatten().collect()
}

/// Prints the number of findings per check, or the findings of one check.
pub(crate) fn report(root: &Path, check: Option<&str>) -> Outcome {
    let findings = findings(&read_files(root)?);
    let mut text = String::new();
    match check {
        None => {
            for ((check, what), findings) in CHECKS.iter().zip(&findings) {
                let _ = writeln!(text, "{:>6}  {check:<12} {what}", findings.len());
            }
        }
        Some(name) => {
            let index = CHECKS.iter().position(|(check, _)| *check == name);
            let index = index.ok_or_else(|| format!("there is no check `{name}`"))?;
            for finding in &findings[index] {
                let _ = writeln!(text, "{finding}");
            }
        }
    }
    eprint!("{text}");
    Ok(())
}

/// Returns the findings of all checks, in the order of [`CHECKS`].
fn findings(files: &[File]) -> [Vec<Finding>; 5] {
    let shipped: Vec<(&File, Source)> = files
        .iter()
        .filter(|file| is_shipped(&file.path))
        .map(|file| (file, Source::new(&file.text)))
        .collect();
    let each = |check: fn(&File, &Source) -> Vec<Finding>| {
        let found = shipped
            .iter()
            .flat_map(|(file, source)| check(file, source));
        found.collect()
    };
    let guides = files.iter().filter(|file| file.path.ends_with(".md"));
    let mut words: Vec<Finding> = each(words::check_prose);
    words.extend(guides.flat_map(words::check_markdown));
    [
        words,
        each(words::check_identifiers),
        names::check(&shipped),
        each(imports::check),
        cycles::check(&shipped),
    ]
}

/// Returns `true` if a file is Rust source of a published crate.
fn is_shipped(path: &str) -> bool {
    let in_crate = path.starts_with("crates/") && path.contains("/src/");
    in_crate && path.ends_with(".rs") && !code::is_test(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_files_are_sources_of_crates() {
        assert!(is_shipped("crates/toolwire/src/lib.rs"));
        assert!(!is_shipped("crates/toolwire-tests/tests/server/main.rs"));
        assert!(!is_shipped("crates/toolwire/src/engine/tests.rs"));
        assert!(!is_shipped("crates/toolwire-tests/src/peer.rs"));
        assert!(!is_shipped("xtask/src/main.rs"));
        assert!(!is_shipped("crates/toolwire/src/guide/http.md"));
    }
}
