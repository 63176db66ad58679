//! The peers connect to `toolwire proxy` or `toolwire gateway`, which starts `toolwire demo --stdio`.

use toolwire_interop::{Peer, Subject, Wire};

use super::{expected, judge};

/// Checks that do not apply to a proxy. The demo behind it is on stdio, where it has no stream to release. Each session of a
/// legacy client has its own process of the demo, so no other client changes the resource that a listener waits for. Also, the
/// proxy does not store changes while the stream of a session is cut; its guide says so.
const NOT_THROUGH_THE_PROXY: [&str; 2] = ["released_stream", "listening_resumes"];

fn check(peer: Peer, wire: Wire, mode: &str) {
    check_subject(peer, &Subject::ProxiedDemo(None), wire, mode, &[]);
}

/// Checks that a modern client of a legacy demo does not pass: they count the running calls. At a legacy server on stdio, each
/// running call of a client that can be asked for input has its own process, which counts only its own calls.
const NOT_WITH_A_PROCESS_PER_CALL: [&str; 2] = ["cancel", "progress_is_streamed"];

/// Runs a peer with a demo that supports another era only.
fn check_eras(peer: Peer, wire: Wire, mode: &str, server: &'static str) {
    let subject = Subject::ProxiedDemo(Some(server));
    let excluded: &[&str] = match mode {
        "2026-07-28" => &NOT_WITH_A_PROCESS_PER_CALL,
        _ => &[],
    };
    check_subject(peer, &subject, wire, mode, excluded);
}

fn check_subject(peer: Peer, subject: &Subject, wire: Wire, mode: &str, excluded: &[&str]) {
    let excluded = [&NOT_THROUGH_THE_PROXY, excluded].concat();
    let checks = peer
        .run_without(&excluded, subject, wire, mode)
        .unwrap_or_else(|problem| panic!("{problem}"));
    let mut expected = expected(wire, mode);
    expected.retain(|name| !excluded.contains(name));
    let run = format!("{peer:?} in {mode} over {wire:?}, through {subject:?}");
    judge(&checks, expected, &run);
}

#[test]
fn typescript_2_speaks_2026_07_28_over_stdio() {
    check(Peer::TypeScript2, Wire::Stdio, "2026-07-28");
}

#[test]
fn typescript_2_speaks_2026_07_28_over_http() {
    check(Peer::TypeScript2, Wire::Http, "2026-07-28");
}

#[test]
fn typescript_2_speaks_2025_11_25_over_http() {
    check(Peer::TypeScript2, Wire::Http, "2025-11-25");
}

#[test]
fn typescript_1_speaks_2025_11_25_over_http() {
    check(Peer::TypeScript1, Wire::Http, "2025-11-25");
}

#[test]
fn typescript_1_speaks_2025_11_25_over_stdio() {
    check(Peer::TypeScript1, Wire::Stdio, "2025-11-25");
}

#[test]
fn python_speaks_2026_07_28_over_http() {
    check(Peer::Python, Wire::Http, "2026-07-28");
}

#[test]
fn python_speaks_2025_11_25_over_stdio() {
    check(Peer::Python, Wire::Stdio, "2025-11-25");
}

#[test]
fn typescript_2_of_2026_07_28_uses_a_legacy_server_over_http() {
    check_eras(Peer::TypeScript2, Wire::Http, "2026-07-28", "2025-11-25");
}

#[test]
fn python_of_2026_07_28_uses_a_legacy_server_over_stdio() {
    check_eras(Peer::Python, Wire::Stdio, "2026-07-28", "2025-11-25");
}

#[test]
fn typescript_1_uses_a_server_of_2026_07_28_over_http() {
    check_eras(Peer::TypeScript1, Wire::Http, "2025-11-25", "2026-07-28");
}

#[test]
fn python_of_2025_11_25_uses_a_server_of_2026_07_28_over_stdio() {
    check_eras(Peer::Python, Wire::Stdio, "2025-11-25", "2026-07-28");
}

#[test]
fn typescript_2_of_2026_07_28_uses_a_gateway_over_http() {
    let subject = Subject::DemoBehindGateway;
    check_subject(Peer::TypeScript2, &subject, Wire::Http, "2026-07-28", &[]);
}
