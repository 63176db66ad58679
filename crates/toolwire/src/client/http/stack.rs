//! The seam between the client and whatever speaks HTTP for it.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};

use crate::engine::BoxFuture;

use crate::client::http::{ClientBody, HttpError};

/// What carries one HTTP request to a server and its answer back.
///
/// Replace it in tests, to go through a proxy of your own, or to decide which addresses may be reached.
///
/// An implementation follows redirects only where no header can reach another origin, never sends a request twice that
/// the server may have seen, and gives the answer as soon as its head is there: the body may be a stream that stays
/// open for hours.
///
/// # Cancellation
///
/// Dropping the future of [`send`](HttpClient::send), or the body of the answer before its end, must end the exchange
/// on the wire at once: over HTTP/1.1 by closing the connection, over HTTP/2 by resetting the stream. That is how a
/// server learns that nobody waits for an answer any more.
///
/// ```
/// use bytes::Bytes;
/// use toolwire::BoxFuture;
/// use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError};
///
/// /// Answers everything with the same text.
/// #[derive(Debug)]
/// struct Canned(&'static str);
///
/// impl HttpClient for Canned {
///     fn send(
///         &self,
///         _request: http::Request<Bytes>,
///     ) -> BoxFuture<'_, Result<http::Response<ClientBody>, HttpError>> {
///         Box::pin(async { Ok(http::Response::new(ClientBody::full(self.0))) })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry HTTP requests",
    label = "this is no HTTP client",
    note = "implement `HttpClient` for it, or use `HyperClient`, the one that comes with toolwire"
)]
pub trait HttpClient: Send + Sync + Debug + 'static {
    /// Sends the request, whose URI is absolute, and waits for the head of the answer.
    ///
    /// Any status is an answer, also one that says that something went wrong.
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>>;
}

impl<T: HttpClient + ?Sized> HttpClient for Arc<T> {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        (**self).send(request)
    }
}
