//! The store of tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use redis::AsyncCommands as _;
use toolwire::Principal;
use toolwire::store::{
    MemoryTaskStore, StoreError, StoredTask, TaskRecord, TaskStore, Worker, contract,
};
use toolwire::tasks::TaskStatus;
use toolwire::types::{ProtocolVersion, RawJson};
use toolwire_redis::RedisOptions;

use crate::engine::Engine;

/// A lease that lasts longer than each test.
const LEASE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn contract_holds() {
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
    let options = RedisOptions::new("test").with_response_timeout(Duration::from_secs(5));
    let connect = async || Arc::new(engine.connect_with(options.clone()).await.tasks());
    contract::task_store(connect).await;
    let limited = RedisOptions::new("limited").with_unfinished_tasks_per_principal(3);
    let connect = async || Arc::new(engine.connect_with(limited.clone()).await.tasks());
    contract::task_store_bounds(connect, 3).await;
}

#[tokio::test]
async fn number_of_tasks_is_limited() {
    let engine = Engine::start();
    let options = RedisOptions::new("test").with_tasks(3);
    let tasks = engine.connect_with(options).await.tasks();
    let owner = Principal::anonymous();
    let mut expiring = record();
    expiring.expires_at_ms = Some(now_ms() + 300);
    tasks.create("a", &owner, expiring, None).await.unwrap();
    for id in ["b", "c"] {
        tasks.create(id, &owner, record(), None).await.unwrap();
    }
    let rejected = tasks.create("d", &owner, record(), None).await;
    assert!(matches!(rejected, Err(StoreError::Full)));
    tokio::time::sleep(Duration::from_millis(350)).await;
    let created = tasks.create("d", &owner, record(), None).await;
    assert!(created.is_ok(), "expired tasks do not count");
}

#[tokio::test]
async fn removed_and_expired_tasks_leave_nothing_behind() {
    let engine = Engine::start();
    let tasks = engine.connect().await.tasks();
    let worker = Worker::new("worker", ["render"]);
    let owner = Principal::from_stored(Some("ann"));
    for number in 0..40 {
        let mut record = record();
        record.expires_at_ms = (number % 2 == 0).then(|| now_ms() + 200);
        let lease = (number % 4 == 0).then_some((&worker, Duration::from_millis(100)));
        let id = format!("task-{number}");
        tasks.create(&id, &owner, record, lease).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(250)).await;
    let claimed = tasks.claim(&worker, LEASE, 100).await.unwrap();
    assert_eq!(claimed.len(), 20, "expired tasks are not claimed");
    for task in claimed {
        assert!(tasks.remove(&task.id).await.unwrap());
    }
    let mut commands = engine.commands().await;
    let keys: Vec<String> = commands.keys("*{*").await.unwrap();
    assert_eq!(keys, [""; 0]);
}

#[tokio::test]
async fn task_of_a_newer_version_is_an_error() {
    let engine = Engine::start();
    let tasks = engine.connect().await.tasks();
    let owner = Principal::anonymous();
    tasks.create("a", &owner, record(), None).await.unwrap();
    let mut commands = engine.commands().await;
    let key = "tw:test:{tasks}:t:a";
    let _: () = commands.hset(key, "format", 2).await.unwrap();
    let error = tasks.load("a", &owner).await.unwrap_err();
    assert!(matches!(error, StoreError::UnsupportedFormat), "{error:?}");
}

#[tokio::test]
async fn error_does_not_lose_the_tasks_that_were_claimed_before() {
    let engine = Engine::start();
    let tasks = engine.connect().await.tasks();
    let owner = Principal::anonymous();
    for (number, id) in ["a", "b"].into_iter().enumerate() {
        let mut record = record();
        record.created_at_ms = number as u64;
        tasks.create(id, &owner, record, None).await.unwrap();
    }
    let mut commands = engine.commands().await;
    let _: () = commands
        .hset("tw:test:{tasks}:t:b", "format", 2)
        .await
        .unwrap();
    let worker = Worker::new("worker", ["render"]);
    let claimed = tasks.claim(&worker, LEASE, 10).await.unwrap();
    let claimed: Vec<_> = claimed.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(claimed, ["a"]);
}

#[tokio::test]
async fn tasks_survive_the_process_and_the_engine() {
    let mut engine = Engine::start_persistent();
    let owner = Principal::from_stored(Some("ann"));
    let created = {
        let tasks = engine.connect().await.tasks();
        tasks.create("a", &owner, record(), None).await.unwrap()
    };
    engine.kill();
    engine.restart();
    let tasks = engine.connect().await.tasks();
    assert_eq!(tasks.load("a", &owner).await.unwrap(), Some(created));
}

/// One call of a store.
#[derive(Debug, Clone)]
enum Operation {
    Create {
        task: usize,
        principal: usize,
        leased: bool,
    },
    Load {
        task: usize,
        principal: usize,
    },
    Find {
        task: usize,
    },
    Replace {
        task: usize,
        stale: bool,
        runnable: bool,
        last: bool,
    },
    List {
        principal: usize,
        after: Option<usize>,
        limit: usize,
    },
    Claim {
        worker: usize,
        limit: usize,
    },
    Renew {
        task: usize,
        worker: usize,
    },
    Release {
        task: usize,
        worker: usize,
    },
    Remove {
        task: usize,
    },
}

const TASKS: usize = 4;
const PRINCIPALS: usize = 3;

fn operation() -> impl Strategy<Value = Operation> {
    let task = 0..TASKS;
    let principal = 0..PRINCIPALS;
    let worker = 0..2_usize;
    prop_oneof![
        3 => (task.clone(), principal.clone(), any::<bool>())
            .prop_map(|(task, principal, leased)| Operation::Create { task, principal, leased }),
        1 => (task.clone(), principal.clone())
            .prop_map(|(task, principal)| Operation::Load { task, principal }),
        1 => task.clone().prop_map(|task| Operation::Find { task }),
        3 => (task.clone(), any::<bool>(), any::<bool>(), proptest::bool::weighted(0.2))
            .prop_map(|(task, stale, runnable, last)| Operation::Replace { task, stale, runnable, last }),
        1 => (principal, proptest::option::of(task.clone()), 0..4_usize)
            .prop_map(|(principal, after, limit)| Operation::List { principal, after, limit }),
        2 => (worker.clone(), 0..3_usize)
            .prop_map(|(worker, limit)| Operation::Claim { worker, limit }),
        1 => (task.clone(), worker.clone())
            .prop_map(|(task, worker)| Operation::Renew { task, worker }),
        1 => (task.clone(), worker)
            .prop_map(|(task, worker)| Operation::Release { task, worker }),
        1 => task.prop_map(|task| Operation::Remove { task }),
    ]
}

/// Runs an operation and returns its response as text.
async fn run(store: &dyn TaskStore, operation: &Operation, number: u64) -> String {
    let id = |task: &usize| format!("task-{task}");
    let principal = |principal: &usize| match principal {
        0 => Principal::anonymous(),
        other => Principal::from_stored(Some(&format!("user {other}"))),
    };
    let worker = |worker: &usize| Worker::new(format!("worker-{worker}"), ["render", "other"]);
    match operation {
        Operation::Create {
            task,
            principal: owner,
            leased,
        } => {
            let mut record = record();
            // Claims return the oldest first, so each task needs its own time.
            record.created_at_ms = number;
            record.updated_at_ms = number;
            let worker = worker(&0);
            let lease = leased.then_some((&worker, LEASE));
            let created = store
                .create(&id(task), &principal(owner), record, lease)
                .await;
            format!(
                "{:?}",
                created.map(details).map_err(|error| error.to_string())
            )
        }
        Operation::Load {
            task,
            principal: owner,
        } => {
            let loaded = store.load(&id(task), &principal(owner)).await;
            format!("{:?}", loaded.unwrap().map(details))
        }
        Operation::Find { task } => {
            format!("{:?}", store.find(&id(task)).await.unwrap().map(details))
        }
        Operation::Replace {
            task,
            stale,
            runnable,
            last,
        } => {
            let found = store.find(&id(task)).await.unwrap();
            let Some(found) = found else {
                return "absent".to_owned();
            };
            let revision = found.revision - u64::from(*stale);
            let mut record = TaskRecord::clone(&found.record);
            record.runnable = *runnable;
            if *last {
                record.status = TaskStatus::Cancelled;
                record.runnable = false;
            }
            record.updated_at_ms = number;
            format!(
                "{:?}",
                store.replace(&id(task), revision, record).await.unwrap()
            )
        }
        Operation::List {
            principal: owner,
            after,
            limit,
        } => {
            let after = after.as_ref().map(id);
            let listed = store
                .list(&principal(owner), after.as_deref(), *limit)
                .await;
            let listed: Vec<_> = listed.unwrap().into_iter().map(details).collect();
            format!("{listed:?}")
        }
        Operation::Claim {
            worker: claiming,
            limit,
        } => {
            let claimed = store.claim(&worker(claiming), LEASE, *limit).await;
            let claimed: Vec<_> = claimed.unwrap().into_iter().map(details).collect();
            format!("{claimed:?}")
        }
        Operation::Renew {
            task,
            worker: owner,
        } => {
            format!(
                "{:?}",
                store.renew(&id(task), &worker(owner), LEASE).await.unwrap()
            )
        }
        Operation::Release {
            task,
            worker: owner,
        } => {
            format!(
                "{:?}",
                store.release(&id(task), &worker(owner)).await.unwrap()
            )
        }
        Operation::Remove { task } => format!("{:?}", store.remove(&id(task)).await.unwrap()),
    }
}

/// Returns everything that a store returns of a task.
fn details(task: StoredTask) -> (String, Principal, TaskRecord, u64, Option<String>) {
    let record = TaskRecord::clone(&task.record);
    (task.id, task.principal, record, task.revision, task.owner)
}

#[test]
fn responses_are_those_of_the_store_in_memory() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let engine = Engine::start();
    let config = ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let cases = AtomicU32::new(0);
    let checked = TestRunner::new(config).run(
        &proptest::collection::vec(operation(), 1..60),
        |operations| {
            let case = cases.fetch_add(1, Ordering::Relaxed);
            runtime.block_on(async {
                let options = RedisOptions::new(format!("case-{case}"));
                let connect = || engine.connect_with(options.clone());
                let nodes = [connect().await.tasks(), connect().await.tasks()];
                let memory = MemoryTaskStore::default();
                for (number, operation) in operations.iter().enumerate() {
                    let expected = run(&memory, operation, number as u64).await;
                    let node = &nodes[number % nodes.len()];
                    let response = run(node, operation, number as u64).await;
                    prop_assert_eq!(response, expected, "operation {}: {:?}", number, operation);
                }
                Ok(())
            })
        },
    );
    checked.unwrap();
}

fn record() -> TaskRecord {
    TaskRecord::new(
        "render",
        ProtocolVersion::LATEST,
        RawJson::empty_object(),
        now_ms(),
    )
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}
