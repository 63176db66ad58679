//! Finds types that share their name with another type of the same crate.

use std::collections::BTreeMap;

use super::super::source::{Source, numbered};
use super::super::{File, Finding};

/// Types that two revisions of the specification define with different members.
const EXEMPT: [(&str, &str); 2] = [
    ("toolwire-types", "CreateTaskResult"),
    ("toolwire-types", "Task"),
];

/// Finds module-level types with the name of another one of the crate. Alternatives for one feature count as one.
pub(super) fn check(files: &[(&File, Source)]) -> Vec<Finding> {
    let mut by_name: BTreeMap<(&str, &str), Vec<(&File, usize)>> = BTreeMap::new();
    for (file, source) in files {
        let Some(name) = crate_name(&file.path) else {
            continue;
        };
        // A file that replaces another if a feature is off defines the same types.
        let stem = file.path.rsplit('/').next().unwrap_or_default();
        if stem == "disabled.rs" {
            continue;
        }
        for (line, text) in numbered(&source.shipped_code) {
            if let Some(type_name) = defined_type(text) {
                let sites = by_name.entry((name, type_name)).or_default();
                if sites.iter().all(|(other, _)| other.path != file.path) {
                    sites.push((file, line));
                }
            }
        }
    }
    let mut findings = Vec::new();
    for ((crate_name, type_name), sites) in by_name {
        if sites.len() > 1 && !EXEMPT.contains(&(crate_name, type_name)) {
            for (file, line) in sites {
                findings.push(file.finding(line, format!("another type is named `{type_name}`")));
            }
        }
    }
    findings
}

fn crate_name(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split('/').next()
}

/// Returns the type that a line at the top level of a module defines.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty());
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    loop {
        match words.next()? {
            "pub" | "crate" | "super" | "in" | "self" => {}
            "struct" | "enum" | "trait" | "union" => return words.next(),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_one_crate_with_one_name_are_found() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file("crates/a/src/x.rs", "pub(crate) struct One;\nenum Two {}"),
            file("crates/a/src/y.rs", "struct One;\n    struct Two;"),
            file("crates/b/src/x.rs", "struct One;\nfn f() { struct Two; }"),
            file("crates/a/src/x/disabled.rs", "enum Two {}"),
        ];
        let sources: Vec<_> = files
            .iter()
            .map(|file| (file, Source::new(&file.text)))
            .collect();
        let found: Vec<String> = check(&sources).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/a/src/x.rs:1: another type is named `One`",
                "crates/a/src/y.rs:1: another type is named `One`",
            ]
        );
    }
}
