//! The open streams of the 2024-11-05 transport on this node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use toolwire_types::RawJson;

use crate::engine::TokenInfo;
use crate::sync::lock;
use crate::transport::chunk::{Chunk, ChunkPermit, ChunkSender};
use crate::transport::http::byte_budget::ByteBudget;
use crate::transport::http::exchange::token_expiry;
use crate::transport::http::http_sse::forwarding::{ForwardedMessages, Full};

/// The maximum number of queued messages of one client. The connection reads messages at once unless the client does
/// not read its responses. The queue absorbs bursts and bounds the memory of clients that do not read.
const QUEUED_MESSAGES: usize = 16;

/// How long a message waits for capacity in the queue before it is rejected, so that short bursts succeed.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The open streams of this node, by the keys of their sessions in the store.
#[derive(Debug, Default)]
pub(crate) struct HttpSseStreams {
    by_key: Mutex<HashMap<String, StreamInput>>,
}

/// The input of one connection.
#[derive(Debug, Clone)]
pub(crate) struct StreamInput {
    messages: mpsc::Sender<Chunk>,
    /// Messages of other nodes that wait for capacity in the queue.
    forwarded: Arc<ForwardedMessages>,
    token_expires_at: watch::Sender<Option<Instant>>,
}

/// The latest expiry of the tokens that a client has sent.
#[derive(Debug)]
pub(crate) struct LatestTokenExpiry(watch::Receiver<Option<Instant>>);

/// The reason why a message was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendError {
    /// The client does not read its stream as fast as it sends.
    Full,
    /// The client has disconnected.
    Disconnected,
}

impl HttpSseStreams {
    /// Registers a stream that was opened with a token. Returns the receiver of the messages for its connection.
    pub(crate) fn register(
        self: &Arc<Self>,
        key: &str,
        token: &TokenInfo,
    ) -> (StreamGuard, mpsc::Receiver<Chunk>, LatestTokenExpiry) {
        let (messages, receiver) = mpsc::channel(QUEUED_MESSAGES);
        let (token_expires_at, latest_expiry) =
            watch::channel(token_expiry::expiry_instant(Some(token)));
        let input = StreamInput {
            messages,
            forwarded: Arc::default(),
            token_expires_at,
        };
        self.lock().insert(key.to_owned(), input);
        let guard = StreamGuard {
            streams: Arc::clone(self),
            key: key.to_owned(),
        };
        (guard, receiver, LatestTokenExpiry(latest_expiry))
    }

    pub(crate) fn find(&self, key: &str) -> Option<StreamInput> {
        self.lock().get(key).cloned()
    }

    /// Closes the input of a stream, which ends its connection.
    pub(crate) fn close(&self, key: &str) {
        self.lock().remove(key);
    }

    /// Closes the inputs of all streams.
    pub(crate) fn close_all(&self) {
        self.lock().clear();
    }

    /// Delivers a message that another node received, if the stream is on this node. The client already got 202. If the
    /// message cannot be delivered, the stream ends, so that the client learns of the loss.
    ///
    /// `bytes` counts the messages of all streams.
    pub(crate) fn deliver(
        self: &Arc<Self>,
        key: &str,
        message: &RawJson,
        token: Arc<TokenInfo>,
        bytes: &Arc<ByteBudget>,
    ) {
        let Some(input) = self.find(key) else {
            tracing::debug!("ignored a message for a stream that has ended");
            return;
        };
        let message = message.get().as_bytes();
        let permit = message_permit(bytes, message);
        if permit.is_none() {
            tracing::warn!(
                "a stream ends because the messages that are being served are too large in total"
            );
            self.close(key);
            return;
        }
        let chunk = input.chunk(message, ChunkSender { token, permit });
        match input.forwarded.send(&input.messages, chunk) {
            Ok(None) => {}
            Ok(Some(sending)) => {
                let (streams, key) = (Arc::clone(self), key.to_owned());
                tokio::spawn(async move {
                    if sending.await.is_err() {
                        streams.close_full(&key);
                    }
                });
            }
            Err(Full) => self.close_full(key),
        }
    }

    fn close_full(&self, key: &str) {
        tracing::warn!(
            "a stream ends because its client sends messages to other nodes faster than it reads"
        );
        self.close(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, StreamInput>> {
        lock(&self.by_key)
    }
}

impl StreamInput {
    /// Sends a message to the connection.
    pub(crate) async fn send(&self, message: &[u8], sender: ChunkSender) -> Result<(), SendError> {
        let sent = self.messages.send(self.chunk(message, sender));
        match tokio::time::timeout(SEND_TIMEOUT, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(SendError::Disconnected),
            Err(_) => Err(SendError::Full),
        }
    }

    /// Returns a message in the form that the connection reads, and extends the stream until the token of the message
    /// expires. The client has just sent a valid token, and the session would be lost with the stream.
    fn chunk(&self, message: &[u8], sender: ChunkSender) -> Chunk {
        let end = token_expiry::expiry_instant(Some(&sender.token));
        self.token_expires_at
            .send_modify(|known| *known = token_expiry::latest(*known, end));
        Chunk {
            bytes: to_line(message),
            sender: Some(sender),
        }
    }
}

impl LatestTokenExpiry {
    /// Waits until the latest token has expired.
    pub(crate) async fn wait_until_expired(mut self) {
        loop {
            let end = *self.0.borrow_and_update();
            tokio::select! {
                () = token_expiry::sleep_until_expiry(end) => return,
                changed = self.0.changed() => {
                    if changed.is_err() {
                        // The input of the stream is closed, so the connection ends by itself.
                        std::future::pending::<()>().await;
                    }
                }
            }
        }
    }
}

/// Counts a message until it has been served: once for the queue and once for its handler. Returns `None` if it does not
/// fit.
pub(crate) fn message_permit(bytes: &Arc<ByteBudget>, message: &[u8]) -> Option<ChunkPermit> {
    let mut reservation = bytes.reservation();
    let fits = reservation.try_grow(message.len().saturating_mul(2));
    fits.then(|| Arc::new(reservation) as ChunkPermit)
}

/// Replaces line breaks by spaces and appends a line feed. JSON has line breaks only between tokens, where a space is
/// equivalent.
fn to_line(message: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(message.len() + 1);
    line.extend(message.iter().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        other => *other,
    }));
    line.push(b'\n');
    line
}

/// The registration of a stream on this node. Dropping it closes the stream's input.
#[derive(Debug)]
pub(crate) struct StreamGuard {
    streams: Arc<HttpSseStreams>,
    key: String,
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.streams.close(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "session";

    /// Returns a JSON text of this size.
    fn message(bytes: usize) -> RawJson {
        RawJson::from_string(format!("\"{}\"", "x".repeat(bytes - 2))).unwrap()
    }

    #[tokio::test]
    async fn forwarded_messages_are_counted_until_they_are_served() {
        let streams = Arc::<HttpSseStreams>::default();
        let token = Arc::<TokenInfo>::default();
        let (_guard, mut messages, _expiry) = streams.register(KEY, &token);
        let budget = ByteBudget::new(1000, 100);
        let deliver = |bytes| streams.deliver(KEY, &message(bytes), Arc::clone(&token), &budget);
        // More messages than the queue has capacity for.
        for _ in 0..=QUEUED_MESSAGES {
            deliver(10);
        }
        assert_eq!(budget.used(), (QUEUED_MESSAGES + 1) * 20);
        for _ in 0..=QUEUED_MESSAGES {
            assert!(messages.recv().await.is_some());
        }
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn stream_whose_forwarded_message_does_not_fit_ends() {
        let streams = Arc::<HttpSseStreams>::default();
        let token = Arc::<TokenInfo>::default();
        let (_guard, mut messages, _expiry) = streams.register(KEY, &token);
        let budget = ByteBudget::new(1000, 100);
        budget.add(801);
        let deliver = |bytes| streams.deliver(KEY, &message(bytes), Arc::clone(&token), &budget);
        deliver(49);
        assert!(messages.recv().await.is_some());
        deliver(50);
        assert!(messages.recv().await.is_none(), "the stream has ended");
        assert_eq!(budget.used(), 801);
    }
}
