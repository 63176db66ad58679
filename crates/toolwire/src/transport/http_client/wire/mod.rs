//! The bytes of one connection: TCP, or TLS over it, or TLS over TLS to a proxy.

#[cfg(test)]
pub(super) mod failing_socket;

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

#[cfg(not(test))]
type Socket = tokio::net::TcpStream;
#[cfg(test)]
type Socket = failing_socket::FailingSocket;

/// An open connection and what the pool has to know about it.
#[derive(Debug)]
pub(super) struct Wire {
    layer: Layer,
    /// The other end is a proxy, which must be told whole URLs.
    proxied: bool,
    /// How many bytes a plain socket has taken.
    written: u64,
}

#[derive(Debug)]
enum Layer {
    Plain(Socket),
    Tls(Box<TlsStream<Wire>>),
}

impl Wire {
    pub(super) fn plain(stream: impl Into<Socket>) -> Self {
        Self {
            layer: Layer::Plain(stream.into()),
            proxied: false,
            written: 0,
        }
    }

    pub(super) fn tls(stream: TlsStream<Self>) -> Self {
        Self {
            layer: Layer::Tls(Box::new(stream)),
            proxied: false,
            written: 0,
        }
    }

    pub(super) fn into_proxied(self) -> Self {
        Self {
            proxied: true,
            ..self
        }
    }

    pub(super) fn is_proxied(&self) -> bool {
        self.proxied
    }

    /// How many bytes have left this process, those of TLS included. Over TLS a write may fail after others of its bytes
    /// have left.
    pub(super) fn written(&self) -> u64 {
        match &self.layer {
            Layer::Plain(_) => self.written,
            Layer::Tls(stream) => stream.get_ref().0.written(),
        }
    }

    /// Whether the server chose HTTP/2 in the TLS handshake.
    pub(super) fn chose_http2(&self) -> bool {
        match &self.layer {
            Layer::Plain(_) => false,
            Layer::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// Tells the other end of a TLS connection that its end is no accident, if that can be done without waiting. TCP
    /// does so by itself.
    pub(super) fn say_goodbye(&mut self) {
        if let Layer::Tls(stream) = &mut self.layer {
            let mut context = Context::from_waker(Waker::noop());
            let _ = Pin::new(stream).poll_shutdown(&mut context);
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.layer {
            Layer::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Layer::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.layer {
            Layer::Plain(stream) => ready!(Pin::new(stream).poll_write(context, bytes))?,
            Layer::Tls(stream) => return Pin::new(stream).poll_write(context, bytes),
        };
        self.written += written as u64;
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.layer {
            Layer::Plain(stream) => ready!(Pin::new(stream).poll_write_vectored(context, pieces))?,
            Layer::Tls(stream) => return Pin::new(stream).poll_write_vectored(context, pieces),
        };
        self.written += written as u64;
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.layer {
            Layer::Plain(stream) => stream.is_write_vectored(),
            Layer::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.layer {
            Layer::Plain(stream) => Pin::new(stream).poll_flush(context),
            Layer::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.layer {
            Layer::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Layer::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
