//! Middleware of a client: code that stands around every request that it sends.
//!
//! A middleware sees the request before it is sent, and its result or error after it. It can change both, reject the
//! request, respond without the server, and send the request again.
//!
//! Each round of a call that asks for input, and each page of a list, is a request of its own. These requests pass only the
//! middleware that [handles every request](ClientMiddleware::handles_every_request): those that connect (`initialize`,
//! `server/discover`), `subscriptions/listen`, and those of a relay. These pass none: `events/stream`, and those that the
//! client adds to a call (the lists after a rejected header, and the second attempt of the call). A result from the cache
//! needs no request.

mod from_fn;
mod next;
mod received_request;
mod request;
mod send_once;

use std::fmt;
use std::sync::Arc;

use toolwire_types::{ErrorObject, ProtocolVersion, RawJson};

use crate::engine::{BoxFuture, ConnectionInfo};
use crate::error::Error;

pub use from_fn::{from_fn, from_fn_with};
pub use next::ClientNext;
pub(crate) use next::SendRequest;
pub use received_request::ReceivedRequest;
pub use request::ClientRequest;
pub(crate) use request::{SentId, StreamOpening};
pub(crate) use send_once::SendOnce;

/// Code that stands around every request of a client.
///
/// [`from_fn`] makes one of an async closure. Implement the trait for a middleware with settings:
///
/// ```
/// use toolwire::client_middleware::{ClientMiddleware, ClientNext, ClientRequest};
/// use toolwire::{BoxFuture, Client, Error, RawJson};
///
/// /// Sends a request again that only reads, if the connection fails.
/// struct RepeatReads {
///     times: usize,
/// }
///
/// impl ClientMiddleware for RepeatReads {
///     fn handle<'a>(
///         &'a self,
///         request: &'a mut ClientRequest,
///         next: ClientNext<'a>,
///     ) -> BoxFuture<'a, Result<RawJson, Error>> {
///         Box::pin(async move {
///             let mut left = if request.method().ends_with("/list") { self.times } else { 0 };
///             loop {
///                 match next.run(request).await {
///                     Err(error) if left > 0 && error.rpc().is_none() => left -= 1,
///                     outcome => return outcome,
///                 }
///             }
///         })
///     }
/// }
///
/// let builder = Client::builder("agent", "1.0.0").with_middleware(RepeatReads { times: 2 });
/// # drop(builder);
/// ```
///
/// # Panics
/// A panic in a middleware is a panic of the caller that awaits the call.
///
/// # Cancellation
/// If the caller drops the call, the future of the middleware is dropped. The timeout of a call applies to each request
/// that [`ClientNext::run`] sends, and not to the time that the middleware waits itself.
pub trait ClientMiddleware: Send + Sync + 'static {
    /// Handles a request. Call [`ClientNext::run`] to send it.
    ///
    /// # Errors
    /// Returns the error that the call ends with.
    fn handle<'a>(
        &'a self,
        request: &'a mut ClientRequest,
        next: ClientNext<'a>,
    ) -> BoxFuture<'a, Result<RawJson, Error>>;

    /// Returns `true` if the middleware also stands around the requests that connect, around `subscriptions/listen`, which
    /// ends with its stream, and around the requests of a relay. Default: `false`.
    ///
    /// The parameters of such a request contain its `_meta`. All but those that connect can be sent only once.
    fn handles_every_request(&self) -> bool {
        false
    }

    /// Wraps the handler of a request of the server, also of an input request in a result. Returns a future that awaits
    /// `responding`, which runs the handler. Requests to a client of a relay are forwarded without it. Default: `responding`.
    fn handle_received<'a>(
        &'a self,
        _request: &'a ReceivedRequest,
        responding: BoxFuture<'a, Result<RawJson, ErrorObject>>,
    ) -> BoxFuture<'a, Result<RawJson, ErrorObject>> {
        responding
    }

    /// Is called when the client has connected. Returns a function that is called when the connection ends: when the client
    /// closes it, replaces it by another one, or is dropped. Default: nothing.
    fn connected(
        &self,
        _version: ProtocolVersion,
        _connection: &ConnectionInfo,
    ) -> Option<ConnectionEnd> {
        None
    }
}

impl fmt::Debug for dyn ClientMiddleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientMiddleware").finish_non_exhaustive()
    }
}

/// A function that is called when the connection of a client ends.
pub type ConnectionEnd = Box<dyn FnOnce() + Send>;

impl<M: ClientMiddleware + ?Sized> ClientMiddleware for Arc<M> {
    fn handle<'a>(
        &'a self,
        request: &'a mut ClientRequest,
        next: ClientNext<'a>,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        M::handle(self, request, next)
    }

    fn handles_every_request(&self) -> bool {
        M::handles_every_request(self)
    }

    fn handle_received<'a>(
        &'a self,
        request: &'a ReceivedRequest,
        responding: BoxFuture<'a, Result<RawJson, ErrorObject>>,
    ) -> BoxFuture<'a, Result<RawJson, ErrorObject>> {
        M::handle_received(self, request, responding)
    }

    fn connected(
        &self,
        version: ProtocolVersion,
        connection: &ConnectionInfo,
    ) -> Option<ConnectionEnd> {
        M::connected(self, version, connection)
    }
}

/// The middleware of a client, the outermost first.
pub(crate) type ClientChain = Arc<[Arc<dyn ClientMiddleware>]>;
