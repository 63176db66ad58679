//! Where the messages of a stream go.

use std::fmt;

use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::{Notification, RawJson, Request, RequestId};

use crate::engine::ClientRequests;
use crate::engine::exchange::encode;
use crate::error::Error;

/// A bounded queue on its way out. Nothing here waits; what does not fit is treated by its kind.
pub(crate) trait MessageSink: Send + Sync + fmt::Debug {
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

/// Sends a request to the client and waits for its answer. When nobody waits any more, the client is told.
pub(crate) async fn send_request(
    outlet: &dyn MessageSink,
    caller: &ClientRequests,
    method: &'static str,
    params: RawJson,
) -> Result<RawJson, Error> {
    let send = |id: &RequestId| match encode(&Request::new(id.clone(), method, params)) {
        Ok(bytes) => outlet.push(OutgoingKind::Request, bytes),
        Err(error) => tracing::warn!(%error, "a request could not be written"),
    };
    let withdraw = |id: &RequestId| {
        let params = RawJson::from_value(&serde_json::json!({ "requestId": id }));
        let cancelled = Notification::new("notifications/cancelled", Some(params));
        outlet.notify(&cancelled, OutgoingKind::Other);
    };
    caller.call(send, withdraw).await
}
