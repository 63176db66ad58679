//! A connection that must begin to speak.
//!
//! Which HTTP version a client speaks shows in its first bytes, and the deadline for request heads runs only after
//! that. Without this one, a client could hold a connection open by saying nothing, or less than is needed to tell.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// As many bytes as the HTTP/2 preface has. After so many the version is known, whichever it is.
const ENOUGH: usize = 24;

/// Fails a read with [`io::ErrorKind::TimedOut`] when the first bytes do not come in time.
#[derive(Debug)]
pub(super) struct OpeningDeadline<S> {
    stream: S,
    received: usize,
    /// Gone when the client has said enough, or something was written: nothing is written before the version is known.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> OpeningDeadline<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            received: 0,
            timer: Some(Box::pin(tokio::time::sleep(patience))),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for OpeningDeadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(timer) = &mut self.timer else {
            return outcome;
        };
        if outcome.is_ready() {
            self.received += buffer.filled().len() - before;
            if self.received >= ENOUGH {
                self.timer = None;
            }
            return outcome;
        }
        timer.as_mut().poll(context).map(|()| {
            let refusal = "the client did not begin to speak in time";
            Err(io::Error::new(io::ErrorKind::TimedOut, refusal))
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for OpeningDeadline<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.timer = None;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.timer = None;
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::time::Instant;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn pair() -> (OpeningDeadline<DuplexStream>, DuplexStream) {
        let (near, far) = tokio::io::duplex(64);
        (OpeningDeadline::new(near, PATIENCE), far)
    }

    #[tokio::test(start_paused = true)]
    async fn too_few_bytes_are_given_up() {
        for said in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r"] {
            let (mut stream, mut far) = pair();
            far.write_all(said).await.unwrap();
            let began = Instant::now();
            let error = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_is_one_for_all_bytes() {
        let (mut stream, mut far) = pair();
        let began = Instant::now();
        let drip = tokio::spawn(async move {
            while far.write_u8(b'P').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        stream.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs());
        drop(stream);
        drip.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn after_enough_bytes_or_an_answer_silence_is_fine() {
        let (mut stream, mut far) = pair();
        far.write_all(&[b'x'; ENOUGH]).await.unwrap();
        stream.read_exact(&mut [0; ENOUGH]).await.unwrap();
        let (mut answering, far_too) = pair();
        answering.write_u8(1).await.unwrap();
        let patient = async {
            tokio::select! {
                _ = stream.read_u8() => unreachable!("nobody speaks"),
                _ = answering.read_u8() => unreachable!("nobody speaks"),
            }
        };
        let waited = tokio::time::timeout(10 * PATIENCE, patient).await;
        waited.unwrap_err();
        drop((far, far_too));
    }
}
