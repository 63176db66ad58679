//! One connection: from an accepted socket to its last byte.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::engine::BoxFuture;
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::listener::buffer_sizes::{BUFFER, REQUEST_LINE};
use crate::transport::http::listener::fast_path;
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
use crate::transport::http::request::body::BodySource;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::request::unread_body::{AfterResponse, TrackedBody};
use crate::transport::http::response::HttpResponse;
use crate::transport::http::response::body::ServerBody;
use crate::transport::http::service::HttpService;

/// How many header fields hyper parses without allocating, and refuses beyond unless told otherwise.
const FIELDS_ON_THE_STACK: usize = 100;

/// What all connections of a listener have in common.
pub(super) struct ConnectionConfig {
    http1: http1::Builder,
    limits: HttpLimits,
    #[cfg(feature = "tls")]
    tls: Option<tokio_rustls::TlsAcceptor>,
}

impl ConnectionConfig {
    pub(super) fn new(limits: &HttpLimits) -> Self {
        Self {
            http1: http1(limits),
            limits: limits.clone(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    #[cfg(feature = "tls")]
    pub(super) fn with_tls(mut self, acceptor: tokio_rustls::TlsAcceptor) -> Self {
        self.tls = Some(acceptor);
        self
    }

    /// Serves a connection until it ends. When `leave` is sent or dropped, it ends after the requests it has begun.
    ///
    /// A connection lives long and there are many: what few of them need is in a box of its own.
    pub(super) async fn serve(
        self: Arc<Self>,
        socket: TcpStream,
        local_address: SocketAddr,
        service: HttpService,
        leave: oneshot::Receiver<()>,
    ) {
        let mut service = service.with_local_addr(local_address);
        if let Ok(peer_address) = socket.peer_addr() {
            service = service.with_peer_address(peer_address);
        }
        let socket = WriteTimeout::new(socket, self.limits.write_stall);
        #[cfg(feature = "tls")]
        if let Some(acceptor) = &self.tls {
            return Box::pin(self.serve_tls(acceptor, socket, service, leave)).await;
        }
        self.serve_http(socket, service, leave).await;
    }

    #[cfg(feature = "tls")]
    async fn serve_tls(
        &self,
        acceptor: &tokio_rustls::TlsAcceptor,
        socket: WriteTimeout<TcpStream>,
        service: HttpService,
        mut leave: oneshot::Receiver<()>,
    ) {
        let handshake = tokio::time::timeout(self.limits.header_deadline, acceptor.accept(socket));
        let shaken = tokio::select! {
            biased;
            shaken = handshake => shaken,
            // Nothing was asked yet.
            _ = &mut leave => return,
        };
        match shaken {
            Ok(Ok(stream)) => self.serve_http(stream, service, leave).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    async fn serve_http<S>(&self, stream: S, service: HttpService, mut leave: oneshot::Receiver<()>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let requests = Arc::new(RequestCounter::default());
        let patience = ReadTimeouts {
            head: self.limits.header_deadline,
            rest: self.limits.idle_connection,
        };
        let stream =
            LingeringClose::new(stream, self.limits.discard_deadline, Arc::clone(&requests));
        let mut stream = ReadTimeout::new(stream, patience, Arc::clone(&requests));
        // Boxed, because few of its bytes are needed when hyper has taken over, and that may be for hours.
        let plain = Box::pin(fast_path::serve(
            &mut stream,
            &service,
            &requests,
            &mut leave,
        ));
        let handover = match plain.await {
            Ok(Some(handover)) => handover,
            Ok(None) => return drop(stream.shutdown().await),
            Err(error) => return tracing::debug!(%error, "a connection ended early"),
        };
        if handover.next_has_begun {
            stream.next_has_begun();
        }
        let mut stream = BufferedStream::new(stream, handover.unread);
        // Only the first bytes of a connection choose; and who has asked something already is answered.
        let spoken = match requests.has_begun() {
            true => Ok(HttpVersion::Http1),
            false => tokio::select! {
                biased;
                spoken = stream.detect_version() => spoken,
                // Nothing was asked yet.
                _ = &mut leave => return,
            },
        };
        if let Ok(HttpVersion::Http2) = spoken {
            stream.inner_mut().leave_to_http2();
        }
        let stream = TokioIo::new(stream);
        let answered = Mutex::new(handover.answer);
        let respond = move |request: Request<Incoming>| {
            let answered = answered
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let body_is_open = !request.body().is_end_stream();
            let request = request.map(|body| RequestBody::new(body, Arc::clone(&requests)));
            match answered {
                Some(answer) => respond_with(answer, request),
                None => {
                    let in_progress = requests.begin_with_body(body_is_open);
                    responding(service.clone(), request, in_progress, Arc::clone(&requests))
                }
            }
        };
        let outcome = match spoken {
            Ok(HttpVersion::Http1) => {
                let connection = self.http1.serve_connection(stream, service_fn(respond));
                let connection = pin!(connection);
                let stop = http1::Connection::graceful_shutdown;
                drive(connection, stop, leave).await
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
                driven(connection, stop, leave).await
            }
            #[cfg(not(feature = "http2"))]
            Ok(HttpVersion::Http2) => {
                return tracing::debug!(
                    "a client speaks HTTP/2, which needs the feature `http2` of toolwire"
                );
            }
            Err(error) => return tracing::debug!(%error, "a connection ended before it began"),
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// hyper keeps room for this future as long as the connection lives; boxed, it is gone when the answer begins. Its type is
/// forgotten, so that hyper is not compiled anew for all that an answer holds.
type ResponseFuture = BoxFuture<'static, Result<Response<ServerBody>, Infallible>>;

/// Answers a request that was served before hyper had it.
fn respond_with(answer: HttpResponse, request: Request<RequestBody>) -> ResponseFuture {
    Box::pin(async move {
        request.into_body().skip().await;
        Ok(answer.into_response())
    })
}

fn responding(
    service: HttpService,
    request: Request<RequestBody>,
    in_progress: RequestGuard,
    requests: Arc<RequestCounter>,
) -> ResponseFuture {
    Box::pin(async move {
        let (parts, body) = request.into_parts();
        let head = RequestHeaders::of(&parts.headers);
        let mut body = TrackedBody::new(body);
        let mut answer = {
            let source = BodySource::Streaming(&mut body);
            let mut answering = pin!(service.respond_to(&parts, &head, source));
            poll_fn(|cx| poll_response(answering.as_mut(), cx)).await
        };
        let after = service.finish_request(&parts, body, &mut answer).await;
        if after == AfterResponse::Close {
            requests.leave_unread();
        }
        Ok(answer.with_request_guard(in_progress).into_response())
    })
}

/// Runs a connection to its end; told to leave, it is stopped and finishes what it has begun.
///
/// What is there when it starts counts as begun: hyper closes a connection at once that is stopped before it could look.
async fn drive<C: Future>(
    mut connection: Pin<&mut C>,
    stop: impl FnOnce(Pin<&mut C>),
    leave: oneshot::Receiver<()>,
) -> C::Output {
    tokio::select! {
        biased;
        outcome = connection.as_mut() => outcome,
        _ = leave => {
            stop(connection.as_mut());
            connection.await
        }
    }
}

/// As [`drive`], with room of its own, which few connections need.
#[cfg(feature = "http2")]
fn driven<C>(
    connection: C,
    stop: impl FnOnce(Pin<&mut C>) + Send + 'static,
    leave: oneshot::Receiver<()>,
) -> BoxFuture<'static, C::Output>
where
    C: Future<Output: Send> + Send + 'static,
{
    Box::pin(async move { drive(pin!(connection), stop, leave).await })
}

/// The bounds of hyper lie just beyond ours, which the service checks: it can say what was wrong.
fn http1(limits: &HttpLimits) -> http1::Builder {
    let head = limits
        .header_bytes
        .saturating_add(limits.header_fields.saturating_mul(": \r\n".len()))
        .saturating_add(REQUEST_LINE);
    let mut http1 = http1::Builder::new();
    http1
        // `ReadTimeout` does that, without a new timer for each request.
        .header_read_timeout(None)
        .max_buf_size(head.max(BUFFER))
        .keep_alive(true)
        // A client that closes its end has left, as far as anybody can tell, and its requests with it.
        .half_close(false);
    if limits.header_fields >= FIELDS_ON_THE_STACK {
        http1.max_headers(limits.header_fields.saturating_add(1));
    }
    http1
}

#[cfg(test)]
mod tests;
