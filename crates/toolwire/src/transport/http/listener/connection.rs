//! One connection: from an accepted socket to its last byte.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::transport::http::limits::HttpLimits;
use crate::transport::http::listener::head_deadline::{HeadDeadline, Patience, Requests};
use crate::transport::http::listener::preface::{Prefaced, Spoken};
use crate::transport::http::listener::stall::StallGuard;
use crate::transport::http::service::HttpService;

/// How many requests one HTTP/2 connection may have open.
const STREAMS_PER_CONNECTION: u32 = 256;

/// How often an HTTP/2 client must show that it is still there.
const PING: Duration = Duration::from_secs(20);

/// How much of one request body an HTTP/2 client may send ahead of what is read, and of all bodies together.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// How many header fields hyper parses without allocating, and refuses beyond unless told otherwise.
const FIELDS_ON_THE_STACK: usize = 100;

/// The least that one connection may buffer in each direction.
const BUFFER: usize = 64 * 1024;

/// How much longer than its header fields a head may be: method, path and version.
const REQUEST_LINE: usize = 8 * 1024;

/// What all connections of a listener have in common.
pub(super) struct Setup {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    header_deadline: Duration,
    idle_connection: Duration,
    write_stall: Duration,
    #[cfg(feature = "tls")]
    tls: Option<tokio_rustls::TlsAcceptor>,
}

impl Setup {
    pub(super) fn new(limits: &HttpLimits) -> Self {
        Self {
            http1: http1(limits),
            http2: http2(limits),
            header_deadline: limits.header_deadline,
            idle_connection: limits.idle_connection,
            write_stall: limits.write_stall,
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
        let service = service.arriving_at(local_address);
        let socket = StallGuard::new(socket, self.write_stall);
        #[cfg(feature = "tls")]
        if let Some(acceptor) = &self.tls {
            return Box::pin(self.serve_tls(acceptor, socket, service, leave)).await;
        }
        self.speak(socket, service, leave).await;
    }

    #[cfg(feature = "tls")]
    async fn serve_tls(
        &self,
        acceptor: &tokio_rustls::TlsAcceptor,
        socket: StallGuard<TcpStream>,
        service: HttpService,
        leave: oneshot::Receiver<()>,
    ) {
        let handshake = tokio::time::timeout(self.header_deadline, acceptor.accept(socket));
        match handshake.await {
            Ok(Ok(stream)) => self.speak(stream, service, leave).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    async fn speak<S>(&self, stream: S, service: HttpService, mut leave: oneshot::Receiver<()>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let requests = Arc::new(Requests::default());
        let patience = Patience {
            head: self.header_deadline,
            rest: self.idle_connection,
        };
        let stream = HeadDeadline::new(stream, patience, Arc::clone(&requests));
        let mut stream = Prefaced::new(stream);
        let spoken = tokio::select! {
            spoken = stream.spoken() => spoken,
            // Nothing was asked yet.
            _ = &mut leave => return,
        };
        let stream = TokioIo::new(stream);
        let respond = service_fn(move |request| {
            let service = service.clone();
            let in_progress = requests.begin();
            // hyper keeps room for this future as long as the connection lives; boxed, it is gone when the answer begins.
            Box::pin(async move {
                let answer = service.respond(request).await;
                Ok::<_, Infallible>(answer.map(|body| body.during(in_progress)))
            })
        });
        let outcome = match spoken {
            Ok(Spoken::Http1) => {
                let connection = self.http1.serve_connection(stream, respond);
                let stop = http1::Connection::graceful_shutdown;
                drive(connection, stop, leave).await
            }
            Ok(Spoken::Http2) => {
                let connection = self.http2.serve_connection(stream, respond);
                let stop = http2::Connection::graceful_shutdown;
                Box::pin(drive(connection, stop, leave)).await
            }
            Err(error) => return tracing::debug!(%error, "a connection ended before it began"),
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// Runs a connection to its end; told to leave, it is stopped and finishes what it has begun.
async fn drive<C: Future>(
    connection: C,
    stop: impl FnOnce(Pin<&mut C>),
    leave: oneshot::Receiver<()>,
) -> C::Output {
    tokio::pin!(connection);
    tokio::select! {
        outcome = connection.as_mut() => outcome,
        _ = leave => {
            stop(connection.as_mut());
            connection.await
        }
    }
}

/// The bounds of hyper lie just beyond ours, which the service checks: it can say what was wrong.
fn http1(limits: &HttpLimits) -> http1::Builder {
    let head = limits
        .header_bytes
        .saturating_add(limits.header_fields.saturating_mul(": \r\n".len()))
        .saturating_add(REQUEST_LINE);
    let mut http1 = http1::Builder::new();
    http1
        // `HeadDeadline` does that, without a new timer for each request.
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

fn http2(limits: &HttpLimits) -> http2::Builder<TokioExecutor> {
    // HTTP/2 counts 32 bytes for each field besides its name and value, and four fields for the request line.
    let list = limits
        .header_bytes
        .saturating_add(limits.header_fields.saturating_add(4).saturating_mul(32))
        .saturating_add(REQUEST_LINE);
    let mut http2 = http2::Builder::new(TokioExecutor::new());
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(BUFFER)
        .max_header_list_size(u32::try_from(list).unwrap_or(u32::MAX));
    http2
}
