//! A task store that a test can make unavailable, and that reports the sizes of journals and the number of loads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use toolwire::store::{StoreError, StoredTask, TaskRecord, Worker};
use toolwire::tasks::{MemoryTaskStore, TaskStore, Tasks};
use toolwire::{BoxFuture, Principal};

type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A store in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SwitchableStore {
    store: Arc<MemoryTaskStore>,
    state: Arc<StoreState>,
}

#[derive(Debug, Default)]
struct StoreState {
    is_away: AtomicBool,
    rejects_renewals: AtomicBool,
    journal_bytes: AtomicUsize,
    loads: AtomicUsize,
}

impl SwitchableStore {
    /// Returns the tasks of a server with this store, which clients poll often.
    pub(crate) fn tasks(&self) -> Tasks {
        Tasks::new(self.clone()).with_poll_interval(Duration::from_millis(10))
    }

    /// Makes the store unavailable.
    pub(crate) fn go_away(&self) {
        self.state.is_away.store(true, Ordering::SeqCst);
    }

    /// Makes every renewal of a lease fail from now on.
    pub(crate) fn reject_renewals(&self) {
        self.state.rejects_renewals.store(true, Ordering::SeqCst);
    }

    /// Makes the store available.
    pub(crate) fn come_back(&self) {
        self.state.is_away.store(false, Ordering::SeqCst);
    }

    /// Returns the size of the last journal that was written.
    pub(crate) fn journal_bytes(&self) -> usize {
        self.state.journal_bytes.load(Ordering::SeqCst)
    }

    /// Returns how many times a task was loaded.
    pub(crate) fn loads(&self) -> usize {
        self.state.loads.load(Ordering::SeqCst)
    }

    /// Returns the number of tasks of callers without authorization.
    pub(crate) async fn len(&self) -> usize {
        let anonymous = Principal::anonymous();
        let tasks = self.store.list(&anonymous, None, 100).await;
        tasks.expect("a store in memory").len()
    }

    fn check(&self) -> Result<&MemoryTaskStore, StoreError> {
        if self.state.is_away.load(Ordering::SeqCst) {
            return Err(StoreError::unavailable("the network is down"));
        }
        Ok(&self.store)
    }
}

impl TaskStore for SwitchableStore {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: TaskRecord,
        lease: Option<(&'a Worker, Duration)>,
    ) -> StoreFuture<'a, StoredTask> {
        Box::pin(async move { self.check()?.create(id, principal, record, lease).await })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
    ) -> StoreFuture<'a, Option<StoredTask>> {
        self.state.loads.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { self.check()?.load(id, principal).await })
    }

    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move { self.check()?.find(id).await })
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        revision: u64,
        record: TaskRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        if let Some(journal) = &record.journal {
            let bytes = journal.get().len();
            self.state.journal_bytes.store(bytes, Ordering::SeqCst);
        }
        Box::pin(async move { self.check()?.replace(id, revision, record).await })
    }

    fn list<'a>(
        &'a self,
        principal: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        Box::pin(async move { self.check()?.list(principal, after, limit).await })
    }

    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        lease: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        Box::pin(async move { self.check()?.claim(worker, lease, limit).await })
    }

    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a Worker,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            if self.state.rejects_renewals.load(Ordering::SeqCst) {
                return Err(StoreError::unavailable("the network is slow"));
            }
            self.check()?.renew(id, worker, lease).await
        })
    }

    fn release<'a>(&'a self, id: &'a str, worker: &'a Worker) -> StoreFuture<'a, bool> {
        Box::pin(async move { self.check()?.release(id, worker).await })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move { self.check()?.remove(id).await })
    }

    fn poll_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }
}
