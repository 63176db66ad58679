//! Event streams as WHATWG HTML defines them ("Server-sent events"), which carry several messages over HTTP.
//!
//! [`SseDecoder`] decodes a stream in any chunks, with a limit on the size of an event. The `encode_*` functions write
//! one. This module does not interpret the data.

mod decode;
mod encode;
mod reconnect;

use std::time::Duration;

pub use self::decode::{SseDecoder, TooLong};
pub use self::encode::{UnsafeField, encode_comment, encode_message};
pub use self::reconnect::{ReconnectLimitError, Reconnects};

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SseEvent {
    /// The `id` of this event. An empty id clears the last id.
    pub id: Option<String>,
    /// The event type, if it is not the default `message`.
    pub event: Option<String>,
    /// The data, its lines joined with LF.
    pub data: String,
    /// The reconnection time, if given with this event.
    pub retry: Option<Duration>,
}

impl SseEvent {
    /// Creates an event with data only.
    #[must_use]
    pub fn new(data: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            ..Self::default()
        }
    }

    /// Sets the id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the event type.
    #[must_use]
    pub fn with_event(mut self, event: impl Into<String>) -> Self {
        self.event = Some(event.into());
        self
    }

    /// Sets the time that the client waits before it reconnects, in whole milliseconds.
    #[must_use]
    pub fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }
}
