//! Closes a connection without losing the response.
//!
//! A TCP connection that is closed while bytes of its client are unread, or still arrive, is reset, and a reset can
//! destroy a response that the client has not read yet. RFC 9112, section 9.6: the server closes its half first, and
//! continues to read until the client closes the other half. The bytes are discarded, within limits.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::engine::deadline_after;
use crate::transport::http::listener::forward_io::forward_io;
use crate::transport::http::listener::read_timeout::RequestCounter;

/// The maximum number of bytes that are discarded while a connection closes.
const MAX_DISCARDED: usize = 16 * 1024 * 1024;

/// The maximum number of bytes of one read.
const READ: usize = 8 * 1024;

/// A connection that reads and discards the bytes of its client while it shuts down.
///
/// It does so if a part of a request was not read ([`RequestCounter::record_unread`]), or if there are unread bytes.
/// Any other connection is closed at once.
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
    /// The number of bytes that may still be discarded.
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
    /// Discards received bytes. Returns `Ready` if the client has closed its half or a limit is reached.
    fn poll_discard<S>(&mut self, stream: &mut S, context: &mut Context<'_>) -> Poll<()>
    where
        S: AsyncRead + Unpin,
    {
        while self.left > 0 {
            let mut storage = [const { MaybeUninit::uninit() }; READ];
            let mut buffer = ReadBuf::uninit(&mut storage);
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
    forward_io!(stream: poll_read);
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LingeringClose<S> {
    forward_io!(stream: poll_write, poll_write_vectored, is_write_vectored, poll_flush);

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
        let (local, peer) = tokio::io::duplex(buffered);
        let requests = Arc::new(RequestCounter::default());
        let local = LingeringClose::new(local, TIMEOUT, Arc::clone(&requests));
        (local, requests, peer)
    }

    #[tokio::test(start_paused = true)]
    async fn connection_without_unread_bytes_closes_at_once() {
        let (mut local, _requests, mut peer) = pair(64);
        let start = Instant::now();
        local.write_all(b"response").await.unwrap();
        local.shutdown().await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        let mut received = String::new();
        peer.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "response");
    }

    #[tokio::test(start_paused = true)]
    async fn sending_client_is_read_until_it_closes() {
        for has_unread in [true, false] {
            let (mut local, requests, mut peer) = pair(64);
            if has_unread {
                requests.record_unread();
            } else {
                peer.write_all(b"unread").await.unwrap();
            }
            let client = tokio::spawn(async move {
                for _ in 0..3 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    peer.write_all(&[0; 1000]).await.unwrap();
                }
                let mut received = String::new();
                peer.read_to_string(&mut received).await.unwrap();
                received
            });
            let start = Instant::now();
            local.write_all(b"response").await.unwrap();
            local.shutdown().await.unwrap();
            assert_eq!(start.elapsed().as_secs(), 3);
            assert_eq!(client.await.unwrap(), "response");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn connection_closes_at_the_timeout_if_the_client_does_not_close() {
        let (mut local, requests, mut peer) = pair(64);
        requests.record_unread();
        let client = tokio::spawn(async move {
            while peer.write_all(&[0; 100]).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        let start = Instant::now();
        local.shutdown().await.unwrap();
        assert_eq!(start.elapsed().as_secs(), TIMEOUT.as_secs());
        drop(local);
        client.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn number_of_discarded_bytes_is_limited() {
        let (mut local, requests, mut peer) = pair(MAX_DISCARDED);
        requests.record_unread();
        peer.write_all(&vec![0; MAX_DISCARDED]).await.unwrap();
        let start = Instant::now();
        local.shutdown().await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        // With one byte less, the connection waits for the client to close.
        let (mut local, requests, mut peer) = pair(MAX_DISCARDED);
        requests.record_unread();
        peer.write_all(&vec![0; MAX_DISCARDED - 1]).await.unwrap();
        local.shutdown().await.unwrap();
        assert_eq!(start.elapsed().as_secs(), TIMEOUT.as_secs());
    }
}
