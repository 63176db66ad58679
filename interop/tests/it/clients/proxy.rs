//! The peers connect to `toolwire proxy`, which starts `toolwire demo --stdio`.

use toolwire_interop::{Peer, Subject, Wire};

use super::{expected, judge};

/// Checks that the proxy does not pass. The demo behind it is on stdio, where it has no stream to release. A change while
/// the stream of a session is cut is lost, because the proxy does not know what its client is subscribed to.
const NOT_THROUGH_THE_PROXY: [&str; 2] = ["released_stream", "listening_resumes"];

fn check(peer: Peer, wire: Wire, mode: &str) {
    let checks = peer
        .run_without(&NOT_THROUGH_THE_PROXY, &Subject::ProxiedDemo, wire, mode)
        .unwrap_or_else(|problem| panic!("{problem}"));
    let mut expected = expected(wire, mode);
    expected.retain(|name| !NOT_THROUGH_THE_PROXY.contains(name));
    judge(
        &checks,
        expected,
        &format!("{peer:?} in {mode} over {wire:?}, through a proxy"),
    );
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
