//! Compares pages with the code: the table of error codes, and the messages of the troubleshooting page.

use std::path::Path;

use super::{files_below, read};
use crate::steps::Outcome;

const ERRORS: &str = "docs/reference/errors.md";
const TROUBLESHOOTING: &str = "docs/troubleshooting.md";

/// The file with the constants of the error codes.
const CODES: &str = "crates/toolwire-types/src/jsonrpc.rs";

/// The crate with the tests of the library.
const TEST_CRATE: &str = "toolwire-tests/";

/// Shorter parts of a message could be anywhere.
const SHORTEST_PART: usize = 8;

/// Returns a finding for each code without a row, and for each message that no source contains.
pub(super) fn check(root: &Path) -> Outcome<Vec<String>> {
    let mut findings = missing_codes(&read(&root.join(CODES))?, &read(&root.join(ERRORS))?);
    let mut sources = String::new();
    for file in files_below(&root.join("crates"))? {
        if is_shipped(&file) {
            let source = read(&root.join("crates").join(file))?;
            sources.push_str(without_tests(&source));
        }
    }
    let page = read(&root.join(TROUBLESHOOTING))?;
    findings.extend(missing_messages(&page, &sources));
    Ok(findings)
}

/// Returns `true` for a source file that is not a test. A message in a test alone is not one that users see.
fn is_shipped(file: &str) -> bool {
    let is_test = file.contains("/tests/") || file.ends_with("/tests.rs");
    file.ends_with(".rs") && file.contains("/src/") && !is_test && !file.starts_with(TEST_CRATE)
}

/// Returns a source file up to its tests, which are at its end.
fn without_tests(source: &str) -> &str {
    let tests = source.find("\n#[cfg(test)]\nmod tests {");
    &source[..tests.unwrap_or(source.len())]
}

fn missing_codes(source: &str, page: &str) -> Vec<String> {
    let constants = source.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("pub const ")?;
        let (name, value) = rest.split_once(": i64 = ")?;
        Some((name, value.strip_suffix(';')?.replace('-', "−")))
    });
    let rows = constants.map(|(name, value)| format!("| {value} | `{name}` |"));
    rows.filter(|row| !page.contains(row))
        .map(|row| format!("{ERRORS} has no row `{row}`"))
        .collect()
}

/// Finds the messages: code at the start of a row, with `…` for the parts that vary.
fn missing_messages(page: &str, sources: &str) -> Vec<String> {
    let messages = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let parts = messages.flat_map(|message| message.split('…'));
    parts
        .filter(|part| part.len() >= SHORTEST_PART && !sources.contains(part.trim()))
        .map(|part| format!("{TROUBLESHOOTING}: no source contains the message `{part}`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rows_and_messages_are_found() {
        let source = "    pub const A: i64 = -5;\n    pub const B: i64 = -6;\n";
        let findings = missing_codes(source, "| −5 | `A` | x |");
        assert_eq!(
            findings,
            ["docs/reference/errors.md has no row `| −6 | `B` |`"]
        );
        let page = "| `host … is refused here` | x |\n| plain | y |\n";
        assert!(missing_messages(page, "f(\"is refused here\")").is_empty());
        assert_eq!(missing_messages(page, "").len(), 1);
    }

    #[test]
    fn messages_of_tests_do_not_count() {
        assert!(is_shipped("toolwire/src/server/mod.rs"));
        for test in [
            "toolwire/tests/it/main.rs",
            "toolwire/src/server/tests.rs",
            "toolwire/src/server/tests/calls.rs",
            "toolwire-tests/src/lib.rs",
        ] {
            assert!(!is_shipped(test), "{test}");
        }
        let source = "f();\n#[cfg(test)]\nmod tests {\n    f(\"message\");\n}\n";
        assert_eq!(without_tests(source), "f();");
    }
}
