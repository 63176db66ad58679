//! The faults that the user has switched on, and the delay of requests.

use std::sync::{Arc, Mutex, PoisonError};

use toolwire::client_middleware::{ClientMiddleware, ClientNext, ClientRequest};
use toolwire::{BoxFuture, Error, RawJson};

use crate::inspect::settings::Faults;

/// The current faults. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedFaults(Arc<Mutex<Faults>>);

impl SharedFaults {
    pub(super) fn get(&self) -> Faults {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, faults: Faults) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = faults;
    }
}

/// Delays each request of the client.
#[derive(Debug)]
pub(super) struct DelayRequests(pub(super) SharedFaults);

impl ClientMiddleware for DelayRequests {
    fn handle<'a>(
        &'a self,
        request: &'a mut ClientRequest,
        next: ClientNext<'a>,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let delay = self.0.get().delay();
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            next.run(request).await
        })
    }
}
