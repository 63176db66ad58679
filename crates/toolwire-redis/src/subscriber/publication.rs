//! One publication of messages.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::MutexGuard;
use toolwire::store::StoreError;

/// Messages with the next number of this node, which their owner sends.
///
/// It locks the numbers, so that messages arrive in order. Its number counts as used until [`end`](Self::end), because a
/// publication that is dropped may have been sent.
pub(crate) struct Publication<'a> {
    /// The number of the last publication.
    published: MutexGuard<'a, u64>,
    channel: &'a str,
    envelope: Vec<u8>,
    /// The counter of sent messages, and the number of these messages.
    sent: (&'a AtomicU64, u64),
}

impl<'a> Publication<'a> {
    /// Uses the next number, which is in `envelope`.
    pub(super) fn begin(
        mut published: MutexGuard<'a, u64>,
        channel: &'a str,
        envelope: Vec<u8>,
        sent: (&'a AtomicU64, u64),
    ) -> Self {
        *published += 1;
        Self {
            published,
            channel,
            envelope,
            sent,
        }
    }

    /// Returns the channel.
    pub(crate) fn channel(&self) -> &str {
        self.channel
    }

    /// Returns the messages as nodes receive them.
    pub(crate) fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    /// Ends the publication with the outcome of the command that sent it. A command that fails without being executed has
    /// published nothing.
    pub(crate) fn end_with<T>(self, outcome: &Result<T, StoreError>) {
        match outcome {
            Ok(_) => self.end(true),
            // It may have been executed, so its number stays used.
            Err(StoreError::Unknown(_)) => {}
            Err(_) => self.end(false),
        }
    }

    /// Ends the publication. A number whose messages were not sent is used again, so that other nodes do not miss it.
    pub(crate) fn end(mut self, is_sent: bool) {
        if is_sent {
            let (counter, messages) = self.sent;
            counter.fetch_add(messages, Ordering::Relaxed);
        } else {
            *self.published -= 1;
        }
    }
}
