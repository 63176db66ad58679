//! A store that fails on purpose, for tests of the code that uses stores.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::engine::Principal;
use crate::store::{
    Appended, Bus, BusMessage, BusSubscription, EventLog, ExpiredSession, LoadedSession, LogEntry,
    LogWriter, Replay, SessionRecord, SessionStore, StoreError, StoreFuture, StoredSession,
    StreamKey, WriterLease,
};
use crate::sync::lock;

/// A fault of one call of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The call fails and changes nothing.
    Error,
    /// The call is executed, but its caller gets an error.
    LostReply,
    /// The call is executed twice, and its caller gets the second reply, as with a proxy that repeats requests.
    Twice,
    /// The call is executed after this time.
    Slow(Duration),
    /// The call never completes and changes nothing.
    Hang,
}

/// A store whose calls fail as a test demands.
///
/// It wraps a session store, an event log or a bus, and passes on all calls without a fault.
///
/// ```
/// use std::sync::Arc;
/// use toolwire::store::MemorySessionStore;
/// use toolwire::store::contract::{Fault, Faulty};
/// use toolwire::transport::http::HttpOptions;
///
/// let sessions = Arc::new(Faulty::new(Arc::new(MemorySessionStore::default())));
/// let options = HttpOptions::new().with_session_store(sessions.clone());
/// // The next call of `load` fails.
/// sessions.inject("load", Fault::Error, 1);
/// ```
pub struct Faulty<S: ?Sized> {
    store: Arc<S>,
    plan: Mutex<FaultPlan>,
}

#[derive(Debug, Default)]
struct FaultPlan {
    /// The faults of methods, and for how many more calls they apply.
    faults: HashMap<String, (Fault, usize)>,
    calls: HashMap<&'static str, usize>,
}

impl<S: ?Sized> Faulty<S> {
    /// Creates a store that passes all calls on to `store`.
    #[must_use]
    pub fn new(store: Arc<S>) -> Self {
        Self {
            store,
            plan: Mutex::default(),
        }
    }

    /// Lets the next `times` calls of a method fail. `usize::MAX` lets all calls fail until [`heal`](Self::heal).
    pub fn inject(&self, method: &str, fault: Fault, times: usize) {
        let mut plan = lock(&self.plan);
        plan.faults.insert(method.to_owned(), (fault, times));
    }

    /// Removes all faults. Calls that hang do not continue.
    pub fn heal(&self) {
        lock(&self.plan).faults.clear();
    }

    /// Returns how often a method was called, including calls with a fault.
    #[must_use]
    pub fn calls(&self, method: &str) -> usize {
        let plan = lock(&self.plan);
        plan.calls.get(method).copied().unwrap_or_default()
    }

    /// Counts a call and returns its fault.
    fn next_fault(&self, method: &'static str) -> Option<Fault> {
        let mut plan = lock(&self.plan);
        *plan.calls.entry(method).or_default() += 1;
        let (fault, left) = plan.faults.get_mut(method)?;
        let fault = *fault;
        *left = left.saturating_sub(1);
        if *left == 0 {
            plan.faults.remove(method);
        }
        Some(fault)
    }

    /// Executes a call with the fault of its method.
    fn call<'a, T: Send + 'a>(
        &'a self,
        method: &'static str,
        call: impl Fn() -> StoreFuture<'a, T> + Send + Sync + 'a,
    ) -> StoreFuture<'a, T> {
        let fault = self.next_fault(method);
        Box::pin(async move {
            match fault {
                None => call().await,
                Some(Fault::Error) => Err(StoreError::unavailable("the call failed on purpose")),
                Some(Fault::LostReply) => {
                    let _ = call().await;
                    Err(StoreError::unknown("the reply was lost on purpose"))
                }
                Some(Fault::Twice) => {
                    let _ = call().await;
                    call().await
                }
                Some(Fault::Slow(delay)) => {
                    tokio::time::sleep(delay).await;
                    call().await
                }
                Some(Fault::Hang) => std::future::pending().await,
            }
        })
    }
}

impl<S: ?Sized> fmt::Debug for Faulty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").finish_non_exhaustive()
    }
}

impl<S: SessionStore + ?Sized> SessionStore for Faulty<S> {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: SessionRecord,
        ttl: Duration,
    ) -> StoreFuture<'a, StoredSession> {
        self.call("create", move || {
            self.store.create(id, principal, record.clone(), ttl)
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
        known: Option<u64>,
    ) -> StoreFuture<'a, Option<LoadedSession>> {
        self.call("load", move || self.store.load(id, principal, ttl, known))
    }

    fn touch_many<'a>(
        &'a self,
        sessions: &'a [(String, Principal)],
        ttl: Duration,
    ) -> StoreFuture<'a, Vec<bool>> {
        self.call("touch_many", move || self.store.touch_many(sessions, ttl))
    }

    fn touch<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, bool> {
        self.call("touch", move || self.store.touch(id, principal, ttl))
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: SessionRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        self.call("replace", move || {
            self.store.replace(id, principal, revision, record.clone())
        })
    }

    fn delete<'a>(&'a self, id: &'a str, principal: &'a Principal) -> StoreFuture<'a, bool> {
        self.call("delete", move || self.store.delete(id, principal))
    }

    fn take_expired(&self) -> StoreFuture<'_, Vec<ExpiredSession>> {
        self.call("take_expired", || self.store.take_expired())
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.call("check", || self.store.check())
    }
}

impl<S: EventLog + ?Sized> EventLog for Faulty<S> {
    fn open<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        first: u64,
        lease: Option<WriterLease>,
    ) -> StoreFuture<'a, LogWriter> {
        self.call("open", move || {
            self.store.open(principal, key, first, lease.clone())
        })
    }

    fn append<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        writer: LogWriter,
        entries: &'a [LogEntry],
    ) -> StoreFuture<'a, Appended> {
        self.call("append", move || {
            self.store.append(principal, key, writer, entries)
        })
    }

    fn read_after<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        after: u64,
        wait: Duration,
    ) -> StoreFuture<'a, Replay> {
        self.call("read_after", move || {
            self.store.read_after(principal, key, after, wait)
        })
    }

    fn remove_session<'a>(
        &'a self,
        principal: &'a Principal,
        session: &'a str,
    ) -> StoreFuture<'a, ()> {
        self.call("remove_session", move || {
            self.store.remove_session(principal, session)
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.call("check", || self.store.check())
    }
}

impl<S: Bus + ?Sized> Bus for Faulty<S> {
    fn publish_all<'a>(&'a self, messages: &'a [BusMessage]) -> StoreFuture<'a, ()> {
        self.call("publish_all", move || self.store.publish_all(messages))
    }

    fn subscribe(&self) -> StoreFuture<'_, Box<dyn BusSubscription>> {
        self.call("subscribe", || self.store.subscribe())
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.call("check", || self.store.check())
    }
}
