//! A function of the program that sees each request to the engine, for spans and histograms.

use std::fmt;
use std::sync::Arc;

use toolwire::store::StoreError;

/// A request of a store to the engine, as [`RedisOptions::with_call_observer`](crate::RedisOptions::with_call_observer)
/// sees it. It has no keys and no values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCall<'a> {
    /// The store, as in [`StoreCalls::store`](crate::StoreCalls::store).
    pub store: &'static str,
    /// The command, such as `GET`; `EVALSHA` for a script and `PIPELINE` for several commands.
    pub operation: &'a str,
}

/// A function that is called with the outcome of a request: `ok`, `rejected`, `unavailable` or `unknown`, as in
/// [`StoreCalls`](crate::StoreCalls). It is dropped if the caller drops the call.
pub type StoreCallEnd = Box<dyn FnOnce(&'static str) + Send>;

/// The function of the program.
#[derive(Clone)]
pub(crate) struct CallObserver(Arc<ObserveCall>);

type ObserveCall = dyn Fn(StoreCall<'_>) -> StoreCallEnd + Send + Sync;

impl CallObserver {
    pub(crate) fn new(
        observe: impl Fn(StoreCall<'_>) -> StoreCallEnd + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn start(&self, store: &'static str, operation: &str) -> StoreCallEnd {
        (self.0)(StoreCall { store, operation })
    }
}

impl fmt::Debug for CallObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallObserver").finish_non_exhaustive()
    }
}

/// Returns the name of an outcome.
pub(crate) fn outcome_name<T>(outcome: &Result<T, StoreError>) -> &'static str {
    match outcome {
        Ok(_) => "ok",
        Err(StoreError::Unknown(_)) => "unknown",
        Err(StoreError::Unavailable(_)) => "unavailable",
        Err(_) => "rejected",
    }
}
