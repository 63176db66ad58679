//! Messages that other nodes forward to a stream of this node.
//!
//! All streams of a node share its mailbox, so a client that does not read must not delay the messages of others. Messages
//! that do not fit into the queue of their stream wait here, in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::sync::lock;
use crate::transport::chunk::Chunk;

/// The maximum number of messages of one stream that wait.
const MAX_WAITING_MESSAGES: usize = 64;

/// The maximum number of bytes of these messages.
const MAX_WAITING_BYTES: usize = 8 * 1024 * 1024;

/// How long a message waits for capacity in the queue of its stream.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The messages that wait for one stream.
#[derive(Debug, Default)]
pub(super) struct ForwardedMessages(Mutex<WaitingChunks>);

#[derive(Debug, Default)]
struct WaitingChunks {
    messages: VecDeque<Chunk>,
    bytes: usize,
    /// Whether a task moves the messages to the queue of the stream.
    is_sending: bool,
}

/// The client does not read, and too many messages wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

impl ForwardedMessages {
    /// Passes a message on to the queue of its stream. Returns the future of a task if the message has to wait.
    ///
    /// # Errors
    /// Returns an error if too many messages wait.
    pub(super) fn send(
        self: &Arc<Self>,
        queue: &mpsc::Sender<Chunk>,
        message: Chunk,
    ) -> Result<Option<impl Future<Output = Result<(), Full>> + use<>>, Full> {
        let mut waiting = lock(&self.0);
        if waiting.is_sending {
            waiting.add(message)?;
            return Ok(None);
        }
        match queue.try_send(message) {
            // The connection of a closed queue has ended.
            Ok(()) | Err(TrySendError::Closed(_)) => Ok(None),
            Err(TrySendError::Full(message)) => {
                waiting.add(message)?;
                waiting.is_sending = true;
                let (forwarded, queue) = (Arc::clone(self), queue.clone());
                Ok(Some(async move { forwarded.send_waiting(queue).await }))
            }
        }
    }

    /// Moves the messages to the queue until none waits.
    async fn send_waiting(&self, queue: mpsc::Sender<Chunk>) -> Result<(), Full> {
        while let Some(message) = self.take() {
            let sent = tokio::time::timeout(SEND_TIMEOUT, queue.send(message));
            match sent.await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Ok(()),
                Err(_) => return Err(Full),
            }
        }
        Ok(())
    }

    fn take(&self) -> Option<Chunk> {
        lock(&self.0).take()
    }
}

impl WaitingChunks {
    fn add(&mut self, message: Chunk) -> Result<(), Full> {
        let bytes = self.bytes + message.bytes.len();
        // A single message may have any size that a POST may have.
        let is_too_large = !self.messages.is_empty() && bytes > MAX_WAITING_BYTES;
        if self.messages.len() >= MAX_WAITING_MESSAGES || is_too_large {
            return Err(Full);
        }
        self.bytes = bytes;
        self.messages.push_back(message);
        Ok(())
    }

    /// Takes the first message. Without one, the task ends.
    fn take(&mut self) -> Option<Chunk> {
        let message = self.messages.pop_front();
        match &message {
            Some(message) => self.bytes -= message.bytes.len(),
            None => self.is_sending = false,
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: usize) -> Chunk {
        Chunk::from(vec![b'x'; bytes])
    }

    /// Sends messages to a queue with capacity for one. Returns how many were accepted.
    fn accepted(sizes: &[usize]) -> usize {
        let (queue, _receiver) = mpsc::channel(1);
        let forwarded = Arc::<ForwardedMessages>::default();
        let sent = sizes.iter().take_while(|size| {
            let sent = forwarded.send(&queue, message(**size));
            sent.is_ok()
        });
        sent.count()
    }

    #[test]
    fn waiting_messages_are_limited_in_count_and_bytes() {
        assert_eq!(
            accepted(&[1; MAX_WAITING_MESSAGES + 2]),
            1 + MAX_WAITING_MESSAGES
        );
        assert_eq!(accepted(&[1, 1, MAX_WAITING_BYTES - 1]), 3);
        assert_eq!(accepted(&[1, 2, MAX_WAITING_BYTES - 1]), 2);
        assert_eq!(accepted(&[1, MAX_WAITING_BYTES + 1]), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn messages_wait_in_order() {
        let (queue, mut receiver) = mpsc::channel(1);
        let forwarded = Arc::<ForwardedMessages>::default();
        let mut sending = Vec::new();
        for size in 1..=4 {
            sending.extend(forwarded.send(&queue, message(size)).unwrap());
        }
        let [sending] = <[_; 1]>::try_from(sending).ok().expect("one task");
        let receiving = async {
            for size in 1..=4 {
                assert_eq!(receiver.recv().await.unwrap().bytes.len(), size);
            }
            receiver
        };
        let (sent, mut receiver) = tokio::join!(sending, receiving);
        assert_eq!(sent, Ok(()));
        // The task has ended, and later messages need none.
        assert!(forwarded.send(&queue, message(5)).unwrap().is_none());
        assert_eq!(receiver.recv().await.unwrap().bytes.len(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn message_waits_for_a_limited_time() {
        let (queue, receiver) = mpsc::channel(1);
        let forwarded = Arc::<ForwardedMessages>::default();
        assert!(forwarded.send(&queue, message(1)).unwrap().is_none());
        let sending = forwarded.send(&queue, message(1)).unwrap().expect("a task");
        assert_eq!(sending.await, Err(Full));
        drop(receiver);
    }
}
