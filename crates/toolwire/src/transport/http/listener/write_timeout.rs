//! A socket whose peer must go on taking what is written.
//!
//! Bounds on queues keep a slow reader from costing memory; this keeps it from holding a connection for ever. The clock
//! runs only while a write waits, so a healthy connection pays nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::engine::deadline_after;

/// Fails a write with [`io::ErrorKind::TimedOut`] when the peer took no byte for a while.
#[derive(Debug)]
pub(super) struct WriteTimeout<S> {
    socket: S,
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(socket: S, patience: Duration) -> Self {
        Self {
            socket,
            patience,
            timer: None,
            waiting: false,
        }
    }

    /// Lets a write through that did something, and measures how long one waits that did not.
    fn poll_progress<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.waiting = false;
            return outcome;
        }
        let deadline = deadline_after(Instant::now(), self.patience);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if !self.waiting {
            timer.as_mut().reset(deadline);
            self.waiting = true;
        }
        ready!(timer.as_mut().poll(context));
        let refusal = "the peer does not take what is written";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, refusal)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
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

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A guarded end with room for eight bytes, and its peer.
    fn pair() -> (WriteTimeout<DuplexStream>, DuplexStream) {
        let (near, far) = tokio::io::duplex(8);
        (WriteTimeout::new(near, PATIENCE), far)
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (mut guarded, _far) = pair();
        let began = Instant::now();
        let error = guarded.write_all(&[0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_a_little_now_and_then_is_kept() {
        let (mut guarded, mut far) = pair();
        let began = Instant::now();
        let slow = tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(PATIENCE - Duration::from_secs(1)).await;
                far.read_u8().await.unwrap();
            }
            far
        });
        guarded.write_all(&[0; 18]).await.unwrap();
        assert!(began.elapsed() > 9 * (PATIENCE - Duration::from_secs(2)));
        slow.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn silence_between_writes_does_not_count() {
        let (mut guarded, mut far) = pair();
        // The first wait arms the timer, which must not be the measure of the second.
        let reader = tokio::spawn(async move {
            tokio::time::sleep(PATIENCE / 2).await;
            far.read_exact(&mut [0; 8]).await.unwrap();
            far
        });
        guarded.write_all(&[0; 9]).await.unwrap();
        let mut far = reader.await.unwrap();
        far.read_u8().await.unwrap();
        tokio::time::advance(10 * PATIENCE).await;
        guarded.write_all(&[0; 8]).await.unwrap();
        let began = Instant::now();
        guarded.write_all(&[0]).await.unwrap_err();
        assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_the_peer_to_speak_does_not_count() {
        let (mut guarded, mut far) = pair();
        let speaker = tokio::spawn(async move {
            tokio::time::sleep(10 * PATIENCE).await;
            far.write_u8(7).await.unwrap();
            far
        });
        assert_eq!(guarded.read_u8().await.unwrap(), 7);
        speaker.await.unwrap();
    }
}
