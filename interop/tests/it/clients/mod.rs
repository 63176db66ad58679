//! Real clients against `toolwire demo`, one test per SDK, transport and revision; and against the example `onboarding`.
//!
//! Every check a revision must have is named here, so a script that skips some, or does nothing, fails its test. The
//! lists depend on the revision and the transport alone: each SDK does all of it. What an SDK cannot do is speak some
//! revisions: TypeScript 1.x and Python always offer their newest handshake, 2025-11-25, and TypeScript 1.x has no
//! 2026-07-28.

mod http;
mod onboarding;
mod stdio;

use toolwire_interop::{Peer, Subject, Wire};

/// What a client of any revision can do.
const EVERYWHERE: [&str; 26] = [
    "negotiate",
    "list_tools",
    "call_echo",
    "call_add",
    "parallel_calls",
    "tool_failure",
    "handler_panic",
    "unknown_tool",
    "invalid_arguments",
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
    "list_changed",
    "no_transport_errors",
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

/// What has to do with the pipes of a process.
const STDIO_ONLY: [&str; 2] = ["stray_print", "exit_on_close"];

/// What has to do with connections that come and go.
const HTTP_ONLY: [&str; 6] = [
    "progress_is_streamed",
    "parallel_sessions",
    "origin_refused",
    "server_sent_away",
    "close",
    "exit_on_signal",
];

/// Sessions, and streams that are resumed, which came with 2025-03-26, and which 2026-07-28 took away.
const HTTP_SESSIONS: [&str; 4] = [
    "cancelled_stream_ends",
    "resume_after_cut",
    "listening_resumes",
    "session_end",
];

fn check(peer: Peer, wire: Wire, mode: &str) {
    let mut expected: Vec<&str> = EVERYWHERE.to_vec();
    match wire {
        Wire::Http => expected.extend(HTTP_ONLY),
        _ => expected.extend(STDIO_ONLY),
    }
    if mode >= "2025-06-18" {
        // `auto` sorts behind the dates, and finds the newest revision.
        expected.extend(SINCE_2025_06_18);
    } else {
        expected.extend(BEFORE_2025_06_18);
    }
    if mode < "2026" {
        expected.extend(HANDSHAKE_ONLY);
    }
    if wire == Wire::Http && ("2025-03-26".."2026").contains(&mode) {
        expected.extend(HTTP_SESSIONS);
    }
    run(peer, &Subject::Demo, wire, mode, expected);
}

/// Runs the peer. All checks must hold, and be the expected ones.
fn run(peer: Peer, subject: &Subject, wire: Wire, mode: &str, mut expected: Vec<&str>) {
    expected.sort_unstable();
    let checks = peer
        .run(subject, wire, mode)
        .unwrap_or_else(|problem| panic!("{problem}"));
    let failed: Vec<String> = checks
        .iter()
        .filter(|check| !check.ok)
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect();
    assert!(
        failed.is_empty(),
        "{peer:?} in {mode} over {wire:?}:\n{}",
        failed.join("\n")
    );

    let mut reported: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    reported.sort_unstable();
    assert_eq!(
        reported, expected,
        "{peer:?} in {mode} over {wire:?} ran other checks"
    );
}
