//! Formats the verdicts of all revisions as a table.

use std::fmt;

use crate::verdict::Verdict;

const TITLES: [&str; 6] = [
    "revision",
    "scenarios",
    "passed",
    "failed",
    "warnings",
    "excused",
];

/// A table with one line per revision, followed by all texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table<'a>(&'a [Verdict]);

impl<'a> Table<'a> {
    /// Creates the table of these verdicts, in this order.
    #[must_use]
    pub fn new(verdicts: &'a [Verdict]) -> Self {
        Self(verdicts)
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_row(f, TITLES.map(str::to_owned))?;
        for verdict in self.0 {
            let numbers = [
                verdict.scenarios,
                verdict.passed,
                verdict.failed,
                verdict.warnings,
                verdict.excused.len(),
            ];
            let [scenarios, passed, failed, warnings, excused] =
                numbers.map(|number| number.to_string());
            let revision = verdict.spec_version.clone();
            write_row(f, [revision, scenarios, passed, failed, warnings, excused])?;
        }
        for verdict in self.0 {
            let revision = &verdict.spec_version;
            for (word, lines) in [
                ("excused", &verdict.excused),
                ("problem", &verdict.problems),
            ] {
                for line in lines {
                    writeln!(f, "{word}: {revision}: {line}")?;
                }
            }
        }
        Ok(())
    }
}

/// Writes the revision left-aligned and the numbers right-aligned, as wide as the longest title.
fn write_row(f: &mut fmt::Formatter<'_>, cells: [String; TITLES.len()]) -> fmt::Result {
    let [revision, numbers @ ..] = cells;
    write!(f, "{revision:<10}")?;
    for number in numbers {
        write!(f, "  {number:>9}")?;
    }
    writeln!(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_and_texts_follow() {
        let verdict = Verdict {
            spec_version: "2025-11-25".to_owned(),
            scenarios: 5,
            passed: 20,
            problems: vec!["ping: did not run".to_owned()],
            ..Verdict::default()
        };
        let expected = "\
revision    scenarios     passed     failed   warnings    excused
2025-11-25          5         20          0          0          0
problem: 2025-11-25: ping: did not run
";
        assert_eq!(Table::new(&[verdict]).to_string(), expected);
    }
}
