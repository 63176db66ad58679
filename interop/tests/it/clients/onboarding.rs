//! Independent clients respond to the three elicitations of the example `onboarding`, which takes one desk per call.

use std::fs;
use std::path::Path;

use toolwire_interop::{Peer, Subject, Wire};

use super::run;

fn check(peer: Peer, wire: Wire, mode: &str) {
    let name = format!("desks_{peer:?}_{wire:?}_{mode}.txt");
    let desks = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&desks, "").expect("the temporary directory is writable");
    let closing: &[&str] = match wire {
        Wire::Http => &["close", "exit_on_signal"],
        _ => &["exit_on_close"],
    };
    let welcome = [
        "onboarding_negotiate",
        "onboarding_welcome",
        "onboarding_decline",
        "no_transport_errors",
    ];
    let expected = [&welcome, closing].concat();
    run(
        peer,
        &Subject::Onboarding(desks.clone()),
        wire,
        mode,
        expected,
    );
    // Each call has three elicitations and takes one desk.
    let taken = fs::read_to_string(&desks).expect("the file is text");
    assert_eq!(taken, "Ada, Platform\nGrace, Design\n");
}

#[test]
fn typescript_2_in_2026_07_28() {
    check(Peer::TypeScript2, Wire::Stdio, "2026-07-28");
    check(Peer::TypeScript2, Wire::Http, "2026-07-28");
}

#[test]
fn typescript_2_in_2025_11_25() {
    check(Peer::TypeScript2, Wire::Stdio, "2025-11-25");
    check(Peer::TypeScript2, Wire::Http, "2025-11-25");
}

#[test]
fn typescript_1_in_2025_11_25() {
    check(Peer::TypeScript1, Wire::Stdio, "2025-11-25");
    check(Peer::TypeScript1, Wire::Http, "2025-11-25");
}

#[test]
fn python_in_2026_07_28() {
    check(Peer::Python, Wire::Stdio, "2026-07-28");
    check(Peer::Python, Wire::Http, "2026-07-28");
}

#[test]
fn python_in_2025_11_25() {
    check(Peer::Python, Wire::Stdio, "2025-11-25");
    check(Peer::Python, Wire::Http, "2025-11-25");
}
