//! Compares the limits of `docs/reference/all_limits.md` with the constants and fields that define them.
//!
//! `sources.txt` names them for each row. A row without a source, a number that the code contradicts, and a constant that looks
//! like a limit and is in neither, are findings.

mod code;
mod sources;
mod table;

use std::path::Path;

use self::code::Code;
use self::sources::{Source, Sources};
use self::table::Row;
use super::read;
use super::values::Value;
use crate::steps::Outcome;

const PAGE: &str = "docs/reference/all_limits.md";
const SOURCES: &str = "xtask/src/docs/limits/sources.txt";

/// Returns a finding for each row and each constant that does not agree with the other side.
pub(super) fn check(root: &Path) -> Outcome<Vec<String>> {
    let sources = Sources::parse(&read(&root.join(SOURCES))?)?;
    Ok(compare(
        &table::rows(&read(&root.join(PAGE))?),
        &sources,
        &Code::read(root)?,
    ))
}

fn compare(rows: &[Row], sources: &Sources, code: &Code) -> Vec<String> {
    let mut findings = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        match sources.rows.get(at) {
            Some((name, of_row)) if *name == row.name => {
                findings.extend(problem(row, of_row, code));
            }
            other => {
                let other = other.map_or("nothing", |(name, _)| name);
                findings.push(format!(
                    "{PAGE}:{}: `{}` has no source: {SOURCES} has `{other}` at this position",
                    row.line, row.name
                ));
                return findings;
            }
        }
    }
    for (name, _) in sources.rows.iter().skip(rows.len()) {
        findings.push(format!("{SOURCES}: {PAGE} has no row `{name}`"));
    }
    for source in &sources.other_constants {
        if !code.defines(source) {
            findings.push(format!("{SOURCES}: {source} does not exist"));
        }
    }
    for limit in code.limits() {
        if !sources.names(limit) {
            findings.push(format!(
                "{limit} is not in {SOURCES}: add it to a row of {PAGE}, or to the other constants"
            ));
        }
    }
    findings
}

fn problem(row: &Row, sources: &[Source], code: &Code) -> Option<String> {
    let mut values = Vec::new();
    for source in sources {
        match code.value(source) {
            Ok(value) => values.extend(value),
            Err(reason) => return Some(format!("{SOURCES}: `{}`: {reason}", row.name)),
        }
    }
    let has_no_source = sources.is_empty();
    let (stated, values) = (
        without_repetitions(&row.values),
        without_repetitions(&values),
    );
    let is_same = stated.len() == values.len()
        && stated
            .iter()
            .zip(&values)
            .all(|(stated, value)| stated.is_value_of_code(*value));
    (has_no_source || !is_same).then(|| {
        format!(
            "{PAGE}:{}: `{}` states {stated:?}, the code has {values:?}",
            row.line, row.name
        )
    })
}

/// Returns the values without those that are equal to the one before: "2 s each" may have two sources.
fn without_repetitions(values: &[Value]) -> Vec<Value> {
    let mut values = values.to_vec();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "crates/a/src/a.rs";

    fn code() -> Code {
        Code::of(&[(
            FILE,
            "const MAX_NAMES: usize = 5;\nconst MAX_AGE: Duration = Duration::from_secs(60);\nconst SIZE: u8 = 1;\n",
        )])
    }

    fn check(row: &str, sources: &str, expected: &[&str]) {
        let rows = table::rows(&format!(
            "| Limit | Default | Beyond it | Setting |\n|---|---|---|---|\n{row}\n"
        ));
        let sources = Sources::parse(sources).expect("the sources are valid");
        let findings = compare(&rows, &sources, &code());
        let is_expected = findings.len() == expected.len()
            && findings
                .iter()
                .zip(expected)
                .all(|(finding, part)| finding.contains(part));
        assert!(is_expected, "{row}: {findings:?}");
    }

    #[test]
    fn rows_and_constants_are_compared() {
        let source = "Names, their age\n    crates/a/src/a.rs MAX_NAMES MAX_AGE\n";
        check(
            "| Names, their age | 5, 1 min | rejected | – |",
            source,
            &[],
        );
        check(
            "| Names, their age | 6, 1 min | rejected | – |",
            source,
            &["states [Number(6)"],
        );
        check(
            "| Names, their age | 1 min, 5 | rejected | – |",
            source,
            &["states"],
        );
        check(
            "| Names, their age | 5 | rejected | – |",
            source,
            &["states"],
        );
        check("| Names | 5 | rejected | – |", source, &["no source"]);
    }

    #[test]
    fn each_side_is_complete() {
        check("", "", &["MAX_NAMES is not in", "MAX_AGE is not in"]);
        let others = "Other constants\n    crates/a/src/a.rs MAX_NAMES MAX_AGE\n";
        check("", others, &[]);
        check("| Names | five | rejected | – |", others, &["no source"]);
        check(
            "",
            "Other constants\n    crates/a/src/a.rs MAX_NAMES MAX_AGE MAX_SIZE\n",
            &["MAX_SIZE does not exist"],
        );
        check(
            "| Names | 5 | rejected | – |",
            "Names\n    crates/a/src/b.rs MAX_NAMES\nOther constants\n    crates/a/src/a.rs MAX_NAMES MAX_AGE\n",
            &["there is no file crates/a/src/b.rs"],
        );
        check(
            "| Names | few | rejected | – |",
            "Names\nOther constants\n    crates/a/src/a.rs MAX_NAMES MAX_AGE\n",
            &["states [], the code has []"],
        );
        let removed = "Names\n    crates/a/src/a.rs MAX_NAMES\nOther constants\n    crates/a/src/a.rs MAX_AGE\n";
        check("", removed, &["has no row `Names`"]);
    }

    #[test]
    fn text_stands_for_its_value() {
        check(
            "| Size | 1 | rejected | – |",
            "Size\n    crates/a/src/a.rs \"SIZE: u8 = 1\"\nOther constants\n    crates/a/src/a.rs MAX_NAMES MAX_AGE\n",
            &[],
        );
        check(
            "| Size | 1 | rejected | – |",
            "Size\n    crates/a/src/a.rs \"SIZE: u8 = 2\"\nOther constants\n    crates/a/src/a.rs MAX_NAMES MAX_AGE\n",
            &["has no text"],
        );
    }
}
