//! The store of the tasks. Every call has a deadline.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::store_call::StoreCall;
use crate::store::{StoreFuture, StoredTask, TaskRecord, TaskStore, TaskStoreLimits, Worker};

/// The store of the tasks. Clones use the same store.
#[derive(Debug, Clone)]
pub(crate) struct BoundedTaskStore {
    store: Arc<dyn TaskStore>,
    pub(crate) deadline: Duration,
}

impl BoundedTaskStore {
    pub(crate) fn new(store: Arc<dyn TaskStore>, deadline: Duration) -> Self {
        Self { store, deadline }
    }

    pub(crate) fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: TaskRecord,
        lease: Option<(&'a Worker, Duration)>,
    ) -> StoreCall<'a, StoredTask> {
        self.within_deadline(self.store.create(id, principal, record, lease))
    }

    pub(crate) fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
    ) -> StoreCall<'a, Option<StoredTask>> {
        self.within_deadline(self.store.load(id, principal))
    }

    pub(crate) fn find<'a>(&'a self, id: &'a str) -> StoreCall<'a, Option<StoredTask>> {
        self.within_deadline(self.store.find(id))
    }

    pub(crate) fn replace<'a>(
        &'a self,
        id: &'a str,
        revision: u64,
        record: TaskRecord,
    ) -> StoreCall<'a, Option<u64>> {
        self.within_deadline(self.store.replace(id, revision, record))
    }

    pub(crate) fn list<'a>(
        &'a self,
        principal: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreCall<'a, Vec<StoredTask>> {
        self.within_deadline(self.store.list(principal, after, limit))
    }

    pub(crate) fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        lease: Duration,
        limit: usize,
    ) -> StoreCall<'a, Vec<StoredTask>> {
        self.within_deadline(self.store.claim(worker, lease, limit))
    }

    pub(crate) fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a Worker,
        lease: Duration,
    ) -> StoreCall<'a, bool> {
        self.within_deadline(self.store.renew(id, worker, lease))
    }

    pub(crate) fn release<'a>(&'a self, id: &'a str, worker: &'a Worker) -> StoreCall<'a, bool> {
        self.within_deadline(self.store.release(id, worker))
    }

    pub(crate) fn limits(&self) -> TaskStoreLimits {
        self.store.limits()
    }

    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        self.store.poll_interval()
    }

    fn within_deadline<'a, T>(&self, call: StoreFuture<'a, T>) -> StoreCall<'a, T> {
        StoreCall::new(call, self.deadline)
    }
}
