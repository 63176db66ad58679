//! Event streams as WHATWG HTML defines them ("Server-sent events"): how HTTP carries more than one message.
//!
//! [`SseDecoder`] reads a stream in whatever chunks it arrives, with a cap on the size of an event; the `encode_*`
//! functions write one. What the data means is not looked at.

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
    /// The `id` given with this event; empty means that the last id is to be forgotten.
    pub id: Option<String>,
    /// The event type, when it is not the default `message`.
    pub event: Option<String>,
    /// The data, its lines joined with LF.
    pub data: String,
    /// The time to wait before reconnecting, when given with this event.
    pub retry: Option<Duration>,
}

impl SseEvent {
    /// An event with data and nothing else.
    #[must_use]
    pub fn new(data: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            ..Self::default()
        }
    }

    /// Gives the event an id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Gives the event a type.
    #[must_use]
    pub fn with_event(mut self, event: impl Into<String>) -> Self {
        self.event = Some(event.into());
        self
    }

    /// Tells the client how long to wait before reconnecting; whole milliseconds count.
    #[must_use]
    pub fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }
}
