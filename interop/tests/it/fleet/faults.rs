//! Faults of nodes, of the engine and of the network between them, while clients of all revisions use the fleet.
//!
//! Each test has one fault. Calls of 2026-07-28 do not depend on the engine, so they must not fail because of it.

use std::time::Duration;

use tokio::time::sleep;
use toolwire_interop::{Fleet, Problem};
use toolwire_tests::engine::{IN_MEMORY, PERSISTENT};
use toolwire_tests::relay::Link;

use super::ledger::Permitted;
use super::workload::{MODERN_CALL, SESSION, Workload};

/// The number of nodes.
const NODES: usize = 3;

/// How long the engine is away. It is longer than the time after which streams are broken off.
const OUTAGE: Duration = Duration::from_secs(6);

/// The time in which each node renews the lease of its number.
const RENEWAL: Duration = Duration::from_secs(6);

/// The engine is away: only calls of 2026-07-28 go on.
const ENGINE_FAULT: Permitted = Permitted {
    failures: &[(MODERN_CALL, 0)],
    loss: false,
};

/// Starts a fleet, and its clients.
async fn start(engine: &[&str]) -> (Fleet, Workload) {
    let fleet = succeed(Fleet::start_with_engine(NODES, engine));
    let workload = Workload::start(&fleet).await;
    (fleet, workload)
}

fn succeed<T>(result: Result<T, Problem>) -> T {
    result.unwrap_or_else(|problem| panic!("{problem}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_node_fails_one_request_of_each_client() {
    let (mut fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    fleet.kill_node(0);
    succeed(fleet.add_node());
    let permitted = Permitted {
        failures: &[(MODERN_CALL, 1), (SESSION, 1)],
        loss: false,
    };
    workload.end(&permitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rolling_restart_fails_no_request() {
    let (mut fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    succeed(tokio::task::block_in_place(|| fleet.replace_nodes()));
    let permitted = Permitted {
        failures: &[
            (MODERN_CALL, 0),
            ("legacy call", 0),
            (SESSION, 0),
            ("resumed stream", 0),
            ("cancelled call", 0),
            ("input request in a session", 0),
            ("input request in a result", 0),
            ("change", 0),
            ("task", 0),
            ("legacy task", 0),
            // A stream of this revision ends with its node.
            ("2024-11-05 call", NODES),
        ],
        loss: false,
    };
    workload.end(&permitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_that_was_stopped_for_longer_than_its_lease_is_used_again() {
    let (fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    fleet.pause_node(0);
    sleep(RENEWAL).await;
    // The other nodes have renewed their leases. The test does not wait until the lease of the stopped node ends.
    assert_eq!(end_oldest_lease(&fleet), "1");
    fleet.continue_node(0);
    workload.end(&Permitted::default()).await;
}

/// Ends the lease of the number whose node has not renewed it for the longest time. Returns how many leases have ended.
fn end_oldest_lease(fleet: &Fleet) -> String {
    let script = "local oldest, shortest \
         for _, key in ipairs(redis.call('KEYS', 'tw:toolwire-demo:{m:*}:o')) do \
         local left = redis.call('PTTL', key) \
         if not shortest or left < shortest then oldest, shortest = key, left end end \
         return tostring(redis.call('DEL', oldest))";
    succeed(fleet.engine_command(&format!("EVAL \"{script}\" 0")))
}

#[tokio::test(flavor = "multi_thread")]
async fn restarted_engine_has_all_sessions() {
    let (mut fleet, workload) = start(&PERSISTENT).await;
    workload.start_fault();
    fleet.kill_engine();
    sleep(Duration::from_secs(2)).await;
    assert!(workload.ledger.successes_during_fault(MODERN_CALL) > 0);
    succeed(fleet.restart_engine());
    workload.end(&ENGINE_FAULT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_without_persistence_loses_sessions_and_says_so() {
    let (mut fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    fleet.kill_engine();
    succeed(fleet.restart_engine());
    let permitted = Permitted {
        loss: true,
        ..ENGINE_FAULT
    };
    workload.end(&permitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_engine_continues_with_all_sessions() {
    let (fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    fleet.pause_engine();
    sleep(OUTAGE).await;
    assert!(workload.ledger.successes_during_fault(MODERN_CALL) > 0);
    fleet.continue_engine();
    workload.end(&ENGINE_FAULT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partitioned_nodes_are_used_again() {
    let (fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    fleet.set_link(0, Link::Stalled);
    sleep(OUTAGE).await;
    fleet.set_link(0, Link::Up);
    // The engine executes commands whose responses never arrive.
    fleet.set_link(1, Link::OneWay);
    fleet.set_link(2, Link::Slow(Duration::from_millis(40)));
    sleep(Duration::from_secs(2)).await;
    fleet.set_link(1, Link::Down);
    sleep(Duration::from_secs(1)).await;
    fleet.set_link(1, Link::Up);
    fleet.set_link(2, Link::Up);
    workload.end(&ENGINE_FAULT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promoted_replica_has_all_sessions() {
    let (mut fleet, workload) = start(&PERSISTENT).await;
    tokio::task::block_in_place(|| succeed(fleet.add_replica()));
    workload.start_fault();
    tokio::task::block_in_place(|| succeed(fleet.promote_replica()));
    workload.end(&ENGINE_FAULT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promoted_replica_that_misses_writes_says_what_is_lost() {
    let (mut fleet, workload) = start(&PERSISTENT).await;
    tokio::task::block_in_place(|| succeed(fleet.add_replica()));
    workload.start_fault();
    // More than a hundred writes, each of a few hundred bytes.
    let missing = 64 * 1024;
    tokio::task::block_in_place(|| succeed(fleet.promote_outdated_replica(missing)));
    let permitted = Permitted {
        loss: true,
        ..ENGINE_FAULT
    };
    workload.end(&permitted).await;
}
