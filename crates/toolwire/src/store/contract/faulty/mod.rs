//! A store that fails on purpose, for tests of the code that uses stores.
//!
//! `plan` selects the fault of each call. `stores`, `tasks`, `mailboxes` and `bus` implement the traits. `journal` records
//! the writes of a store that can lose them.

mod bus;
mod journal;
mod mailboxes;
mod plan;
mod stores;
#[cfg(feature = "tasks")]
mod tasks;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use crate::store::contract::faulty::journal::Journal;
use crate::store::contract::faulty::plan::FaultPlan;
use crate::store::{StoreError, StoreFuture};
use crate::sync::lock;

/// A fault of one call of a store, or of one message of a bus.
///
/// A bus that loses messages without [`BusDelivery::Lagged`](crate::store::BusDelivery::Lagged) is not among them, because
/// the trait excludes it. Neither are batches that are executed in part: a store either repeats them or fails.
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
    /// The call is executed on a replica that has not received this number of the last writes. Only for reads (`load`,
    /// `read_after`) of a store that was created with [`Faulty::rewindable`]. The number makes it repeatable, which a
    /// delay would not be.
    StaleRead(usize),
    /// A message of a bus is lost, and its subscriber gets [`BusDelivery::Lagged`](crate::store::BusDelivery::Lagged).
    /// Only for `next`.
    Drop,
    /// A message of a bus arrives twice, as if its node had published it again. Only for `next`.
    Duplicate,
    /// A message of a bus arrives after the next message of another node. Only for `next`.
    Reorder,
}

impl Fault {
    /// Returns `true` if it is a fault of messages, not of calls.
    fn is_of_messages(self) -> bool {
        matches!(self, Self::Drop | Self::Duplicate | Self::Reorder)
    }
}

/// A store whose calls fail as a test demands.
///
/// It wraps a session store, an event log, a nonce store, a task store, mailboxes and a bus. With `toolwire-auth`, it also
/// wraps the store of an OAuth proxy and a token store. It passes on all calls without a fault. The messages of a bus are calls
/// of `next`.
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
/// // One of 10 calls fails or loses its reply, always the same ones.
/// sessions.inject_random(7, 10, &[Fault::Error, Fault::LostReply]);
/// ```
///
/// A store of [`rewindable`](Self::rewindable) can also lose data, as after a failover. All nodes of a test share it, and
/// each of them may have a `Faulty` of its own around it:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use std::sync::Arc;
/// use toolwire::store::MemoryEventLog;
/// use toolwire::store::contract::Faulty;
///
/// let shared = Arc::new(Faulty::rewindable(MemoryEventLog::default));
/// let of_node = Faulty::new(Arc::clone(&shared));
/// // The last two writes of all nodes are lost.
/// shared.rewind(2).await;
/// # drop(of_node);
/// # }
/// ```
pub struct Faulty<S: ?Sized> {
    store: Mutex<Arc<S>>,
    plan: Arc<Mutex<FaultPlan>>,
    journal: Option<Journal<S>>,
    /// The number of calls of [`rewind`](Self::rewind).
    rewinds: watch::Sender<u64>,
}

impl<S: ?Sized> Faulty<S> {
    /// Creates a store that passes all calls on to `store`.
    #[must_use]
    pub fn new(store: Arc<S>) -> Self {
        Self {
            store: Mutex::new(store),
            plan: Arc::default(),
            journal: None,
            rewinds: watch::Sender::default(),
        }
    }

    /// Lets the next `times` calls of a method fail. `usize::MAX` lets all calls fail until [`heal`](Self::heal).
    pub fn inject(&self, method: &str, fault: Fault, times: usize) {
        lock(&self.plan).inject(method, fault, times);
    }

    /// Lets about one of `one_in` calls fail until [`heal`](Self::heal), with one of these faults. The same seed selects
    /// the same calls and faults. Faults of messages apply to messages, and the others to calls.
    pub fn inject_random(&self, seed: u64, one_in: u64, faults: &[Fault]) {
        lock(&self.plan).inject_random(seed, one_in, faults);
    }

    /// Removes all faults. Calls that hang do not continue.
    pub fn heal(&self) {
        lock(&self.plan).heal();
    }

    /// Returns how often a method was called, including calls with a fault.
    #[must_use]
    pub fn calls(&self, method: &str) -> usize {
        lock(&self.plan).calls(method)
    }

    fn store(&self) -> Arc<S> {
        Arc::clone(&lock(&self.store))
    }

    /// Executes a call with its fault.
    async fn call<T>(
        &self,
        fault: Option<Fault>,
        call: &(impl Fn(Arc<S>) -> StoreFuture<'static, T> + Sync),
    ) -> Result<T, StoreError> {
        match fault {
            Some(Fault::Error) => Err(StoreError::unavailable("the call failed on purpose")),
            Some(Fault::LostReply) => {
                let _ = call(self.store()).await;
                Err(StoreError::unknown("the reply was lost on purpose"))
            }
            Some(Fault::Twice) => {
                let _ = call(self.store()).await;
                call(self.store()).await
            }
            Some(Fault::Slow(delay)) => {
                tokio::time::sleep(delay).await;
                call(self.store()).await
            }
            Some(Fault::Hang) => std::future::pending().await,
            _ => call(self.store()).await,
        }
    }

    /// Executes a call that changes nothing, with its fault. For the implementation of another trait of stores.
    pub fn read<T: Send + 'static>(
        &self,
        method: &'static str,
        call: impl Fn(Arc<S>) -> StoreFuture<'static, T> + Send + Sync + 'static,
    ) -> StoreFuture<'_, T>
    where
        S: Send + Sync + 'static,
    {
        let fault = lock(&self.plan).next_of_call(method);
        Box::pin(async move {
            if let (Some(Fault::StaleRead(writes)), Some(journal)) = (fault, &self.journal) {
                return call(journal.replica(writes).await).await;
            }
            self.call(fault, &call).await
        })
    }

    /// Executes a call that changes the store, with its fault, and records it. For the implementation of another trait of
    /// stores.
    pub fn write<T: Send + 'static>(
        &self,
        method: &'static str,
        call: impl Fn(Arc<S>) -> StoreFuture<'static, T> + Send + Sync + 'static,
    ) -> StoreFuture<'_, T>
    where
        S: Send + Sync + 'static,
    {
        let fault = lock(&self.plan).next_of_call(method);
        let call = match &self.journal {
            Some(journal) => journal.recorded(call),
            None => Arc::new(call) as Arc<dyn Fn(Arc<S>) -> StoreFuture<'static, T> + Send + Sync>,
        };
        Box::pin(async move { self.call(fault, &|store| call(store)).await })
    }
}

impl<S: Send + Sync + 'static> Faulty<S> {
    /// Creates a store that can lose writes, and whose reads can be stale. `make` creates an empty one.
    #[must_use]
    pub fn rewindable(make: impl Fn() -> S + Send + Sync + 'static) -> Self {
        Self {
            store: Mutex::new(Arc::new(make())),
            plan: Arc::default(),
            journal: Some(Journal::new(make)),
            rewinds: watch::Sender::default(),
        }
    }

    /// Undoes this number of the last writes, as a failover to a replica that has not received them. `usize::MAX` empties
    /// the store. Renewals of a session by a read are not writes. Mailboxes always become empty, and all nodes lose their
    /// numbers.
    ///
    /// # Panics
    /// Panics if the store was not created with [`rewindable`](Self::rewindable).
    pub async fn rewind(&self, writes: usize) {
        let journal = self.journal.as_ref();
        let journal = journal.expect("only a store of `Faulty::rewindable` can lose writes");
        let store = journal.rewind(writes).await;
        *lock(&self.store) = store;
        self.rewinds.send_modify(|rewinds| *rewinds += 1);
    }
}

impl<S: ?Sized> fmt::Debug for Faulty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
