//! Task stores whose calls fail.

use std::time::Duration;

use crate::engine::Principal;
use crate::store::contract::faulty::Faulty;
use crate::store::{StoreFuture, StoredTask, TaskRecord, TaskStore, TaskStoreLimits, Worker};

impl<S: TaskStore + ?Sized + 'static> TaskStore for Faulty<S> {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: TaskRecord,
        lease: Option<(&'a Worker, Duration)>,
    ) -> StoreFuture<'a, StoredTask> {
        let (id, principal) = (id.to_owned(), principal.clone());
        let lease = lease.map(|(worker, duration)| (worker.clone(), duration));
        self.write("create", move |store| {
            let (id, principal) = (id.clone(), principal.clone());
            let (record, lease) = (record.clone(), lease.clone());
            Box::pin(async move {
                let lease = lease.as_ref().map(|(worker, duration)| (worker, *duration));
                store.create(&id, &principal, record, lease).await
            })
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
    ) -> StoreFuture<'a, Option<StoredTask>> {
        let (id, principal) = (id.to_owned(), principal.clone());
        self.read("load", move |store| {
            let (id, principal) = (id.clone(), principal.clone());
            Box::pin(async move { store.load(&id, &principal).await })
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTask>> {
        let id = id.to_owned();
        self.read("find", move |store| {
            let id = id.clone();
            Box::pin(async move { store.find(&id).await })
        })
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        revision: u64,
        record: TaskRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        let id = id.to_owned();
        self.write("replace", move |store| {
            let (id, record) = (id.clone(), record.clone());
            Box::pin(async move { store.replace(&id, revision, record).await })
        })
    }

    fn list<'a>(
        &'a self,
        principal: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        let (principal, after) = (principal.clone(), after.map(str::to_owned));
        self.read("list", move |store| {
            let (principal, after) = (principal.clone(), after.clone());
            Box::pin(async move { store.list(&principal, after.as_deref(), limit).await })
        })
    }

    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        lease: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        let worker = worker.clone();
        self.write("claim", move |store| {
            let worker = worker.clone();
            Box::pin(async move { store.claim(&worker, lease, limit).await })
        })
    }

    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a Worker,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        let (id, worker) = (id.to_owned(), worker.clone());
        self.write("renew", move |store| {
            let (id, worker) = (id.clone(), worker.clone());
            Box::pin(async move { store.renew(&id, &worker, lease).await })
        })
    }

    fn release<'a>(&'a self, id: &'a str, worker: &'a Worker) -> StoreFuture<'a, bool> {
        let (id, worker) = (id.to_owned(), worker.clone());
        self.write("release", move |store| {
            let (id, worker) = (id.clone(), worker.clone());
            Box::pin(async move { store.release(&id, &worker).await })
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool> {
        let id = id.to_owned();
        self.write("remove", move |store| {
            let id = id.clone();
            Box::pin(async move { store.remove(&id).await })
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.read("check", |store| {
            Box::pin(async move { store.check().await })
        })
    }

    fn limits(&self) -> TaskStoreLimits {
        self.store().limits()
    }

    fn poll_interval(&self) -> Option<Duration> {
        self.store().poll_interval()
    }
}
