//! The trait of an HTTP client.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};

use crate::engine::BoxFuture;

use crate::client::http::{ClientBody, HttpError};

/// An HTTP client: sends one request and returns the response.
///
/// Implement it for tests, to use an HTTP library of your own, or to restrict the addresses that may be reached.
///
/// # Requirements
///
/// * An implementation follows redirects only within the origin of the request, because headers may contain secrets.
/// * It does not send a request again that the server may have received, unless the method is safe (GET, HEAD).
/// * It returns the response as soon as the headers have arrived. The body may be a stream that stays open for hours.
///
/// # Cancellation
///
/// Dropping the future of [`send`](HttpClient::send), or the body of the response before its end, must end the exchange
/// at once: over HTTP/1.1 by closing the connection, over HTTP/2 by resetting the stream. The server treats that as
/// the cancellation of the request.
///
/// ```
/// use bytes::Bytes;
/// use toolwire::BoxFuture;
/// use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError};
///
/// /// Responds to every request with the same text.
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
    label = "this is not an HTTP client",
    note = "implement `HttpClient` for it, or use `HyperClient`, the HTTP client of toolwire"
)]
pub trait HttpClient: Send + Sync + Debug + 'static {
    /// Sends the request, whose URI is absolute, and waits for the response headers.
    ///
    /// A response with any status is returned as `Ok`, also with a status of an error.
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
