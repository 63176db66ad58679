//! Compares pages with the code: the tables of error codes and HTTP statuses, and the messages of the troubleshooting page.

use std::collections::BTreeSet;
use std::path::Path;

use super::{files_below, read};
use crate::steps::Outcome;

const ERRORS: &str = "docs/reference/errors.md";
const TROUBLESHOOTING: &str = "docs/troubleshooting.md";

/// The files with the constants of the error codes.
const CODES: [&str; 2] = [
    "crates/toolwire-types/src/jsonrpc.rs",
    "crates/toolwire-types/src/events/errors.rs",
];

/// The starts of the paths of files that send HTTP statuses to clients.
const SERVERS: [&str; 3] = [
    "toolwire/src/transport/http/",
    "toolwire-auth/src/",
    "toolwire-gateway/src/",
];

/// Parts of the paths of files below [`SERVERS`] that receive HTTP statuses.
const CLIENTS: [&str; 5] = [
    "/src/client/",
    "/src/fetch/",
    "/provider_tokens/",
    "/upstream_client/",
    "/connect/credentials.rs",
];

/// The statuses of errors, by the name of their constant in the crate `http`.
const STATUSES: [(&str, u16); 15] = [
    ("BAD_REQUEST", 400),
    ("UNAUTHORIZED", 401),
    ("FORBIDDEN", 403),
    ("NOT_FOUND", 404),
    ("METHOD_NOT_ALLOWED", 405),
    ("NOT_ACCEPTABLE", 406),
    ("REQUEST_TIMEOUT", 408),
    ("PAYLOAD_TOO_LARGE", 413),
    ("UNSUPPORTED_MEDIA_TYPE", 415),
    ("TOO_MANY_REQUESTS", 429),
    ("REQUEST_HEADER_FIELDS_TOO_LARGE", 431),
    ("INTERNAL_SERVER_ERROR", 500),
    ("BAD_GATEWAY", 502),
    ("SERVICE_UNAVAILABLE", 503),
    ("GATEWAY_TIMEOUT", 504),
];

/// The constants of other statuses.
const NO_ERRORS: [&str; 8] = [
    "ACCEPTED",
    "CONTINUE",
    "CREATED",
    "NOT_MODIFIED",
    "NO_CONTENT",
    "OK",
    "RESET_CONTENT",
    "SEE_OTHER",
];

/// The crate with the tests of the library.
const TEST_CRATE: &str = "toolwire-tests/";

/// Shorter parts of a message could be anywhere.
const SHORTEST_PART: usize = 8;

/// Returns a finding for each code without a row, and for each message that no source contains.
pub(super) fn check(root: &Path) -> Outcome<Vec<String>> {
    let errors = read(&root.join(ERRORS))?;
    let mut codes = String::new();
    for file in CODES {
        codes.push_str(&read(&root.join(file))?);
    }
    let mut findings = differing_codes(&codes, &errors);
    let (mut sources, mut servers) = (String::new(), String::new());
    for file in files_below(&root.join("crates"))? {
        if is_shipped(&file) {
            let source = read(&root.join("crates").join(&file))?;
            let source = without_tests(&source);
            sources.push_str(source);
            if is_server(&file) {
                servers.push_str(source);
            }
        }
    }
    findings.extend(differing_statuses(&servers, &errors));
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

/// Returns `true` for a source file whose HTTP statuses are sent to clients.
fn is_server(file: &str) -> bool {
    let is_below = SERVERS.iter().any(|start| file.starts_with(start));
    is_below && !CLIENTS.iter().any(|part| file.contains(part))
}

/// Finds constants without a row, and rows with a code and a name that are no constant.
fn differing_codes(source: &str, page: &str) -> Vec<String> {
    let constants = source.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("pub const ")?;
        let (name, value) = rest.split_once(": i64 = ")?;
        Some((name, value.strip_suffix(';')?.replace('-', "−")))
    });
    let expected: Vec<String> = constants
        .map(|(name, value)| format!("| {value} | `{name}` |"))
        .collect();
    let missing = expected.iter().filter(|row| !page.contains(*row));
    let mut findings: Vec<String> = missing
        .map(|row| format!("{ERRORS} has no row `{row}`"))
        .collect();
    let rows = page.lines().filter(|line| line.starts_with("| −"));
    let unknown = rows.filter(|line| !expected.iter().any(|row| line.starts_with(row)));
    findings.extend(unknown.map(|line| format!("{ERRORS}: no constant is in the row `{line}`")));
    findings
}

/// Finds statuses that a server sends and the page does not have, and the other way round.
fn differing_statuses(source: &str, page: &str) -> Vec<String> {
    let names = source.split("StatusCode::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    });
    // The others are functions, such as `from_u16`.
    let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    let mut findings = Vec::new();
    let mut sent = BTreeSet::new();
    for name in names {
        match STATUSES.iter().find(|(known, _)| *known == name) {
            Some((_, status)) => {
                sent.insert(status.to_string());
            }
            None if NO_ERRORS.contains(&name) => {}
            None => findings.push(format!(
                "the status {name} of a server is not in xtask/src/docs/reference.rs"
            )),
        }
    }
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let cells = cells.filter(|cell| cell.starts_with(|c: char| c.is_ascii_digit()));
    let described: BTreeSet<String> = cells
        .flat_map(|cell| cell.split(", "))
        .map(str::to_owned)
        .collect();
    let missing = sent.difference(&described);
    findings.extend(missing.map(|status| format!("{ERRORS} has no row for the status {status}")));
    let unsent = described.difference(&sent);
    findings.extend(unsent.map(|status| format!("{ERRORS}: no server sends the status {status}")));
    findings
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
        let findings = differing_codes(source, "| −5 | `A` | x |\n| −7 | `C` | x |");
        assert_eq!(
            findings,
            [
                "docs/reference/errors.md has no row `| −6 | `B` |`",
                "docs/reference/errors.md: no constant is in the row `| −7 | `C` | x |`"
            ]
        );
        let page = "| `host … is refused here` | x |\n| plain | y |\n";
        assert!(missing_messages(page, "f(\"is refused here\")").is_empty());
        assert_eq!(missing_messages(page, "").len(), 1);
    }

    #[test]
    fn statuses_of_servers_and_of_the_page_are_compared() {
        let source =
            "StatusCode::OK, StatusCode::FORBIDDEN, StatusCode::from_u16(1), StatusCode::NOT_FOUND";
        let check = |page: &str, expected: &[&str]| {
            assert_eq!(differing_statuses(source, page), expected, "{page}");
        };
        check("| 403, 404 | x |", &[]);
        check(
            "| 403 | x |\n| 502 | y |\n| −1 | z |",
            &[
                "docs/reference/errors.md has no row for the status 404",
                "docs/reference/errors.md: no server sends the status 502",
            ],
        );
        assert_eq!(differing_statuses("StatusCode::LOCKED", "").len(), 1);
        assert!(is_server("toolwire-gateway/src/connect/pages.rs"));
        assert!(!is_server("toolwire-auth/src/client/discovery.rs"));
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
