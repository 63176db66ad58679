//! The file store and the memory store return the same for every sequence of calls.
//!
//! Time does not pass in these tests: leases last longer than a test or end at once, and records expire either before or
//! after it.

use proptest::prelude::*;

use super::*;
use crate::store::MemoryTaskStore;

/// A call, with the number of a task, and of a principal or a worker.
#[derive(Debug, Clone)]
enum Call {
    Create(u8, u8, TestRecord, Option<(u8, bool)>),
    Load(u8, u8),
    Replace(u8, u64, TestRecord),
    List(u8, Option<u8>, usize),
    Claim(u8, bool, usize),
    Renew(u8, u8, bool),
    Release(u8, u8),
    Remove(u8),
}

#[derive(Debug, Clone)]
struct TestRecord {
    tool: u8,
    created_at_ms: u64,
    runnable: bool,
    is_final: bool,
    is_expired: bool,
    bytes: usize,
}

/// What a call returned. Errors have the name of their kind.
#[derive(Debug, PartialEq)]
enum Returned {
    Tasks(Vec<StoredTask>),
    Revision(Option<u64>),
    Flag(bool),
    Error(&'static str),
}

const TASKS: u8 = 5;

fn id(number: u8) -> String {
    // Their order is not that of their names in base 32.
    format!(
        "{}-{number}",
        ["z", "A", "_", "b", "0"][usize::from(number % TASKS)]
    )
}

fn owner(number: u8) -> Principal {
    match number {
        0 => Principal::anonymous(),
        number => user(&number.to_string()),
    }
}

fn worker(number: u8) -> Worker {
    let tools: &[&str] = [&["t0", "t1"][..], &["t1"], &[]][usize::from(number)];
    Worker::new(format!("worker {number}"), tools.iter().copied())
}

fn lease(is_long: bool) -> Duration {
    if is_long { LEASE } else { Duration::ZERO }
}

impl TestRecord {
    fn build(&self) -> TaskRecord {
        let mut record = record_of(2000 + self.bytes);
        record.tool = format!("t{}", self.tool);
        record.created_at_ms = self.created_at_ms;
        record.updated_at_ms = self.created_at_ms;
        record.runnable = self.runnable;
        record.expires_at_ms = self.is_expired.then_some(1);
        if self.is_final {
            record.status = TaskStatus::Cancelled;
        }
        record
    }
}

fn a_record() -> impl Strategy<Value = TestRecord> {
    let flag = |weight| prop::bool::weighted(weight);
    let members = (
        0..2u8,
        0..4u64,
        flag(0.8),
        flag(0.15),
        flag(0.1),
        0..3000usize,
    );
    members.prop_map(
        |(tool, created_at_ms, runnable, is_final, is_expired, bytes)| TestRecord {
            tool,
            created_at_ms,
            runnable,
            is_final,
            is_expired,
            bytes,
        },
    )
}

fn call() -> impl Strategy<Value = Call> {
    let (task, who) = (|| 0..TASKS, || 0..3u8);
    let flag = any::<bool>;
    prop_oneof![
        4 => (task(), who(), a_record(), prop::option::of((who(), flag())))
            .prop_map(|(a, b, c, d)| Call::Create(a, b, c, d)),
        1 => (task(), who()).prop_map(|(a, b)| Call::Load(a, b)),
        4 => (task(), 0..4u64, a_record()).prop_map(|(a, b, c)| Call::Replace(a, b, c)),
        2 => (who(), prop::option::of(task()), 0..4usize).prop_map(|(a, b, c)| Call::List(a, b, c)),
        3 => (who(), flag(), 0..4usize).prop_map(|(a, b, c)| Call::Claim(a, b, c)),
        2 => (task(), who(), flag()).prop_map(|(a, b, c)| Call::Renew(a, b, c)),
        1 => (task(), who()).prop_map(|(a, b)| Call::Release(a, b)),
        1 => task().prop_map(Call::Remove),
    ]
}

async fn run(store: &dyn TaskStore, call: &Call) -> Returned {
    let returned = match call {
        Call::Create(task, principal, record, leased) => {
            let leased = leased.map(|(number, is_long)| (worker(number), lease(is_long)));
            let leased = leased.as_ref().map(|(worker, lease)| (worker, *lease));
            let (id, owner) = (id(*task), owner(*principal));
            let created = store.create(&id, &owner, record.build(), leased).await;
            created.map(|task| Returned::Tasks(vec![task]))
        }
        Call::Load(task, principal) => {
            let loaded = store.load(&id(*task), &owner(*principal)).await;
            loaded.map(|task| Returned::Tasks(task.into_iter().collect()))
        }
        Call::Replace(task, revision, record) => {
            let id = id(*task);
            let replaced = store.replace(&id, *revision, record.build()).await;
            replaced.map(Returned::Revision)
        }
        Call::List(principal, after, limit) => {
            let (owner, after) = (owner(*principal), after.map(id));
            let listed = store.list(&owner, after.as_deref(), *limit).await;
            listed.map(Returned::Tasks)
        }
        Call::Claim(number, is_long, limit) => {
            let worker = worker(*number);
            let claimed = store.claim(&worker, lease(*is_long), *limit).await;
            claimed.map(Returned::Tasks)
        }
        Call::Renew(task, number, is_long) => {
            let (id, worker) = (id(*task), worker(*number));
            let renewed = store.renew(&id, &worker, lease(*is_long)).await;
            renewed.map(Returned::Flag)
        }
        Call::Release(task, number) => {
            let released = store.release(&id(*task), &worker(*number)).await;
            released.map(Returned::Flag)
        }
        Call::Remove(task) => store.remove(&id(*task)).await.map(Returned::Flag),
    };
    returned.unwrap_or_else(|error| Returned::Error(outcome::<()>(Err(error))))
}

proptest! {
    // Each call writes to the disk.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every second call uses another store of the same directory.
    #[test]
    fn file_store_and_memory_store_agree(calls in prop::collection::vec(call(), 1..40)) {
        let limits = MemoryTaskLimits::default()
            .with_tasks(4)
            .with_unfinished_per_principal(2)
            .with_bytes(12_000);
        let scratch = Scratch::new();
        let files = [0, 1].map(|_| scratch.open().with_limits(limits));
        let memory = MemoryTaskStore::new(limits);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for (number, call) in calls.iter().enumerate() {
            let expected = runtime.block_on(run(&memory, call));
            let returned = runtime.block_on(run(&files[number % 2], call));
            prop_assert_eq!(returned, expected, "{:?}", call);
        }
    }
}
