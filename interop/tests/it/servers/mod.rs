//! Toolwire's client with independent servers, one test per server, transport and revision.
//!
//! A table names every check, with the revisions and transports that it needs. Another table names the features that a
//! server lacks, with the reason. A test runs all its checks, so a failure lists every failed check with server,
//! transport and revision.

mod answers;
mod ends;
mod everything;
mod news;
mod peered;
mod questions;

use std::pin::Pin;
use std::time::Duration;

use toolwire::ProtocolVersion;
use toolwire::VersionFeatures;
use toolwire_interop::ServerPeer::{self, Everything, Python, TypeScript1, TypeScript2};
use toolwire_interop::ServerWire::{self, Http, Sse, Stateless, Stdio};

use self::peered::{Outcome, Peered, Setting};

/// Longer than a check needs on a busy machine. Most take milliseconds.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// A check of the client with any of the servers.
struct Check {
    name: &'static str,
    needs: fn(ProtocolVersion, ServerWire) -> bool,
    run: for<'a> fn(&'a Peered) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>,
}

/// A table of checks: the revisions and transports, then the name.
macro_rules! checks {
    ($($module:ident::$name:ident: $needs:expr),* $(,)?) => {
        &[$(Check {
            name: stringify!($name),
            needs: $needs,
            run: |at| Box::pin($module::$name(at)),
        }),*]
    };
}

/// The checks for the servers of the SDKs, in this order.
const CHECKS: &[Check] = checks! {
    answers::returns_server_info: |_, _| true,
    answers::lists_tools: |_, _| true,
    answers::calls_a_tool: |_, _| true,
    answers::calls_in_parallel: |_, _| true,
    answers::carries_large_messages: |_, _| true,
    answers::reads_structured_results: |version, _| version.has_structured_output(),
    answers::failing_tool_is_a_result: |_, _| true,
    answers::unknown_tool_is_an_error: |_, _| true,
    answers::mirrors_arguments_into_headers: |_, _| true,
    answers::follows_pages: |_, _| true,
    answers::reads_resources: |_, _| true,
    answers::caches_results: |_, _| true,
    answers::reads_templates: |_, _| true,
    answers::missing_resource_is_an_error: |_, _| true,
    answers::gets_prompts: |_, _| true,
    answers::completes: |_, _| true,
    answers::pings: |_, _| true,
    answers::starts_from_a_detected_era: |_, wire| wire != Stdio,
    news::receives_progress: |_, _| true,
    news::dropped_call_is_cancelled: |_, _| true,
    news::receives_log_messages: |_, _| true,
    news::resumes_a_released_stream: |version, wire| wire == Http && version.has_priming_event(),
    questions::elicits_and_fills_in_defaults: |version, _| version.has_elicitation(),
    questions::elicitation_is_declined: |version, _| version.has_elicitation(),
    questions::elicitation_is_cancelled: |version, _| version.has_elicitation(),
    questions::elicitation_is_not_declared: |version, _| !version.has_elicitation(),
    questions::asks_twice: |version, _| version.has_elicitation(),
    questions::asks_in_parallel: |version, _| version.has_elicitation(),
    questions::resource_requests_input: |version, _| version.has_elicitation(),
    questions::prompt_requests_input: |version, _| version.has_elicitation(),
    questions::samples: |_, _| true,
    questions::lists_roots: |_, _| true,
    news::receives_resource_changes: |_, _| true,
    news::receives_list_changes: |_, _| true,
    ends::resumes_a_cut_stream: |version, wire| wire == Http && version.has_resumable_streams(),
    ends::cut_stream_is_an_error: |version, wire| wire == Http && !version.has_resumable_streams(),
    ends::resumes_listening_after_a_cut: |_, wire| wire == Http,
    ends::survives_a_restart: |_, wire| wire == Http,
    ends::dropped_client_ends_its_child: |_, wire| wire == Stdio && cfg!(unix),
    ends::ends: |_, _| true,
};

/// The checks for the reference server.
const CHECKS_OF_EVERYTHING: &[Check] = checks! {
    answers::returns_server_info: |_, _| true,
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
    ends::ends: |_, _| true,
};

/// A feature that a server lacks although its revision has it.
struct Cannot {
    peer: ServerPeer,
    wire: ServerWire,
    versions: fn(ProtocolVersion) -> bool,
    checks: &'static [&'static str],
    #[expect(dead_code, reason = "it documents the table")]
    because: &'static str,
}

const CANNOT: &[Cannot] = &[
    Cannot {
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
        because: "each request is served separately, so the server does not know the client's capabilities",
    },
    Cannot {
        peer: TypeScript2,
        wire: Stateless,
        versions: VersionFeatures::is_legacy,
        checks: &["dropped_call_is_cancelled"],
        because: "each request is served separately, so the cancellation does not find its call",
    },
    Cannot {
        peer: TypeScript2,
        wire: Stateless,
        versions: VersionFeatures::is_legacy,
        checks: &["receives_resource_changes", "receives_list_changes"],
        because: "there is no server stream: GET returns 405",
    },
];

async fn check(
    peer: ServerPeer,
    wire: ServerWire,
    only: Option<ProtocolVersion>,
    speaks: ProtocolVersion,
) {
    let setting = Setting { peer, wire, only };
    let connecting = tokio::time::timeout(CHECK_TIMEOUT, Peered::connect(setting));
    let at = match connecting.await {
        Ok(Ok(at)) => at,
        Ok(Err(failure)) => panic!("{setting}: cannot connect: {failure}"),
        Err(_) => panic!("{setting}: no connection after {CHECK_TIMEOUT:?}"),
    };
    assert_eq!(at.client.version(), speaks, "{setting}");

    let mut failed = Vec::new();
    for check in checks_for(peer, wire, speaks) {
        let outcome = tokio::time::timeout(CHECK_TIMEOUT, (check.run)(&at)).await;
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => failed.push(format!("{}: {failure}", check.name)),
            Err(_) => failed.push(format!("{}: timeout after {CHECK_TIMEOUT:?}", check.name)),
        }
    }
    let said = at
        .server
        .map(|server| server.into_inner().said().join("\n"));
    assert!(
        failed.is_empty(),
        "{setting}, revision {}:\n{}\nstandard error of the server:\n{}",
        speaks.as_str(),
        failed.join("\n"),
        said.unwrap_or_default()
    );
}

fn checks_for(
    peer: ServerPeer,
    wire: ServerWire,
    version: ProtocolVersion,
) -> impl Iterator<Item = &'static Check> {
    let checks = match peer {
        Everything => CHECKS_OF_EVERYTHING,
        _ => CHECKS,
    };
    checks.iter().filter(move |check| {
        let impossible = CANNOT.iter().any(|cannot| {
            cannot.peer == peer
                && cannot.wire == wire
                && (cannot.versions)(version)
                && cannot.checks.contains(&check.name)
        });
        (check.needs)(version, wire) && !impossible
    })
}

#[test]
fn every_missing_feature_names_a_check() {
    for cannot in CANNOT {
        for name in cannot.checks {
            let known = CHECKS
                .iter()
                .chain(CHECKS_OF_EVERYTHING)
                .any(|check| check.name == *name);
            assert!(known, "{name}");
        }
    }
}

/// One test: the server, the transport, the only revision of the client or `any`, and the negotiated revision.
macro_rules! settings {
    ($($name:ident: $peer:ident, $wire:ident, $only:expr => $speaks:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            check($peer, $wire, $only, ProtocolVersion::$speaks).await;
        }
    )*};
}

const ANY: Option<ProtocolVersion> = None;

settings! {
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
