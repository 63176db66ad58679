//! Clients of other authors that make calls while nodes or the engine fail.

use std::thread;
use std::time::Duration;

use toolwire_interop::{Fleet, Peer, PermittedFailures, Problem, RunningCalls};
use toolwire_tests::engine::{IN_MEMORY, PERSISTENT};
use toolwire_tests::relay::Link;

use crate::clients::judge;

/// How long the engine is away. It is longer than the deadline of a store call.
const OUTAGE: Duration = Duration::from_secs(5);

const MODERN: &str = "2026-07-28";

const RUNS: [(Peer, &str); 4] = [
    (Peer::TypeScript2, MODERN),
    (Peer::TypeScript2, "2025-11-25"),
    (Peer::Python, MODERN),
    (Peer::Python, "2025-11-25"),
];

fn succeed<T>(result: Result<T, Problem>) -> T {
    result.unwrap_or_else(|problem| panic!("{problem}"))
}

/// Starts a client of each SDK and era with three nodes, causes a fault, and judges the calls of all clients.
fn check(
    engine: &[&str],
    permitted: impl Fn(&str) -> PermittedFailures,
    calls: &'static str,
    fault: impl FnOnce(&mut Fleet),
) {
    let mut fleet = succeed(Fleet::start_with_engine(3, engine));
    let mut clients: Vec<(String, RunningCalls)> = RUNS
        .iter()
        .map(|(peer, mode)| {
            let running = succeed(peer.start_calls(&fleet, mode, permitted(mode)));
            (format!("{peer:?} in {mode}"), running)
        })
        .collect();
    for (_, running) in &mut clients {
        succeed(running.wait_until_negotiated());
    }
    fault(&mut fleet);
    for (client, running) in clients {
        let checks = succeed(running.end());
        judge(&checks, vec!["negotiate", calls, "close"], &client);
    }
}

#[test]
fn rolling_restart_fails_no_call() {
    check(
        &IN_MEMORY,
        |_| PermittedFailures::None,
        "calls_during_restart",
        |fleet| succeed(fleet.replace_nodes()),
    );
}

#[test]
fn killed_node_fails_one_call_of_each_client() {
    check(
        &IN_MEMORY,
        |_| PermittedFailures::AtMost(1),
        "calls_during_fault",
        |fleet| {
            fleet.kill_node(0);
            succeed(fleet.add_node());
        },
    );
}

/// Only calls of 2026-07-28 with state that can be used once need the engine. A legacy call fails, and the session of its
/// client is used again afterwards.
fn engine_fault(mode: &str) -> PermittedFailures {
    if mode == MODERN {
        PermittedFailures::WithStore
    } else {
        PermittedFailures::Any
    }
}

#[test]
fn faults_of_the_engine_fail_no_modern_call_and_end_no_session() {
    check(&PERSISTENT, engine_fault, "calls_during_fault", |fleet| {
        fleet.pause_engine();
        thread::sleep(OUTAGE);
        fleet.continue_engine();
        // One node alone cannot reach it.
        fleet.set_link(0, Link::Stalled);
        thread::sleep(OUTAGE);
        fleet.set_link(0, Link::Up);
        fleet.kill_engine();
        succeed(fleet.restart_engine());
        succeed(fleet.add_replica());
        succeed(fleet.promote_replica());
    });
}

#[test]
fn engine_without_persistence_fails_no_modern_call() {
    let permitted = |mode: &str| match engine_fault(mode) {
        PermittedFailures::Any => PermittedFailures::Session,
        permitted => permitted,
    };
    check(&IN_MEMORY, permitted, "calls_during_fault", |fleet| {
        fleet.kill_engine();
        succeed(fleet.restart_engine());
    });
}
