//! Closing a connection without losing the response.
//!
//! A TCP connection that is closed while bytes of its client are unread, or still arrive, is reset, and a reset can
//! destroy a response that the client has not read yet. RFC 9112, section 9.6: the server closes its half first, and
//! reads on until the client closes the other half. What is read is discarded, within bounds.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::engine::deadline_after;
use crate::transport::http::listener::read_timeout::RequestCounter;

/// How many bytes are discarded at most while a connection closes.
const MAX_DISCARDED: usize = 16 * 1024 * 1024;

/// How many bytes are read at once.
const READ: usize = 8 * 1024;

/// A connection that reads what its client still sends while it shuts down.
///
/// It does so if a request was left unread ([`Requests::leave_unread`]), or if unread bytes are there. Any other
/// connection is closed at once.
#[derive(Debug)]
pub(super) struct LingeringClose<S> {
    stream: S,
    requests: Arc<RequestCounter>,
    timeout: Duration,
    /// Set while the connection closes.
    closing: Option<Box<Closing>>,
}

/// A connection whose writing half is shut down.
#[derive(Debug)]
struct Closing {
    deadline: Pin<Box<Sleep>>,
    /// How many bytes may still be discarded.
    left: usize,
    /// Whether the client may still be sending.
    lingers: bool,
}

impl<S> LingeringClose<S> {
    pub(super) fn new(stream: S, timeout: Duration, requests: Arc<RequestCounter>) -> Self {
        Self {
            stream,
            requests,
            timeout,
            closing: None,
        }
    }
}

impl Closing {
    /// Discards what arrives. Ready when the client has closed its half, or a bound is reached.
    fn poll_discard<S>(&mut self, stream: &mut S, context: &mut Context<'_>) -> Poll<()>
    where
        S: AsyncRead + Unpin,
    {
        while self.left > 0 {
            let mut space = [const { MaybeUninit::uninit() }; READ];
            let mut buffer = ReadBuf::uninit(&mut space);
            match Pin::new(&mut *stream).poll_read(context, &mut buffer) {
                Poll::Pending if self.lingers => return self.deadline.as_mut().poll(context),
                Poll::Pending | Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => return Poll::Ready(()),
                Poll::Ready(Ok(())) => {
                    self.lingers = true;
                    self.left = self.left.saturating_sub(buffer.filled().len());
                }
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LingeringClose<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LingeringClose<S> {
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
        let this = &mut *self;
        let closing = match &mut this.closing {
            Some(closing) => closing,
            None => {
                ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
                let deadline = deadline_after(Instant::now(), this.timeout);
                this.closing.insert(Box::new(Closing {
                    deadline: Box::pin(tokio::time::sleep_until(deadline)),
                    left: MAX_DISCARDED,
                    lingers: this.requests.has_unread(),
                }))
            }
        };
        closing.poll_discard(&mut this.stream, context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(5);

    fn pair(
        buffered: usize,
    ) -> (
        LingeringClose<DuplexStream>,
        Arc<RequestCounter>,
        DuplexStream,
    ) {
        let (near, far) = tokio::io::duplex(buffered);
        let requests = Arc::new(RequestCounter::default());
        let near = LingeringClose::new(near, TIMEOUT, Arc::clone(&requests));
        (near, requests, far)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_unread_bytes_closes_at_once() {
        let (mut near, _requests, mut far) = pair(64);
        let began = Instant::now();
        near.write_all(b"response").await.unwrap();
        near.shutdown().await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        let mut received = String::new();
        far.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "response");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_still_sends_is_read_until_it_closes() {
        for is_left_unread in [true, false] {
            let (mut near, requests, mut far) = pair(64);
            match is_left_unread {
                true => requests.leave_unread(),
                false => far.write_all(b"unread").await.unwrap(),
            }
            let client = tokio::spawn(async move {
                for _ in 0..3 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    far.write_all(&[0; 1000]).await.unwrap();
                }
                let mut received = String::new();
                far.read_to_string(&mut received).await.unwrap();
                received
            });
            let began = Instant::now();
            near.write_all(b"response").await.unwrap();
            near.shutdown().await.unwrap();
            assert_eq!(began.elapsed().as_secs(), 3);
            assert_eq!(client.await.unwrap(), "response");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_close_is_given_up() {
        let (mut near, requests, mut far) = pair(64);
        requests.leave_unread();
        let client = tokio::spawn(async move {
            while far.write_all(&[0; 100]).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        let began = Instant::now();
        near.shutdown().await.unwrap();
        assert_eq!(began.elapsed().as_secs(), TIMEOUT.as_secs());
        drop(near);
        client.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_bytes_are_discarded() {
        let (mut near, requests, mut far) = pair(MAX_DISCARDED);
        requests.leave_unread();
        far.write_all(&vec![0; MAX_DISCARDED]).await.unwrap();
        let began = Instant::now();
        near.shutdown().await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        // One byte less, and the end is waited for.
        let (mut near, requests, mut far) = pair(MAX_DISCARDED);
        requests.leave_unread();
        far.write_all(&vec![0; MAX_DISCARDED - 1]).await.unwrap();
        near.shutdown().await.unwrap();
        assert_eq!(began.elapsed().as_secs(), TIMEOUT.as_secs());
    }
}
