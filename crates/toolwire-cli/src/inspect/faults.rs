//! The faults that the user has switched on, the delay of requests, and the end of open streams.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use toolwire::client_middleware::{ClientMiddleware, ClientNext, ClientRequest};
use toolwire::{BoxFuture, Error, RawJson};

use crate::inspect::settings::Faults;
use crate::sync::lock;

/// The current faults. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedFaults {
    faults: Arc<Mutex<Faults>>,
    /// Changes when the user drops all open streams.
    dropped: watch::Sender<()>,
}

impl SharedFaults {
    pub(super) fn get(&self) -> Faults {
        *lock(&self.faults)
    }

    pub(super) fn set(&self, faults: Faults) {
        *lock(&self.faults) = faults;
    }

    /// Drops all HTTP streams that are open.
    pub(super) fn drop_streams(&self) {
        self.dropped.send_replace(());
    }

    /// Returns a future that completes when the user drops all open streams.
    pub(super) fn dropped(&self) -> BoxFuture<'static, ()> {
        let mut dropped = self.dropped.subscribe();
        Box::pin(async move {
            if dropped.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
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
