//! A socket that fails when a test wants it to: what the network does at some moment, at a moment that can be named.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

thread_local! {
    /// How many bytes the sockets of this thread still take before one of them fails, once.
    static ROOM: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Lets a write fail after so many bytes.
pub(in super::super) fn fail_after(bytes: usize) {
    ROOM.set(Some(bytes));
}

/// Whether the write that should fail has not come yet.
pub(in super::super) fn is_still_to_fail() -> bool {
    ROOM.get().is_some()
}

#[derive(Debug)]
pub(in super::super) struct FailingSocket(TcpStream);

impl From<TcpStream> for FailingSocket {
    fn from(stream: TcpStream) -> Self {
        Self(stream)
    }
}

impl AsyncRead for FailingSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for FailingSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match ROOM.get() {
            Some(0) => {
                ROOM.set(None);
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            Some(room) => bytes = bytes.get(..room).unwrap_or(bytes),
            None => {}
        }
        let written = Pin::new(&mut self.0).poll_write(context, bytes);
        if let (Poll::Ready(Ok(written)), Some(room)) = (&written, ROOM.get()) {
            ROOM.set(Some(room - written));
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
