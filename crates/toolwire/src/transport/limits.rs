//! The limits of one connection.

use std::time::Duration;

use toolwire_proto::outbox::OutboxLimits;
use toolwire_proto::requests::DEFAULT_IN_FLIGHT;

/// The limits of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest message that is read, in bytes. A longer one is skipped and rejected with an error. Default: 4 MiB.
    pub message_bytes: usize,
    /// How many messages may be queued before responses wait and notifications are merged. Default: 256.
    pub queued_messages: usize,
    /// How many bytes may be queued. Default: 1 MiB.
    pub queued_bytes: usize,
    /// How many requests may run at once. A further request waits up to 250 ms, then it is rejected. Default: 1024.
    pub requests_in_flight: usize,
    /// How many bytes the messages of running requests may have in total. A request is always accepted if no other
    /// request runs. The responses of unfinished batches may have as many bytes; beyond it, a request of a batch gets an
    /// error. Default: 64 MiB.
    pub bytes_in_flight: usize,
    /// How many `subscriptions/listen` streams may be open at once. Default: 1024.
    pub subscriptions: usize,
    /// How long running requests may take after the client has disconnected. Default: 10 s.
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
