//! Tests of the file store.

mod damaged;
mod files;
mod killed;
mod properties;

use std::fs;

use toolwire_types::tasks::TaskStatus;
use toolwire_types::{ProtocolVersion, RawJson};

use super::*;
use crate::engine::TokenInfo;
use crate::store::{MAX_TASK_RECORD_BYTES, TaskOutcome, contract};

const LEASE: Duration = Duration::from_secs(30);

/// A temporary directory that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).unwrap();
        let name = format!("toolwire-tasks-{:016x}", u64::from_le_bytes(bytes));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Returns a path whose parent directory does not exist yet.
    fn directory(&self) -> PathBuf {
        self.0.join("deep/er")
    }

    fn open(&self) -> FileTaskStore {
        FileTaskStore::open(self.directory()).unwrap()
    }

    /// Returns the path of the file of a task.
    fn task(&self, id: &str) -> PathBuf {
        self.directory().join(task_file_name(id).unwrap())
    }

    /// Returns the names of all files, in order.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn user(name: &str) -> Principal {
    Principal::of(&TokenInfo::verified().with_subject(name))
}

fn record() -> TaskRecord {
    let call = RawJson::empty_object();
    TaskRecord::new("render", ProtocolVersion::LATEST, call, now_ms())
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
    record
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
    let scratch = Scratch::new();
    let store = Arc::new(scratch.open());
    contract::task_store(async || Arc::clone(&store)).await;
    assert_eq!(store.poll_interval(), Some(Duration::from_millis(250)));
}

/// Each node is a value of its own, as in two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_of_one_directory_meet_the_contract() {
    let scratch = Scratch::new();
    contract::task_store(async || Arc::new(scratch.open())).await;
}

#[tokio::test]
async fn store_meets_the_contract_of_limits() {
    for limit in [0, 1, 3] {
        let scratch = Scratch::new();
        let limits = MemoryTaskLimits::default().with_unfinished_per_principal(limit);
        let connect = async || Arc::new(scratch.open().with_limits(limits));
        contract::task_store_bounds(connect, limit).await;
    }
}

#[tokio::test]
async fn number_of_tasks_is_limited() {
    let scratch = Scratch::new();
    let limits = MemoryTaskLimits::default().with_tasks(2);
    let (store, other) = (
        scratch.open().with_limits(limits),
        scratch.open().with_limits(limits),
    );
    for (node, id, record, expected) in [
        (&store, "a", record(), "created"),
        (&other, "a", record(), "taken"),
        (&other, "b", completed(), "created"),
        (&store, "c", record(), "full"),
        (&other, "d", completed(), "full"),
    ] {
        let created = node.create(id, &user(id), record, None).await;
        assert_eq!(outcome(created), expected, "{id}");
    }
    assert!(other.remove("b").await.unwrap());
    let created = store
        .create("c", &Principal::anonymous(), record(), None)
        .await;
    assert_eq!(outcome(created), "created");
    let names = scratch.names();
    assert!(names.iter().all(|name| !name.contains("new-")), "{names:?}");
}

#[tokio::test]
async fn bytes_of_all_records_are_limited() {
    let scratch = Scratch::new();
    let limits = MemoryTaskLimits::default().with_bytes(10_000);
    let store = scratch.open().with_limits(limits);
    let ann = user("ann");
    let create =
        async |id: &str, bytes| outcome(store.create(id, &ann, record_of(bytes), None).await);
    assert_eq!(create("a", 6000).await, "created");
    assert_eq!(create("b", 4001).await, "full");
    assert_eq!(create("b", 4000).await, "created");
    let replace =
        async |id: &str, revision, bytes| store.replace(id, revision, record_of(bytes)).await;
    assert!(matches!(replace("a", 1, 6001).await, Err(StoreError::Full)));
    assert_eq!(replace("a", 1, 5000).await.unwrap(), Some(2));
    assert_eq!(replace("b", 1, 5000).await.unwrap(), Some(2));
    assert!(matches!(replace("b", 2, 5001).await, Err(StoreError::Full)));
    // The limit also counts the records that are there when a store is opened.
    let again = scratch.open().with_limits(limits);
    assert_eq!(
        outcome(again.create("c", &ann, record(), None).await),
        "full"
    );
}

#[tokio::test]
async fn largest_record_is_accepted() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ann = user("ann");
    let create = async |bytes| outcome(store.create("a", &ann, record_of(bytes), None).await);
    assert_eq!(create(MAX_TASK_RECORD_BYTES + 1).await, "full");
    assert_eq!(create(MAX_TASK_RECORD_BYTES).await, "created");
    let larger = store.replace("a", 1, record_of(MAX_TASK_RECORD_BYTES + 1));
    assert!(matches!(larger.await, Err(StoreError::Full)));
    let largest = store.replace("a", 1, record_of(MAX_TASK_RECORD_BYTES));
    assert_eq!(largest.await.unwrap(), Some(2));
}

#[tokio::test]
async fn tasks_survive_the_store() {
    let scratch = Scratch::new();
    let (ann, worker) = (user("ann"), Worker::new("w", ["render"]));
    let created = {
        let store = scratch.open();
        let lease = Some((&worker, LEASE));
        store.create("a", &ann, record(), lease).await.unwrap()
    };
    let store = scratch.open();
    assert_eq!(store.load("a", &ann).await.unwrap(), Some(created.clone()));
    assert_eq!(store.list(&ann, None, 10).await.unwrap(), [created]);
    assert!(store.renew("a", &worker, LEASE).await.unwrap());
}

#[tokio::test]
async fn unusual_ids_are_unknown() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ann = user("ann");
    let long = "a".repeat(129);
    for id in ["", ".", "..", "../lock", "a/b", "a b", "lock\0", "ä", &long] {
        let created = store.create(id, &ann, record(), None).await;
        assert_eq!(outcome(created), "unavailable", "{id:?}");
        assert_eq!(store.load(id, &ann).await.unwrap(), None, "{id:?}");
        assert_eq!(store.replace(id, 1, record()).await.unwrap(), None);
        assert!(!store.remove(id).await.unwrap(), "{id:?}");
        let worker = Worker::new("w", ["render"]);
        assert!(!store.renew(id, &worker, LEASE).await.unwrap(), "{id:?}");
        assert!(!store.release(id, &worker).await.unwrap(), "{id:?}");
    }
    assert_eq!(scratch.names(), ["changes", "lock"]);
    // On a file system that ignores case, both would be one file without their encoding.
    for id in ["Case", "case", &"Z".repeat(128), "CON", "nul"] {
        let created = store.create(id, &ann, record(), None).await.unwrap();
        assert_eq!(store.load(id, &ann).await.unwrap(), Some(created));
    }
    let names: Vec<String> = scratch.names().iter().map(|it| it.to_lowercase()).collect();
    assert_eq!(names, scratch.names());
    assert_eq!(names.len(), 7);
}

#[tokio::test]
async fn debug_output_has_no_ids() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ann = user("ann");
    store.create("s3cret", &ann, record(), None).await.unwrap();
    let text = format!("{store:?}");
    assert!(
        text.contains("FileTaskStore") && !text.contains("s3cret"),
        "{text}"
    );
}
