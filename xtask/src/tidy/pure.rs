//! Keeps the rules free of effects: no IO, no async code, no locks, no clocks, no random numbers.

use super::source::{Source, line_at};
use super::{File, Finding, code};

/// The folders that contain only rules.
const RULES: [&str; 2] = [
    "crates/toolwire-proto/src/",
    "crates/toolwire-auth/src/rules/",
];

/// Code that has an effect, or waits for one.
const EFFECTS: [&str; 15] = [
    "tokio::",
    "tracing::",
    "getrandom::",
    "async fn",
    "async move",
    ".await",
    "std::fs",
    "std::io",
    "std::net::Tcp",
    "std::net::Udp",
    "std::thread",
    "Mutex",
    "RwLock",
    "SystemTime::now",
    "Instant::now",
];

pub(super) fn check(file: &File, source: &Source) -> Vec<Finding> {
    let is_rule = RULES.iter().any(|folder| file.path.starts_with(folder));
    if !is_rule || code::is_test(&file.path) || file.path.ends_with("untrusted_text.rs") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for effect in EFFECTS {
        for (at, _) in source.shipped_code.match_indices(effect) {
            let line = line_at(&source.shipped_code, at);
            findings.push(file.finding(
                line,
                format!("rules have no effects, but this uses `{effect}`"),
            ));
        }
    }
    findings
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
    fn rules_may_not_have_effects() {
        let clock = "fn f() {\n    let now = Instant::now();\n}";
        check("crates/toolwire-proto/src/a.rs", clock, &[2]);
        check("crates/toolwire-auth/src/rules/a/mod.rs", clock, &[2]);
        check("crates/toolwire-auth/src/client/mod.rs", clock, &[]);
        check("crates/toolwire-proto/src/a/tests.rs", clock, &[]);
        check(
            "crates/toolwire-proto/src/a.rs",
            "use std::sync::{Arc, Mutex};",
            &[1],
        );
        check(
            "crates/toolwire-proto/src/a.rs",
            "async fn f() {\n    g().await\n}",
            &[1, 2],
        );
        check(
            "crates/toolwire-proto/src/a.rs",
            "// tokio::spawn\nfn f() {}",
            &[],
        );
    }
}
