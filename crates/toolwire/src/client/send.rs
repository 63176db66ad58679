//! Sends notifications and responses, and traces messages.

use std::borrow::Cow;
use std::fmt;

use toolwire_types::{Notification, RawJson};

use crate::engine::BoxFuture;
use crate::error::Error;

/// Sends messages that have no response: notifications, and responses to the server's requests.
pub(crate) trait SendMessage: fmt::Debug + Send + Sync {
    /// Passes one message to the transport.
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>>;

    /// Returns `true` if the server may process a message, and even respond, before sending has finished. Sending a POST
    /// ends when the server acknowledges it with an HTTP response. Sending a line ends with its last byte.
    fn ends_with_acknowledgement(&self) -> bool {
        false
    }
}

/// Encodes a notification.
pub(crate) fn encode_notification(
    method: impl Into<Cow<'static, str>>,
    params: Option<RawJson>,
) -> Vec<u8> {
    let notification = Notification::new(method, params);
    let message = serde_json::to_vec(&notification).expect("a notification always serialises");
    trace_wire("sent", &message);
    message
}

/// Logs a message at trace level, with the target `toolwire::wire`.
pub(crate) fn trace_wire(direction: &'static str, message: &[u8]) {
    if tracing::enabled!(target: "toolwire::wire", tracing::Level::TRACE) {
        let message = String::from_utf8_lossy(message);
        tracing::trace!(target: "toolwire::wire", %message, "{direction}");
    }
}
