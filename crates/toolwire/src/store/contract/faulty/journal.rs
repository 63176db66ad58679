//! The writes of a store, so that another one can be made without the last of them.

use std::sync::{Arc, Mutex};

use crate::engine::BoxFuture;
use crate::store::StoreFuture;
use crate::sync::lock;

/// The successful writes of a store.
pub(super) struct Journal<S: ?Sized> {
    make: Box<dyn Fn() -> Arc<S> + Send + Sync>,
    writes: Arc<Mutex<Vec<Write<S>>>>,
}

/// One write, which can be executed again on another store.
type Write<S> = Arc<dyn Fn(Arc<S>) -> BoxFuture<'static, ()> + Send + Sync>;

/// A call of a store.
type StoreCall<S, T> = Arc<dyn Fn(Arc<S>) -> StoreFuture<'static, T> + Send + Sync>;

impl<S: Send + Sync + 'static> Journal<S> {
    pub(super) fn new(make: impl Fn() -> S + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(move || Arc::new(make())),
            writes: Arc::default(),
        }
    }
}

impl<S: ?Sized + Send + Sync + 'static> Journal<S> {
    /// Returns a call that also records itself if it succeeds.
    pub(super) fn recorded<T: Send + 'static>(
        &self,
        call: impl Fn(Arc<S>) -> StoreFuture<'static, T> + Send + Sync + 'static,
    ) -> StoreCall<S, T> {
        let call: StoreCall<S, T> = Arc::new(call);
        let writes = Arc::clone(&self.writes);
        Arc::new(move |store| {
            let (call, writes) = (Arc::clone(&call), Arc::clone(&writes));
            Box::pin(async move {
                let outcome = call(store).await?;
                let write: Write<S> = Arc::new(move |store| {
                    let repeated = call(store);
                    // It succeeded before, and a result that differs now is a consequence of the lost writes.
                    Box::pin(async move { drop(repeated.await) })
                });
                lock(&writes).push(write);
                Ok(outcome)
            })
        })
    }

    /// Returns a store without this number of the last writes.
    pub(super) async fn replica(&self, missing: usize) -> Arc<S> {
        let writes: Vec<Write<S>> = {
            let writes = lock(&self.writes);
            let count = writes.len().saturating_sub(missing);
            writes.iter().take(count).cloned().collect()
        };
        let store = (self.make)();
        for write in writes {
            write(Arc::clone(&store)).await;
        }
        store
    }

    /// Forgets this number of the last writes. Returns a store without them.
    pub(super) async fn rewind(&self, missing: usize) -> Arc<S> {
        let store = self.replica(missing).await;
        let mut writes = lock(&self.writes);
        let count = writes.len().saturating_sub(missing);
        writes.truncate(count);
        store
    }
}
