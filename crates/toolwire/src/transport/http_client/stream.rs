//! A connection of the HTTP client: TCP, TLS, or TLS through a proxy that uses TLS itself.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};

use http::Extensions;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A connection to the next peer, which is the server or a proxy.
pub(super) type PeerStream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// An open connection that records its [`ConnectionProgress`].
pub(super) struct ClientStream {
    stream: TokioIo<MaybeHttpsStream<PeerStream>>,
    /// The peer is a proxy that forwards requests, so it needs the whole URL.
    is_proxied: bool,
    progress: ConnectionProgress,
}

impl ClientStream {
    /// Creates a connection to a server, perhaps through a tunnel.
    pub(super) fn to_server(stream: MaybeHttpsStream<PeerStream>) -> TokioIo<Self> {
        TokioIo::new(Self {
            stream: TokioIo::new(stream),
            is_proxied: false,
            progress: ConnectionProgress::default(),
        })
    }

    /// Creates a connection to a proxy that forwards requests.
    pub(super) fn to_proxy(stream: PeerStream) -> TokioIo<Self> {
        TokioIo::new(Self {
            stream: TokioIo::new(MaybeHttpsStream::Http(stream)),
            is_proxied: true,
            progress: ConnectionProgress::default(),
        })
    }
}

impl Connection for ClientStream {
    fn connected(&self) -> Connected {
        let connected = Connected::new()
            .proxy(self.is_proxied)
            .extra(self.progress.clone());
        if self.stream.connected().is_negotiated_h2() {
            connected.negotiated_h2()
        } else {
            connected
        }
    }
}

/// The last read or write of a connection. The connection shares it with the errors of its requests.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionProgress(Arc<AtomicU8>);

/// Nothing was read yet.
const NEW: u8 = 0;
/// The last operation was a read.
const READ: u8 = 1;
/// The last operation was a write, and there was a read before it.
const WRITTEN_AGAIN: u8 = 2;

impl ConnectionProgress {
    /// Returns the progress of a connection.
    pub(super) fn of(connected: &Connected) -> Option<Self> {
        let mut extras = Extensions::new();
        connected.get_extras(&mut extras);
        extras.remove()
    }

    /// Returns `true` if a request was written after an earlier response, and no byte was read since then.
    pub(super) fn is_written_again(&self) -> bool {
        self.0.load(Ordering::Relaxed) == WRITTEN_AGAIN
    }

    fn record_read(&self) {
        self.0.store(READ, Ordering::Relaxed);
    }

    /// Records a write, or the attempt: a request whose first write fails did not get a response either.
    fn record_write(&self) {
        if self.0.load(Ordering::Relaxed) != NEW {
            self.0.store(WRITTEN_AGAIN, Ordering::Relaxed);
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > filled {
            self.progress.record_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.progress.record_write();
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.progress.record_write();
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
