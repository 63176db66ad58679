use serde_json::json;
use toolwire_types::ErrorObject;

use super::*;

fn versions(names: &str) -> SupportedVersions {
    names
        .split_whitespace()
        .map(|name| name.parse().expect("a released version"))
        .collect()
}

fn error(text: &str) -> ErrorObject {
    let (code, list) = text.split_once(' ').unwrap_or((text, ""));
    let error = ErrorObject::new(code.parse().expect("an error code"), "rejected");
    if list.is_empty() {
        return error;
    }
    let names: Vec<_> = list.split(' ').collect();
    error.with_data(json!({"supported": names, "requested": "2026-07-28"}))
}

/// Feeds one line of a script: `discovered <versions>`, `error <code> <versions>`, `http <status> <code> <versions>`…
fn feed(probe: &mut Probe, line: &str) -> ProbeAction {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "discovered" => {
            let names: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
            probe.on(ProbeEvent::Discovered(&names))
        }
        "initialized" => probe.on(ProbeEvent::Initialized(rest)),
        "error" => probe.on(ProbeEvent::Rejected(&error(rest))),
        "http" => {
            let (status, body) = rest.split_once(' ').unwrap_or((rest, ""));
            let body = (!body.is_empty()).then(|| error(body));
            probe.on(ProbeEvent::HttpRejected {
                status: status.parse().expect("a status code"),
                error: body.as_ref(),
            })
        }
        "timeout" => probe.on(ProbeEvent::TimedOut),
        "exit" => probe.on(ProbeEvent::ChildExited),
        "respawned" => probe.on(ProbeEvent::Respawned),
        "endpoint" => probe.on(ProbeEvent::EndpointNamed),
        "sse" => probe.on(ProbeEvent::HttpWithSseOpened),
        other => panic!("no such event: {other}"),
    }
}

fn show(action: &ProbeAction) -> String {
    match action {
        ProbeAction::SendDiscover(version) => format!("discover {version}"),
        ProbeAction::SendInitialize(version) => format!("initialize {version}"),
        ProbeAction::Respawn => "respawn".to_owned(),
        ProbeAction::TryHttpWithSse => "open sse".to_owned(),
        ProbeAction::Wait => "wait".to_owned(),
        ProbeAction::Done(DetectedEra::Modern { version }) => format!("modern {version}"),
        ProbeAction::Done(DetectedEra::Legacy { version, transport }) => {
            format!("legacy {version} {transport:?}")
        }
        ProbeAction::Fail(failure) => format!("fail: {failure}"),
    }
}

/// Runs a script of `event -> action` lines. The first line is the first action.
fn check(channel: Channel, supported: &str, script: &[&str]) {
    run(Probe::start(channel, versions(supported)), script);
}

fn run((mut probe, first): (Probe, ProbeAction), script: &[&str]) {
    assert_eq!(show(&first), script[0]);
    for line in &script[1..] {
        let (event, expected) = line.split_once(" -> ").expect("event -> action");
        assert_eq!(show(&feed(&mut probe, event)), expected, "{script:?}");
    }
}

const ALL: &str = "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28";

#[test]
fn discover_result_determines_the_era() {
    for channel in [Channel::Stdio, Channel::Http] {
        check(
            channel,
            ALL,
            &[
                "discover 2026-07-28",
                "discovered 2025-11-25 2026-07-28 -> modern 2026-07-28",
            ],
        );
        check(
            channel,
            "2025-06-18 2025-11-25 2026-07-28",
            &[
                "discover 2026-07-28",
                "discovered 2024-11-05 2025-06-18 -> initialize 2025-06-18",
                "initialized 2025-06-18 -> legacy 2025-06-18 Direct",
            ],
        );
        check(
            channel,
            "2026-07-28",
            &[
                "discover 2026-07-28",
                "discovered 2099-01-01 -> fail: no common protocol version; the server supports 2099-01-01",
            ],
        );
    }
}

#[test]
fn unsupported_version_error_is_modern_and_its_list_is_used() {
    for event in [
        "error -32022 2025-11-25 2025-06-18",
        "http 400 -32022 2025-06-18 2025-11-25",
    ] {
        check(
            Channel::Http,
            ALL,
            &[
                "discover 2026-07-28",
                &format!("{event} -> initialize 2025-11-25"),
                "initialized 2025-11-25 -> legacy 2025-11-25 Direct",
            ],
        );
    }
    // A list that names the rejected version again must not cause an endless loop.
    check(
        Channel::Stdio,
        "2026-07-28",
        &[
            "discover 2026-07-28",
            "error -32022 2026-07-28 -> discover 2026-07-28",
            "error -32022 2026-07-28 -> fail: no common protocol version; the server supports 2026-07-28",
        ],
    );
    check(
        Channel::Stdio,
        ALL,
        &[
            "discover 2026-07-28",
            "error -32022 2099-01-01 -> fail: no common protocol version; the server supports 2099-01-01",
        ],
    );
}

#[test]
fn stdio_errors_and_timeouts_mean_legacy() {
    for event in [
        "error -32601",
        "error -32602",
        "error -32600",
        "error -32000",
        "error -32700",
        "error -32002",
        "error 1",
        "error -32022",
        "timeout",
    ] {
        check(
            Channel::Stdio,
            ALL,
            &[
                "discover 2026-07-28",
                &format!("{event} -> initialize 2025-11-25"),
                "initialized 2024-11-05 -> legacy 2024-11-05 Direct",
            ],
        );
    }
}

#[test]
fn child_that_exits_during_the_probe_is_restarted_once() {
    for end in [
        "initialized 2025-11-25 -> legacy 2025-11-25 Direct",
        "exit -> fail: the server process exited during initialize",
    ] {
        check(
            Channel::Stdio,
            ALL,
            &[
                "discover 2026-07-28",
                "exit -> respawn",
                "respawned -> initialize 2025-11-25",
                end,
            ],
        );
    }
}

#[test]
fn child_that_fails_initialize_after_the_probe_is_restarted_once() {
    let started_again = |probe: &str, initialize: &str, end: &str| {
        check(
            Channel::Stdio,
            ALL,
            &[
                "discover 2026-07-28",
                &format!("{probe} -> initialize 2025-11-25"),
                &format!("{initialize} -> respawn"),
                "respawned -> initialize 2025-11-25",
                end,
            ],
        );
    };
    for end in [
        "initialized 2024-11-05 -> legacy 2024-11-05 Direct",
        "timeout -> fail: the server did not respond in time",
    ] {
        started_again("timeout", "exit", end);
        started_again("timeout", "timeout", end);
        started_again("error -32600", "exit", end);
    }
    // A process that received no probe failed for another reason.
    check(
        Channel::Stdio,
        "2025-06-18",
        &[
            "initialize 2025-06-18",
            "exit -> fail: the server process exited during initialize",
        ],
    );
    // The second process is not started again either, if another probe ends it.
    check(
        Channel::Stdio,
        ALL,
        &[
            "discover 2026-07-28",
            "exit -> respawn",
            "respawned -> initialize 2025-11-25",
            "error -32022 2026-07-28 -> discover 2026-07-28",
            "exit -> fail: the server process exited during initialize",
        ],
    );
}

#[test]
fn time_is_reserved_for_a_second_process_only_after_a_probe() {
    let supported = || versions(ALL);
    let (mut probe, _) = Probe::start(Channel::Stdio, supported());
    feed(&mut probe, "timeout");
    assert!(probe.may_respawn());
    assert!(!probe.is_respawned());
    feed(&mut probe, "exit");
    feed(&mut probe, "respawned");
    assert!(!probe.may_respawn());
    assert!(probe.is_respawned());
    let (mut probe, _) = Probe::start(Channel::Http, supported());
    feed(&mut probe, "http 400");
    assert!(!probe.may_respawn());
}

#[test]
fn endpoint_event_in_the_response_to_a_post_means_http_with_sse() {
    check(
        Channel::Http,
        ALL,
        &[
            "discover 2026-07-28",
            "endpoint -> open sse",
            "sse -> initialize 2025-11-25",
            "initialized 2024-11-05 -> legacy 2024-11-05 HttpWithSse",
        ],
    );
    check(
        Channel::Http,
        ALL,
        &[
            "discover 2026-07-28",
            "http 400 -> initialize 2025-11-25",
            "endpoint -> open sse",
            "sse -> initialize 2025-11-25",
            "initialized 2024-11-05 -> legacy 2024-11-05 HttpWithSse",
        ],
    );
    check(
        Channel::Http,
        "2026-07-28",
        &[
            "discover 2026-07-28",
            "endpoint -> fail: the server supports only revisions with initialize",
        ],
    );
}

#[test]
fn modern_only_client_never_sends_initialize() {
    for event in ["error -32601", "timeout"] {
        check(
            Channel::Stdio,
            "2026-07-28",
            &[
                "discover 2026-07-28",
                &format!("{event} -> fail: the server supports only revisions with initialize"),
            ],
        );
    }
}

#[test]
fn legacy_only_client_does_not_send_discover() {
    check(
        Channel::Stdio,
        "2025-03-26",
        &[
            "initialize 2025-03-26",
            "initialized 2025-03-26 -> legacy 2025-03-26 Direct",
        ],
    );
}

#[test]
fn probe_that_starts_with_initialize_asks_a_process_that_rejects_it() {
    let check = |supported: &str, script: &[&str]| {
        run(Probe::start_with_initialize(versions(supported)), script);
    };
    let first = "initialize 2025-11-25";
    check(
        ALL,
        &[first, "initialized 2025-06-18 -> legacy 2025-06-18 Direct"],
    );
    for rejection in ["error -32601", "error -32022 2026-07-28"] {
        let discovers = format!("{rejection} -> discover 2026-07-28");
        let discovered = "discovered 2026-07-28 -> modern 2026-07-28";
        check(ALL, &[first, &discovers, discovered]);
        check(
            ALL,
            &[
                first,
                &discovers,
                "exit -> fail: the server process exited during initialize",
            ],
        );
    }
    // A server that knows neither request gets `initialize` once more.
    check(
        ALL,
        &[
            first,
            "error -32601 -> discover 2026-07-28",
            "error -32601 -> initialize 2025-11-25",
            "error -32601 -> fail: the server rejected initialize: rejected (-32601)",
        ],
    );
    // Other errors are no evidence of the modern era.
    for failure in ["error -32603", "timeout", "exit"] {
        let (mut probe, _) = Probe::start_with_initialize(versions(ALL));
        let action = feed(&mut probe, failure);
        assert!(
            matches!(action, ProbeAction::Fail(_)),
            "{failure}: {action:?}"
        );
    }
    check(
        "2025-11-25",
        &[
            first,
            "error -32601 -> fail: the server rejected initialize: rejected (-32601)",
        ],
    );
}

#[test]
fn recognized_modern_errors_prove_the_era() {
    for event in [
        "http 400 -32020",
        "http 400 -32021",
        "http 404 -32601",
        "error -32021",
    ] {
        check(
            Channel::Http,
            ALL,
            &[
                "discover 2026-07-28",
                &format!("{event} -> modern 2026-07-28"),
            ],
        );
    }
}

#[test]
fn on_http_credentials_outages_and_timeouts_prove_nothing() {
    for status in [401, 403, 407, 408, 429, 500, 502, 503, 504, 200, 202, 302] {
        check(
            Channel::Http,
            ALL,
            &[
                "discover 2026-07-28",
                &format!("http {status} -> fail: the server responded with HTTP status {status}"),
            ],
        );
    }
    check(
        Channel::Http,
        ALL,
        &[
            "discover 2026-07-28",
            "timeout -> fail: the server did not respond in time",
        ],
    );
}

#[test]
fn http_client_error_causes_initialize_and_then_the_oldest_transport() {
    for status in [400, 404, 405] {
        check(
            Channel::Http,
            ALL,
            &[
                "discover 2026-07-28",
                &format!("http {status} -> initialize 2025-11-25"),
                &format!("http {status} -> open sse"),
                "sse -> initialize 2025-11-25",
                "initialized 2024-11-05 -> legacy 2024-11-05 HttpWithSse",
            ],
        );
    }
    for event in [
        "http 400 -32000",
        "http 404 -32001",
        "http 422",
        "error -32601",
    ] {
        check(
            Channel::Http,
            ALL,
            &[
                "discover 2026-07-28",
                &format!("{event} -> initialize 2025-11-25"),
                "initialized 2025-06-18 -> legacy 2025-06-18 Direct",
            ],
        );
    }
    check(
        Channel::Http,
        ALL,
        &[
            "discover 2026-07-28",
            "http 400 -> initialize 2025-11-25",
            "http 422 -> fail: the server responded with HTTP status 422",
        ],
    );
    check(
        Channel::Http,
        ALL,
        &[
            "discover 2026-07-28",
            "http 405 -> initialize 2025-11-25",
            "http 405 -> open sse",
            "http 404 -> fail: the server responded with HTTP status 404",
        ],
    );
}

#[test]
fn unsupported_initialize_result_ends_the_probe() {
    for offered in ["2026-07-28", "2099-01-01", ""] {
        check(
            Channel::Stdio,
            ALL,
            &[
                "discover 2026-07-28",
                "error -32601 -> initialize 2025-11-25",
                &format!(
                    "initialized {offered} -> fail: no common protocol version; the server supports {offered}"
                ),
            ],
        );
    }
}

#[test]
fn slow_modern_server_gets_a_second_discover() {
    check(
        Channel::Stdio,
        ALL,
        &[
            "discover 2026-07-28",
            "timeout -> initialize 2025-11-25",
            "error -32022 2026-07-28 -> discover 2026-07-28",
            "discovered 2026-07-28 -> modern 2026-07-28",
        ],
    );
    check(
        Channel::Stdio,
        ALL,
        &[
            "discover 2026-07-28",
            "error -32601 -> initialize 2025-11-25",
            "error -32022 2026-07-28 -> discover 2026-07-28",
            "error -32601 -> initialize 2025-11-25",
            "error -32022 2026-07-28 -> fail: no common protocol version; the server supports 2026-07-28",
        ],
    );
}

#[test]
fn unexpected_events_change_nothing() {
    check(
        Channel::Stdio,
        ALL,
        &[
            "discover 2026-07-28",
            "initialized 2025-11-25 -> wait",
            "timeout -> initialize 2025-11-25",
            "discovered 2026-07-28 -> wait",
            "initialized 2025-11-25 -> legacy 2025-11-25 Direct",
            "timeout -> legacy 2025-11-25 Direct",
        ],
    );
}

#[test]
fn stored_era_saves_round_trips() {
    let resumed = |stored: &str, supported: &str| {
        let era = serde_json::from_str(stored).expect("a stored era");
        let (_, action) = Probe::resume(Channel::Http, versions(supported), era);
        show(&action)
    };
    let modern = r#"{"era":"modern","version":"2026-07-28"}"#;
    let direct = r#"{"era":"legacy","version":"2025-06-18","transport":"direct"}"#;
    let sse = r#"{"era":"legacy","version":"2024-11-05","transport":"httpWithSse"}"#;
    assert_eq!(resumed(modern, ALL), "modern 2026-07-28");
    assert_eq!(resumed(direct, ALL), "initialize 2025-06-18");
    assert_eq!(resumed(sse, ALL), "open sse");
    assert_eq!(resumed(modern, "2025-06-18"), "initialize 2025-06-18");

    let era: DetectedEra = serde_json::from_str(sse).expect("a stored era");
    assert_eq!(
        serde_json::to_string(&era).expect("an era always serializes"),
        sse
    );
}

#[test]
fn rejected_version_that_the_server_lists_is_offered_once_more() {
    let (mut probe, first) = Probe::start(Channel::Http, versions("2025-11-25 2026-07-28"));
    let error_object = error("-32022 2026-07-28");
    let rejected = ProbeEvent::HttpRejected {
        status: 400,
        error: Some(&error_object),
    };
    assert_eq!(probe.on(rejected), first);
    assert_eq!(
        probe.on(rejected),
        ProbeAction::Fail(ProbeFailure::NoCommonVersion(vec!["2026-07-28".to_owned()]))
    );
}

#[test]
fn upgraded_legacy_server_is_probed_again() {
    let known = |transport| DetectedEra::Legacy {
        version: "2025-06-18".parse().expect("a released version"),
        transport,
    };
    let supported = || versions("2025-06-18 2026-07-28");
    let discover = ProbeAction::SendDiscover("2026-07-28".parse().expect("a released version"));
    let rejected = |status| ProbeEvent::HttpRejected {
        status,
        error: None,
    };

    let (mut probe, _) = Probe::resume(Channel::Http, supported(), known(LegacyTransport::Direct));
    assert_eq!(probe.on(rejected(404)), discover);
    // The second rejection of `server/discover` is final, as in any probe.
    assert!(matches!(
        probe.on(rejected(400)),
        ProbeAction::SendInitialize(_)
    ));

    let (mut probe, action) = Probe::resume(
        Channel::Http,
        supported(),
        known(LegacyTransport::HttpWithSse),
    );
    assert_eq!(action, ProbeAction::TryHttpWithSse);
    assert_eq!(probe.on(rejected(405)), discover);

    // An outage is no evidence of an era.
    let (mut probe, _) = Probe::resume(Channel::Http, supported(), known(LegacyTransport::Direct));
    assert_eq!(
        probe.on(rejected(503)),
        ProbeAction::Fail(ProbeFailure::HttpStatus(503))
    );
}

#[test]
fn only_a_server_that_responds_rejects_the_legacy_era() {
    let check = |status: Option<u16>, error: Option<ErrorObject>, expected: bool| {
        let rejects = rejects_legacy_era(status, error.as_ref());
        assert_eq!(rejects, expected, "{status:?} {error:?}");
    };
    let data = serde_json::json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
    let unsupported = ErrorObject::new(code::UNSUPPORTED_PROTOCOL_VERSION, "no").with_data(data);
    check(None, Some(unsupported.clone()), true);
    check(Some(400), Some(unsupported), true);
    check(None, Some(ErrorObject::method_not_found("x")), true);
    check(Some(404), Some(ErrorObject::method_not_found("x")), true);
    check(Some(404), None, true);
    check(Some(401), None, false);
    check(Some(503), None, false);
    check(None, Some(ErrorObject::internal("not ready")), false);
    check(Some(500), Some(ErrorObject::internal("not ready")), false);
    check(None, None, false);
}

#[test]
fn only_era_evidence_contradicts_an_earlier_result() {
    let check = |status: Option<u16>, error: Option<ErrorObject>, expected: bool| {
        assert_eq!(
            contradicts_era(status, error.as_ref()),
            expected,
            "{status:?} {error:?}"
        );
    };
    let unsupported = || {
        let data = serde_json::json!({"supported": ["2025-11-25"], "requested": "2026-07-28"});
        ErrorObject::new(code::UNSUPPORTED_PROTOCOL_VERSION, "no").with_data(data)
    };
    check(Some(400), Some(unsupported()), true);
    check(None, Some(unsupported()), true);
    check(Some(400), None, true);
    check(Some(404), None, true);
    check(Some(404), Some(ErrorObject::method_not_found("x")), false);
    check(
        Some(400),
        Some(ErrorObject::new(code::HEADER_MISMATCH, "no")),
        false,
    );
    check(Some(401), None, false);
    check(Some(503), None, false);
    check(None, Some(ErrorObject::method_not_found("x")), false);
    check(None, None, false);
}
