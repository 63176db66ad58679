//! Where the messages of a stream go.

use std::fmt;

use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::Notification;

use crate::engine::exchange::encode;

/// A bounded queue on its way out. Nothing here waits; what does not fit is treated by its kind.
pub(crate) trait Outlet: Send + Sync + fmt::Debug {
    /// Queues an encoded message.
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>);

    /// Queues a notification.
    fn notify(&self, notification: &Notification, kind: OutgoingKind) {
        match encode(notification) {
            Ok(bytes) => self.push(kind, bytes),
            Err(error) => tracing::warn!(%error, "a notification could not be written"),
        }
    }
}
