//! Reads the events of one legacy stream, over several connections if necessary.
//!
//! A stream that ends before its response is opened again with the last event id. The number of attempts without a new
//! event is limited. A successful connection alone does not reset that number.

use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::http::is_session_lost;
use toolwire_proto::sse::{Reconnects, SseEvent};
use toolwire_types::RequestId;

use crate::client::http::ClientBody;
use crate::error::Error;
use crate::transport::http_client::endpoint::insert_event_id;
use crate::transport::http_client::event_reader::EventReader;
use crate::transport::http_client::response;
use crate::transport::http_client::session::LegacySession;

/// An event stream that is opened again when it is lost.
#[derive(Debug)]
pub(super) struct ResumableEvents<'a> {
    session: &'a Arc<LegacySession>,
    /// The request that the stream belongs to.
    request: &'a RequestId,
    events: EventReader,
    last_event_id: Option<String>,
    /// The last reconnection time that the server requested.
    retry: Option<Duration>,
    reconnects: Reconnects,
}

impl<'a> ResumableEvents<'a> {
    pub(super) fn new(
        session: &'a Arc<LegacySession>,
        request: &'a RequestId,
        body: ClientBody,
    ) -> Self {
        Self {
            session,
            request,
            events: EventReader::new(body, session.endpoint.message_bytes),
            last_event_id: None,
            retry: None,
            reconnects: Reconnects::new(session.limits.reconnects),
        }
    }

    /// Returns the next event with data, or `None` if the stream cannot be resumed.
    pub(super) async fn next(&mut self) -> Result<Option<SseEvent>, Error> {
        loop {
            match self.events.next().await? {
                Some(event) => {
                    if let Some(id) = self.events.last_event_id() {
                        self.last_event_id = Some(id.to_owned());
                    }
                    // An event without data only sets the id to resume from.
                    if !event.data.is_empty() {
                        self.reconnects.record_event();
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

    /// Reads the rest of the stream in a separate task.
    pub(super) fn drain(self) {
        self.events.drain();
    }

    /// Opens the stream again. Returns `false` if it cannot be resumed.
    async fn reopen(&mut self) -> Result<bool, Error> {
        if let Some(id) = self.events.last_event_id() {
            self.last_event_id = Some(id.to_owned());
        }
        let Some(id) = self.last_event_id.clone() else {
            return Ok(false);
        };
        self.retry = self.events.reconnect_after().or(self.retry);
        self.session.incoming.stream_released(self.request);
        loop {
            let Ok(pause) = self.reconnects.next(self.retry) else {
                return Ok(false);
            };
            tokio::time::sleep(pause).await;
            let mut headers = self.session.headers();
            insert_event_id(&mut headers, &id)?;
            let response = match self.session.endpoint.events(headers).await {
                Ok(response) => response,
                Err(error) => {
                    tracing::debug!(%error, "an event stream could not be opened again");
                    continue;
                }
            };
            if response.status().is_server_error() {
                continue;
            }
            // The server accepted the request before, so it is not sent again in a new session.
            if is_session_lost(response.status().as_u16()) {
                return Ok(false);
            }
            if !response.status().is_success() {
                return Err(response::status_error(response).await);
            }
            // With 204 the server reports that the stream has no more events.
            if !response::is_stream(&response) {
                return Ok(false);
            }
            self.events =
                EventReader::new(response.into_body(), self.session.endpoint.message_bytes);
            return Ok(true);
        }
    }
}
