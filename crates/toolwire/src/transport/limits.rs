//! The bounds of one connection.

use std::time::Duration;

use toolwire_proto::outbox::OutboxLimits;
use toolwire_proto::requests::DEFAULT_IN_FLIGHT;

/// The bounds of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest message that is read, in bytes; a longer one is skipped and answered with an error. 4 MiB.
    pub message_bytes: usize,
    /// How many messages may wait to be written before answers have to wait and notices are merged. 256.
    pub queued_messages: usize,
    /// How many bytes may wait to be written. 1 MiB.
    pub queued_bytes: usize,
    /// How many requests may run at once; one more is refused. 1024.
    pub requests_in_flight: usize,
    /// How many bytes the messages of running requests may have together; a request that finds nothing else running is
    /// always let in. 64 MiB.
    pub bytes_in_flight: usize,
    /// How many `subscriptions/listen` streams may be open at once. 1024.
    pub subscriptions: usize,
    /// How long running requests may take after the client has hung up. 10 s.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 4 * 1024 * 1024,
            queued_messages: 256,
            queued_bytes: 1024 * 1024,
            requests_in_flight: DEFAULT_IN_FLIGHT,
            bytes_in_flight: 64 * 1024 * 1024,
            subscriptions: DEFAULT_IN_FLIGHT,
            drain: Duration::from_secs(10),
        }
    }
}

impl Limits {
    pub(crate) fn outbox(&self) -> OutboxLimits {
        OutboxLimits {
            messages: self.queued_messages,
            bytes: self.queued_bytes,
        }
    }
}
