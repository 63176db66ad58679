//! Faults of nodes, of the engine and of the network between them, while clients of all revisions use the fleet.
//!
//! Each test has one fault. Calls of 2026-07-28 do not depend on the engine, so they must not fail because of it.

use std::time::Duration;

use tokio::time::sleep;
use toolwire_interop::{Fleet, Problem};
use toolwire_tests::engine::{IN_MEMORY, PERSISTENT};
use toolwire_tests::relay::Link;

use super::ledger::Permitted;
use super::record_versions;
use super::workload::{CANCELLED_CALL, MODERN_CALL, SESSION, Workload};

/// The number of nodes.
const NODES: usize = 3;

/// How long the engine is away. It is longer than the time after which streams are broken off.
const OUTAGE: Duration = Duration::from_secs(6);

/// A pause of the engine that is shorter than the timeout of a command.
const SHORT_PAUSE: Duration = Duration::from_millis(200);

/// A pause of the engine that is longer than all timeouts of store calls together.
const LONG_PAUSE: Duration = Duration::from_secs(10);

/// How long a fault lasts that needs no timeout to have an effect.
const SHORT_FAULT: Duration = Duration::from_secs(2);

/// The pause between two faults of a series.
const PAUSE: Duration = Duration::from_millis(250);

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
    // The other nodes continue at once.
    workload.ledger.note_recovery();
    succeed(fleet.add_node());
    let permitted = Permitted {
        failures: &[(MODERN_CALL, 1), (SESSION, 1)],
        loss: false,
    };
    workload.end(&fleet, &permitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rolling_restart_fails_no_request() {
    let (mut fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    for number in 0..NODES {
        // The nodes have another version: their records have more members, and some of their messages are unknown.
        record_versions::add_member_to_records(&fleet, &format!("colour{number}"));
        record_versions::send_unknown_messages(&fleet);
        succeed(tokio::task::block_in_place(|| fleet.replace_node()));
    }
    let permitted = Permitted {
        failures: &[
            (MODERN_CALL, 0),
            ("legacy call", 0),
            (SESSION, 0),
            ("resumed stream", 0),
            (CANCELLED_CALL, 0),
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
    workload.end(&fleet, &permitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_that_restarts_at_its_address_is_used_again() {
    let (mut fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    succeed(tokio::task::block_in_place(|| fleet.restart_node(0)));
    let permitted = Permitted {
        failures: &[(MODERN_CALL, 1), (SESSION, 1)],
        loss: false,
    };
    workload.end(&fleet, &permitted).await;
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
    workload.end(&fleet, &Permitted::default()).await;
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
    sleep(SHORT_FAULT).await;
    assert!(workload.ledger.successes_during_fault(MODERN_CALL) > 0);
    succeed(fleet.restart_engine());
    workload.end(&fleet, &ENGINE_FAULT).await;
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
    workload.end(&fleet, &permitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_engine_continues_with_all_sessions() {
    let (fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    for pause in [SHORT_PAUSE, SHORT_PAUSE, LONG_PAUSE] {
        fleet.pause_engine();
        sleep(pause).await;
        fleet.continue_engine();
        sleep(SHORT_PAUSE).await;
    }
    assert!(workload.ledger.successes_during_fault(MODERN_CALL) > 0);
    workload.end(&fleet, &ENGINE_FAULT).await;
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
    sleep(SHORT_FAULT).await;
    fleet.set_link(1, Link::Down);
    sleep(Duration::from_secs(1)).await;
    fleet.set_link(1, Link::Up);
    fleet.set_link(2, Link::Up);
    workload.end(&fleet, &ENGINE_FAULT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promoted_replica_has_all_sessions() {
    let (mut fleet, workload) = start(&PERSISTENT).await;
    tokio::task::block_in_place(|| succeed(fleet.add_replica()));
    workload.start_fault();
    tokio::task::block_in_place(|| succeed(fleet.promote_replica()));
    workload.end(&fleet, &ENGINE_FAULT).await;
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
    workload.end(&fleet, &permitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_scripts_and_connections_lose_no_data() {
    let (fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    for round in 0..6 {
        succeed(fleet.engine_command("SCRIPT FLUSH"));
        sleep(PAUSE).await;
        succeed(fleet.engine_command("CLIENT KILL TYPE normal"));
        sleep(PAUSE).await;
        // The connections of one node are reset.
        fleet.set_link(round % NODES, Link::Down);
        fleet.set_link(round % NODES, Link::Up);
        sleep(PAUSE).await;
    }
    workload.end(&fleet, &ENGINE_FAULT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_connections_of_subscribers_fail_no_call() {
    let (fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    for _ in 0..12 {
        succeed(fleet.engine_command("CLIENT KILL TYPE pubsub"));
        sleep(PAUSE).await;
    }
    let permitted = Permitted {
        failures: &[
            (MODERN_CALL, 0),
            ("legacy call", 0),
            (SESSION, 0),
            ("resumed stream", 0),
            ("input request in a result", 0),
            ("change", 0),
            ("task", 0),
            ("legacy task", 0),
        ],
        loss: false,
    };
    workload.end(&fleet, &permitted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn full_engine_rejects_writes_and_loses_no_data() {
    let (fleet, workload) = start(&IN_MEMORY).await;
    workload.start_fault();
    succeed(fleet.engine_command("CONFIG SET maxmemory 1"));
    sleep(SHORT_FAULT).await;
    assert!(workload.ledger.successes_during_fault(MODERN_CALL) > 0);
    succeed(fleet.engine_command("CONFIG SET maxmemory 0"));
    workload.end(&fleet, &ENGINE_FAULT).await;
}
