//! The streams of the 2024-11-05 transport that one node has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use toolwire_types::RawJson;

use crate::engine::TokenInfo;
use crate::transport::chunk::{Chunk, ChunkSender};
use crate::transport::http::exchange::token_expiry;

/// How many messages of one client may wait for its connection. It reads them at once, unless the client does not take
/// its answers; so this holds a burst, and bounds what a client that only sends costs.
const WAITING_MESSAGES: usize = 16;

/// How long a message waits for a place before it is refused: bursts pass.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The streams this node has, by the names of their sessions in the store.
#[derive(Debug, Default)]
pub(crate) struct HttpSseStreams {
    by_key: Mutex<HashMap<String, StreamInput>>,
}

/// Where messages for one connection go in.
#[derive(Debug, Clone)]
pub(crate) struct StreamInput {
    messages: mpsc::Sender<Chunk>,
    token_end: watch::Sender<Option<Instant>>,
}

/// When the last of the tokens ends that a client has shown.
#[derive(Debug)]
pub(crate) struct LatestTokenExpiry(watch::Receiver<Option<Instant>>);

/// Why a message did not get in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendError {
    /// The client does not read its stream as fast as it sends.
    Full,
    /// The client has just left.
    Gone,
}

impl HttpSseStreams {
    /// Enters a stream that was opened with a token; gives the messages for its connection.
    pub(crate) fn enter(
        self: &Arc<Self>,
        key: &str,
        token: &TokenInfo,
    ) -> (StreamGuard, mpsc::Receiver<Chunk>, LatestTokenExpiry) {
        let (messages, receiver) = mpsc::channel(WAITING_MESSAGES);
        let (token_end, ends) = watch::channel(token_expiry::expiry_instant(Some(token)));
        let entrance = StreamInput {
            messages,
            token_end,
        };
        self.lock().insert(key.to_owned(), entrance);
        let place = StreamGuard {
            streams: Arc::clone(self),
            key: key.to_owned(),
        };
        (place, receiver, LatestTokenExpiry(ends))
    }

    pub(crate) fn find(&self, key: &str) -> Option<StreamInput> {
        self.lock().get(key).cloned()
    }

    /// Takes no more messages for a stream, whose connection comes to its end by that.
    pub(crate) fn close(&self, key: &str) {
        self.lock().remove(key);
    }

    /// Feeds a message that another node took to its stream, if that is here. Its client was told already that it was
    /// accepted, and the bus cannot wait: what finds no place is lost, as it would be on a bus that is away.
    pub(crate) fn deliver(&self, key: &str, message: &RawJson, token: Arc<TokenInfo>) {
        let Some(entrance) = self.find(key) else {
            return;
        };
        let sender = ChunkSender {
            token,
            permit: None,
        };
        let chunk = entrance.chunk(message.get().as_bytes(), sender);
        if let Err(error) = entrance.messages.try_send(chunk) {
            tracing::warn!(%error, "a message from another node found no place, and is lost");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, StreamInput>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamInput {
    /// Feeds a message to the connection.
    pub(crate) async fn send(&self, message: &[u8], sender: ChunkSender) -> Result<(), SendError> {
        let sent = self.messages.send(self.chunk(message, sender));
        match tokio::time::timeout(SEND_TIMEOUT, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(SendError::Gone),
            Err(_) => Err(SendError::Full),
        }
    }

    /// A message as the connection reads it. The stream lasts at least as long as its token: the session would be lost
    /// with the stream, and its client has just shown that it may go on.
    fn chunk(&self, message: &[u8], sender: ChunkSender) -> Chunk {
        let end = token_expiry::expiry_instant(Some(&sender.token));
        self.token_end
            .send_modify(|known| *known = token_expiry::latest(*known, end));
        Chunk {
            bytes: to_line(message),
            sender: Some(sender),
        }
    }
}

impl LatestTokenExpiry {
    /// Waits for it.
    pub(crate) async fn passed(mut self) {
        loop {
            let end = *self.0.borrow_and_update();
            tokio::select! {
                () = token_expiry::sleep_until_expiry(end) => return,
                changed = self.0.changed() => {
                    if changed.is_err() {
                        // Nobody can send any more, so the connection ends by itself.
                        std::future::pending::<()>().await;
                    }
                }
            }
        }
    }
}

/// JSON has line breaks only between its tokens, where a space means the same.
fn to_line(message: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(message.len() + 1);
    line.extend(message.iter().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        other => *other,
    }));
    line.push(b'\n');
    line
}

/// The place of a stream among those of this node; free again when it is dropped.
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
