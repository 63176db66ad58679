//! Sends messages to the server: a bounded queue, and the task that writes it to stdin.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use toolwire_proto::framing::encode_line;

use crate::client::send::SendMessage;
use crate::engine::BoxFuture;
use crate::error::Error;

/// The number of queued messages. Further senders wait for capacity.
const QUEUE_LEN: usize = 64;

/// Sends lines to the server's stdin.
#[derive(Debug)]
pub(super) struct Stdin {
    queue: mpsc::Sender<Vec<u8>>,
    /// The number of senders that wait for capacity or are about to send.
    waiting: Arc<AtomicUsize>,
    max_waiting: usize,
    /// Set when the reason of the closure is recorded.
    closure_recorded: watch::Receiver<bool>,
}

impl Stdin {
    /// Returns a queue with at most `max_waiting` waiting senders, and its receiver.
    ///
    /// Responses and notifications are sent by their own tasks. Without this limit, a server that sends many requests
    /// and does not read would accumulate them.
    pub(super) fn new(
        max_waiting: usize,
        closure_recorded: watch::Receiver<bool>,
    ) -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (queue, lines) = mpsc::channel(QUEUE_LEN);
        let stdin = Self {
            queue,
            waiting: Arc::default(),
            max_waiting,
            closure_recorded,
        };
        (stdin, lines)
    }
}

impl SendMessage for Stdin {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        let queue = self.queue.clone();
        let permit = QueuePermit::take(&self.waiting, self.max_waiting);
        let mut closure_recorded = self.closure_recorded.clone();
        Box::pin(async move {
            let _permit = permit.ok_or_else(|| {
                Error::limit(
                    "the server does not read its stdin, and too many messages wait for it",
                )
            })?;
            let mut line = Vec::with_capacity(message.len() + 1);
            encode_line(&mut line, &message);
            if queue.send(line).await.is_err() {
                // The pipe closes before the exit status is known, and the error should contain it.
                wait_until_set(&mut closure_recorded).await;
                return Err(Error::closed());
            }
            Ok(())
        })
    }
}

/// A permit to wait for capacity of the queue.
struct QueuePermit(Arc<AtomicUsize>);

impl QueuePermit {
    fn take(waiting: &Arc<AtomicUsize>, max: usize) -> Option<Self> {
        let permit = Self(Arc::clone(waiting));
        // Counted before the comparison, so that dropping a rejected permit restores the count.
        let before = permit.0.fetch_add(1, Ordering::Relaxed);
        (before < max).then_some(permit)
    }
}

impl Drop for QueuePermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Writes the queue to the pipe until the pipe breaks, or until `closing` is set and the queue is written. Then it
/// closes the pipe.
pub(super) async fn write(
    mut pipe: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut closing: watch::Receiver<bool>,
) {
    loop {
        let line = tokio::select! {
            biased;
            line = queue.recv() => line,
            () = wait_until_set(&mut closing), if !queue.is_closed() => {
                queue.close();
                continue;
            }
        };
        let Some(line) = line else {
            return;
        };
        let writing = pipe.write_all(&line);
        tokio::pin!(writing);
        let written = loop {
            tokio::select! {
                biased;
                written = &mut writing => break written,
                // Senders need not wait for capacity any longer if the server does not read.
                () = wait_until_set(&mut closing), if !queue.is_closed() => queue.close(),
            }
        };
        if let Err(error) = written {
            tracing::debug!(%error, "the server does not read its stdin any more");
            return;
        }
    }
}

/// Waits until a flag is set, or until its sender is dropped.
pub(super) async fn wait_until_set(flag: &mut watch::Receiver<bool>) {
    // An error means that the sender is dropped.
    let _ = flag.wait_for(|is_set| *is_set).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_flag() -> watch::Receiver<bool> {
        watch::Sender::new(true).subscribe()
    }

    #[tokio::test]
    async fn sender_above_the_limit_of_waiting_senders_fails_at_once() {
        let (stdin, mut lines) = Stdin::new(2, set_flag());
        for _ in 0..QUEUE_LEN {
            stdin.send(b"{}".to_vec()).await.unwrap();
        }
        let first = stdin.send(b"1".to_vec());
        let second = stdin.send(b"2".to_vec());
        let error = stdin.send(b"3".to_vec()).await.unwrap_err();
        assert!(error.is_limit(), "{error}");
        drop(second);
        let third = stdin.send(b"3".to_vec());
        let (received, first_sent, third_sent) = tokio::join!(
            async {
                lines.recv().await;
                lines.recv().await
            },
            first,
            third
        );
        assert_eq!(received.as_deref(), Some(&b"{}\n"[..]));
        first_sent.unwrap();
        third_sent.unwrap();
    }

    #[tokio::test]
    async fn closing_writes_the_queue_and_then_closes_stdin() {
        let (stdin, lines) = Stdin::new(8, set_flag());
        stdin.send(b"1".to_vec()).await.unwrap();
        stdin.send(b"2".to_vec()).await.unwrap();
        let mut written = Vec::new();
        write(&mut written, lines, set_flag()).await;
        assert_eq!(written, b"1\n2\n");
        assert!(stdin.send(b"3".to_vec()).await.unwrap_err().is_closed());
    }

    #[tokio::test]
    async fn closing_fails_waiting_senders_if_the_server_does_not_read() {
        let (stdin, lines) = Stdin::new(8, set_flag());
        // A pipe that accepts one byte until its other end is dropped.
        let (pipe, other_end) = tokio::io::duplex(1);
        let closing = watch::Sender::new(false);
        let writing = tokio::spawn(write(pipe, lines, closing.subscribe()));
        // The writer has one message, the others fill the queue.
        for _ in 0..=QUEUE_LEN {
            stdin.send(b"{}".to_vec()).await.unwrap();
        }
        let waits = tokio::spawn(stdin.send(b"{}".to_vec()));
        closing.send_replace(true);
        assert!(waits.await.unwrap().unwrap_err().is_closed());
        drop(other_end);
        writing.await.unwrap();
    }

    #[tokio::test]
    async fn failed_send_waits_until_the_closure_is_recorded() {
        let closure_recorded = watch::Sender::new(false);
        let (stdin, lines) = Stdin::new(8, closure_recorded.subscribe());
        drop(lines);
        let mut sending = stdin.send(b"{}".to_vec());
        let early = tokio::select! {
            biased;
            sent = &mut sending => Some(sent),
            () = tokio::task::yield_now() => None,
        };
        assert!(early.is_none());
        closure_recorded.send_replace(true);
        assert!(sending.await.unwrap_err().is_closed());
    }
}
