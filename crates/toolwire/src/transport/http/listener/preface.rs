//! Detects the HTTP version of a connection from its first bytes.
//!
//! The first read of hyper returns these bytes together with the bytes that arrived since. A short first read would
//! make hyper allocate a buffer of twice the needed size for the lifetime of the connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::transport::http::listener::forward_io::forward_io;

/// The connection preface of HTTP/2. RFC 9113, section 3.4.
const PREFACE: [u8; 24] = *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The HTTP version of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpVersion {
    Http1,
    Http2,
}

/// A stream that returns already read bytes before its own.
#[derive(Debug)]
pub(super) struct BufferedStream<S> {
    stream: S,
    /// The bytes that were read from the stream and not returned to the reader yet.
    first: Bytes,
}

impl<S: AsyncRead + Unpin> BufferedStream<S> {
    /// Creates a stream. `first` are the bytes that were already read.
    pub(super) fn new(stream: S, first: Bytes) -> Self {
        Self { stream, first }
    }

    pub(super) fn inner_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Waits until the first bytes determine the version. If the stream ends before, the version is HTTP/1.1, whose
    /// parser reports the error.
    ///
    /// # Cancellation
    /// Dropping the future loses no byte.
    pub(super) async fn detect_version(&mut self) -> io::Result<HttpVersion> {
        loop {
            if self.first.starts_with(&PREFACE) {
                return Ok(HttpVersion::Http2);
            }
            if !PREFACE.starts_with(&self.first) {
                return Ok(HttpVersion::Http1);
            }
            let mut more = [0; PREFACE.len()];
            match self.stream.read(&mut more).await? {
                0 => return Ok(HttpVersion::Http1),
                read => self.first = [&self.first[..], &more[..read]].concat().into(),
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BufferedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.first.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        let length = this.first.len().min(buffer.remaining());
        buffer.put_slice(&this.first[..length]);
        // The empty slice after the last byte frees the buffer.
        this.first = this.first.slice(length..);
        if buffer.remaining() > 0
            && let Poll::Ready(outcome) = Pin::new(&mut this.stream).poll_read(context, buffer)
        {
            outcome?;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BufferedStream<S> {
    forward_io!(stream: poll_write, poll_write_vectored, is_write_vectored, poll_flush, poll_shutdown);
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt as _, DuplexStream};

    use super::*;

    fn pair() -> (BufferedStream<DuplexStream>, DuplexStream) {
        let (local, peer) = tokio::io::duplex(1024);
        (BufferedStream::new(local, Bytes::new()), peer)
    }

    #[tokio::test]
    async fn first_bytes_determine_the_version_and_are_not_lost() {
        for (input, version) in [
            ("", HttpVersion::Http1),
            ("POST /mcp HTTP/1.1\r\nHost: a\r\n\r\n", HttpVersion::Http1),
            ("PRI", HttpVersion::Http1),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\rx", HttpVersion::Http1),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nframes", HttpVersion::Http2),
        ] {
            let (mut stream, mut peer) = pair();
            peer.write_all(input.as_bytes()).await.unwrap();
            drop(peer);
            assert_eq!(stream.detect_version().await.unwrap(), version, "{input:?}");
            let mut read = String::new();
            stream.read_to_string(&mut read).await.unwrap();
            assert_eq!(read, input);
        }
    }

    #[tokio::test]
    async fn preface_is_detected_byte_by_byte() {
        let (mut stream, mut peer) = pair();
        for byte in &PREFACE[..PREFACE.len() - 1] {
            peer.write_all(&[*byte]).await.unwrap();
            let undecided = tokio::select! {
                biased;
                _ = stream.detect_version() => false,
                () = std::future::ready(()) => true,
            };
            assert!(undecided);
        }
        peer.write_all(b"\n").await.unwrap();
        assert_eq!(stream.detect_version().await.unwrap(), HttpVersion::Http2);
    }

    #[tokio::test]
    async fn first_read_returns_all_received_bytes() {
        let (mut stream, mut peer) = pair();
        peer.write_all(&[b'x'; 100]).await.unwrap();
        assert_eq!(stream.detect_version().await.unwrap(), HttpVersion::Http1);
        assert_eq!(stream.read(&mut [0; 200]).await.unwrap(), 100);
    }

    #[tokio::test]
    async fn small_reads_return_all_bytes_in_order() {
        let (mut stream, mut peer) = pair();
        peer.write_all(b"0123456789").await.unwrap();
        assert_eq!(stream.detect_version().await.unwrap(), HttpVersion::Http1);
        for expected in [b"0123", b"4567"] {
            let mut read = [0; 4];
            assert_eq!(stream.read(&mut read).await.unwrap(), 4);
            assert_eq!(&read, expected);
        }
        peer.write_all(b"ab").await.unwrap();
        let mut read = [0; 4];
        assert_eq!(stream.read(&mut read).await.unwrap(), 4);
        assert_eq!(&read, b"89ab");
    }
}
