//! Pages do not say that the project is not published, once the newest section of the changelog has a date. Before that,
//! `RELEASING.md` names the pages that say so.

use super::source::numbered;
use super::{File, Finding};

/// The file with a section for each version, newest first.
const CHANGELOG: &str = "CHANGELOG.md";

/// The file with the steps of a release.
const STEPS: &str = "RELEASING.md";

/// What the heading of a version has instead of a date.
const UNRELEASED: &str = "unreleased";

/// Parts of sentences that are true before the first release only, in lower case.
const MARKS: [&str; 7] = [
    "not published yet",
    "not yet published",
    "not released yet",
    "not yet released",
    "until toolwire is published",
    "until the first release",
    "after the first release:",
];

/// Checks all pages.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let text_of = |path: &str| {
        let file = files.iter().find(|file| file.path == path);
        file.map_or("", |file| file.text.as_str())
    };
    let mut headings = text_of(CHANGELOG).lines();
    let newest = headings.find(|line| line.starts_with("## "));
    let is_released = newest.is_some_and(|heading| !heading.contains(UNRELEASED));
    let steps = text_of(STEPS);
    let mut findings = Vec::new();
    for page in files.iter().filter(|file| file.path.ends_with(".md")) {
        let is_named = steps.contains(&format!("`{}`", page.path));
        if page.path != CHANGELOG && (is_released || !is_named) {
            let problem = if is_released {
                "the changelog has a released version"
            } else {
                "RELEASING.md does not name this page"
            };
            findings.extend(outdated(page, problem));
        }
    }
    findings
}

/// Returns a finding for each mark of a page. It may continue on the next line.
fn outdated(page: &File, problem: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines: Vec<(usize, &str)> = numbered(&page.text).collect();
    for (at, (number, line)) in lines.iter().enumerate() {
        let next = lines.get(at + 1).map_or("", |(_, next)| next.trim());
        let joined = format!("{} {next}", line.trim()).to_lowercase();
        let next = next.to_lowercase();
        for mark in MARKS {
            if joined.contains(mark) && !next.contains(mark) {
                let rule = format!("says \"{mark}\", but {problem}");
                findings.push(page.finding(*number, rule));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_about_the_time_before_the_first_release_are_found_after_it() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let check = |heading: &str, page: &str, expected: &[usize]| {
            let files = [
                file("CHANGELOG.md", &format!("# Changelog\n\n{heading}\n")),
                file("RELEASING.md", "Replace the text of `docs/install.md`."),
                file("docs/install.md", page),
            ];
            let lines: Vec<usize> = check(&files).iter().map(|found| found.line).collect();
            assert_eq!(lines, expected, "{heading}: {page}");
        };
        let released = "## 0.1.0, 2026-12-01";
        check("## 0.1.0, unreleased", "It is not published yet.", &[]);
        check(released, "It is published.", &[]);
        check(released, "a\nIt is not published yet, so\nb", &[2]);
        check(released, "It is not\n  published yet.\nb", &[1]);
        check(released, "Until toolwire is published, also", &[1]);
        check(
            &format!("{released}\n\n## 0.0.9, unreleased"),
            "It is not released yet",
            &[1],
        );
        let other = [file("docs/tour.md", "It is not released yet.")];
        assert_eq!(super::check(&other).len(), 1);
    }
}
