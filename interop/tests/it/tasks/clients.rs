//! The tasks client of the TypeScript SDK with `toolwire demo`.

use toolwire_interop::{Peer, Subject, Wire};

use crate::clients::run;

/// Returns the names of the checks of a revision.
pub(crate) fn expected(wire: Wire, revision: &str) -> Vec<&'static str> {
    let mut expected = vec![
        "negotiate",
        "task_completes",
        "task_is_cancelled",
        "task_has_tool_error",
        "unknown_task",
        "no_transport_errors",
    ];
    if revision == "2026-07-28" {
        expected.push("task_asks");
    }
    match wire {
        Wire::Http => expected.extend(["close", "exit_on_signal"]),
        _ => expected.push("exit_on_close"),
    }
    expected
}

fn check(wire: Wire, revision: &str) {
    let expected = expected(wire, revision);
    run(
        Peer::TypeScriptTasks,
        &Subject::Demo,
        wire,
        revision,
        expected,
    );
}

#[test]
fn typescript_tasks_in_2026_07_28_over_stdio() {
    check(Wire::Stdio, "2026-07-28");
}

#[test]
fn typescript_tasks_in_2026_07_28_over_http() {
    check(Wire::Http, "2026-07-28");
}

#[test]
fn typescript_tasks_in_2025_11_25_over_stdio() {
    check(Wire::Stdio, "2025-11-25");
}

#[test]
fn typescript_tasks_in_2025_11_25_over_http() {
    check(Wire::Http, "2025-11-25");
}
