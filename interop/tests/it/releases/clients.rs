//! Releases as clients of `toolwire demo`.

use toolwire_interop::ServerWire::{self, Http, Sse, Stdio};
use toolwire_interop::{Check, RELEASES};

use super::{Role, assert_same_roles, release};

/// The checks of every client.
const CHECKS: [&str; 10] = [
    "negotiate",
    "list_tools",
    "call_tool",
    "tool_error",
    "unknown_tool",
    "list_resources",
    "read_resource",
    "missing_resource",
    "get_prompt",
    "close",
];

/// The checks of tasks, before the client closes.
const TASK_CHECKS: [&str; 5] = [
    "task_completes",
    "task_asks",
    "task_is_cancelled",
    "task_has_tool_error",
    "unknown_task",
];

/// The only release with the tasks of 2026-07-28.
const WITH_TASKS: (&str, &str) = ("rmcp", "2026-07-28");

fn check(name: &str, wire: ServerWire, revision: &str) {
    let release = release(name);
    let role = release
        .clients
        .iter()
        .find(|role| role.wire == wire && role.revision == revision)
        .unwrap_or_else(|| panic!("{name} is not listed as a client over {wire:?} in {revision}"));
    let checks = release
        .run_client(role)
        .unwrap_or_else(|problem| panic!("{name} over {wire:?}: {problem}"));
    let failed = Check::failures(&checks);
    assert!(
        failed.is_empty(),
        "{name} {} over {wire:?} in {revision}:\n{}",
        release.version,
        failed.join("\n")
    );

    let mut expected = CHECKS.to_vec();
    if (name, revision) == WITH_TASKS {
        let close = expected.len() - 1;
        expected.splice(close..close, TASK_CHECKS);
    }
    expected.push(match wire {
        Stdio => "exit_on_close",
        _ => "exit_on_signal",
    });
    let ran: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(ran, expected, "{name} over {wire:?} ran other checks");
}

/// One test: the release, the transport, and the revision.
macro_rules! clients {
    ($($test:ident: $name:literal, $wire:ident, $revision:literal;)*) => {
        const TESTED: &[Role] = &[$(($name, $wire, $revision)),*];

        $(
            #[test]
            fn $test() {
                check($name, $wire, $revision);
            }
        )*
    };
}

clients! {
    python_sdk_1_0_over_stdio: "Python SDK 1.0", Stdio, "2024-11-05";
    python_sdk_1_0_over_sse: "Python SDK 1.0", Sse, "2024-11-05";
    python_sdk_1_6_over_stdio: "Python SDK 1.6", Stdio, "2024-11-05";
    python_sdk_1_6_over_sse: "Python SDK 1.6", Sse, "2024-11-05";
    python_sdk_1_15_over_stdio: "Python SDK 1.15", Stdio, "2025-06-18";
    python_sdk_1_15_over_http: "Python SDK 1.15", Http, "2025-06-18";
    python_sdk_1_15_over_sse: "Python SDK 1.15", Sse, "2025-06-18";
    python_sdk_1_30_over_stdio: "Python SDK 1.30", Stdio, "2025-11-25";
    python_sdk_1_30_over_http: "Python SDK 1.30", Http, "2025-11-25";
    typescript_sdk_0_6_over_stdio: "TypeScript SDK 0.6", Stdio, "2024-11-05";
    typescript_sdk_0_6_over_sse: "TypeScript SDK 0.6", Sse, "2024-11-05";
    typescript_sdk_1_0_over_stdio: "TypeScript SDK 1.0", Stdio, "2024-11-05";
    typescript_sdk_1_0_over_sse: "TypeScript SDK 1.0", Sse, "2024-11-05";
    typescript_sdk_1_10_over_stdio: "TypeScript SDK 1.10", Stdio, "2024-11-05";
    typescript_sdk_1_10_over_http: "TypeScript SDK 1.10", Http, "2024-11-05";
    typescript_sdk_1_20_over_stdio: "TypeScript SDK 1.20", Stdio, "2025-06-18";
    typescript_sdk_1_20_over_http: "TypeScript SDK 1.20", Http, "2025-06-18";
    fastmcp_2_14_over_stdio: "FastMCP 2.14", Stdio, "2025-11-25";
    fastmcp_2_14_over_http: "FastMCP 2.14", Http, "2025-11-25";
    fastmcp_3_4_over_stdio: "FastMCP 3.4", Stdio, "2025-11-25";
    fastmcp_3_4_over_http: "FastMCP 3.4", Http, "2025-11-25";
    fastmcp_4_1_over_stdio: "FastMCP 4.1", Stdio, "2026-07-28";
    fastmcp_4_1_over_http: "FastMCP 4.1", Http, "2026-07-28";
    rmcp_over_stdio: "rmcp", Stdio, "2026-07-28";
    rmcp_over_stdio_in_2025_11_25: "rmcp", Stdio, "2025-11-25";
    rmcp_over_http: "rmcp", Http, "2026-07-28";
    rmcp_over_http_in_2025_11_25: "rmcp", Http, "2025-11-25";
    inspector_over_stdio: "Inspector", Stdio, "2025-11-25";
    inspector_over_http: "Inspector", Http, "2025-11-25";
    inspector_over_http_in_2026_07_28: "Inspector", Http, "2026-07-28";
    inspector_over_sse: "Inspector", Sse, "2025-11-25";
}

#[test]
fn every_listed_client_has_a_test() {
    let roles = |release: &'static toolwire_interop::Release| {
        let role =
            |role: &'static toolwire_interop::ClientRole| (release.name, role.wire, role.revision);
        release.clients.iter().map(role)
    };
    assert_same_roles(TESTED, RELEASES.iter().flat_map(roles));
}
