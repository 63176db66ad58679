//! The bytes of one connection: TCP, or TLS over it, or TLS over TLS to a proxy.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// An open connection and what the pool has to know about it.
#[derive(Debug)]
pub(super) struct Wire {
    layer: Layer,
    /// The other end is a proxy, which must be told whole URLs.
    proxied: bool,
}

#[derive(Debug)]
enum Layer {
    Plain(TcpStream),
    Tls(Box<TlsStream<Wire>>),
}

impl Wire {
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self {
            layer: Layer::Plain(stream),
            proxied: false,
        }
    }

    pub(super) fn tls(stream: TlsStream<Self>) -> Self {
        Self {
            layer: Layer::Tls(Box::new(stream)),
            proxied: false,
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
        match &mut self.layer {
            Layer::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Layer::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.layer {
            Layer::Plain(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Layer::Tls(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
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
