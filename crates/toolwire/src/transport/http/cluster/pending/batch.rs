//! The messages of one call of the bus, and their limits.

use toolwire_proto::subscriptions::Change;
use toolwire_types::Notification;

use crate::store::{BusPayload, SessionSignal};

/// The maximum number of messages that are published in one call of the bus.
pub(super) const MAX_BATCH: usize = 256;

/// The maximum size of these messages together, in bytes. A single message may be larger.
pub(super) const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// The messages of one call of the bus. If the call fails, they are put back.
#[derive(Debug)]
pub(crate) struct PendingBatch {
    pub(super) everything: bool,
    pub(super) changes: Vec<Change>,
    pub(super) notifications: Vec<Notification>,
    pub(super) ended_sessions: Vec<String>,
    pub(super) repetition: Repetition,
    pub(super) cancellations: Vec<BusPayload>,
}

/// What has to be published because a node has lost messages.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repetition {
    /// Whether this node asks for the cancellations of the others.
    pub(super) asks: bool,
    /// Whether this node repeats its own cancellations.
    pub(super) repeats: bool,
}

impl PendingBatch {
    /// Returns the messages of the batch.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = BusPayload> + '_ {
        let everything = self.everything.then_some(BusPayload::Everything);
        let changes = self.changes.iter().cloned().map(BusPayload::Change);
        let notifications =
            self.notifications
                .iter()
                .map(|notification| BusPayload::Notification {
                    method: notification.method.clone().into_owned(),
                    params: notification.params.clone(),
                });
        let ended = self.ended_sessions.iter();
        let ended = ended.map(|session| BusPayload::Session {
            session: session.clone(),
            signal: SessionSignal::Ended,
        });
        let lost = self.repetition.asks.then_some(BusPayload::MessagesLost);
        let cancellations = self.cancellations.iter().cloned();
        everything
            .into_iter()
            .chain(changes)
            .chain(notifications)
            .chain(ended)
            .chain(lost)
            .chain(cancellations)
    }

    pub(super) fn is_empty(&self) -> bool {
        let has_changes = self.everything || !self.changes.is_empty();
        let has_repetition = self.repetition.asks || !self.cancellations.is_empty();
        let has_signals = !self.notifications.is_empty() || !self.ended_sessions.is_empty();
        !has_changes && !has_signals && !has_repetition
    }
}

/// The size of a batch.
#[derive(Debug, Default)]
pub(super) struct BatchSize {
    messages: usize,
    bytes: usize,
}

impl BatchSize {
    /// Adds a message. Returns `false`, and does not add it, if that would exceed a limit.
    pub(super) fn add(&mut self, bytes: usize) -> bool {
        let is_full = self.messages >= MAX_BATCH;
        let is_too_large = self.messages > 0 && self.bytes + bytes > MAX_BATCH_BYTES;
        if is_full || is_too_large {
            return false;
        }
        self.messages += 1;
        self.bytes += bytes;
        true
    }
}
