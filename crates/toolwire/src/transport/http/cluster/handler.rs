//! What handles the messages of other nodes.

use std::pin::pin;
use std::sync::Weak;
use std::time::Duration;

use crate::store::{BusPayload, NodeMessage};

/// The delay before the next attempt to use a bus or a mailbox that failed.
pub(super) const RECONNECT: Duration = Duration::from_secs(1);

/// A receiver of the messages of other nodes.
pub(crate) trait ClusterHandler: Send + Sync + 'static {
    /// Handles a message of another node.
    fn on_bus_message(&self, payload: BusPayload);

    /// Handles a gap: messages of other nodes may be lost.
    fn resync(&self);

    /// Handles a message that only this node gets.
    fn on_node_message(&self, message: NodeMessage);

    /// Handles the loss of the number of this node: messages that were sent to it do not arrive any more.
    fn on_number_lost(&self);

    /// Records that a notification for the other nodes was dropped.
    fn on_notification_dropped(&self);
}

/// Waits for a future. Returns `None` if the handler is dropped in the meantime, so that its tasks end after its endpoint.
pub(super) async fn while_used<T>(
    handler: &Weak<dyn ClusterHandler>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    loop {
        // The future is not started again, because it may take longer than one of these intervals.
        if let Ok(output) = tokio::time::timeout(RECONNECT, future.as_mut()).await {
            return Some(output);
        }
        if handler.strong_count() == 0 {
            return None;
        }
    }
}
