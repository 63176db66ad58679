//! The tables of features: the README of a crate and its first page on docs.rs have the same one, with all features of the
//! manifest and whether they are enabled by default.

use std::collections::BTreeMap;
use std::path::Path;

use super::{files_below, read};
use crate::steps::Outcome;

/// The heading above a table.
const HEADING: &str = "# Features";

/// Checks every crate that has a README and features.
pub(super) fn check(root: &Path) -> Outcome<Vec<String>> {
    let mut findings = Vec::new();
    let crates = root.join("crates");
    for file in files_below(&crates)? {
        let Some(package) = file.strip_suffix("/README.md") else {
            continue;
        };
        let directory = crates.join(package);
        let features = features(&read(&directory.join("Cargo.toml"))?);
        if package.contains('/') || features.is_empty() {
            continue;
        }
        let readme = read(&crates.join(&file))?;
        let readme: Vec<&str> = rows(readme.lines());
        findings.extend(differences(package, &features, &readme));
        let library = directory.join("src").join("lib.rs");
        if library.is_file() {
            let library = read(&library)?;
            let documentation = library.lines().filter_map(|line| line.strip_prefix("//! "));
            if rows(documentation) != readme {
                findings.push(format!(
                    "{package}: the tables of features in README.md and src/lib.rs differ"
                ));
            }
        }
    }
    Ok(findings)
}

/// Returns the features of a manifest, and whether they are enabled by default.
fn features(manifest: &str) -> BTreeMap<String, bool> {
    let after = manifest
        .split_once("\n[features]\n")
        .map_or("", |(_, after)| after);
    let table = after.split("\n[").next().unwrap_or_default();
    let mut features = BTreeMap::new();
    let mut defaults = Vec::new();
    let mut is_default = false;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (name, values) = match line.split_once(" = ") {
            Some((name, values)) if !line.starts_with(' ') => (Some(name), values),
            _ => (None, line),
        };
        if let Some(name) = name {
            is_default = name == "default";
            if !is_default {
                features.insert(name.to_owned(), false);
            }
        }
        if is_default {
            defaults.extend(values.split('"').skip(1).step_by(2));
        }
    }
    for name in defaults {
        features.insert(name.to_owned(), true);
    }
    features
}

/// Returns the rows of the table below the heading.
fn rows<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let section = lines.skip_while(|line| !line.ends_with(HEADING));
    let section = section.skip(1).take_while(|line| !line.starts_with('#'));
    section.filter(|line| line.starts_with("| `")).collect()
}

/// Compares the rows of a README with the features of the manifest.
fn differences(package: &str, features: &BTreeMap<String, bool>, rows: &[&str]) -> Vec<String> {
    let start = |(name, is_default): (&String, &bool)| {
        let default = if *is_default { "yes" } else { "no" };
        format!("| `{name}` | {default} | ")
    };
    let expected: Vec<String> = features.iter().map(start).collect();
    let missing = expected
        .iter()
        .filter(|start| !rows.iter().any(|row| row.starts_with(*start)));
    let mut findings: Vec<String> = missing
        .map(|start| format!("{package}: README.md has no row `{start}…`"))
        .collect();
    let unknown = rows
        .iter()
        .filter(|row| !expected.iter().any(|start| row.starts_with(start)));
    findings
        .extend(unknown.map(|row| format!("{package}: Cargo.toml differs from the row `{row}`")));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_with_the_manifest() {
        let manifest = "[package]\n\n[features]\ndefault = [\n    \"one\",\n]\n# Text = text.\none = [\"dep:a\"]\n\
                        two = [\n    \"one\",\n]\n\n[dependencies]\nthree = \"1\"\n";
        let features = features(manifest);
        let expected = [("one".to_owned(), true), ("two".to_owned(), false)];
        assert_eq!(features, BTreeMap::from(expected));
        let check = |page: &str, expected: &[&str]| {
            let rows = rows(page.lines());
            assert_eq!(differences("a", &features, &rows), expected, "{page}");
        };
        let right = "## Features\n\n| Feature | Default |\n| `one` | yes | x |\n| `two` | no | y |\n\n## Next\n| `z` |\n";
        check(right, &[]);
        check(
            "## Features\n| `one` | no | x |\n| `two` | no | y |",
            &[
                "a: README.md has no row `| `one` | yes | …`",
                "a: Cargo.toml differs from the row `| `one` | no | x |`",
            ],
        );
    }
}
