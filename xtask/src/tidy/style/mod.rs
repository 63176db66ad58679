//! Counts violations of the vocabulary and the structure.
//!
//! [`MAXIMA`] limits the number of findings per check. The limits only decrease, and a check with limit zero is an
//! ordinary rule. `cargo xtask style` prints the counts, and `cargo xtask style CHECK` the findings.

mod cycles;
mod imports;
mod names;
mod words;

use std::fmt::Write as _;
use std::path::Path;

use super::source::Source;
use super::{File, Finding, code, read_files};
use crate::steps::Outcome;

/// A check and its maximum number of findings.
struct Maximum {
    check: &'static str,
    what: &'static str,
    at_most: usize,
}

const MAXIMA: [Maximum; 5] = [
    Maximum {
        check: "words",
        what: "words outside the glossary in comments and texts",
        at_most: 0,
    },
    Maximum {
        check: "identifiers",
        what: "words outside the glossary in names of items and files",
        at_most: 0,
    },
    Maximum {
        check: "names",
        what: "types that share their name with another of the crate",
        at_most: 0,
    },
    Maximum {
        check: "imports",
        what: "`super::` in shipped code",
        at_most: 0,
    },
    Maximum {
        check: "cycles",
        what: "files that import each other in a cycle",
        at_most: 30,
    },
];

/// Prints the number of findings per check, or the findings of one check.
pub(crate) fn report(root: &Path, check: Option<&str>) -> Outcome {
    let findings = findings(&read_files(root)?);
    let mut text = String::new();
    match check {
        None => {
            for (maximum, findings) in MAXIMA.iter().zip(&findings) {
                let _ = writeln!(
                    text,
                    "{:>6} of {:>6}  {:<12} {}",
                    findings.len(),
                    maximum.at_most,
                    maximum.check,
                    maximum.what
                );
            }
        }
        Some(name) => {
            let index = MAXIMA.iter().position(|maximum| maximum.check == name);
            let index = index.ok_or_else(|| format!("there is no check `{name}`"))?;
            for finding in &findings[index] {
                let _ = writeln!(text, "{finding}");
            }
        }
    }
    eprint!("{text}");
    Ok(())
}

/// Returns the findings of all checks, in the order of [`MAXIMA`].
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
    [
        each(words::check_prose),
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
    fn findings_do_not_exceed_the_maxima() {
        let files = read_files(&crate::workspace_root()).unwrap();
        for (maximum, findings) in MAXIMA.iter().zip(findings(&files)) {
            let (check, count) = (maximum.check, findings.len());
            assert!(
                count <= maximum.at_most,
                "{check}: {count} findings, at most {} are permitted; `cargo xtask style {check}` lists them",
                maximum.at_most
            );
        }
    }

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
