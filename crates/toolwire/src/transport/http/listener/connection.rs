//! One connection: from an accepted socket to its last byte.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::transport::http::limits::HttpLimits;
use crate::transport::http::listener::head_deadline::{HeadDeadline, Requests};
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
#[derive(Clone)]
pub(super) struct Setup {
    http: Builder<TokioExecutor>,
    header_deadline: Duration,
    write_stall: Duration,
    #[cfg(feature = "tls")]
    tls: Option<tokio_rustls::TlsAcceptor>,
}

impl Setup {
    pub(super) fn new(limits: &HttpLimits) -> Self {
        Self {
            http: protocol(limits),
            header_deadline: limits.header_deadline,
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
    pub(super) async fn serve(
        self,
        socket: TcpStream,
        local_address: SocketAddr,
        service: HttpService,
        leave: oneshot::Receiver<()>,
    ) {
        let service = service.arriving_at(local_address);
        let socket = StallGuard::new(socket, self.write_stall);
        #[cfg(feature = "tls")]
        if let Some(acceptor) = &self.tls {
            let handshake = tokio::time::timeout(self.header_deadline, acceptor.accept(socket));
            return match handshake.await {
                Ok(Ok(stream)) => self.speak(stream, service, leave).await,
                Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => tracing::debug!("a TLS handshake took too long"),
            };
        }
        self.speak(socket, service, leave).await;
    }

    async fn speak<S>(&self, stream: S, service: HttpService, leave: oneshot::Receiver<()>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let requests = Arc::new(Requests::default());
        let stream = HeadDeadline::new(stream, self.header_deadline, Arc::clone(&requests));
        let stream = TokioIo::new(stream);
        let respond = service_fn(move |request| {
            let service = service.clone();
            let in_progress = requests.begin();
            async move {
                let answer = service.respond(request).await;
                Ok::<_, Infallible>(answer.map(|body| body.during(in_progress)))
            }
        });
        let connection = self.http.serve_connection(stream, respond);
        tokio::pin!(connection);
        let outcome = tokio::select! {
            outcome = connection.as_mut() => outcome,
            _ = leave => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// The bounds of hyper lie just beyond ours, which the service checks: it can say what was wrong.
fn protocol(limits: &HttpLimits) -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    let head = limits
        .header_bytes
        .saturating_add(limits.header_fields.saturating_mul(": \r\n".len()))
        .saturating_add(REQUEST_LINE);
    let mut http1 = http.http1();
    http1
        .timer(TokioTimer::new())
        // This timer also runs while a connection rests; `HeadDeadline` looks after heads that have begun.
        .header_read_timeout(limits.idle_connection.max(limits.header_deadline))
        .max_buf_size(head.max(BUFFER))
        .keep_alive(true)
        // A client that closes its end has left, as far as anybody can tell, and its requests with it.
        .half_close(false);
    if limits.header_fields >= FIELDS_ON_THE_STACK {
        http1.max_headers(limits.header_fields.saturating_add(1));
    }
    // HTTP/2 counts 32 bytes for each field besides its name and value, and four fields for the request line.
    let list = limits
        .header_bytes
        .saturating_add(limits.header_fields.saturating_add(4).saturating_mul(32))
        .saturating_add(REQUEST_LINE);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(BUFFER)
        .max_header_list_size(u32::try_from(list).unwrap_or(u32::MAX));
    http
}
