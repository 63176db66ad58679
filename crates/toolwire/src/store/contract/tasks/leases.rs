//! The rules of claims and leases.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::engine::Principal;
use crate::store::contract::tasks::records::{completed, new_owner, record};
use crate::store::contract::tasks::{LONG_LEASE, PAUSE, create, load};
use crate::store::contract::{TIMEOUT, in_time, ok, unique_name};
use crate::store::{StoredTask, TaskStore, Worker, now_ms};

/// A lease whose end the tests wait for.
const SHORT_LEASE: Duration = Duration::from_millis(300);

/// The error of the clock of a store.
const CLOCK_ERROR: Duration = Duration::from_millis(20);

pub(super) async fn check<S: TaskStore + 'static>(node: Arc<S>, other: Arc<S>) {
    claim_gives_runnable_tasks_of_the_tools(&*node, &*other).await;
    claim_gives_the_oldest_first(&*node, &*other).await;
    claimed_task_belongs_to_its_owner(&*node, &*other).await;
    one_of_many_claims_wins(&node, &other).await;
    replacement_does_not_end_a_lease(&*node, &*other).await;
    tokio::join!(
        task_of_a_lost_worker_is_claimed_once(&node, &other),
        renewed_lease_lasts(&*node, &*other),
        ended_lease_is_renewed_until_the_task_is_claimed(&*node, &*other),
    );
}

async fn claim_gives_runnable_tasks_of_the_tools(node: &dyn TaskStore, other: &dyn TaskStore) {
    let [mine, second, foreign] = ["tool", "tool", "tool"].map(unique_name);
    let owner = new_owner();
    let mut waiting = record(&mine);
    waiting.runnable = false;
    create(node, &owner, waiting).await;
    create(node, &owner, completed(&mine)).await;
    let unknown = create(node, &owner, record(&foreign)).await;
    let mut claimable = vec![
        create(node, &owner, record(&mine)).await.id,
        create(other, &Principal::anonymous(), record(&second))
            .await
            .id,
    ];
    let worker = Worker::new(unique_name("worker"), [&mine, &second]);
    let claimed = claim(other, &worker, LONG_LEASE, 10).await;
    for task in &claimed {
        assert_eq!(
            task.owner.as_ref(),
            Some(&worker.id),
            "claim returns a task with its new owner"
        );
        let loaded = load(node, &task.id, &task.principal).await;
        assert_eq!(
            loaded.as_ref(),
            Some(task),
            "every node sees the owner, and a claim does not change the record or its revision"
        );
    }
    let mut ids: Vec<String> = claimed.into_iter().map(|task| task.id).collect();
    ids.sort_unstable();
    claimable.sort_unstable();
    assert_eq!(
        ids, claimable,
        "claim gives exactly the runnable tasks of the worker's tools, of every principal"
    );
    let unclaimed = load(node, &unknown.id, &owner).await;
    assert_eq!(
        unclaimed,
        Some(unknown),
        "a task of another tool is not claimed"
    );
    let none = Worker::new(unique_name("worker"), [""; 0]);
    assert_eq!(
        claim(node, &none, LONG_LEASE, 10).await,
        [],
        "a worker without tools gets no task"
    );
}

async fn claim_gives_the_oldest_first(node: &dyn TaskStore, other: &dyn TaskStore) {
    let tools = [unique_name("tool"), unique_name("tool")];
    let now_ms = now_ms();
    for age in [3, 1, 5, 2, 4] {
        let mut task = record(&tools[age % 2]);
        task.created_at_ms = now_ms - age as u64 * 1000;
        create(node, &new_owner(), task).await;
    }
    let worker = Worker::new(unique_name("worker"), tools);
    assert_eq!(claim(other, &worker, LONG_LEASE, 0).await, []);
    let mut ages = Vec::new();
    for (store, limit) in [(other, 2), (node, 1), (other, 10)] {
        let claimed = claim(store, &worker, LONG_LEASE, limit).await;
        assert!(claimed.len() <= limit, "claim gives at most `limit` tasks");
        ages.extend(
            claimed
                .iter()
                .map(|task| now_ms - task.record.created_at_ms),
        );
    }
    assert_eq!(
        ages,
        [5000, 4000, 3000, 2000, 1000],
        "claim gives the oldest tasks first"
    );
}

async fn claimed_task_belongs_to_its_owner(node: &dyn TaskStore, other: &dyn TaskStore) {
    let (owner, tool) = (new_owner(), unique_name("tool"));
    let [one, two] = ["worker", "worker"].map(|kind| Worker::new(unique_name(kind), [&tool]));
    let id = create(node, &owner, record(&tool)).await.id;
    for store in [node, other] {
        let renewed = store.renew(&id, &one, LONG_LEASE).await;
        assert!(
            !ok("renew", renewed),
            "a task without an owner is not renewed"
        );
        let released = store.release(&id, &one).await;
        assert!(
            !ok("release", released),
            "a task without an owner is not released"
        );
    }
    assert_eq!(claim(node, &one, LONG_LEASE, 1).await.len(), 1);
    for store in [node, other] {
        for worker in [&one, &two] {
            assert_eq!(
                claim(store, worker, LONG_LEASE, 1).await,
                [],
                "a task is not claimed while a lease lasts"
            );
        }
        let renewed = store.renew(&id, &two, LONG_LEASE).await;
        assert!(!ok("renew", renewed), "renew by another worker is false");
        let released = store.release(&id, &two).await;
        assert!(
            !ok("release", released),
            "release by another worker is false"
        );
        let renewed = store.renew(&id, &one, LONG_LEASE).await;
        assert!(ok("renew", renewed), "the owner can renew its lease");
    }
    let task = load(other, &id, &owner).await.expect("it was created");
    assert_eq!(task.owner.as_ref(), Some(&one.id));
    assert!(
        ok("release", other.release(&id, &one).await),
        "the owner can release its task"
    );
    let released = ok("release", node.release(&id, &one).await);
    assert!(!released, "a released task has no owner");
    let task = load(node, &id, &owner).await.expect("it was created");
    assert_eq!(task.owner, None, "a released task has no owner");
    let claimed = claim(node, &two, LONG_LEASE, 1).await;
    assert_eq!(claimed.len(), 1, "a released task can be claimed at once");
    for id in [&id, &unique_name("task")] {
        ok("remove", node.remove(id).await);
        let renewed = ok("renew", other.renew(id, &two, LONG_LEASE).await);
        assert!(!renewed, "an absent task is not renewed");
        let released = ok("release", other.release(id, &two).await);
        assert!(!released, "an absent task is not released");
    }
}

async fn one_of_many_claims_wins<S: TaskStore + 'static>(node: &Arc<S>, other: &Arc<S>) {
    let tool = unique_name("tool");
    for _ in 0..3 {
        create(&**node, &new_owner(), record(&tool)).await;
    }
    let claimed = claim_at_once(node, other, &tool).await;
    let mut ids: Vec<&str> = claimed.iter().map(|task| task.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(
        (ids.len(), claimed.len()),
        (3, 3),
        "of concurrent claims, exactly one gets each task"
    );
}

async fn replacement_does_not_end_a_lease(node: &dyn TaskStore, other: &dyn TaskStore) {
    let (owner, tool) = (new_owner(), unique_name("tool"));
    let worker = Worker::new(unique_name("worker"), [&tool]);
    let id = create(node, &owner, record(&tool)).await.id;
    let claimed = claim(node, &worker, LONG_LEASE, 1).await;
    let revision = claimed.first().expect("a runnable task").revision;
    let mut paused = record(&tool);
    paused.runnable = false;
    let replaced = other.replace(&id, revision, paused).await;
    let revision = ok("replace", replaced).expect("a claim does not change the revision");
    let replaced = other.replace(&id, revision, record(&tool)).await;
    ok("replace", replaced).expect("the current revision");
    for store in [node, other] {
        let task = load(store, &id, &owner).await.expect("it was created");
        assert_eq!(
            task.owner.as_ref(),
            Some(&worker.id),
            "a replacement by a record that is not final does not end the lease"
        );
        assert_eq!(claim(store, &worker, LONG_LEASE, 1).await, []);
    }
    assert!(ok("release", node.release(&id, &worker).await));
}

async fn task_of_a_lost_worker_is_claimed_once<S: TaskStore + 'static>(
    node: &Arc<S>,
    other: &Arc<S>,
) {
    let (owner, tool) = (new_owner(), unique_name("tool"));
    let lost = Worker::new(unique_name("worker"), [&tool]);
    let id = unique_name("task");
    let start = Instant::now();
    let lease = Some((&lost, SHORT_LEASE));
    ok(
        "create",
        node.create(&id, &owner, record(&tool), lease).await,
    );
    let claimed = in_time("a task whose lease ended can be claimed", async {
        loop {
            let claimed = claim_at_once(node, other, &tool).await;
            if !claimed.is_empty() {
                return claimed;
            }
            sleep(PAUSE).await;
        }
    })
    .await;
    assert!(
        start.elapsed() + CLOCK_ERROR >= SHORT_LEASE,
        "a task is not claimed before its lease ends"
    );
    assert_eq!(
        claimed.len(),
        1,
        "a task whose lease ended is claimed by exactly one worker"
    );
    for store in [&**node, &**other] {
        let renewed = store.renew(&id, &lost, LONG_LEASE).await;
        assert!(!ok("renew", renewed), "a lost worker does not own its task");
        let released = store.release(&id, &lost).await;
        assert!(
            !ok("release", released),
            "a lost worker does not own its task"
        );
    }
    let task = load(&**other, &id, &owner).await.expect("it was created");
    assert_eq!(task.owner, claimed[0].owner, "the task has its new owner");
}

async fn renewed_lease_lasts(node: &dyn TaskStore, other: &dyn TaskStore) {
    let (owner, tool) = (new_owner(), unique_name("tool"));
    let [worker, rival] = ["worker", "worker"].map(|kind| Worker::new(unique_name(kind), [&tool]));
    let deadline = Instant::now() + TIMEOUT;
    let id = loop {
        let id = unique_name("task");
        let start = Instant::now();
        let lease = Some((&worker, SHORT_LEASE));
        let created = node.create(&id, &owner, record(&tool), lease).await;
        ok("create", created);
        if ok("renew", other.renew(&id, &worker, LONG_LEASE).await) {
            break id;
        }
        // A slow machine may renew too late.
        assert!(
            start.elapsed() + CLOCK_ERROR >= SHORT_LEASE,
            "a lease that lasts can be renewed"
        );
        ok("remove", node.remove(&id).await);
        assert!(Instant::now() < deadline, "a lease can be renewed in time");
    };
    // The old lease must have ended. The new one lasts much longer.
    sleep(SHORT_LEASE + CLOCK_ERROR).await;
    for store in [node, other] {
        assert_eq!(
            claim(store, &rival, LONG_LEASE, 1).await,
            [],
            "a task is not claimed while its renewed lease lasts"
        );
        let task = load(store, &id, &owner).await.expect("it was created");
        assert_eq!(task.owner.as_ref(), Some(&worker.id));
    }
}

async fn ended_lease_is_renewed_until_the_task_is_claimed(
    node: &dyn TaskStore,
    other: &dyn TaskStore,
) {
    let (owner, tool) = (new_owner(), unique_name("tool"));
    let [worker, rival] = ["worker", "worker"].map(|kind| Worker::new(unique_name(kind), [&tool]));
    let id = unique_name("task");
    let lease = Some((&worker, SHORT_LEASE));
    let created = node.create(&id, &owner, record(&tool), lease).await;
    ok("create", created);
    sleep(SHORT_LEASE + CLOCK_ERROR).await;
    let task = load(other, &id, &owner).await.expect("it was created");
    assert_eq!(task.owner, None, "the lease has ended");
    // The claim of a worker with other tools changes nothing.
    let stranger = Worker::new(unique_name("worker"), [unique_name("tool")]);
    assert_eq!(claim(other, &stranger, LONG_LEASE, 1).await, []);
    let renewed = other.renew(&id, &rival, LONG_LEASE).await;
    assert!(!ok("renew", renewed), "only its worker renews a lease");
    let renewed = other.renew(&id, &worker, SHORT_LEASE).await;
    assert!(
        ok("renew", renewed),
        "a lease that has ended is renewed if no worker has claimed the task"
    );
    sleep(SHORT_LEASE + CLOCK_ERROR).await;
    let claimed = claim(node, &rival, LONG_LEASE, 1).await;
    assert_eq!(claimed.len(), 1, "the renewed lease ends");
    let renewed = node.renew(&id, &worker, LONG_LEASE).await;
    assert!(
        !ok("renew", renewed),
        "a lease is not renewed after another worker has claimed the task"
    );
    assert!(ok("release", other.release(&id, &rival).await));
    let renewed = node.renew(&id, &rival, LONG_LEASE).await;
    assert!(!ok("renew", renewed), "a released lease is not renewed");
    ok("remove", node.remove(&id).await);
}

/// Claims with eight workers at the same time. Returns the tasks that any of them got.
async fn claim_at_once<S: TaskStore + 'static>(
    node: &Arc<S>,
    other: &Arc<S>,
    tool: &str,
) -> Vec<StoredTask> {
    let mut claims = JoinSet::new();
    for number in 0..8 {
        let store = Arc::clone(if number % 2 == 0 { node } else { other });
        let worker = Worker::new(unique_name("worker"), [tool]);
        claims.spawn(async move {
            let claimed = claim(&*store, &worker, LONG_LEASE, 1).await;
            assert!(
                claimed
                    .iter()
                    .all(|task| task.owner.as_ref() == Some(&worker.id)),
                "a claimed task belongs to the worker that claimed it"
            );
            claimed
        });
    }
    claims.join_all().await.into_iter().flatten().collect()
}

async fn claim(
    store: &dyn TaskStore,
    worker: &Worker,
    lease: Duration,
    limit: usize,
) -> Vec<StoredTask> {
    ok("claim", store.claim(worker, lease, limit).await)
}
