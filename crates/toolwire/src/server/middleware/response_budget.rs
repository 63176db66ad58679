//! A limit for the size of results.

use serde_json::json;
use toolwire_types::ErrorObject;

use crate::engine::BoxFuture;
use crate::server::middleware::{Middleware, Next, Outcome, Request};

/// Replaces results that are larger than a number of bytes. A tool result becomes a tool error that the model reads,
/// another result the error −32603 with `data.reason` `"result_too_large"`.
///
/// ```
/// use toolwire::Server;
/// use toolwire::middleware::ResponseBudget;
///
/// let server = Server::new("demo", "1.0.0").with_middleware(ResponseBudget::new(256 * 1024));
/// # drop(server);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResponseBudget {
    bytes: usize,
}

impl ResponseBudget {
    /// Creates a limit in bytes of JSON.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self { bytes }
    }
}

impl Middleware for ResponseBudget {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let outcome = next.run(request).await;
            // The size with the envelope is an upper bound, so the result itself is searched only near the limit.
            if outcome.size() <= self.bytes {
                return outcome;
            }
            let size = outcome.result().map_or(0, |result| result.get().len());
            if size <= self.bytes {
                return outcome;
            }
            let message = format!(
                "the result has {size} bytes, and the limit is {}; ask for less",
                self.bytes
            );
            if request.method() == "tools/call" {
                return Outcome::tool_error(message);
            }
            let data = json!({ "reason": "result_too_large", "bytes": size, "limit": self.bytes });
            ErrorObject::internal(message).with_data(data).into()
        })
    }
}
