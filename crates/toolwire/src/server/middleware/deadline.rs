//! A time limit for requests.

use std::time::Duration;

use serde_json::json;
use toolwire_types::ErrorObject;

use crate::engine::BoxFuture;
use crate::server::middleware::{Middleware, Next, Outcome, Request, is_stream};

/// Ends requests that take too long with −32603 and `data.reason` `"deadline"`. The handler is cancelled.
///
/// Streams (`subscriptions/listen`, `events/stream`) have no deadline, and neither has `tasks/result`, which waits for a
/// task (2025-11-25).
///
/// ```
/// use std::time::Duration;
/// use toolwire::Server;
/// use toolwire::middleware::Deadline;
///
/// let server = Server::new("demo", "1.0.0").with_middleware(Deadline::new(Duration::from_secs(30)));
/// # drop(server);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Deadline {
    time: Duration,
}

impl Deadline {
    /// Creates a deadline.
    #[must_use]
    pub fn new(time: Duration) -> Self {
        Self { time }
    }
}

impl Middleware for Deadline {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if is_stream(request.method()) || request.method() == "tasks/result" {
                return next.run(request).await;
            }
            match tokio::time::timeout(self.time, next.run(request)).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    let milliseconds = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
                    let data = json!({ "reason": "deadline", "afterMs": milliseconds });
                    let message = format!("the request took longer than {:?}", self.time);
                    ErrorObject::internal(message).with_data(data).into()
                }
            }
        })
    }
}
