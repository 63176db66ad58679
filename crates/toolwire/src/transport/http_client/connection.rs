//! One connection to a server, in the version of HTTP that was agreed on, and how a request goes over it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::HttpFailure;
use super::explain;
use super::origin::Origin;
use super::wire::Wire;

/// How often an HTTP/2 connection with open streams is asked whether it still lives, and how long it may take to say so.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

type Body = Full<Bytes>;

/// A connection of HTTP/2, which requests share.
pub(super) type Http2 = http2::SendRequest<Body>;

/// A connection of HTTP/1.1, for one request at a time.
#[derive(Debug)]
pub(super) struct Http1 {
    sender: http1::SendRequest<Body>,
    /// The other end is a proxy, which must be told whole URLs.
    proxied: bool,
}

impl Http1 {
    /// Whether the next request can be sent: the last answer was read to its end, and nobody closed the connection.
    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Waits until that is so; false when the connection is of no more use.
    pub(super) async fn ready(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }
}

/// A connection in the hands of one request.
#[derive(Debug)]
pub(super) struct Connection {
    version: Version,
    reused: bool,
}

#[derive(Debug)]
enum Version {
    Http1(Http1),
    Http2(Http2),
}

impl Connection {
    /// Begins to speak HTTP. Its task ends with the connection: when the server closes it, or nobody here has it any more.
    pub(super) async fn begin(
        wire: Wire,
        origin: &Arc<Origin>,
        head_room: u32,
    ) -> Result<Self, HttpFailure> {
        let proxied = wire.is_proxied();
        let refused = |error| explain::no_answer(origin.place(), error);
        let version = if wire.chose_http2() {
            let begun = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_header_list_size(head_room)
                .keep_alive_interval(PING_INTERVAL)
                .keep_alive_timeout(PING_TIMEOUT)
                .handshake(TokioIo::new(wire));
            let (sender, connection) = begun.await.map_err(refused)?;
            tokio::spawn(connection);
            Version::Http2(origin.share(sender))
        } else {
            let begun = http1::Builder::new()
                .max_buf_size(head_room as usize)
                .handshake(TokioIo::new(wire));
            let (sender, connection) = begun.await.map_err(refused)?;
            tokio::spawn(connection);
            Version::Http1(Http1 { sender, proxied })
        };
        Ok(Self {
            version,
            reused: false,
        })
    }

    pub(super) fn reused_http1(connection: Http1) -> Self {
        Self {
            version: Version::Http1(connection),
            reused: true,
        }
    }

    pub(super) fn reused_http2(connection: Http2) -> Self {
        Self {
            version: Version::Http2(connection),
            reused: true,
        }
    }

    /// Whether it has waited for this request, and may have died meanwhile.
    pub(super) fn is_reused(&self) -> bool {
        self.reused
    }

    /// Sends a request whose URI is absolute, and waits for the head of the answer.
    ///
    /// # Errors
    /// With the request in it when none of its bytes were written.
    pub(super) async fn send(
        &mut self,
        mut request: Request<Body>,
        origin: &Origin,
    ) -> Result<Response<Incoming>, TrySendError<Request<Body>>> {
        if let Some(credentials) = origin.proxy_credentials() {
            let credentials = credentials.clone();
            request
                .headers_mut()
                .insert(PROXY_AUTHORIZATION, credentials);
        }
        match &mut self.version {
            Version::Http1(connection) => {
                let host = request.headers_mut().entry(HOST);
                host.or_insert_with(|| origin.host().clone());
                if !connection.proxied {
                    to_origin_form(request.uri_mut());
                }
                connection.sender.try_send_request(request).await
            }
            Version::Http2(connection) => connection.try_send_request(request).await,
        }
    }

    /// The connection, when nobody else can use it before the answer is read.
    pub(super) fn into_exclusive(self) -> Option<Http1> {
        match self.version {
            Version::Http1(connection) => Some(connection),
            Version::Http2(_) => None,
        }
    }
}

/// RFC 9112, 3.2.1: a server is told the path and the query, and in `Host` the rest.
fn to_origin_form(uri: &mut Uri) {
    let path = uri.path_and_query().cloned();
    *uri = path.map_or_else(Uri::default, Uri::from);
}
