//! Session stores, event logs and nonce stores whose calls fail.
//!
//! `replace_and_publish` is not passed on, so that the faults of `replace` and of the bus apply.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::contract::faulty::Faulty;
use crate::store::{
    Appended, EventLog, ExpiredSession, LoadedSession, LogEntry, LogWriter, NonceStore, Replay,
    SessionRecord, SessionStore, StoreFuture, StoredSession, StreamKey, WriterLease,
};

impl<S: SessionStore + ?Sized + 'static> SessionStore for Faulty<S> {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: SessionRecord,
        ttl: Duration,
    ) -> StoreFuture<'a, StoredSession> {
        let (id, principal) = (id.to_owned(), principal.clone());
        self.write("create", move |store| {
            let (id, principal) = (id.clone(), principal.clone());
            let record = record.clone();
            Box::pin(async move { store.create(&id, &principal, record, ttl).await })
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
        known: Option<u64>,
    ) -> StoreFuture<'a, Option<LoadedSession>> {
        let (id, principal) = (id.to_owned(), principal.clone());
        self.read("load", move |store| {
            let (id, principal) = (id.clone(), principal.clone());
            Box::pin(async move { store.load(&id, &principal, ttl, known).await })
        })
    }

    fn load_initialized<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, Option<LoadedSession>> {
        let (id, principal) = (id.to_owned(), principal.clone());
        self.write("load_initialized", move |store| {
            let (id, principal) = (id.clone(), principal.clone());
            Box::pin(async move { store.load_initialized(&id, &principal, ttl).await })
        })
    }

    fn touch<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, bool> {
        let (id, principal) = (id.to_owned(), principal.clone());
        self.read("touch", move |store| {
            let (id, principal) = (id.clone(), principal.clone());
            Box::pin(async move { store.touch(&id, &principal, ttl).await })
        })
    }

    fn touch_many<'a>(
        &'a self,
        sessions: &'a [(String, Principal)],
        ttl: Duration,
    ) -> StoreFuture<'a, Vec<bool>> {
        let sessions: Arc<[(String, Principal)]> = sessions.into();
        self.read("touch_many", move |store| {
            let sessions = Arc::clone(&sessions);
            Box::pin(async move { store.touch_many(&sessions, ttl).await })
        })
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: SessionRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        let (id, principal) = (id.to_owned(), principal.clone());
        self.write("replace", move |store| {
            let (id, principal) = (id.clone(), principal.clone());
            let record = record.clone();
            Box::pin(async move { store.replace(&id, &principal, revision, record).await })
        })
    }

    fn delete<'a>(&'a self, id: &'a str, principal: &'a Principal) -> StoreFuture<'a, bool> {
        let (id, principal) = (id.to_owned(), principal.clone());
        self.write("delete", move |store| {
            let (id, principal) = (id.clone(), principal.clone());
            Box::pin(async move { store.delete(&id, &principal).await })
        })
    }

    fn take_expired(&self) -> StoreFuture<'_, Vec<ExpiredSession>> {
        self.read("take_expired", |store| {
            Box::pin(async move { store.take_expired().await })
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.read("check", |store| {
            Box::pin(async move { store.check().await })
        })
    }
}

impl<S: EventLog + ?Sized + 'static> EventLog for Faulty<S> {
    fn open<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        first: u64,
        lease: Option<WriterLease>,
    ) -> StoreFuture<'a, LogWriter> {
        let (principal, key) = (principal.clone(), key.clone());
        self.write("open", move |store| {
            let (principal, key) = (principal.clone(), key.clone());
            let lease = lease.clone();
            Box::pin(async move { store.open(&principal, &key, first, lease).await })
        })
    }

    fn append<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        writer: LogWriter,
        entries: &'a [LogEntry],
    ) -> StoreFuture<'a, Appended> {
        let (principal, key) = (principal.clone(), key.clone());
        let entries: Arc<[LogEntry]> = entries.into();
        self.write("append", move |store| {
            let (principal, key) = (principal.clone(), key.clone());
            let entries = Arc::clone(&entries);
            Box::pin(async move { store.append(&principal, &key, writer, &entries).await })
        })
    }

    fn read_after<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        after: u64,
        wait: Duration,
    ) -> StoreFuture<'a, Replay> {
        let (principal, key) = (principal.clone(), key.clone());
        self.read("read_after", move |store| {
            let (principal, key) = (principal.clone(), key.clone());
            Box::pin(async move { store.read_after(&principal, &key, after, wait).await })
        })
    }

    fn remove_session<'a>(
        &'a self,
        principal: &'a Principal,
        session: &'a str,
    ) -> StoreFuture<'a, ()> {
        let (principal, session) = (principal.clone(), session.to_owned());
        self.write("remove_session", move |store| {
            let (principal, session) = (principal.clone(), session.clone());
            Box::pin(async move { store.remove_session(&principal, &session).await })
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.read("check", |store| {
            Box::pin(async move { store.check().await })
        })
    }
}

impl<S: NonceStore + ?Sized + 'static> NonceStore for Faulty<S> {
    fn mark_used<'a>(
        &'a self,
        owner: &'a Principal,
        fingerprint: &'a [u8; 32],
        lifetime: Duration,
    ) -> StoreFuture<'a, bool> {
        let (owner, fingerprint) = (owner.clone(), *fingerprint);
        self.write("mark_used", move |store| {
            let owner = owner.clone();
            Box::pin(async move { store.mark_used(&owner, &fingerprint, lifetime).await })
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.read("check", |store| {
            Box::pin(async move { store.check().await })
        })
    }
}
