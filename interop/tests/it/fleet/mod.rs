//! Three nodes of `toolwire demo` that share an engine, behind a balancer that sends each request to another node.

mod events;
mod executions;
mod faults;
mod independent_clients;
mod key_rotation;
mod ledger;
mod leftovers;
mod lost_nodes;
mod node_client;
mod record_versions;
mod scenarios;
mod tasks;
mod workload;

use toolwire_interop::{Fleet, Peer, Wire};

use crate::clients::{expected, judge};

fn start(nodes: usize) -> Fleet {
    Fleet::start(nodes).unwrap_or_else(|problem| panic!("{problem}"))
}

fn check(peer: Peer, mode: &str) {
    check_all(peer, mode, expected(Wire::Http, mode));
}

/// Runs the peer with three nodes, and requires that exactly the expected checks ran and succeeded.
fn check_all(peer: Peer, mode: &str, expected: Vec<&str>) {
    let checks = peer
        .run_with_fleet(start(3), mode)
        .unwrap_or_else(|problem| panic!("{problem}"));
    let run = format!("{peer:?} in {mode} with three nodes");
    judge(&checks, expected, &run);
}

#[test]
fn typescript_2_uses_all_nodes_in_2026_07_28() {
    check(Peer::TypeScript2, "2026-07-28");
}

#[test]
fn typescript_2_uses_all_nodes_in_2025_11_25() {
    check(Peer::TypeScript2, "2025-11-25");
}

#[test]
fn python_uses_all_nodes_in_2026_07_28() {
    check(Peer::Python, "2026-07-28");
}

#[test]
fn python_uses_all_nodes_in_2025_11_25() {
    check(Peer::Python, "2025-11-25");
}
