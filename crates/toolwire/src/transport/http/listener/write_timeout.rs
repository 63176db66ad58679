//! A timeout for writes to a socket whose peer does not read.
//!
//! Queue limits bound the memory of a slow reader. This timeout bounds how long such a peer occupies a connection. The
//! timer runs only while a write is pending, so other connections need no timer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep};

use crate::engine::deadline_after;
use crate::transport::http::listener::forward_io::forward_io;

/// A socket whose writes fail with [`io::ErrorKind::TimedOut`] if the peer reads nothing within the timeout.
#[derive(Debug)]
pub(super) struct WriteTimeout<S> {
    socket: S,
    timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    is_pending: bool,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(socket: S, timeout: Duration) -> Self {
        Self {
            socket,
            timeout,
            timer: None,
            is_pending: false,
        }
    }

    /// Returns the outcome of a completed write. For a pending write, polls the timer.
    fn poll_progress<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.is_pending = false;
            return outcome;
        }
        let deadline = deadline_after(Instant::now(), self.timeout);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if !self.is_pending {
            timer.as_mut().reset(deadline);
            self.is_pending = true;
        }
        ready!(timer.as_mut().poll(context));
        let message = "the peer does not read what is written";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    forward_io!(socket: poll_read);
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    forward_io!(socket: is_write_vectored, poll_flush, poll_shutdown);

    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.poll_progress(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.poll_progress(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    /// Returns a socket with a buffer of eight bytes, and its peer.
    fn pair() -> (WriteTimeout<DuplexStream>, DuplexStream) {
        let (local, peer) = tokio::io::duplex(8);
        (WriteTimeout::new(local, TIMEOUT), peer)
    }

    #[tokio::test(start_paused = true)]
    async fn write_fails_if_the_peer_reads_nothing() {
        let (mut socket, _peer) = pair();
        let start = Instant::now();
        let error = socket.write_all(&[0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), TIMEOUT.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn write_succeeds_if_the_peer_reads_slowly() {
        let (mut socket, mut peer) = pair();
        let start = Instant::now();
        let slow = tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(TIMEOUT - Duration::from_secs(1)).await;
                peer.read_u8().await.unwrap();
            }
            peer
        });
        socket.write_all(&[0; 18]).await.unwrap();
        assert!(start.elapsed() > 9 * (TIMEOUT - Duration::from_secs(2)));
        slow.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn time_between_writes_does_not_count() {
        let (mut socket, mut peer) = pair();
        // The first pending write starts the timer. Its deadline must not apply to the second one.
        let reader = tokio::spawn(async move {
            tokio::time::sleep(TIMEOUT / 2).await;
            peer.read_exact(&mut [0; 8]).await.unwrap();
            peer
        });
        socket.write_all(&[0; 9]).await.unwrap();
        let mut peer = reader.await.unwrap();
        peer.read_u8().await.unwrap();
        tokio::time::advance(10 * TIMEOUT).await;
        socket.write_all(&[0; 8]).await.unwrap();
        let start = Instant::now();
        socket.write_all(&[0]).await.unwrap_err();
        assert_eq!(start.elapsed().as_secs(), TIMEOUT.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn time_of_a_pending_read_does_not_count() {
        let (mut socket, mut peer) = pair();
        let writer = tokio::spawn(async move {
            tokio::time::sleep(10 * TIMEOUT).await;
            peer.write_u8(7).await.unwrap();
            peer
        });
        assert_eq!(socket.read_u8().await.unwrap(), 7);
        writer.await.unwrap();
    }
}
