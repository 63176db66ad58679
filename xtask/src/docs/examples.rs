//! Checks that the examples that pages name exist. Links to examples are checked with all other links.

use std::collections::{BTreeMap, BTreeSet};

/// The directory with the programs. A program is a file, or a directory with a file `main.rs`.
const DIRECTORY: &str = "examples/examples/";

/// Words before the name of an example. "For example" is not among them.
const MARKS: [&str; 5] = [
    "the example `",
    "the example [`",
    "The example `",
    "The example [`",
    "--example ",
];

/// Returns a finding for each name without a program. `pages` are all Markdown files, `files` all files of the repository.
pub(super) fn check(pages: &BTreeMap<String, String>, files: &[String]) -> Vec<String> {
    let programs: BTreeSet<&str> = files.iter().filter_map(|file| program(file)).collect();
    let mut findings = Vec::new();
    for (path, text) in pages {
        for (at, line) in text.lines().enumerate() {
            for name in names(line).filter(|name| !programs.contains(name)) {
                findings.push(format!("{path}:{}: there is no example `{name}`", at + 1));
            }
        }
    }
    findings
}

fn program(file: &str) -> Option<&str> {
    let name = file.strip_prefix(DIRECTORY)?;
    name.strip_suffix("/main.rs")
        .or_else(|| name.strip_suffix(".rs"))
}

/// Returns the names after the marks. `<name>` and a path are not names.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let after = MARKS.iter().flat_map(|mark| line.split(mark).skip(1));
    after
        .map(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            rest.split_at(end.unwrap_or(rest.len()))
        })
        .filter(|(name, rest)| !(name.is_empty() || rest.starts_with('/')))
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_program_are_found() {
        let files = [
            "examples/examples/notes.rs",
            "examples/examples/fleet/main.rs",
            "examples/examples/fleet/store.rs",
            "examples/src/lib.rs",
        ]
        .map(str::to_owned);
        let check = |line: &str, expected: &[&str]| {
            let pages = BTreeMap::from([("a.md".to_owned(), line.to_owned())]);
            let findings = check(&pages, &files);
            let missing = expected.iter();
            let missing: Vec<String> = missing
                .map(|name| format!("a.md:1: there is no example `{name}`"))
                .collect();
            assert_eq!(findings, missing, "{line}");
        };
        check("the example `notes` and the example [`fleet`](x)", &[]);
        check("cargo run --example notes -- client", &[]);
        check("cargo run --example <name>", &[]);
        check(
            "the example `store`, `--example other`",
            &["store", "other"],
        );
        check("the example `examples/fleet`, for example `this`", &[]);
    }
}
