//! One publication of messages.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::OwnedMutexGuard;
use toolwire::store::StoreError;

use crate::subscriber::SharedSubscriber;

/// Messages with the next number of this node, which their owner sends.
///
/// It locks the numbers, so that messages arrive in order. Its number counts as used until [`end`](Self::end), because a
/// publication that is dropped may have been sent.
pub(crate) struct Publication {
    shared: Arc<SharedSubscriber>,
    /// The number of the last publication.
    published: OwnedMutexGuard<u64>,
    envelope: Vec<u8>,
    /// The number of these messages.
    messages: usize,
}

impl Publication {
    /// Uses the next number, which is in `envelope`.
    pub(super) fn begin(
        shared: &Arc<SharedSubscriber>,
        mut published: OwnedMutexGuard<u64>,
        envelope: Vec<u8>,
        messages: usize,
    ) -> Self {
        *published += 1;
        Self {
            shared: Arc::clone(shared),
            published,
            envelope,
            messages,
        }
    }

    /// Returns the channel.
    pub(crate) fn channel(&self) -> &str {
        &self.shared.bus_channel
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
            let messages = u64::try_from(self.messages).unwrap_or(u64::MAX);
            self.shared.sent.fetch_add(messages, Ordering::Relaxed);
        } else {
            *self.published -= 1;
        }
    }
}
