//! The way to the server: a bounded queue, and the task that writes it into the pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use toolwire_proto::framing::encode_line;

use crate::client::send::SendMessage;
use crate::engine::BoxFuture;
use crate::error::Error;

/// How many messages are queued; who has one more waits for room.
const QUEUE_LEN: usize = 64;

/// Sends lines to the server.
#[derive(Debug)]
pub(super) struct Stdin {
    queue: mpsc::Sender<Vec<u8>>,
    /// How many senders wait for room, or are about to send.
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
    /// Raised when everybody can be told why nothing is sent any more.
    explained: watch::Receiver<bool>,
}

impl Stdin {
    /// A queue in which at most so many senders wait for room, and its other end.
    ///
    /// Answers and notices are sent by tasks of their own: without a bound, a server that asks much and reads nothing
    /// would pile them up.
    pub(super) fn new(
        most_waiting: usize,
        explained: watch::Receiver<bool>,
    ) -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (queue, lines) = mpsc::channel(QUEUE_LEN);
        let stdin = Self {
            queue,
            waiting: Arc::default(),
            most_waiting,
            explained,
        };
        (stdin, lines)
    }
}

impl SendMessage for Stdin {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        let queue = self.queue.clone();
        let place = QueuePermit::take(&self.waiting, self.most_waiting);
        let mut explained = self.explained.clone();
        Box::pin(async move {
            let _place = place.ok_or_else(|| {
                Error::limit(
                    "the server does not read its input, and too many messages wait for it",
                )
            })?;
            let mut line = Vec::with_capacity(message.len() + 1);
            encode_line(&mut line, &message);
            if queue.send(line).await.is_err() {
                // The input closes before it is known how the server ended, and the caller wants to hear that.
                wait_raised(&mut explained).await;
                return Err(Error::closed());
            }
            Ok(())
        })
    }
}

/// The right to wait for room in the queue.
struct QueuePermit(Arc<AtomicUsize>);

impl QueuePermit {
    fn take(waiting: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let place = Self(Arc::clone(waiting));
        // Counted before it is compared, so that the one that drops below gives its own place back.
        let before = place.0.fetch_add(1, Ordering::Relaxed);
        (before < most).then_some(place)
    }
}

impl Drop for QueuePermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Writes the queue into the pipe until the pipe breaks, or until `closing` says so and all that is queued is written.
/// Then the pipe is closed.
pub(super) async fn write(
    mut pipe: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut closing: watch::Receiver<bool>,
) {
    loop {
        let line = tokio::select! {
            biased;
            line = queue.recv() => line,
            () = wait_raised(&mut closing), if !queue.is_closed() => {
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
                // Whoever waits for room while the server reads nothing need not wait for it any longer.
                () = wait_raised(&mut closing), if !queue.is_closed() => queue.close(),
            }
        };
        if let Err(error) = written {
            tracing::debug!(%error, "the server does not take input any more");
            return;
        }
    }
}

/// Waits until a flag is raised, or until nobody is left to raise it.
pub(super) async fn wait_raised(flag: &mut watch::Receiver<bool>) {
    // An error says that the other end is gone.
    let _ = flag.wait_for(|raised| *raised).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raised() -> watch::Receiver<bool> {
        watch::Sender::new(true).subscribe()
    }

    #[tokio::test]
    async fn as_many_wait_for_room_as_may_and_one_more_fails_at_once() {
        let (stdin, mut lines) = Stdin::new(2, raised());
        for _ in 0..QUEUE_LEN {
            stdin.send(b"{}".to_vec()).await.unwrap();
        }
        let first = stdin.send(b"1".to_vec());
        let second = stdin.send(b"2".to_vec());
        let error = stdin.send(b"3".to_vec()).await.unwrap_err();
        assert!(error.is_limit(), "{error}");
        drop(second);
        let third = stdin.send(b"3".to_vec());
        let (taken, sent, also_sent) = tokio::join!(
            async {
                lines.recv().await;
                lines.recv().await
            },
            first,
            third
        );
        assert_eq!(taken.as_deref(), Some(&b"{}\n"[..]));
        sent.unwrap();
        also_sent.unwrap();
    }

    #[tokio::test]
    async fn closing_writes_what_is_queued_and_then_closes_the_pipe() {
        let (stdin, lines) = Stdin::new(8, raised());
        stdin.send(b"1".to_vec()).await.unwrap();
        stdin.send(b"2".to_vec()).await.unwrap();
        let mut written = Vec::new();
        write(&mut written, lines, raised()).await;
        assert_eq!(written, b"1\n2\n");
        assert!(stdin.send(b"3".to_vec()).await.unwrap_err().is_closed());
    }

    #[tokio::test]
    async fn closing_frees_those_who_wait_while_the_server_reads_nothing() {
        let (stdin, lines) = Stdin::new(8, raised());
        // A pipe that takes nothing at all until its other end is dropped.
        let (pipe, other_end) = tokio::io::duplex(1);
        let closing = watch::Sender::new(false);
        let writing = tokio::spawn(write(pipe, lines, closing.subscribe()));
        // One message is with the writer, the rest fill the queue.
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
    async fn who_cannot_send_hears_nothing_before_the_end_is_explained() {
        let explained = watch::Sender::new(false);
        let (stdin, lines) = Stdin::new(8, explained.subscribe());
        drop(lines);
        let mut sending = stdin.send(b"{}".to_vec());
        let early = tokio::select! {
            biased;
            sent = &mut sending => Some(sent),
            () = tokio::task::yield_now() => None,
        };
        assert!(early.is_none());
        explained.send_replace(true);
        assert!(sending.await.unwrap_err().is_closed());
    }
}
