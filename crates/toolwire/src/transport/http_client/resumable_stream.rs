//! The events of one legacy stream, across the connections it takes.
//!
//! A stream that ends before its answer is opened again after the last event id. What counts is whether anything new
//! arrives, not whether a connection can be made.

use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::http::is_session_lost;
use toolwire_proto::sse::{Reconnects, SseEvent};

use crate::client::http::ClientBody;
use crate::error::Error;
use crate::transport::http_client::endpoint::put_event_id;
use crate::transport::http_client::event_reader::EventReader;
use crate::transport::http_client::response;
use crate::transport::http_client::session::LegacySession;

/// A stream that is opened again when it is lost.
#[derive(Debug)]
pub(super) struct ResumableEvents<'a> {
    session: &'a Arc<LegacySession>,
    events: EventReader,
    last_event_id: Option<String>,
    /// What the server last asked to wait; it stays until it is replaced.
    wish: Option<Duration>,
    reconnects: Reconnects,
}

impl<'a> ResumableEvents<'a> {
    pub(super) fn new(session: &'a Arc<LegacySession>, body: ClientBody) -> Self {
        Self {
            session,
            events: EventReader::new(body, session.endpoint.message_bytes),
            last_event_id: None,
            wish: None,
            reconnects: Reconnects::new(session.limits.reconnects),
        }
    }

    /// The next event with data; `None` when the stream is lost for good.
    pub(super) async fn next(&mut self) -> Result<Option<SseEvent>, Error> {
        loop {
            match self.events.next().await? {
                Some(event) => {
                    if let Some(id) = self.events.last_event_id() {
                        self.last_event_id = Some(id.to_owned());
                    }
                    // An event without data only names a place to resume from.
                    if !event.data.is_empty() {
                        self.reconnects.heard();
                        return Ok(Some(event));
                    }
                }
                None => {
                    if !self.reopen().await? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Reads what is left after the answer.
    pub(super) fn drain(self) {
        self.events.drain();
    }

    /// Opens the stream again; false when it cannot be.
    async fn reopen(&mut self) -> Result<bool, Error> {
        if let Some(id) = self.events.last_event_id() {
            self.last_event_id = Some(id.to_owned());
        }
        let Some(id) = self.last_event_id.clone() else {
            return Ok(false);
        };
        self.wish = self.events.reconnect_after().or(self.wish);
        loop {
            let Ok(pause) = self.reconnects.next(self.wish) else {
                return Ok(false);
            };
            tokio::time::sleep(pause).await;
            let mut headers = self.session.headers();
            put_event_id(&mut headers, &id)?;
            let response = match self.session.endpoint.events(headers).await {
                Ok(response) => response,
                Err(error) => {
                    tracing::debug!(%error, "a stream could not be opened again");
                    continue;
                }
            };
            if response.status().is_server_error() {
                continue;
            }
            // The server took the request once, so it is not sent again, whatever has become of the session.
            if is_session_lost(response.status().as_u16()) {
                return Ok(false);
            }
            if !response.status().is_success() {
                return Err(response::status_error(response).await);
            }
            // 204 is how a server says that nothing is left of the stream.
            if !response::is_stream(&response) {
                return Ok(false);
            }
            self.events =
                EventReader::new(response.into_body(), self.session.endpoint.message_bytes);
            return Ok(true);
        }
    }
}
