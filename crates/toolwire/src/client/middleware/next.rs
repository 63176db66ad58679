//! The rest of a chain: the following middleware, and at the end the request to the server.

use std::fmt;
use std::sync::Arc;

use toolwire_types::RawJson;

use crate::client::middleware::{ClientMiddleware, ClientRequest};
use crate::engine::BoxFuture;
use crate::error::Error;

/// Sends a request behind all middleware.
pub(crate) trait SendRequest: Sync {
    /// Sends the request to the server and returns its result.
    fn send<'a>(&'a self, request: &'a ClientRequest) -> BoxFuture<'a, Result<RawJson, Error>>;
}

/// The rest of the chain behind a middleware of a client.
#[derive(Clone, Copy)]
pub struct ClientNext<'a> {
    rest: &'a [Arc<dyn ClientMiddleware>],
    sender: &'a dyn SendRequest,
}

impl<'a> ClientNext<'a> {
    pub(crate) fn new(rest: &'a [Arc<dyn ClientMiddleware>], sender: &'a dyn SendRequest) -> Self {
        Self { rest, sender }
    }

    /// Sends the request and returns its result, which may be an `input_required`.
    ///
    /// The client may send it twice, if the server rejected the first attempt before it processed it. It may list the tools
    /// between the attempts. No middleware sees these requests.
    ///
    /// It may be called again: each call sends the request once more. Do this only for requests that change nothing, or
    /// that change nothing more the second time.
    ///
    /// # Errors
    /// Returns an error if the server or an inner middleware rejects the request, and if there is no response.
    ///
    /// # Cancellation
    /// Dropping the future cancels the request.
    pub async fn run(&self, request: &mut ClientRequest) -> Result<RawJson, Error> {
        match self.rest.split_first() {
            Some((first, rest)) => first.handle(request, ClientNext { rest, ..*self }).await,
            None => self.sender.send(request).await,
        }
    }
}

impl fmt::Debug for ClientNext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientNext")
            .field("middleware", &self.rest.len())
            .finish_non_exhaustive()
    }
}
