//! Serves one connection, from the accepted socket to its end.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::engine::BoxFuture;
use crate::sync::lock;
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::listener::buffer_sizes::{BUFFER, REQUEST_LINE};
use crate::transport::http::listener::fast_path::{self, Fallback};
#[cfg(feature = "http2")]
use crate::transport::http::listener::http2;
#[cfg(feature = "http2")]
use crate::transport::http::listener::http2_streams::{PacedBody, StreamExecutor};
use crate::transport::http::listener::linger::LingeringClose;
use crate::transport::http::listener::preface::{BufferedStream, HttpVersion};
use crate::transport::http::listener::read_timeout::{
    ReadTimeout, ReadTimeouts, RequestCounter, RequestGuard,
};
use crate::transport::http::listener::request_body::{RequestBody, poll_response};
use crate::transport::http::listener::write_timeout::WriteTimeout;
use crate::transport::http::options::HttpOptions;
use crate::transport::http::request::body::BodySource;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::request::unread_body::{AfterResponse, TrackedBody};
use crate::transport::http::response::HttpResponse;
use crate::transport::http::response::body::ServerBody;
use crate::transport::http::service::HttpService;

/// The number of header fields that hyper parses without allocation. This is also the default limit of hyper.
const FIELDS_ON_THE_STACK: usize = 100;

/// The configuration that all connections of a listener share.
pub(super) struct ConnectionConfig {
    http1: http1::Builder,
    limits: HttpLimits,
    fast_path: bool,
    #[cfg(feature = "tls")]
    tls: Option<tokio_rustls::TlsAcceptor>,
}

impl ConnectionConfig {
    pub(super) fn new(options: &HttpOptions) -> Self {
        Self {
            http1: http1(&options.limits),
            limits: options.limits.clone(),
            fast_path: options.fast_path,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    #[cfg(feature = "tls")]
    pub(super) fn with_tls(mut self, acceptor: tokio_rustls::TlsAcceptor) -> Self {
        self.tls = Some(acceptor);
        self
    }

    /// Serves a connection until it ends. When `shutdown` is sent or dropped, it ends after its current requests.
    ///
    /// Connections are numerous and long-lived, so state that few of them need is boxed.
    pub(super) async fn serve(
        self: Arc<Self>,
        socket: TcpStream,
        local_address: SocketAddr,
        service: HttpService,
        shutdown: oneshot::Receiver<()>,
    ) {
        let mut service = service.with_local_addr(local_address);
        if let Ok(peer_address) = socket.peer_addr() {
            service = service.with_peer_address(peer_address);
        }
        let socket = WriteTimeout::new(socket, self.limits.write_stall);
        #[cfg(feature = "tls")]
        if let Some(acceptor) = &self.tls {
            return Box::pin(self.serve_tls(acceptor, socket, service, shutdown)).await;
        }
        self.serve_http(socket, service, shutdown).await;
    }

    #[cfg(feature = "tls")]
    async fn serve_tls(
        &self,
        acceptor: &tokio_rustls::TlsAcceptor,
        socket: WriteTimeout<TcpStream>,
        service: HttpService,
        mut shutdown: oneshot::Receiver<()>,
    ) {
        let handshake = tokio::time::timeout(self.limits.header_deadline, acceptor.accept(socket));
        let accepted = tokio::select! {
            biased;
            accepted = handshake => accepted,
            // No request has started yet.
            _ = &mut shutdown => return,
        };
        match accepted {
            Ok(Ok(stream)) => self.serve_http(stream, service, shutdown).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake timed out"),
        }
    }

    async fn serve_http<S>(
        &self,
        stream: S,
        service: HttpService,
        mut shutdown: oneshot::Receiver<()>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let requests = Arc::new(RequestCounter::default());
        let timeouts = ReadTimeouts {
            headers: self.limits.header_deadline,
            idle: self.limits.idle_connection,
        };
        let stream =
            LingeringClose::new(stream, self.limits.discard_deadline, Arc::clone(&requests));
        let mut stream = ReadTimeout::new(stream, timeouts, Arc::clone(&requests));
        let fallback = if self.fast_path {
            // Boxed, so that its memory is freed when hyper takes over the connection, possibly for hours.
            let serving = Box::pin(fast_path::serve(
                &mut stream,
                &service,
                &requests,
                &mut shutdown,
            ));
            match serving.await {
                Ok(Some(fallback)) => fallback,
                Ok(None) => return drop(stream.shutdown().await),
                Err(error) => return tracing::debug!(%error, "a connection ended early"),
            }
        } else {
            Fallback::default()
        };
        if fallback.next_has_started {
            stream.record_next_request();
        }
        let mut stream = BufferedStream::new(stream, fallback.unread);
        // Only the first bytes of a connection select the version. After the first request, it is HTTP/1.1.
        let version = if requests.has_started() {
            Ok(HttpVersion::Http1)
        } else {
            tokio::select! {
                biased;
                version = stream.detect_version() => version,
                // No request has started yet.
                _ = &mut shutdown => return,
            }
        };
        if let Ok(HttpVersion::Http2) = version {
            stream.inner_mut().disable_for_http2();
        }
        let stream = TokioIo::new(stream);
        let first_response = Mutex::new(fallback.response);
        let respond = move |request: Request<Incoming>| {
            let first_response = lock(&first_response).take();
            let body_is_open = !request.body().is_end_stream();
            let request = request.map(|body| RequestBody::new(body, Arc::clone(&requests)));
            match first_response {
                Some(response) => respond_with(response, request),
                None => {
                    let in_progress = requests.begin_with_body(body_is_open);
                    response_future(service.clone(), request, in_progress, Arc::clone(&requests))
                }
            }
        };
        let outcome = match version {
            Ok(HttpVersion::Http1) => {
                let connection = self.http1.serve_connection(stream, service_fn(respond));
                let connection = pin!(connection);
                let stop = http1::Connection::graceful_shutdown;
                drive(connection, stop, shutdown).await
            }
            #[cfg(feature = "http2")]
            Ok(HttpVersion::Http2) => {
                let executor = StreamExecutor::new(self.limits.write_stall);
                let http2 = http2::builder(&self.limits, executor.clone());
                let respond = service_fn(move |request| {
                    let progress = executor.accept();
                    let response = respond(request);
                    async move {
                        let response = response.await?;
                        Ok::<_, Infallible>(response.map(|body| PacedBody::new(body, progress)))
                    }
                });
                let connection = http2.serve_connection(stream, respond);
                let stop = http2::Connection::graceful_shutdown;
                boxed_drive(connection, stop, shutdown).await
            }
            #[cfg(not(feature = "http2"))]
            Ok(HttpVersion::Http2) => {
                return tracing::debug!(
                    "a client uses HTTP/2, which requires the feature `http2` of toolwire"
                );
            }
            Err(error) => {
                return tracing::debug!(%error, "a connection ended before its first request");
            }
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// The boxed future of a response. hyper reserves memory for its service future for the lifetime of the connection; a
/// boxed future is freed when the response starts. The type is erased, so that hyper is not compiled again for it.
type ResponseFuture = BoxFuture<'static, Result<Response<ServerBody>, Infallible>>;

/// Returns the response to a request that is already served.
fn respond_with(response: HttpResponse, request: Request<RequestBody>) -> ResponseFuture {
    Box::pin(async move {
        request.into_body().skip().await;
        Ok(response.into_response())
    })
}

fn response_future(
    service: HttpService,
    request: Request<RequestBody>,
    in_progress: RequestGuard,
    requests: Arc<RequestCounter>,
) -> ResponseFuture {
    Box::pin(async move {
        let (parts, body) = request.into_parts();
        let head = RequestHeaders::of(&parts.headers);
        let mut body = TrackedBody::new(body);
        let mut response = {
            let source = BodySource::Streaming(&mut body);
            let mut responding = pin!(service.respond_to(&parts, &head, source));
            poll_fn(|cx| poll_response(responding.as_mut(), cx)).await
        };
        let after = service.finish_request(&parts, body, &mut response).await;
        if after == AfterResponse::Close {
            requests.record_unread();
        }
        Ok(response.with_request_guard(in_progress).into_response())
    })
}

/// Runs a connection to its end. When `shutdown` is sent or dropped, the connection finishes its current requests
/// first.
///
/// The connection is polled before it is stopped, because hyper closes a connection at once if it is stopped before the
/// first poll. Requests that have already arrived are therefore served.
async fn drive<C: Future>(
    mut connection: Pin<&mut C>,
    stop: impl FnOnce(Pin<&mut C>),
    shutdown: oneshot::Receiver<()>,
) -> C::Output {
    tokio::select! {
        biased;
        outcome = connection.as_mut() => outcome,
        _ = shutdown => {
            stop(connection.as_mut());
            connection.await
        }
    }
}

/// Runs a connection as [`drive`] does, in a boxed future, because few connections use HTTP/2.
#[cfg(feature = "http2")]
fn boxed_drive<C>(
    connection: C,
    stop: impl FnOnce(Pin<&mut C>) + Send + 'static,
    shutdown: oneshot::Receiver<()>,
) -> BoxFuture<'static, C::Output>
where
    C: Future<Output: Send> + Send + 'static,
{
    Box::pin(async move { drive(pin!(connection), stop, shutdown).await })
}

/// Returns the HTTP/1.1 settings. The limits of hyper are slightly higher than those of the service, whose error
/// responses name the exceeded limit.
fn http1(limits: &HttpLimits) -> http1::Builder {
    let head = limits
        .header_bytes
        .saturating_add(limits.header_fields.saturating_mul(": \r\n".len()))
        .saturating_add(REQUEST_LINE);
    let mut http1 = http1::Builder::new();
    http1
        // `ReadTimeout` replaces this timeout, without a new timer for each request.
        .header_read_timeout(None)
        .max_buf_size(head.max(BUFFER))
        .keep_alive(true)
        // A client that closes its side is treated as disconnected, and its requests are cancelled.
        .half_close(false);
    if limits.header_fields >= FIELDS_ON_THE_STACK {
        http1.max_headers(limits.header_fields.saturating_add(1));
    }
    http1
}

#[cfg(test)]
mod tests;
