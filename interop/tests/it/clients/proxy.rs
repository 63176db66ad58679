//! The peers connect to `toolwire proxy`, which starts `toolwire demo --stdio`.

use toolwire_interop::{Peer, Subject, Wire};

use super::{expected, run};

fn check(peer: Peer, wire: Wire, mode: &str) {
    run(
        peer,
        &Subject::ProxiedDemo,
        wire,
        mode,
        expected(wire, mode),
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
