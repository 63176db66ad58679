//! The table of threats in `SECURITY.md`: every row names tests, and these tests exist.

use std::collections::BTreeSet;

use super::source::numbered;
use super::{File, Finding};

/// The file with the table.
const PAGE: &str = "SECURITY.md";

/// The heading above the table.
const HEADING: &str = "## Threats to a relay, a gateway and the page";

/// The start of a check in the tests of the page.
const PAGE_CHECK: &str = "check(\"";

/// Checks the table of threats against the tests of all files.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return Vec::new();
    };
    let tests: BTreeSet<&str> = files.iter().flat_map(tests_in).collect();
    let rows = rows(&page.text);
    if rows.is_empty() {
        return vec![page.finding(1, format!("has no table below `{HEADING}`"))];
    }
    let mut findings = Vec::new();
    for (number, row) in rows {
        let names = test_names(row);
        if names.is_empty() {
            findings.push(page.finding(number, "names no test of this threat"));
        }
        for name in names.into_iter().filter(|name| !tests.contains(name)) {
            findings
                .push(page.finding(number, format!("names the test `{name}`, which is missing")));
        }
    }
    findings
}

/// Returns the rows of the table with the numbers of their lines, without the two rows of its header.
fn rows(text: &str) -> Vec<(usize, &str)> {
    let section = numbered(text).skip_while(|(_, line)| *line != HEADING);
    let section = section
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "));
    section
        .filter(|(_, line)| line.starts_with('|'))
        .skip(2)
        .collect()
}

/// Returns the names in backticks in the last column of a row.
fn test_names(row: &str) -> Vec<&str> {
    let cells = row.trim_end().trim_end_matches('|');
    let last = cells.rsplit('|').next().unwrap_or_default();
    last.split('`').skip(1).step_by(2).collect()
}

/// Returns the names of the tests in a file, without ignored ones.
fn tests_in(file: &File) -> Vec<&str> {
    if file.path.ends_with(".mjs") {
        let checks = file.text.split(PAGE_CHECK).skip(1);
        return checks.filter_map(|rest| rest.split('"').next()).collect();
    }
    if !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut is_test = false;
    for line in file.text.lines().map(str::trim_start) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if line.starts_with("#[ignore") {
            is_test = false;
        } else if is_test
            && let Some((_, rest)) = line.split_once("fn ")
            && let Some((name, _)) = rest.split_once('(')
        {
            names.push(name);
            is_test = false;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn every_threat_has_tests_that_exist() {
        let header = "# Security\n\n## Threats to a relay, a gateway and the page\n\n| a | b | c |\n|---|---|---|\n";
        let rust = "#[test]\nfn one() {}\n#[tokio::test(start_paused = true)]\n#[cfg(unix)]\nasync fn two() {}\nfn other() {}\n#[test]\n#[ignore = \"slow\"]\nfn ignored() {}\n";
        let check = |row: &str, expected: &[&str]| {
            let text = format!("{header}{row}\n## Next\n\n| x | y |\n|---|---|\n| `z` | z |\n");
            let files = [
                file("SECURITY.md", &text),
                file("crates/a/src/lib.rs", rust),
                file(
                    "page/tests/a.mjs",
                    "await check(\"three\", async () => {});",
                ),
            ];
            let rules: Vec<String> = check(&files).into_iter().map(|found| found.rule).collect();
            assert_eq!(rules, expected, "{row}");
        };
        check("| a | b | `one`, `two`, `three` |", &[]);
        check("| a | b `x` | none |", &["names no test of this threat"]);
        check(
            "| a | b | `other` |",
            &["names the test `other`, which is missing"],
        );
        check(
            "| a | b | `ignored` |",
            &["names the test `ignored`, which is missing"],
        );
        check(
            "",
            &["has no table below `## Threats to a relay, a gateway and the page`"],
        );
    }
}
