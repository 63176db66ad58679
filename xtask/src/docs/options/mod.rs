//! The reference of options and limits, written from the documentation of the code.
//!
//! `cargo xtask docs options` writes the page. A default that is a number is compared with the value in the code.

mod builders;
mod defaults;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use self::builders::OptionType;
use self::defaults::Defaults;
use super::{files_below, read};
use crate::steps::{Outcome, note};

const PAGE: &str = "docs/reference/options.md";

/// The page with the limits that a test of `toolwire` compares with the code.
const LIMITS: &str = "crates/toolwire/src/guide/limits.md";

/// The crates with types for users.
const CRATES: [&str; 6] = [
    "toolwire",
    "toolwire-auth",
    "toolwire-gateway",
    "toolwire-otel",
    "toolwire-proto",
    "toolwire-redis",
];

const INTRODUCTION: &str = "# Options and limits

The structs whose names end in `Config`, `Limits`, `Options` or `Settings`, and the struct `Tasks`, with their defaults. The
limits of servers, clients and stores in memory are on the page
[Limits that you can set](../../crates/toolwire/src/guide/limits.md), and the keys of a gateway's file, also for the enum
`AuthConfig`, on the page [The configuration of the gateway](gateway.md). This page is written by `cargo xtask docs options` from
the documentation of the code. A test compares both; a default that is one number is compared with the code if the same file
sets it.
";

/// Writes the page.
pub(crate) fn write(root: &Path) -> Outcome {
    let (page, findings) = generate(root)?;
    super::outcome(findings)?;
    let path = root.join(PAGE);
    fs::write(&path, page).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    note(&format!("wrote {}", path.display()));
    Ok(())
}

/// Returns a finding for each wrong default, and if the page differs from the code.
pub(super) fn check(root: &Path) -> Outcome<Vec<String>> {
    let (page, mut findings) = generate(root)?;
    if !fs::read_to_string(root.join(PAGE)).is_ok_and(|text| text == page) {
        findings.push(format!(
            "{PAGE} differs from the documentation of the code: run `cargo xtask docs options`"
        ));
    }
    Ok(findings)
}

/// Returns the page, and a finding for each default that the code contradicts.
fn generate(root: &Path) -> Outcome<(String, Vec<String>)> {
    let limits = read(&root.join(LIMITS))?;
    let (mut page, mut findings) = (INTRODUCTION.to_owned(), Vec::new());
    for package in CRATES {
        let sources = sources(&root.join("crates").join(package).join("src"))?;
        for found in OptionType::all(&sources) {
            if found.rows.is_empty() || is_listed(&limits, package, &found.name) {
                continue;
            }
            let defaults = Defaults::of(&found.name, &found.source);
            describe(&mut page, package, &found, &defaults, &mut findings);
        }
    }
    Ok((page, findings))
}

fn describe(
    page: &mut String,
    package: &str,
    found: &OptionType,
    defaults: &Defaults,
    findings: &mut Vec<String>,
) {
    let _ = write!(
        page,
        "\n## `{}` ({package})\n\n{}\n\n| Name | Default | Meaning |\n|---|---|---|\n",
        found.name,
        plain(&found.summary)
    );
    for row in &found.rows {
        let (default, meaning) = without_default(&row.documentation);
        if let Some(problem) = defaults.problem(row, &default) {
            findings.push(format!(
                "{package}: {}::{}: {problem}",
                found.name, row.name
            ));
        }
        let default = match (default.as_str(), row.is_switch) {
            ("", true) => "not set".to_owned(),
            ("", false) => defaults.text(row).unwrap_or_default(),
            _ => default,
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            row.name,
            plain(&default),
            plain(&meaning)
        );
    }
}

/// Returns the default of a paragraph, and the paragraph without it.
fn without_default(documentation: &str) -> (String, String) {
    for mark in ["Default: ", "Defaults: "] {
        if let Some((before, rest)) = documentation.split_once(mark) {
            let (default, after) = match rest.split_once(". ") {
                Some((default, after)) => (default, after),
                None => (rest.trim_end_matches('.'), ""),
            };
            let meaning = format!("{before}{after}");
            return (default.to_owned(), meaning.trim().to_owned());
        }
    }
    (String::new(), documentation.to_owned())
}

/// Returns the text of a cell: links of rustdoc become their text.
fn plain(text: &str) -> String {
    let mut cell = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        cell.push_str(before);
        let Some((inner, after)) = after.split_once(']') else {
            cell.push('[');
            rest = after;
            continue;
        };
        cell.push_str(inner);
        rest = match after
            .strip_prefix('(')
            .and_then(|after| after.split_once(')'))
        {
            Some((_, after)) => after,
            None => after,
        };
    }
    cell.push_str(rest);
    cell.replace('|', "\\|")
}

fn is_listed(limits: &str, package: &str, name: &str) -> bool {
    let forms = [format!("[`{name}`]:"), format!("::{name}`]:")];
    package == "toolwire" && forms.iter().any(|form| limits.contains(form))
}

/// Returns the text of all source files of a crate that are not tests, in the order of their paths.
fn sources(directory: &Path) -> Outcome<Vec<String>> {
    let files = files_below(directory)?;
    let is_source = |file: &String| {
        let is_test = file.ends_with("tests.rs") || file.contains("tests/");
        file.ends_with(".rs") && !is_test
    };
    let files = files.iter().filter(|file| is_source(file));
    files.map(|file| read(&directory.join(file))).collect()
}

/// Returns a row for the tests of this module and of those below it.
#[cfg(test)]
fn row(name: &str, field: &str, documentation: &str) -> builders::OptionRow {
    builders::OptionRow {
        name: name.to_owned(),
        field: Some(field.to_owned()),
        documentation: documentation.to_owned(),
        is_switch: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_is_a_column_of_its_own() {
        fn check(documentation: &str, default: &str, meaning: &str) {
            let expected = (default.to_owned(), meaning.to_owned());
            assert_eq!(without_default(documentation), expected);
        }
        check("Sets it. Default: 5.", "5", "Sets it.");
        check("Sets it. Default: 1 s. More.", "1 s", "Sets it. More.");
        check("Sets two. Defaults: 1 and 2.", "1 and 2", "Sets two.");
        check("Sets it.", "", "Sets it.");
    }

    #[test]
    fn links_become_text() {
        assert_eq!(
            plain("see [`a`](Self::a), [`B`] and [c](crate::c) | [d"),
            "see `a`, `B` and c \\| [d"
        );
    }

    #[test]
    fn wrong_default_is_a_finding() {
        let source = "impl Default for A {\n    fn default() -> Self {\n        Self {\n            x: 5,\n        }\n    }\n}\n";
        let defaults = Defaults::of("A", source);
        let found = OptionType {
            name: "A".to_owned(),
            summary: "Options.".to_owned(),
            source: source.to_owned(),
            rows: vec![row("x", "x", "X. Default: 6.")],
        };
        let (mut page, mut findings) = (String::new(), Vec::new());
        describe(&mut page, "toolwire", &found, &defaults, &mut findings);
        assert_eq!(
            findings,
            ["toolwire: A::x: the documentation says 6, the code 5"]
        );
        assert!(page.contains("| `x` | 6 | X. |"), "{page}");
    }

    #[test]
    fn method_without_arguments_is_not_set_by_default() {
        let mut switch = row("quiet", "quiet", "Prints nothing.");
        switch.is_switch = true;
        let found = OptionType {
            name: "A".to_owned(),
            summary: "Options.".to_owned(),
            source: String::new(),
            rows: vec![switch],
        };
        let defaults = Defaults::of("A", "");
        let (mut page, mut findings) = (String::new(), Vec::new());
        describe(&mut page, "toolwire", &found, &defaults, &mut findings);
        let expected = "| `quiet` | not set | Prints nothing. |";
        assert!(page.contains(expected), "{page}");
    }
}
