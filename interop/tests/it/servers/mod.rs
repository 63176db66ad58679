//! Our client against real servers, one test per server, transport and revision.
//!
//! Every check is named in a table, with the revisions and transports it needs; what a server cannot do although its
//! revision could is named in another, with the reason. A test runs all of its checks, so a failure names each that
//! failed, with the server, the transport and the revision.

mod answers;
mod ends;
mod everything;
mod news;
mod peered;
mod questions;

use std::pin::Pin;
use std::time::Duration;

use toolwire::ProtocolVersion;
use toolwire::proto::features::VersionFeatures;
use toolwire_interop::ServerPeer::{self, Everything, Python, TypeScript1, TypeScript2};
use toolwire_interop::ServerWire::{self, Http, Sse, Stateless, Stdio};

use self::peered::{Outcome, Peered, Setting};

/// Longer than a healthy check needs on a busy machine; most take milliseconds.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// One fact about our client and any of the servers.
struct Check {
    name: &'static str,
    needs: fn(ProtocolVersion, ServerWire) -> bool,
    run: for<'a> fn(&'a Peered) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>,
}

/// A table of checks: where each is possible, then its name.
macro_rules! checks {
    ($($module:ident::$name:ident: $needs:expr),* $(,)?) => {
        &[$(Check {
            name: stringify!($name),
            needs: $needs,
            run: |at| Box::pin($module::$name(at)),
        }),*]
    };
}

/// What the servers of the SDKs are asked, in this order.
const CHECKS: &[Check] = checks! {
    answers::introduces_itself: |_, _| true,
    answers::lists_tools: |_, _| true,
    answers::calls_a_tool: |_, _| true,
    answers::calls_in_parallel: |_, _| true,
    answers::carries_large_messages: |_, _| true,
    answers::reads_structured_results: |version, _| version.has_structured_output(),
    answers::a_failing_tool_is_a_result: |_, _| true,
    answers::an_unknown_tool_is_refused: |_, _| true,
    answers::mirrors_arguments_into_headers: |_, _| true,
    answers::follows_pages: |_, _| true,
    answers::reads_resources: |_, _| true,
    answers::keeps_what_it_may: |_, _| true,
    answers::reads_templates: |_, _| true,
    answers::a_missing_resource_is_an_error: |_, _| true,
    answers::gets_prompts: |_, _| true,
    answers::completes: |_, _| true,
    answers::pings: |_, _| true,
    answers::starts_from_a_verdict: |_, wire| wire != Stdio,
    news::hears_progress: |_, _| true,
    news::dropping_a_call_cancels_it: |_, _| true,
    news::hears_the_log: |_, _| true,
    news::comes_back_when_sent_away: |version, wire| wire == Http && version.has_priming_event(),
    questions::elicits_and_fills_in_defaults: |version, _| version.has_elicitation(),
    questions::elicitation_is_refused: |version, _| version.has_elicitation(),
    questions::elicitation_is_cancelled: |version, _| version.has_elicitation(),
    questions::elicitation_is_not_offered: |version, _| !version.has_elicitation(),
    questions::asks_twice: |version, _| version.has_elicitation(),
    questions::asks_in_parallel: |version, _| version.has_elicitation(),
    questions::a_resource_asks: |version, _| version.has_elicitation(),
    questions::a_prompt_asks: |version, _| version.has_elicitation(),
    questions::samples: |_, _| true,
    questions::lists_roots: |_, _| true,
    news::hears_of_a_changed_resource: |_, _| true,
    news::hears_of_a_changed_list: |_, _| true,
    ends::resumes_a_cut_stream: |version, wire| wire == Http && version.has_resumable_streams(),
    ends::a_cut_stream_is_an_error: |version, wire| wire == Http && !version.has_resumable_streams(),
    ends::goes_on_listening_after_a_cut: |_, wire| wire == Http,
    ends::survives_a_restart: |_, wire| wire == Http,
    ends::a_dropped_client_ends_its_child: |_, wire| wire == Stdio && cfg!(unix),
    ends::ends: |_, _| true,
};

/// What the reference server is asked.
const CHECKS_OF_EVERYTHING: &[Check] = checks! {
    answers::introduces_itself: |_, _| true,
    everything::lists: |_, _| true,
    everything::calls_tools: |_, _| true,
    everything::reads_structured_results: |_, _| true,
    everything::reads_resources: |_, _| true,
    everything::gets_prompts_and_completes: |_, _| true,
    everything::hears_progress: |_, _| true,
    everything::dropping_a_call_leaves_the_others_alone: |_, _| true,
    everything::elicits: |_, _| true,
    everything::sends_the_user_to_an_address: |_, _| true,
    everything::an_address_comes_as_an_error: |_, _| true,
    everything::samples: |_, _| true,
    everything::lists_roots: |_, _| true,
    everything::hears_of_a_changed_resource: |_, _| true,
    everything::hears_the_log: |_, _| true,
    everything::pings: |_, _| true,
    ends::ends: |_, _| true,
};

/// What a server cannot do although its revision could.
struct Cannot {
    peer: ServerPeer,
    wire: ServerWire,
    versions: fn(ProtocolVersion) -> bool,
    checks: &'static [&'static str],
    #[expect(dead_code, reason = "it is for whoever reads the table")]
    because: &'static str,
}

const CANNOT: &[Cannot] = &[
    Cannot {
        peer: TypeScript2,
        wire: Stateless,
        versions: VersionFeatures::is_legacy,
        checks: &[
            "elicits_and_fills_in_defaults",
            "elicitation_is_refused",
            "elicitation_is_cancelled",
            "asks_twice",
            "asks_in_parallel",
            "a_resource_asks",
            "a_prompt_asks",
            "samples",
            "lists_roots",
        ],
        because: "each request is served on its own, so the server has forgotten what the client can do",
    },
    Cannot {
        peer: TypeScript2,
        wire: Stateless,
        versions: VersionFeatures::is_legacy,
        checks: &["dropping_a_call_cancels_it"],
        because: "each request is served on its own, and the notification is one of them: it finds no call to cancel",
    },
    Cannot {
        peer: TypeScript2,
        wire: Stateless,
        versions: VersionFeatures::is_legacy,
        checks: &["hears_of_a_changed_resource", "hears_of_a_changed_list"],
        because: "there is no stream for news: GET is answered with 405",
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
        Ok(Err(failure)) => panic!("{setting}: it does not connect: {failure}"),
        Err(_) => panic!("{setting}: it does not connect in {CHECK_TIMEOUT:?}"),
    };
    assert_eq!(at.client.version(), speaks, "{setting}");

    let mut failed = Vec::new();
    for check in checks_for(peer, wire, speaks) {
        let outcome = tokio::time::timeout(CHECK_TIMEOUT, (check.run)(&at)).await;
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => failed.push(format!("{}: {failure}", check.name)),
            Err(_) => failed.push(format!("{}: no end after {CHECK_TIMEOUT:?}", check.name)),
        }
    }
    let said = at
        .server
        .map(|server| server.into_inner().said().join("\n"));
    assert!(
        failed.is_empty(),
        "{setting}, speaking {}:\n{}\nthe server said:\n{}",
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
fn everything_that_cannot_be_checked_is_a_check() {
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

/// One test: the server, the wire, the only revision the client speaks or `any`, and the revision that is found.
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
