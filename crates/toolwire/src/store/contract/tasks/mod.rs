//! Contract tests for task stores.

mod leases;
mod records;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use toolwire_types::tasks::TaskStatus;

use crate::engine::Principal;
use crate::store::contract::tasks::records::{
    complete_record, completed, largest_record, new_owner, record,
};
use crate::store::contract::{in_time, ok, unique_name};
use crate::store::{
    MAX_TASK_RECORD_BYTES, StoreError, StoredTask, TaskRecord, TaskStore, Worker, now_ms,
};

/// A lease that lasts longer than each test.
const LONG_LEASE: Duration = Duration::from_secs(60);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// Checks a [`TaskStore`]. `connect` is called once per node. All nodes share the tasks.
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn task_store<S: TaskStore + 'static>(connect: impl AsyncFn() -> Arc<S>) {
    let (node, other) = (connect().await, connect().await);
    created_task_can_be_loaded(&*node, &*other).await;
    used_id_is_rejected(&*node, &*other).await;
    task_of_other_principal_does_not_exist(&*node, &*other).await;
    replacement_needs_the_revision(&*node, &*other).await;
    one_of_many_replacements_wins([Arc::clone(&node), Arc::clone(&other)]).await;
    final_record_is_never_replaced(&*node, &*other).await;
    list_has_each_own_task_once(&*node, &*other).await;
    expired_record_is_gone(&*node, &*other).await;
    removed_task_is_gone(&*node, &*other).await;
    largest_record_is_stored_unchanged(&*node, &*other).await;
    leases::check(node, other).await;
}

/// Checks the limit per principal of a [`TaskStore`]. `per_principal` is the maximum number of unfinished tasks.
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn task_store_bounds<S: TaskStore + 'static>(
    connect: impl AsyncFn() -> Arc<S>,
    per_principal: usize,
) {
    let (node, other) = (connect().await, connect().await);
    let (owner, tool) = (new_owner(), unique_name("tool"));
    let mut ids = Vec::new();
    for _ in 0..per_principal {
        ids.push(create(&*node, &owner, record(&tool)).await.id);
    }
    for store in [&*node, &*other] {
        assert_owner_full(store, &owner, &tool).await;
    }
    let mut others = Vec::new();
    if per_principal > 0 {
        let task = create(&*node, &new_owner(), record(&tool)).await;
        others.push(task.id);
    }
    for _ in 0..=per_principal {
        let task = create(&*node, &Principal::anonymous(), record(&tool)).await;
        others.push(task.id);
    }
    if let Some(id) = ids.first() {
        let task = load(&*node, id, &owner).await.expect("it was created");
        let replaced = node.replace(id, task.revision, completed(&tool)).await;
        assert!(
            ok("replace", replaced).is_some(),
            "a task can be finished although the limit of its principal is reached"
        );
        ids.push(create(&*other, &owner, record(&tool)).await.id);
        assert_owner_full(&*node, &owner, &tool).await;
        if let Some(unfinished) = ids.pop() {
            assert!(ok("remove", node.remove(&unfinished).await));
        }
        ids.push(create(&*other, &owner, record(&tool)).await.id);
        assert_owner_full(&*node, &owner, &tool).await;
    }
    for id in ids.iter().chain(&others) {
        ok("remove", node.remove(id).await);
    }
}

async fn assert_owner_full(store: &dyn TaskStore, owner: &Principal, tool: &str) {
    let id = unique_name("task");
    let created = store.create(&id, owner, record(tool), None).await;
    assert!(
        matches!(created, Err(StoreError::OwnerFull)),
        "one more unfinished task of a principal is rejected with `OwnerFull`"
    );
    assert_eq!(
        load(store, &id, owner).await,
        None,
        "a rejected task is not stored"
    );
}

async fn created_task_can_be_loaded(node: &dyn TaskStore, other: &dyn TaskStore) {
    let worker = Worker::new(unique_name("worker"), ["render"]);
    for owner in [Principal::anonymous(), new_owner()] {
        for lease in [None, Some((&worker, LONG_LEASE))] {
            for initial in [record("render"), complete_record()] {
                let id = unique_name("task");
                let created = node.create(&id, &owner, initial.clone(), lease).await;
                let created = ok("create", created);
                assert_eq!(created.id, id, "create returns the id");
                assert_eq!(created.principal, owner, "create returns the principal");
                assert_unchanged(&created.record, &initial);
                assert_eq!(
                    created.owner.as_ref(),
                    lease.map(|(worker, _)| &worker.id),
                    "the worker of the lease owns the task, and otherwise no worker does"
                );
                for store in [other, node] {
                    let loaded = load(store, &id, &owner).await;
                    let loaded = loaded.expect("every node can load a task that was created");
                    assert_eq!(loaded, created, "load returns what create returned");
                    assert_unchanged(&loaded.record, &initial);
                }
            }
        }
    }
}

async fn used_id_is_rejected(node: &dyn TaskStore, other: &dyn TaskStore) {
    let owner = new_owner();
    let first = create(node, &owner, record("first")).await;
    for store in [node, other] {
        for principal in [&owner, &new_owner()] {
            let second = store.create(&first.id, principal, record("second"), None);
            assert!(
                matches!(second.await, Err(StoreError::Taken)),
                "an id in use is rejected with `Taken`"
            );
        }
    }
    assert_eq!(
        load(other, &first.id, &owner).await,
        Some(first),
        "a task does not change when its id is used again"
    );
}

async fn task_of_other_principal_does_not_exist(node: &dyn TaskStore, other: &dyn TaskStore) {
    let (alice, mallory) = (new_owner(), new_owner());
    let anonymous = Principal::anonymous();
    for (owner, stranger) in [
        (&alice, &mallory),
        (&alice, &anonymous),
        (&anonymous, &mallory),
    ] {
        let task = create(node, owner, record("render")).await;
        for store in [node, other] {
            for id in [&task.id, &unique_name("task")] {
                assert_eq!(
                    load(store, id, stranger).await,
                    None,
                    "load finds no task that never existed or belongs to another principal"
                );
            }
            let listed = list(store, stranger, usize::MAX).await;
            assert!(
                listed.iter().all(|listed| listed.id != task.id),
                "list has no task of another principal"
            );
        }
        let unknown = ok("find", other.find(&unique_name("task")).await);
        assert_eq!(unknown, None, "find finds no task that never existed");
        let found = ok("find", other.find(&task.id).await);
        assert_eq!(
            found.as_ref(),
            Some(&task),
            "find needs no principal and returns it"
        );
        assert_eq!(load(other, &task.id, owner).await, Some(task));
    }
}

async fn replacement_needs_the_revision(node: &dyn TaskStore, other: &dyn TaskStore) {
    let owner = new_owner();
    let created = create(node, &owner, record("a")).await;
    let first = created.revision;
    let new = complete_record();
    let replaced = other.replace(&created.id, first, new.clone()).await;
    let second = ok("replace", replaced).expect("a record of the current revision can be replaced");
    assert!(second > first, "the revision grows with every replacement");
    for store in [node, other] {
        for stale in [first, second + 1] {
            let replaced = store.replace(&created.id, stale, record("c")).await;
            assert_eq!(
                ok("replace", replaced),
                None,
                "a record is not replaced under another revision than its own"
            );
        }
        let loaded = load(store, &created.id, &owner).await;
        let loaded = loaded.expect("a task exists after its record was replaced");
        assert_unchanged(&loaded.record, &new);
        assert_eq!(
            (loaded.revision, &loaded.principal),
            (second, &owner),
            "a replacement changes the revision and not the principal"
        );
    }
    let absent = node.replace(&unique_name("task"), first, record("a")).await;
    assert_eq!(
        ok("replace", absent),
        None,
        "replace finds no task that never existed"
    );
}

async fn one_of_many_replacements_wins<S: TaskStore + 'static>(nodes: [Arc<S>; 2]) {
    let owner = new_owner();
    let created = create(&*nodes[0], &owner, record("a")).await;
    let mut replacements = JoinSet::new();
    for number in 0..16 {
        let (store, id) = (Arc::clone(&nodes[number % 2]), created.id.clone());
        let new = record(&number.to_string());
        replacements.spawn(async move {
            let replaced = store.replace(&id, created.revision, new.clone()).await;
            ok("replace", replaced).map(|revision| (revision, new))
        });
    }
    let outcomes = in_time("every replacement returns", replacements.join_all()).await;
    let winners: Vec<_> = outcomes.into_iter().flatten().collect();
    assert_eq!(
        winners.len(),
        1,
        "of several replacements of one revision exactly one succeeds"
    );
    let loaded = load(&*nodes[1], &created.id, &owner).await;
    let loaded = loaded.map(|task| (task.revision, (*task.record).clone()));
    assert_eq!(
        loaded.as_ref(),
        winners.first(),
        "the record is the one whose replacement succeeded"
    );
}

async fn final_record_is_never_replaced(node: &dyn TaskStore, other: &dyn TaskStore) {
    let worker = Worker::new(unique_name("worker"), ["render"]);
    for status in [
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Cancelled,
    ] {
        let (owner, id) = (new_owner(), unique_name("task"));
        let lease = Some((&worker, LONG_LEASE));
        let created = node.create(&id, &owner, record("render"), lease).await;
        let created = ok("create", created);
        let mut last = completed("render");
        last.status = status;
        let replaced = node.replace(&id, created.revision, last.clone()).await;
        let revision = ok("replace", replaced).expect("a task can be finished");
        for store in [other, node] {
            for stale in [created.revision, revision] {
                let replaced = store.replace(&id, stale, record("render")).await;
                assert_eq!(
                    ok("replace", replaced),
                    None,
                    "a final record is never replaced"
                );
            }
            let loaded = load(store, &id, &owner).await;
            let loaded = loaded.expect("a finished task exists until it expires");
            assert_unchanged(&loaded.record, &last);
            assert_eq!(loaded.owner, None, "a final record ends the lease");
            let renewed = store.renew(&id, &worker, LONG_LEASE).await;
            assert!(!ok("renew", renewed), "a final task has no owner");
        }
    }
}

async fn list_has_each_own_task_once(node: &dyn TaskStore, other: &dyn TaskStore) {
    let owner = new_owner();
    let mut expected = Vec::new();
    for number in 0..7 {
        let store = if number % 2 == 0 { node } else { other };
        expected.push(create(store, &owner, record("render")).await);
        create(store, &new_owner(), record("render")).await;
    }
    expected.sort_by(|one, other| one.id.cmp(&other.id));
    for store in [node, other] {
        for page in [1, 2, 3, 6, 7, 8] {
            assert_eq!(
                list(store, &owner, page).await,
                expected,
                "pages of {page} tasks have exactly the own tasks, each once, in the order of their ids"
            );
        }
        let none = store.list(&owner, None, 0).await;
        assert_eq!(ok("list", none), [], "a page has at most `limit` tasks");
        let after = expected[3].id.as_str();
        // An id after which a page starts need not exist any more.
        for start in [after.to_owned(), format!("{after}-")] {
            let listed = ok("list", store.list(&owner, Some(&start), 100).await);
            assert_eq!(listed, expected[4..], "a page starts after the given id");
        }
    }
}

async fn expired_record_is_gone(node: &dyn TaskStore, other: &dyn TaskStore) {
    let (owner, tool) = (new_owner(), unique_name("tool"));
    let worker = Worker::new(unique_name("worker"), [&tool]);
    let mut short = record(&tool);
    short.expires_at_ms = Some(now_ms() + 200);
    let lapsed = create(node, &owner, short).await;
    in_time("a record expires", async {
        while load(other, &lapsed.id, &owner).await.is_some() {
            sleep(PAUSE).await;
        }
    })
    .await;
    let replaced = create(node, &owner, record(&tool)).await;
    let mut past = record(&tool);
    past.expires_at_ms = Some(now_ms() - 1);
    let revision = ok(
        "replace",
        node.replace(&replaced.id, replaced.revision, past).await,
    );
    for (task, revision) in [
        (&lapsed, lapsed.revision),
        (&replaced, revision.unwrap_or(2)),
    ] {
        for store in [node, other] {
            assert_eq!(
                load(store, &task.id, &owner).await,
                None,
                "load finds no expired task"
            );
            let again = store.replace(&task.id, revision, record(&tool)).await;
            assert_eq!(
                ok("replace", again),
                None,
                "an expired task is not replaced"
            );
            let renewed = store.renew(&task.id, &worker, LONG_LEASE).await;
            assert!(!ok("renew", renewed), "an expired task has no owner");
        }
    }
    for store in [node, other] {
        assert_eq!(
            list(store, &owner, 10).await,
            [],
            "list has no expired task"
        );
        let claimed = store.claim(&worker, LONG_LEASE, 10).await;
        assert_eq!(ok("claim", claimed), [], "an expired task is not claimed");
    }
    for task in [&lapsed, &replaced] {
        let removed = ok("remove", other.remove(&task.id).await);
        assert!(!removed, "remove finds no expired task");
    }
}

async fn removed_task_is_gone(node: &dyn TaskStore, other: &dyn TaskStore) {
    let (owner, tool) = (new_owner(), unique_name("tool"));
    let worker = Worker::new(unique_name("worker"), [&tool]);
    for initial in [record(&tool), completed(&tool)] {
        let task = create(node, &owner, initial).await;
        assert!(
            ok("remove", other.remove(&task.id).await),
            "remove finds a task that exists"
        );
        for store in [node, other] {
            assert!(
                !ok("remove", store.remove(&task.id).await),
                "a task is removed once, and removing it again is no error"
            );
            assert_eq!(load(store, &task.id, &owner).await, None);
            assert_eq!(list(store, &owner, 10).await, []);
            let claimed = store.claim(&worker, LONG_LEASE, 10).await;
            assert_eq!(ok("claim", claimed), [], "a removed task is not claimed");
            let replaced = store.replace(&task.id, task.revision, record(&tool)).await;
            assert_eq!(ok("replace", replaced), None);
        }
    }
}

async fn largest_record_is_stored_unchanged(node: &dyn TaskStore, other: &dyn TaskStore) {
    let owner = new_owner();
    let largest = largest_record();
    assert_eq!(largest.memory_bytes(), MAX_TASK_RECORD_BYTES);
    let created = create(node, &owner, largest.clone()).await;
    let small = create(node, &owner, record("render")).await;
    let replaced = node
        .replace(&small.id, small.revision, largest.clone())
        .await;
    assert!(ok("replace", replaced).is_some());
    for id in [&created.id, &small.id] {
        let loaded = load(other, id, &owner).await;
        let loaded = loaded.expect("a record of the largest size can be loaded");
        assert_unchanged(&loaded.record, &largest);
    }
    for listed in list(other, &owner, 10).await {
        assert_unchanged(&listed.record, &largest);
        ok("remove", node.remove(&listed.id).await);
    }
}

/// Checks that two records are equal, also in the text of their JSON.
fn assert_unchanged(stored: &TaskRecord, expected: &TaskRecord) {
    let text = |record: &TaskRecord| serde_json::to_string(record).expect("a record is JSON");
    // The texts may be megabytes long, so they are not printed.
    let is_same = text(stored) == text(expected) && stored == expected;
    assert!(
        is_same,
        "the store returns a record as it was stored, byte for byte"
    );
}

async fn create(store: &dyn TaskStore, owner: &Principal, record: TaskRecord) -> StoredTask {
    let id = unique_name("task");
    ok("create", store.create(&id, owner, record, None).await)
}

async fn load(store: &dyn TaskStore, id: &str, owner: &Principal) -> Option<StoredTask> {
    ok("load", store.load(id, owner).await)
}

/// Lists all tasks of a principal in pages.
async fn list(store: &dyn TaskStore, owner: &Principal, page: usize) -> Vec<StoredTask> {
    let mut listed: Vec<StoredTask> = Vec::new();
    loop {
        let after = listed.last().map(|task| task.id.clone());
        let tasks = ok("list", store.list(owner, after.as_deref(), page).await);
        assert!(tasks.len() <= page, "a page has at most `limit` tasks");
        if tasks.is_empty() {
            return listed;
        }
        listed.extend(tasks);
        assert!(listed.len() < 1000, "pages come to an end");
    }
}
