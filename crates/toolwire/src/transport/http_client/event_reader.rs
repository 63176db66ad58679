//! Reads the events of one response.

use std::time::Duration;

use bytes::{Buf, Bytes};
use toolwire_proto::sse::{SseDecoder, SseEvent};

use crate::client::http::ClientBody;
use crate::error::Error;

/// How long the rest of an event stream is read after the response, so that the connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How many bytes of the rest are read.
const DRAIN_BYTES: usize = 64 * 1024;

/// A reader of one event stream.
#[derive(Debug)]
pub(super) struct EventReader {
    body: ClientBody,
    decoder: SseDecoder,
    chunk: Bytes,
}

impl EventReader {
    pub(super) fn new(body: ClientBody, event_bytes: usize) -> Self {
        Self {
            body,
            decoder: SseDecoder::new(event_bytes),
            chunk: Bytes::new(),
        }
    }

    /// Returns the next event, or `None` if the stream has ended or failed.
    ///
    /// # Errors
    /// Returns an error if an event is larger than the limit.
    pub(super) async fn next(&mut self) -> Result<Option<SseEvent>, Error> {
        loop {
            let mut rest: &[u8] = &self.chunk;
            let event = self.decoder.next_event(&mut rest);
            let used = self.chunk.len() - rest.len();
            self.chunk.advance(used);
            match event {
                Some(Ok(event)) => return Ok(Some(event)),
                Some(Err(_)) => {
                    return Err(Error::limit(
                        "the server sent an event that is larger than ClientLimits::message_bytes; raise this limit",
                    ));
                }
                None => match self.body.chunk().await {
                    Some(Ok(chunk)) => self.chunk = chunk,
                    Some(Err(error)) => {
                        tracing::debug!(%error, "an event stream failed");
                        return Ok(None);
                    }
                    None => return Ok(None),
                },
            }
        }
    }

    /// Returns the id of the last event.
    pub(super) fn last_event_id(&self) -> Option<&str> {
        self.decoder.last_event_id()
    }

    /// Returns the reconnection time that the server requested.
    pub(super) fn reconnect_after(&self) -> Option<Duration> {
        self.decoder.reconnect_after()
    }

    /// Reads the rest of the stream in a separate task. Usually only the end is left after the response.
    pub(super) fn drain(mut self) {
        tokio::spawn(async move {
            let draining = async {
                let mut left = DRAIN_BYTES;
                while let Some(Ok(chunk)) = self.body.chunk().await {
                    let Some(rest) = left.checked_sub(chunk.len()) else {
                        return;
                    };
                    left = rest;
                }
            };
            // After a timeout, dropping the body closes the stream.
            drop(tokio::time::timeout(DRAIN_TIMEOUT, draining).await);
        });
    }
}
