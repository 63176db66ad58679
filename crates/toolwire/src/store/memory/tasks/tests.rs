//! Tests of the limits and times of the task store in memory. Other rules are in the contract, and the comparison with
//! the file store is beside that store.

use std::sync::Arc;

use toolwire_types::tasks::TaskStatus;
use toolwire_types::{ProtocolVersion, RawJson};

use super::*;
use crate::engine::TokenInfo;
use crate::store::{MAX_TASK_RECORD_BYTES, StoreError, TaskOutcome, contract};

const LEASE: Duration = Duration::from_secs(30);

fn user(name: &str) -> Principal {
    Principal::of(&TokenInfo::verified().with_subject(name))
}

fn record() -> TaskRecord {
    let call = RawJson::empty_object();
    TaskRecord::new("render", ProtocolVersion::LATEST, call, 1)
}

fn expiring(at_ms: u64) -> TaskRecord {
    let mut record = record();
    record.expires_at_ms = Some(at_ms);
    record
}

fn completed() -> TaskRecord {
    let mut record = record();
    record.status = TaskStatus::Completed;
    record
}

/// Returns a record that takes `bytes` in memory.
fn record_of(bytes: usize) -> TaskRecord {
    let mut record = record();
    let result = |length: usize| TaskOutcome::Completed {
        result: RawJson::from_string(format!("\"{}\"", "x".repeat(length))).unwrap(),
        is_error: false,
    };
    record.outcome = Some(result(0));
    let rest = bytes - record.memory_bytes();
    record.outcome = Some(result(rest));
    assert_eq!(record.memory_bytes(), bytes);
    record
}

fn now(wall_ms: u64, start: Instant) -> Now {
    Now {
        wall_ms,
        monotonic: start + Duration::from_millis(wall_ms),
    }
}

fn table(limits: MemoryTaskLimits) -> (TaskTable, Now) {
    (TaskTable::new(limits), now(1000, Instant::now()))
}

/// Returns the name of the outcome of a creation.
fn outcome<T>(created: Result<T, StoreError>) -> &'static str {
    match created {
        Ok(_) => "created",
        Err(StoreError::Full) => "full",
        Err(StoreError::OwnerFull) => "owner full",
        Err(StoreError::Taken) => "taken",
        Err(_) => "unavailable",
    }
}

#[tokio::test]
async fn store_meets_the_contract() {
    let store = Arc::<MemoryTaskStore>::default();
    contract::task_store(async || Arc::clone(&store)).await;
    assert_eq!(store.poll_interval(), None);
}

#[tokio::test]
async fn store_meets_the_contract_of_limits() {
    for limit in [0, 1, 3] {
        let limits = MemoryTaskLimits::default().with_unfinished_per_principal(limit);
        let store = Arc::new(MemoryTaskStore::new(limits));
        contract::task_store_bounds(async || Arc::clone(&store), limit).await;
    }
    let store = Arc::<MemoryTaskStore>::default();
    contract::task_store_bounds(async || Arc::clone(&store), 64).await;
}

#[test]
fn number_of_tasks_is_limited() {
    let (table, now) = table(MemoryTaskLimits::default().with_tasks(2));
    for (id, record, expected) in [
        ("a", record(), "created"),
        ("a", record(), "taken"),
        ("b", completed(), "created"),
        ("c", record(), "full"),
        ("d", completed(), "full"),
    ] {
        let created = table.create(id, &user(id), record, None, now);
        assert_eq!(outcome(created), expected, "{id}");
    }
    assert!(table.remove("b", now));
    let created = table.create("c", &Principal::anonymous(), record(), None, now);
    assert_eq!(outcome(created), "created");
}

#[test]
fn bytes_of_all_records_are_limited() {
    let limits = MemoryTaskLimits::default().with_bytes(10_000);
    let (table, now) = table(limits);
    let ann = user("ann");
    let create = |id: &str, bytes| outcome(table.create(id, &ann, record_of(bytes), None, now));
    assert_eq!(create("a", 6000), "created");
    assert_eq!(create("b", 4001), "full");
    assert_eq!(create("b", 4000), "created");
    let replace = |id: &str, revision, bytes| table.replace(id, revision, record_of(bytes), now);
    assert!(matches!(replace("a", 1, 6001), Err(StoreError::Full)));
    assert_eq!(replace("a", 1, 6000).unwrap(), Some(2));
    assert_eq!(replace("a", 2, 5000).unwrap(), Some(3));
    assert_eq!(replace("b", 1, 5000).unwrap(), Some(2));
    assert!(matches!(replace("b", 2, 5001), Err(StoreError::Full)));
    assert!(table.remove("a", now));
    assert_eq!(create("c", 5000), "created");
}

#[test]
fn largest_record_is_accepted() {
    let (table, now) = table(MemoryTaskLimits::default());
    let ann = user("ann");
    let create = |id: &str, bytes| outcome(table.create(id, &ann, record_of(bytes), None, now));
    assert_eq!(create("a", MAX_TASK_RECORD_BYTES + 1), "full");
    assert_eq!(create("a", MAX_TASK_RECORD_BYTES), "created");
    let larger = record_of(MAX_TASK_RECORD_BYTES + 1);
    assert!(matches!(
        table.replace("a", 1, larger, now),
        Err(StoreError::Full)
    ));
    let largest = record_of(MAX_TASK_RECORD_BYTES);
    assert_eq!(table.replace("a", 1, largest, now).unwrap(), Some(2));
}

#[test]
fn expired_tasks_do_not_count() {
    let limits = MemoryTaskLimits::default()
        .with_tasks(100)
        .with_bytes(100 * 1000)
        .with_unfinished_per_principal(100);
    let (table, start) = table(limits);
    let ann = user("ann");
    for number in 0..100 {
        let mut record = record_of(1000);
        record.expires_at_ms = Some(2000);
        let id = format!("old-{number}");
        table.create(&id, &ann, record, None, start).unwrap();
    }
    let later = now(2000, start.monotonic);
    // More tasks have expired than one call removes otherwise.
    for number in 0..100 {
        let id = format!("new-{number}");
        let created = table.create(&id, &ann, record_of(1000), None, later);
        assert_eq!(outcome(created), "created", "{id}");
    }
    let created = table.create("more", &ann, record(), None, later);
    assert_eq!(outcome(created), "owner full");
    for number in 0..100 {
        assert!(table.remove(&format!("new-{number}"), later));
    }
    assert!(table.is_empty());
}

#[test]
fn expired_bytes_do_not_prevent_a_replacement() {
    let (table, start) = table(MemoryTaskLimits::default().with_bytes(10_000));
    let ann = user("ann");
    let mut old = record_of(8000);
    old.expires_at_ms = Some(2000);
    table.create("old", &ann, old, None, start).unwrap();
    table
        .create("a", &ann, record_of(2000), None, start)
        .unwrap();
    let grown = || record_of(10_000);
    assert!(matches!(
        table.replace("a", 1, grown(), start),
        Err(StoreError::Full)
    ));
    let later = now(2000, start.monotonic);
    assert_eq!(table.replace("a", 1, grown(), later).unwrap(), Some(2));
}

#[test]
fn later_calls_remove_expired_tasks() {
    let (table, start) = table(MemoryTaskLimits::default());
    let (ann, worker) = (user("ann"), Worker::new("w", ["render"]));
    for number in 0..40 {
        let id = format!("task-{number}");
        let lease = Some((&worker, LEASE));
        let record = expiring(1500 + number);
        table.create(&id, &ann, record, lease, start).unwrap();
    }
    let later = now(2000, start.monotonic);
    assert!(table.claim(&worker, LEASE, 10, later).is_empty());
    assert_eq!(table.list(&ann, None, 100, later), []);
    assert!(!table.is_empty(), "one call removes only some");
    assert_eq!(table.list(&ann, None, 100, later), []);
    assert!(table.is_empty());
}

#[test]
fn id_of_an_expired_task_can_be_used_again() {
    let (table, start) = table(MemoryTaskLimits::default());
    let (ann, bob) = (user("ann"), user("bob"));
    table
        .create("a", &ann, expiring(1001), None, start)
        .unwrap();
    let later = now(1001, start.monotonic);
    table.create("a", &bob, record(), None, later).unwrap();
    assert_eq!(table.load("a", &ann, later), None);
    assert!(table.load("a", &bob, later).is_some());
    assert!(table.remove("a", later));
    assert!(table.is_empty());
}

#[test]
fn lease_ends_exactly_after_its_time() {
    let (table, start) = table(MemoryTaskLimits::default());
    let ann = user("ann");
    let [one, two] = ["one", "two"].map(|id| Worker::new(id, ["render"]));
    let at = |millis: u64| now(millis, start.monotonic);
    let lease = Duration::from_millis(500);
    table
        .create("a", &ann, record(), Some((&one, lease)), at(0))
        .unwrap();
    assert!(table.claim(&two, lease, 1, at(499)).is_empty());
    assert!(table.set_lease("a", &one, Some(lease), at(499)));
    assert!(table.claim(&two, lease, 1, at(998)).is_empty());
    let owner = |millis| table.load("a", &ann, at(millis)).unwrap().owner;
    assert_eq!(owner(998).as_deref(), Some("one"));
    assert_eq!(owner(999), None);
    // The lease can be renewed until another worker claims the task, also if it is listed as waiting.
    let other = Worker::new("other", ["other tool"]);
    assert!(table.claim(&other, lease, 1, at(999)).is_empty());
    assert!(table.set_lease("a", &one, Some(lease), at(999)));
    assert_eq!(owner(1498).as_deref(), Some("one"));
    assert!(table.claim(&two, lease, 1, at(1498)).is_empty());
    assert_eq!(table.claim(&two, Duration::MAX, 1, at(1499)).len(), 1);
    assert!(!table.set_lease("a", &one, Some(lease), at(1499)));
    assert!(table.claim(&one, lease, 1, at(1_000_000)).is_empty());
    assert!(table.set_lease("a", &two, None, at(1_000_000)));
    assert_eq!(table.claim(&one, lease, 1, at(1_000_000)).len(), 1);
}

#[test]
fn load_shares_the_record() {
    let (table, now) = table(MemoryTaskLimits::default());
    let ann = user("ann");
    let created = table.create("a", &ann, record(), None, now).unwrap();
    let loaded = table.load("a", &ann, now).unwrap();
    assert!(Arc::ptr_eq(&created.record, &loaded.record));
}

/// Calls from several threads neither block each other for ever nor lose a task.
#[test]
fn concurrent_calls_leave_the_index_consistent() {
    let (table, now) = table(MemoryTaskLimits::default().with_tasks(64));
    let ann = user("ann");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (table, ann) = (&table, &ann);
            scope.spawn(move || {
                let worker = Worker::new(format!("worker-{thread}"), ["render"]);
                for number in 0..500_u64 {
                    let id = format!("task-{}", (number * 7 + thread) % 40);
                    let expiry = if number % 3 == 0 { 999 } else { 5000 };
                    let _ = table.create(&id, ann, expiring(expiry), None, now);
                    for task in table.claim(&worker, LEASE, 2, now) {
                        let _ = table.replace(&task.id, task.revision, completed(), now);
                    }
                    if number % 5 == 0 {
                        table.list(ann, None, 10, now);
                        table.remove(&id, now);
                    }
                }
            });
        }
    });
    let tasks = table.list(&ann, None, 100, now);
    for task in tasks {
        assert!(table.remove(&task.id, now));
    }
    let _ = table.list(&ann, None, 100, now);
    while !table
        .claim(&Worker::new("w", ["render"]), LEASE, 10, now)
        .is_empty()
    {}
    assert!(table.is_empty());
}

#[test]
fn debug_output_has_no_ids() {
    let store = MemoryTaskStore::default();
    let (table, time) = (&store.table, read_clocks());
    table
        .create("s3cret", &user("ann"), record(), None, time)
        .unwrap();
    assert!(!format!("{store:?}").contains("s3cret"));
}
