//! Toolwire's client with independent servers, one test per server, transport and revision.
//!
//! A table names every check, with the revisions and transports that it needs. Another table names the features that a
//! server lacks, with the reason. A test runs all its checks, so a failure lists every failed check with server,
//! transport and revision.

mod client_requests;
mod disconnections;
mod everything;
mod input_requests;
mod notifications;
mod other_servers;
pub(crate) mod pair;

use std::pin::Pin;
use std::time::Duration;

use toolwire::ProtocolVersion;
use toolwire::VersionFeatures;
use toolwire_interop::ServerPeer::{self, Everything, Python, TypeScript1, TypeScript2};
use toolwire_interop::ServerWire::{self, Http, Sse, Stateless, Stdio};

use self::pair::{Outcome, Pair, Route, Setting};

/// Longer than a check needs on a busy machine. Most take milliseconds.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// A check of the client with any of the servers.
struct Check {
    name: &'static str,
    needs: fn(ProtocolVersion, ServerWire) -> bool,
    run: for<'a> fn(&'a Pair) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>,
}

/// A table of checks: the revisions and transports, then the name.
macro_rules! checks {
    ($($module:ident::$name:ident: $needs:expr),* $(,)?) => {
        &[$(Check {
            name: stringify!($name),
            needs: $needs,
            run: |pair| Box::pin($module::$name(pair)),
        }),*]
    };
}

/// The checks for the servers of the SDKs, in this order.
const CHECKS: &[Check] = checks! {
    client_requests::returns_server_info: |_, _| true,
    client_requests::lists_tools: |_, _| true,
    client_requests::calls_a_tool: |_, _| true,
    client_requests::calls_in_parallel: |_, _| true,
    client_requests::carries_large_messages: |_, _| true,
    client_requests::reads_structured_results: |version, _| version.has_structured_output(),
    client_requests::failing_tool_is_a_result: |_, _| true,
    client_requests::unknown_tool_is_an_error: |_, _| true,
    client_requests::mirrors_arguments_into_headers: |_, _| true,
    client_requests::follows_pages: |_, _| true,
    client_requests::reads_resources: |_, _| true,
    client_requests::caches_results: |_, _| true,
    client_requests::reads_templates: |_, _| true,
    client_requests::missing_resource_is_an_error: |_, _| true,
    client_requests::gets_prompts: |_, _| true,
    client_requests::completes: |_, _| true,
    client_requests::pings: |_, _| true,
    client_requests::starts_from_a_detected_era: |_, wire| wire != Stdio,
    notifications::receives_progress: |_, _| true,
    notifications::dropped_call_is_cancelled: |_, _| true,
    notifications::receives_log_messages: |_, _| true,
    notifications::resumes_a_released_stream: |version, wire| wire == Http && version.has_priming_event(),
    input_requests::elicits_and_fills_in_defaults: |version, _| version.has_elicitation(),
    input_requests::elicitation_is_declined: |version, _| version.has_elicitation(),
    input_requests::elicitation_is_cancelled: |version, _| version.has_elicitation(),
    input_requests::elicitation_is_not_declared: |version, _| !version.has_elicitation(),
    input_requests::asks_twice: |version, _| version.has_elicitation(),
    input_requests::asks_in_parallel: |version, _| version.has_elicitation(),
    input_requests::resource_requests_input: |version, _| version.has_elicitation(),
    input_requests::prompt_requests_input: |version, _| version.has_elicitation(),
    input_requests::samples: |_, _| true,
    input_requests::lists_roots: |_, _| true,
    notifications::receives_resource_changes: |_, _| true,
    notifications::receives_list_changes: |_, _| true,
    disconnections::resumes_a_cut_stream: |version, wire| wire == Http && version.has_resumable_streams(),
    disconnections::cut_stream_is_an_error: |version, wire| wire == Http && !version.has_resumable_streams(),
    disconnections::resumes_listening_after_a_cut: |_, wire| wire == Http,
    disconnections::survives_a_restart: |_, wire| wire == Http,
    disconnections::dropped_client_ends_its_child: |_, wire| wire == Stdio && cfg!(unix),
    disconnections::closed_client_rejects_calls: |_, _| true,
};

/// The checks for the reference server.
const REFERENCE_SERVER_CHECKS: &[Check] = checks! {
    client_requests::returns_server_info: |_, _| true,
    everything::lists: |_, _| true,
    everything::calls_tools: |_, _| true,
    everything::reads_structured_results: |_, _| true,
    everything::reads_resources: |_, _| true,
    everything::gets_prompts_and_completes: |_, _| true,
    everything::receives_progress: |_, _| true,
    everything::dropped_call_does_not_affect_others: |_, _| true,
    everything::elicits: |_, _| true,
    everything::elicits_a_url: |_, _| true,
    everything::url_elicitation_is_an_error: |_, _| true,
    everything::samples: |_, _| true,
    everything::lists_roots: |_, _| true,
    everything::receives_resource_changes: |_, _| true,
    everything::receives_log_messages: |_, _| true,
    everything::pings: |_, _| true,
    disconnections::closed_client_rejects_calls: |_, _| true,
};

/// A feature that a server lacks although its revision has it.
struct MissingFeature {
    peer: ServerPeer,
    wire: ServerWire,
    versions: fn(ProtocolVersion) -> bool,
    checks: &'static [&'static str],
    #[expect(dead_code, reason = "it documents the table")]
    reason: &'static str,
}

const MISSING_FEATURES: &[MissingFeature] = &[
    MissingFeature {
        peer: TypeScript2,
        wire: Stateless,
        versions: VersionFeatures::is_legacy,
        checks: &[
            "elicits_and_fills_in_defaults",
            "elicitation_is_declined",
            "elicitation_is_cancelled",
            "asks_twice",
            "asks_in_parallel",
            "resource_requests_input",
            "prompt_requests_input",
            "samples",
            "lists_roots",
        ],
        reason: "each request is served separately, so the server does not know the client's capabilities",
    },
    MissingFeature {
        peer: TypeScript2,
        wire: Stateless,
        versions: VersionFeatures::is_legacy,
        checks: &["dropped_call_is_cancelled"],
        reason: "each request is served separately, so the cancellation does not find its call",
    },
    MissingFeature {
        peer: TypeScript2,
        wire: Stateless,
        versions: VersionFeatures::is_legacy,
        checks: &["receives_resource_changes", "receives_list_changes"],
        reason: "there is no server stream: GET returns 405",
    },
];

/// Checks that a connection through a proxy does not have.
struct ExcludedChecks {
    applies: fn(Setting) -> bool,
    checks: &'static [&'static str],
    #[expect(dead_code, reason = "it documents the table")]
    reason: &'static str,
}

const NOT_THROUGH_A_PROXY: &[ExcludedChecks] = &[
    ExcludedChecks {
        applies: |_| true,
        checks: &[
            "starts_from_a_detected_era",
            "resumes_a_cut_stream",
            "cut_stream_is_an_error",
            "resumes_listening_after_a_cut",
            "survives_a_restart",
        ],
        reason: "they connect to the server itself, or restart it",
    },
    ExcludedChecks {
        applies: is_modern_client_of_legacy_server,
        checks: &["caches_results"],
        reason: "a legacy server sends no cache hints, so the proxy sends those that prevent caching",
    },
    ExcludedChecks {
        applies: is_modern_client_of_legacy_server,
        checks: &["url_elicitation_is_an_error"],
        reason: "the error becomes an input request",
    },
    ExcludedChecks {
        applies: |setting| {
            let is_of_one_session = setting.wire == Stdio || setting.peer == Everything;
            is_of_one_session && is_modern_client_of_legacy_server(setting)
        },
        checks: &["receives_resource_changes"],
        reason: "the subscription has another session than the call that changes the resource",
    },
    ExcludedChecks {
        applies: |setting| setting.wire == Stdio && is_modern_client_of_legacy_server(setting),
        checks: &["dropped_call_is_cancelled"],
        reason: "the process of a cancelled call ends, and it has the count of the cancellations",
    },
    ExcludedChecks {
        applies: |setting| setting.route == Route::HttpProxy,
        checks: &["dropped_client_ends_its_child"],
        reason: "the server is a child of the proxy",
    },
];

/// Returns `true` if the proxy converts between the eras. `only` is set for legacy clients.
fn is_modern_client_of_legacy_server(setting: Setting) -> bool {
    setting.only.is_none() && matches!(setting.peer, TypeScript1 | Everything)
}

async fn check(
    peer: ServerPeer,
    wire: ServerWire,
    route: Route,
    only: Option<ProtocolVersion>,
    negotiated: ProtocolVersion,
) {
    let setting = Setting {
        peer,
        wire,
        only,
        route,
    };
    let connecting = tokio::time::timeout(CHECK_TIMEOUT, Pair::connect(setting));
    let pair = match connecting.await {
        Ok(Ok(pair)) => pair,
        Ok(Err(failure)) => panic!("{setting}: cannot connect: {failure}"),
        Err(_) => panic!("{setting}: no connection after {CHECK_TIMEOUT:?}"),
    };
    assert_eq!(pair.client.version(), negotiated, "{setting}");

    let mut failed = Vec::new();
    for check in checks_for(setting, negotiated) {
        let outcome = tokio::time::timeout(CHECK_TIMEOUT, (check.run)(&pair)).await;
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => failed.push(format!("{}: {failure}", check.name)),
            Err(_) => failed.push(format!("{}: timeout after {CHECK_TIMEOUT:?}", check.name)),
        }
    }
    let stderr = pair
        .server
        .map(|server| server.into_inner().take_stderr().join("\n"));
    assert!(
        failed.is_empty(),
        "{setting}, revision {}:\n{}\nstandard error of the server:\n{}",
        negotiated.as_str(),
        failed.join("\n"),
        stderr.unwrap_or_default()
    );
}

fn checks_for(setting: Setting, version: ProtocolVersion) -> impl Iterator<Item = &'static Check> {
    let Setting {
        peer, wire, route, ..
    } = setting;
    let checks = match peer {
        Everything => REFERENCE_SERVER_CHECKS,
        _ => CHECKS,
    };
    checks.iter().filter(move |check| {
        let is_missing = MISSING_FEATURES.iter().any(|missing| {
            missing.peer == peer
                && missing.wire == wire
                && (missing.versions)(version)
                && missing.checks.contains(&check.name)
        });
        let is_excluded = NOT_THROUGH_A_PROXY
            .iter()
            .any(|excluded| excluded.checks.contains(&check.name) && (excluded.applies)(setting));
        (check.needs)(version, wire) && !is_missing && (route == Route::Direct || !is_excluded)
    })
}

#[test]
fn every_missing_feature_names_a_check() {
    for missing in MISSING_FEATURES {
        for name in missing.checks {
            assert!(is_check(name), "{name}");
        }
    }
    for name in NOT_THROUGH_A_PROXY
        .iter()
        .flat_map(|excluded| excluded.checks)
    {
        assert!(is_check(name), "{name}");
    }
}

fn is_check(name: &str) -> bool {
    let mut checks = CHECKS.iter().chain(REFERENCE_SERVER_CHECKS);
    checks.any(|check| check.name == name)
}

/// One test: the server, the transport, the only revision of the client or `any`, and the negotiated revision. The route
/// is first.
macro_rules! settings {
    ($route:ident; $($name:ident: $peer:ident, $wire:ident, $only:expr => $negotiated:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            check($peer, $wire, Route::$route, $only, ProtocolVersion::$negotiated).await;
        }
    )*};
}

const ANY: Option<ProtocolVersion> = None;

settings! {
    Direct;
    typescript_2_over_stdio: TypeScript2, Stdio, ANY => V2026_07_28;
    typescript_2_over_stdio_in_2025_11_25: TypeScript2, Stdio, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
    typescript_2_over_stdio_in_2025_06_18: TypeScript2, Stdio, Some(ProtocolVersion::V2025_06_18) => V2025_06_18;
    typescript_2_over_stdio_in_2025_03_26: TypeScript2, Stdio, Some(ProtocolVersion::V2025_03_26) => V2025_03_26;
    typescript_2_over_stdio_in_2024_11_05: TypeScript2, Stdio, Some(ProtocolVersion::V2024_11_05) => V2024_11_05;
    typescript_2_over_http: TypeScript2, Http, ANY => V2026_07_28;
    typescript_2_over_http_in_2025_11_25: TypeScript2, Http, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
    typescript_2_over_http_in_2025_06_18: TypeScript2, Http, Some(ProtocolVersion::V2025_06_18) => V2025_06_18;
    typescript_2_over_http_in_2025_03_26: TypeScript2, Http, Some(ProtocolVersion::V2025_03_26) => V2025_03_26;
    typescript_2_without_sessions: TypeScript2, Stateless, ANY => V2026_07_28;
    typescript_2_without_sessions_in_2025_11_25: TypeScript2, Stateless, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
    typescript_1_over_stdio: TypeScript1, Stdio, ANY => V2025_11_25;
    typescript_1_over_stdio_in_2024_11_05: TypeScript1, Stdio, Some(ProtocolVersion::V2024_11_05) => V2024_11_05;
    typescript_1_over_http: TypeScript1, Http, ANY => V2025_11_25;
    typescript_1_over_http_in_2025_03_26: TypeScript1, Http, Some(ProtocolVersion::V2025_03_26) => V2025_03_26;
    typescript_1_over_sse: TypeScript1, Sse, ANY => V2025_11_25;
    typescript_1_over_sse_in_2024_11_05: TypeScript1, Sse, Some(ProtocolVersion::V2024_11_05) => V2024_11_05;
    python_over_stdio: Python, Stdio, ANY => V2026_07_28;
    python_over_stdio_in_2025_11_25: Python, Stdio, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
    python_over_http: Python, Http, ANY => V2026_07_28;
    python_over_http_in_2025_11_25: Python, Http, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
    python_over_sse: Python, Sse, ANY => V2025_11_25;
    everything_over_stdio: Everything, Stdio, ANY => V2025_11_25;
    everything_over_http: Everything, Http, ANY => V2025_11_25;
    everything_over_sse: Everything, Sse, ANY => V2025_11_25;
}

settings! {
    HttpProxy;
    typescript_2_over_stdio_through_http: TypeScript2, Stdio, ANY => V2026_07_28;
    typescript_2_over_http_through_http: TypeScript2, Http, ANY => V2026_07_28;
    typescript_2_over_http_through_http_in_2025_11_25: TypeScript2, Http, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
    typescript_1_over_stdio_through_http: TypeScript1, Stdio, ANY => V2026_07_28;
    typescript_1_over_stdio_through_http_in_2025_11_25: TypeScript1, Stdio, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
    typescript_1_over_http_through_http_in_2025_03_26: TypeScript1, Http, Some(ProtocolVersion::V2025_03_26) => V2025_03_26;
    python_over_http_through_http: Python, Http, ANY => V2026_07_28;
    everything_over_stdio_through_http: Everything, Stdio, ANY => V2026_07_28;
    everything_over_stdio_through_http_in_2025_11_25: Everything, Stdio, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
}

settings! {
    StdioProxy;
    typescript_2_over_http_through_stdio: TypeScript2, Http, ANY => V2026_07_28;
    typescript_2_over_stdio_through_stdio_in_2025_06_18: TypeScript2, Stdio, Some(ProtocolVersion::V2025_06_18) => V2025_06_18;
    typescript_1_over_http_through_stdio: TypeScript1, Http, ANY => V2026_07_28;
    typescript_1_over_http_through_stdio_in_2025_11_25: TypeScript1, Http, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
    typescript_1_over_sse_through_stdio: TypeScript1, Sse, ANY => V2026_07_28;
    typescript_1_over_sse_through_stdio_in_2024_11_05: TypeScript1, Sse, Some(ProtocolVersion::V2024_11_05) => V2024_11_05;
    python_over_stdio_through_stdio_in_2025_11_25: Python, Stdio, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
    everything_over_http_through_stdio: Everything, Http, ANY => V2026_07_28;
    everything_over_sse_through_stdio: Everything, Sse, ANY => V2026_07_28;
    everything_over_http_through_stdio_in_2025_11_25: Everything, Http, Some(ProtocolVersion::V2025_11_25) => V2025_11_25;
}
