//! The peers start `toolwire demo --stdio` themselves.

use toolwire_interop::{Peer, Wire};

use super::check;

#[test]
fn typescript_2_negotiates_the_newest_revision() {
    check(Peer::TypeScript2, Wire::Stdio, "auto");
}

#[test]
fn typescript_2_speaks_2026_07_28() {
    check(Peer::TypeScript2, Wire::Stdio, "2026-07-28");
}

#[test]
fn typescript_2_speaks_2025_11_25() {
    check(Peer::TypeScript2, Wire::Stdio, "2025-11-25");
}

#[test]
fn typescript_2_speaks_2025_06_18() {
    check(Peer::TypeScript2, Wire::Stdio, "2025-06-18");
}

#[test]
fn typescript_2_speaks_2025_03_26() {
    check(Peer::TypeScript2, Wire::Stdio, "2025-03-26");
}

#[test]
fn typescript_2_speaks_2024_11_05() {
    check(Peer::TypeScript2, Wire::Stdio, "2024-11-05");
}

#[test]
fn typescript_1_speaks_2025_11_25() {
    check(Peer::TypeScript1, Wire::Stdio, "2025-11-25");
}

#[test]
fn python_negotiates_the_newest_revision() {
    check(Peer::Python, Wire::Stdio, "auto");
}

#[test]
fn python_speaks_2026_07_28() {
    check(Peer::Python, Wire::Stdio, "2026-07-28");
}

#[test]
fn python_speaks_2025_11_25() {
    check(Peer::Python, Wire::Stdio, "2025-11-25");
}
