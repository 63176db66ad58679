//! Messages on their way out: notifications and answers, and a look at the wire for whoever follows it.

use std::borrow::Cow;
use std::fmt;

use toolwire_types::{Notification, RawJson};

use crate::engine::BoxFuture;
use crate::error::Error;

/// Sends messages nobody waits for: answers to the server's requests, and notifications.
pub(crate) trait SendMessage: fmt::Debug + Send + Sync {
    /// Hands one message over to the transport.
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>>;

    /// Whether the server may act on a message, and even answer it, before sending it has ended: a POST ends with a
    /// receipt, a line on a pipe with its last byte.
    fn ends_with_receipt(&self) -> bool {
        false
    }
}

/// A notification as it goes over the wire.
pub(crate) fn encode_notification(
    method: impl Into<Cow<'static, str>>,
    params: Option<RawJson>,
) -> Vec<u8> {
    let notification = Notification::new(method, params);
    let message = serde_json::to_vec(&notification).expect("a notification always serialises");
    trace_wire("sent", &message);
    message
}

/// Shows a message to whoever follows the wire.
pub(crate) fn trace_wire(direction: &'static str, message: &[u8]) {
    if tracing::enabled!(target: "toolwire::wire", tracing::Level::TRACE) {
        let message = String::from_utf8_lossy(message);
        tracing::trace!(target: "toolwire::wire", %message, "{direction}");
    }
}
