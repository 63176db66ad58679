//! Rules for Rust files: no unfinished code, no long files, and no tests where none would run.

use super::source::{Source, numbered};
use super::{File, Finding};

const MAX_LINES: usize = 800;

/// Marks of unfinished code.
const UNFINISHED: [&str; 4] = ["todo!", "unimplemented!", "dbg!", "#[ignore"];

/// Directories that contain only tests and their helpers.
const TEST_DIRECTORIES: [&str; 4] = ["tests", "benches", "fuzz", "toolwire-tests"];

/// Sources of programs and helpers without tests of their own. Their manifests disable the test harness (`test = false`),
/// which would build each of them twice.
const WITHOUT_TESTS: [&str; 6] = [
    "bench/src/bin/",
    "bench/src/main.rs",
    "conformance/src/bin/",
    "crates/toolwire-macro-errors/src/",
    "crates/toolwire-tests/src/",
    "examples/src/",
];

/// Marks of a test.
const TESTS: [&str; 3] = ["#[test]", "#[tokio::test", "#[cfg(test)]"];

pub(super) fn check(file: &File, source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let length = file.text.lines().count();
    if length > MAX_LINES {
        findings.push(file.finding(
            length,
            format!("{length} lines, more than {MAX_LINES}: split by subject"),
        ));
    }
    let without_tests = WITHOUT_TESTS
        .iter()
        .any(|start| file.path.starts_with(start));
    for (line, code) in numbered(&source.code) {
        if without_tests && TESTS.iter().any(|test| code.contains(test)) {
            findings.push(file.finding(line, "this test never runs: `test = false` in Cargo.toml"));
        }
        for unfinished in UNFINISHED.into_iter().filter(|word| has_word(code, word)) {
            findings.push(file.finding(
                line,
                format!("`{unfinished}` is not permitted in the repository"),
            ));
        }
    }
    findings
}

pub(super) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|part| TEST_DIRECTORIES.contains(&part))
}

/// Returns `true` if `word` occurs and is not the end of a longer name, such as `my_todo!`.
fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[usize]) {
        let file = File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let findings = super::check(&file, &Source::new(text));
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, expected, "{path}: {text}");
    }

    #[test]
    fn unfinished_code_is_found() {
        check("a/src/b.rs", "fn f() {\n    todo!()\n}", &[2]);
        check("a/src/b.rs", "unimplemented!(); dbg!(1);", &[1, 1]);
        check(
            "a/tests/b.rs",
            "#[test]\n#[ignore = \"slow\"]\nfn f() {}",
            &[2],
        );
        check("a/src/b.rs", "// todo!\nlet a = \"dbg!\"; my_dbg!();", &[]);
    }

    #[test]
    fn tests_that_never_run_are_found() {
        check("bench/src/bin/a.rs", "#[cfg(test)]\nmod tests {}", &[1]);
        check(
            "conformance/src/bin/a/b.rs",
            "#[tokio::test(start_paused = true)]\nasync fn f() {}",
            &[1],
        );
        check("bench/src/load.rs", "#[test]\nfn f() {}", &[]);
        check("examples/src/lib.rs", "// #[test]", &[]);
    }

    #[test]
    fn long_files_are_found() {
        check("a/src/b.rs", &"\n".repeat(MAX_LINES), &[]);
        check("a/src/b.rs", &"\n".repeat(MAX_LINES + 1), &[MAX_LINES + 1]);
    }
}
