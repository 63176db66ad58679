//! Which HTTP a connection speaks: its first bytes say so.
//!
//! What was read to find out is given back together with what has come since. Given back alone it would be a first short
//! read, for which hyper makes its buffer twice as large as it needs to be, for as long as the connection lives.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// How an HTTP/2 connection begins. RFC 9113, section 3.4.
const PREFACE: [u8; 24] = *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpVersion {
    Http1,
    Http2,
}

/// A stream whose first bytes can be looked at.
#[derive(Debug)]
pub(super) struct BufferedStream<S> {
    stream: S,
    /// What was read of it and not given to the reader yet.
    first: Bytes,
}

impl<S: AsyncRead + Unpin> BufferedStream<S> {
    /// `first` is what was read already.
    pub(super) fn new(stream: S, first: Bytes) -> Self {
        Self { stream, first }
    }

    pub(super) fn inner_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Waits until the first bytes decide. A stream that ends before is HTTP/1.1, which has the words for it.
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
        let taken = this.first.len().min(buffer.remaining());
        buffer.put_slice(&this.first[..taken]);
        // The last of it goes with its memory.
        this.first = this.first.slice(taken..);
        if buffer.remaining() > 0
            && let Poll::Ready(outcome) = Pin::new(&mut this.stream).poll_read(context, buffer)
        {
            outcome?;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BufferedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt as _, DuplexStream};

    use super::*;

    fn pair() -> (BufferedStream<DuplexStream>, DuplexStream) {
        let (near, far) = tokio::io::duplex(1024);
        (BufferedStream::new(near, Bytes::new()), far)
    }

    #[tokio::test]
    async fn the_first_bytes_decide_and_are_not_lost() {
        for (said, spoken) in [
            ("", HttpVersion::Http1),
            ("POST /mcp HTTP/1.1\r\nHost: a\r\n\r\n", HttpVersion::Http1),
            ("PRI", HttpVersion::Http1),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\rx", HttpVersion::Http1),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nframes", HttpVersion::Http2),
        ] {
            let (mut stream, mut far) = pair();
            far.write_all(said.as_bytes()).await.unwrap();
            drop(far);
            assert_eq!(stream.detect_version().await.unwrap(), spoken, "{said:?}");
            let mut read = String::new();
            stream.read_to_string(&mut read).await.unwrap();
            assert_eq!(read, said);
        }
    }

    #[tokio::test]
    async fn a_preface_may_come_in_pieces() {
        let (mut stream, mut far) = pair();
        for byte in &PREFACE[..PREFACE.len() - 1] {
            far.write_all(&[*byte]).await.unwrap();
            let undecided = tokio::select! {
                biased;
                _ = stream.detect_version() => false,
                () = std::future::ready(()) => true,
            };
            assert!(undecided);
        }
        far.write_all(b"\n").await.unwrap();
        assert_eq!(stream.detect_version().await.unwrap(), HttpVersion::Http2);
    }

    #[tokio::test]
    async fn the_first_read_gives_all_that_has_come() {
        let (mut stream, mut far) = pair();
        far.write_all(&[b'x'; 100]).await.unwrap();
        assert_eq!(stream.detect_version().await.unwrap(), HttpVersion::Http1);
        assert_eq!(stream.read(&mut [0; 200]).await.unwrap(), 100);
    }

    #[tokio::test]
    async fn a_reader_with_little_room_gets_everything_in_turn() {
        let (mut stream, mut far) = pair();
        far.write_all(b"0123456789").await.unwrap();
        assert_eq!(stream.detect_version().await.unwrap(), HttpVersion::Http1);
        for expected in [b"0123", b"4567"] {
            let mut read = [0; 4];
            assert_eq!(stream.read(&mut read).await.unwrap(), 4);
            assert_eq!(&read, expected);
        }
        far.write_all(b"ab").await.unwrap();
        let mut read = [0; 4];
        assert_eq!(stream.read(&mut read).await.unwrap(), 4);
        assert_eq!(&read, b"89ab");
    }
}
