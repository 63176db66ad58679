//! Independent clients with `toolwire demo`, one test per SDK, transport and revision, also through `toolwire proxy`, and
//! with the example `onboarding`.
//!
//! Every check of a revision is named here, so that a script that omits a check fails its test. The lists depend only
//! on the revision and the transport: each SDK runs all checks. An SDK may not support some revisions: TypeScript 1.x
//! and Python always offer their newest legacy revision, 2025-11-25, and TypeScript 1.x has no 2026-07-28.

mod http;
mod onboarding;
mod proxy;
mod stdio;

use toolwire_interop::{Check, Peer, Subject, Wire};

/// Checks for clients of any revision.
const EVERY_REVISION: [&str; 26] = [
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

/// Checks of structured results and elicitation, new in 2025-06-18.
///
/// `confirm` returns its input request in every revision. `approve` sends a request while it runs, if the revision
/// permits it.
const SINCE_2025_06_18: [&str; 7] = [
    "structured_result",
    "elicit_accept",
    "elicit_decline",
    "elicit_cancel",
    "approve_accept",
    "approve_decline",
    "approve_cancel",
];

/// A server must not send an elicitation if the revision has none.
const BEFORE_2025_06_18: [&str; 1] = ["elicit_unsupported"];

/// Checks of features that 2026-07-28 removed.
const LEGACY_ONLY: [&str; 1] = ["ping"];

/// Checks of a server process on stdio.
const STDIO_ONLY: [&str; 2] = ["stray_print", "exit_on_close"];

/// Checks of HTTP connections and streams.
const HTTP_ONLY: [&str; 6] = [
    "progress_is_streamed",
    "parallel_sessions",
    "origin_rejected",
    "released_stream",
    "close",
    "exit_on_signal",
];

/// Checks of sessions and resumed streams, which exist from 2025-03-26 to 2025-11-25.
const HTTP_SESSIONS: [&str; 4] = [
    "cancelled_stream_ends",
    "resume_after_cut",
    "listening_resumes",
    "session_end",
];

fn check(peer: Peer, wire: Wire, mode: &str) {
    run(peer, &Subject::Demo, wire, mode, expected(wire, mode));
}

/// Returns the names of the checks of a revision.
pub(crate) fn expected(wire: Wire, mode: &str) -> Vec<&'static str> {
    let mut expected: Vec<&str> = EVERY_REVISION.to_vec();
    match wire {
        Wire::Http => expected.extend(HTTP_ONLY),
        _ => expected.extend(STDIO_ONLY),
    }
    if mode >= "2025-06-18" {
        // `auto` sorts after the dates, and selects the newest revision.
        expected.extend(SINCE_2025_06_18);
    } else {
        expected.extend(BEFORE_2025_06_18);
    }
    if mode < "2026" {
        expected.extend(LEGACY_ONLY);
    }
    if wire == Wire::Http && ("2025-03-26".."2026").contains(&mode) {
        expected.extend(HTTP_SESSIONS);
    }
    expected
}

/// Runs the peer, and requires that exactly the expected checks ran and succeeded.
pub(crate) fn run(peer: Peer, subject: &Subject, wire: Wire, mode: &str, expected: Vec<&str>) {
    let checks = peer
        .run(subject, wire, mode)
        .unwrap_or_else(|problem| panic!("{problem}"));
    judge(
        &checks,
        expected,
        &format!("{peer:?} in {mode} over {wire:?}"),
    );
}

/// Requires that exactly the expected checks ran and succeeded.
pub(crate) fn judge(checks: &[Check], mut expected: Vec<&str>, run: &str) {
    expected.sort_unstable();
    let failed = Check::failures(checks);
    assert!(failed.is_empty(), "{run}:\n{}", failed.join("\n"));

    let mut reported: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    reported.sort_unstable();
    assert_eq!(reported, expected, "{run} ran other checks");
}
