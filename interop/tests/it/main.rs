//! Real clients against `toolwire demo --stdio`, one test per SDK and revision.
//!
//! Every check a revision must have is named here, so a script that skips some, or does nothing, fails its test. The
//! lists depend on the revision alone: each SDK does all of it. What an SDK cannot do is speak some revisions:
//! TypeScript 1.x and Python always offer their newest handshake, 2025-11-25, and TypeScript 1.x has no 2026-07-28.

use toolwire_interop::Peer;

/// What a client of any revision can do.
const EVERYWHERE: [&str; 27] = [
    "negotiate",
    "list_tools",
    "call_echo",
    "call_add",
    "parallel_calls",
    "tool_failure",
    "handler_panic",
    "unknown_tool",
    "invalid_arguments",
    "stray_print",
    "large_result",
    "annotated_arguments",
    "list_resources",
    "read_resource",
    "read_template",
    "missing_resource",
    "prompt",
    "unknown_prompt",
    "complete",
    "progress",
    "cancel",
    "sampling",
    "logging",
    "subscribe",
    "unsubscribe",
    "no_transport_errors",
    "exit_on_close",
];

/// Structured results and elicitation, which came with 2025-06-18.
///
/// `confirm` returns what it wants to know on every revision; `approve` asks while it runs where the revision can.
const SINCE_2025_06_18: [&str; 7] = [
    "structured_result",
    "elicit_accept",
    "elicit_refuse",
    "elicit_cancel",
    "approve_accept",
    "approve_refuse",
    "approve_cancel",
];

/// A server must not ask where the revision has no word for it.
const BEFORE_2025_06_18: [&str; 1] = ["elicit_impossible"];

/// What 2026-07-28 took away.
const HANDSHAKE_ONLY: [&str; 1] = ["ping"];

fn check(peer: Peer, mode: &str) {
    let mut expected: Vec<&str> = EVERYWHERE.to_vec();
    if mode >= "2025-06-18" {
        // `auto` sorts behind the dates, and finds the newest revision.
        expected.extend(SINCE_2025_06_18);
    } else {
        expected.extend(BEFORE_2025_06_18);
    }
    if mode < "2026" {
        expected.extend(HANDSHAKE_ONLY);
    }
    expected.sort_unstable();

    let checks = peer.run(mode).unwrap_or_else(|problem| panic!("{problem}"));
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| !check.ok)
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect();
    assert!(
        failed.is_empty(),
        "{peer:?} in {mode}:\n{}",
        failed.join("\n")
    );

    let mut reported: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    reported.sort_unstable();
    assert_eq!(reported, expected, "{peer:?} in {mode} ran other checks");
}

#[test]
fn typescript_2_finds_the_newest_revision() {
    check(Peer::TypeScript2, "auto");
}

#[test]
fn typescript_2_speaks_2026_07_28() {
    check(Peer::TypeScript2, "2026-07-28");
}

#[test]
fn typescript_2_speaks_2025_11_25() {
    check(Peer::TypeScript2, "2025-11-25");
}

#[test]
fn typescript_2_speaks_2025_06_18() {
    check(Peer::TypeScript2, "2025-06-18");
}

#[test]
fn typescript_2_speaks_2025_03_26() {
    check(Peer::TypeScript2, "2025-03-26");
}

#[test]
fn typescript_2_speaks_2024_11_05() {
    check(Peer::TypeScript2, "2024-11-05");
}

#[test]
fn typescript_1_speaks_2025_11_25() {
    check(Peer::TypeScript1, "2025-11-25");
}

#[test]
fn python_finds_the_newest_revision() {
    check(Peer::Python, "auto");
}

#[test]
fn python_speaks_2026_07_28() {
    check(Peer::Python, "2026-07-28");
}

#[test]
fn python_speaks_2025_11_25() {
    check(Peer::Python, "2025-11-25");
}
