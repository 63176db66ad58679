//! Notifications of the client: cancellations, and those that have handlers.

use std::sync::Arc;

use toolwire_proto::admit::{self, IgnoreReason, NotificationAction};
use toolwire_proto::envelope::NotificationEnvelope;

use crate::engine::{PeerText, QueueFull, TransportContext};
use crate::server::middleware::NotificationDrop;
use crate::transport::duplex::MessageLoop;

impl MessageLoop {
    pub(crate) fn on_notification(&mut self, notification: &NotificationEnvelope<'_>) {
        match self.with_context(|context| admit::admit_notification(notification, context)) {
            NotificationAction::Cancel { request_id, reason } => {
                tracing::debug!(id = %request_id, reason = reason.as_deref(), "cancelled by the client");
                if let Some(stream) = self.listen_streams.remove(&request_id) {
                    stream.close_silently();
                }
                self.event_streams.cancel(&request_id);
                self.responses.remove(&request_id);
                self.context.state.cancel(&request_id, reason.as_deref());
                // The cancelled request is about to finish.
                self.completed_at_overload = None;
            }
            NotificationAction::Initialized => {
                self.context.state.initialized();
                if self.forwards() {
                    self.handle_notification(notification);
                }
            }
            // The `initialize` before it may be in flight. The forwarder then waits for its response.
            NotificationAction::Ignore(IgnoreReason::OutOfTurn)
                if notification.method == "notifications/initialized"
                    && self.context.state.version().is_none()
                    && self.forwards() =>
            {
                self.handle_notification(notification);
            }
            NotificationAction::Ignore(reason) => {
                tracing::debug!(method = %PeerText::new(&notification.method), ?reason, "ignored a notification");
            }
            _ => self.handle_notification(notification),
        }
    }

    /// Runs the handler of a notification, if there is one, after the handlers of earlier notifications.
    fn handle_notification(&mut self, notification: &NotificationEnvelope<'_>) {
        let current = || self.server.snapshot();
        let snapshot = self.snapshot.get_or_insert_with(current);
        let context = &self.context;
        let client = || Arc::clone(context) as Arc<dyn TransportContext>;
        let Some(work) = snapshot.notification_work(notification, client) else {
            return;
        };
        let bytes = notification.params.map_or(0, |params| params.get().len());
        match self.context.state.notifications().push(bytes, work) {
            Ok(Some(running)) => {
                self.tasks.spawn(running);
            }
            Ok(None) => {}
            Err(QueueFull) => snapshot.notification_dropped(NotificationDrop::FromClient),
        }
    }
}
