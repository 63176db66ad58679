//! One connection to a server, in the version of HTTP that was agreed on.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{Request, Response, request};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use crate::transport::http_client::HttpFailure;
use crate::transport::http_client::explain;
use crate::transport::http_client::http1::Http1;
use crate::transport::http_client::origin::Origin;
use crate::transport::http_client::wire::Wire;

/// How often an HTTP/2 connection with open streams is asked whether it still lives, and how long it may take to say so.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// A connection of HTTP/2, which requests share.
pub(super) type Http2 = http2::SendRequest<Full<Bytes>>;

/// A connection in the hands of one request.
#[derive(Debug)]
pub(super) enum Connection {
    Http1(Box<Http1>),
    Http2(Http2),
}

impl Connection {
    /// Begins to speak HTTP. The task of HTTP/2 ends with the connection: when the server closes it, or nobody here has
    /// it any more.
    pub(super) async fn begin(
        wire: Wire,
        origin: &Arc<Origin>,
        head_room: u32,
    ) -> Result<Self, HttpFailure> {
        if !wire.chose_http2() {
            return Ok(Self::Http1(Box::new(Http1::new(wire, head_room))));
        }
        let begun = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_header_list_size(head_room)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .handshake(TokioIo::new(wire));
        let refused = |error| explain::no_answer_over_http2(origin.place(), error);
        let (sender, connection) = begun.await.map_err(refused)?;
        tokio::spawn(connection);
        Ok(Self::Http2(origin.share(sender)))
    }
}

/// Sends a request whose URI is absolute, and waits for the head of the answer.
///
/// # Errors
/// With a message in it when none of its bytes were written.
pub(super) async fn send_over_http2(
    mut connection: Http2,
    head: &request::Parts,
    body: &Bytes,
    origin: &Origin,
) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
    let mut request = Request::from_parts(head.clone(), Full::new(body.clone()));
    if let Some(credentials) = origin.proxy_credentials() {
        let headers = request.headers_mut();
        headers.insert(PROXY_AUTHORIZATION, credentials.clone());
    }
    connection.try_send_request(request).await
}
