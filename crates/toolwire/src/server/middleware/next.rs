//! The rest of a chain: the following middleware, and at the end the dispatch to the handler.

use std::fmt;
use std::sync::Arc;

use toolwire_proto::inspection::SpanKind;

use crate::server::middleware::chain::Endpoint;
use crate::server::middleware::{Middleware, Outcome, Request};

/// The rest of the chain behind a middleware.
///
/// It can run only once, so a request has exactly one outcome.
pub struct Next<'a> {
    rest: &'a [Arc<dyn Middleware>],
    endpoint: Endpoint,
}

impl<'a> Next<'a> {
    pub(crate) fn new(rest: &'a [Arc<dyn Middleware>], endpoint: Endpoint) -> Self {
        Self { rest, endpoint }
    }

    /// Passes the request on and returns its outcome.
    ///
    /// # Cancellation
    /// Dropping the future cancels the handler.
    pub async fn run(self, request: &mut Request) -> Outcome {
        let Self { rest, endpoint } = self;
        match rest.split_first() {
            Some((first, rest)) => {
                let _span = request.begin_span(SpanKind::Middleware, || first.name());
                first.handle(request, Next { rest, endpoint }).await
            }
            None => endpoint.run(request).await,
        }
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next")
            .field("middleware", &self.rest.len())
            .finish_non_exhaustive()
    }
}
