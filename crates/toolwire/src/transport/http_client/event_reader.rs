//! The events of one answer, one after the other.

use std::time::Duration;

use bytes::{Buf, Bytes};
use toolwire_proto::sse::{SseDecoder, SseEvent};

use crate::client::http::ClientBody;
use crate::error::Error;

/// How long, and how much, the rest of a stream is read for after its answer, so that its connection can be used again.
const DRAIN_TIME: Duration = Duration::from_secs(1);
const DRAIN_BYTES: usize = 64 * 1024;

/// A stream of events that is being read.
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

    /// The next event; `None` when the stream has ended or broke.
    ///
    /// # Errors
    /// When an event is over the limit.
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
                        "the server sent an event over the limit of this client; raise ClientLimits::message_bytes",
                    ));
                }
                None => match self.body.chunk().await {
                    Some(Ok(chunk)) => self.chunk = chunk,
                    Some(Err(error)) => {
                        tracing::debug!(%error, "a stream broke");
                        return Ok(None);
                    }
                    None => return Ok(None),
                },
            }
        }
    }

    /// The id to resume after.
    pub(super) fn last_event_id(&self) -> Option<&str> {
        self.decoder.last_event_id()
    }

    /// What the server asked to wait before the stream is opened again.
    pub(super) fn reconnect_after(&self) -> Option<Duration> {
        self.decoder.reconnect_after()
    }

    /// Reads what is left after the answer, from a task of its own: usually just the end.
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
            // Whatever happens, dropping the body afterwards ends it.
            drop(tokio::time::timeout(DRAIN_TIME, draining).await);
        });
    }
}
