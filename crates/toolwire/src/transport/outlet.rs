//! Sends messages to the client of a connection or stream.

use std::fmt;

use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::{Notification, RawJson, Request, RequestId};

use crate::engine::ClientRequests;
use crate::engine::encoding::encode;
use crate::error::Error;

/// A bounded queue of outgoing messages. Its methods do not wait; a full queue treats each message by its kind.
pub(crate) trait MessageSink: Send + Sync + fmt::Debug {
    /// Queues an encoded message.
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>);

    /// Queues a notification.
    fn notify(&self, notification: &Notification, kind: OutgoingKind) {
        match encode(notification) {
            Ok(bytes) => self.push(kind, bytes),
            Err(error) => tracing::warn!(%error, "a notification could not be encoded"),
        }
    }
}

/// Sends a request to the client and waits for its response. If the future is dropped, it sends a cancellation.
pub(crate) async fn send_request(
    sink: &dyn MessageSink,
    caller: &ClientRequests,
    method: &'static str,
    params: RawJson,
) -> Result<RawJson, Error> {
    let send = |id: &RequestId| match encode(&Request::new(id.clone(), method, params)) {
        Ok(bytes) => sink.push(OutgoingKind::Request, bytes),
        Err(error) => tracing::warn!(%error, "a request could not be encoded"),
    };
    let cancel = |id: &RequestId| {
        let params = RawJson::from_value(&serde_json::json!({ "requestId": id }));
        let cancelled = Notification::new("notifications/cancelled", Some(params));
        sink.notify(&cancelled, OutgoingKind::Other);
    };
    caller.call(send, cancel).await
}
