//! A limit for the number of calls that run at once.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use toolwire_types::ErrorObject;

use crate::engine::BoxFuture;
use crate::server::middleware::{Middleware, Next, Outcome, Request, runs_handler};

/// Limits the calls, reads and prompts that run at once, over all clients. Further ones wait, up to a number. The others
/// are rejected with −32603 and `data.reason` `"overloaded"`.
///
/// ```
/// use toolwire::Server;
/// use toolwire::middleware::ConcurrencyLimit;
///
/// let server = Server::new("demo", "1.0.0").with_middleware(ConcurrencyLimit::new(8).with_waiting(100));
/// # drop(server);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConcurrencyLimit {
    running: Arc<Semaphore>,
    /// A permit for each request that runs or waits.
    admitted: Arc<Semaphore>,
    limit: usize,
}

impl ConcurrencyLimit {
    /// The default number of requests that wait.
    const WAITING: usize = 1024;

    /// Creates a limit. At most 1,024 requests wait.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS / 2);
        Self {
            running: Arc::new(Semaphore::new(limit)),
            admitted: Arc::new(Semaphore::new(limit + Self::WAITING)),
            limit,
        }
    }

    /// Sets how many requests may wait.
    #[must_use]
    pub fn with_waiting(mut self, requests: usize) -> Self {
        let waiting = requests.min(Semaphore::MAX_PERMITS / 2);
        self.admitted = Arc::new(Semaphore::new(self.limit + waiting));
        self
    }
}

impl Middleware for ConcurrencyLimit {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if !runs_handler(request.method()) {
                return next.run(request).await;
            }
            let Ok(_admitted) = self.admitted.try_acquire() else {
                let data = json!({ "reason": "overloaded" });
                let error = ErrorObject::internal("too many requests are running; try again later");
                return error.with_data(data).into();
            };
            let _running = self.running.acquire().await;
            next.run(request).await
        })
    }
}
