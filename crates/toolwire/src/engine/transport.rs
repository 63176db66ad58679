//! The interface between the engine and a transport: outgoing notifications, and requests to the client where possible.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use toolwire_proto::outbox::OutgoingKind;
#[cfg(feature = "relay")]
use toolwire_types::Notification;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::encoding::encode;
use crate::engine::{Cancellation, ConnectionInfo, ConnectionState, TokenInfo};
use crate::error::Error;

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A notification of a running request, and how the outgoing queue may treat it.
#[derive(Debug)]
#[non_exhaustive]
pub struct OutgoingNotification {
    /// The encoded message, without framing.
    pub message: Vec<u8>,
    /// Whether the queue may merge or drop it while the peer does not read.
    pub kind: OutgoingKind,
}

impl OutgoingNotification {
    /// Creates a notification of the given kind.
    #[must_use]
    pub fn new(method: &str, params: RawJson, kind: OutgoingKind) -> Self {
        Self::write(method, &params, kind).expect("raw JSON can be written")
    }

    /// Creates a notification that a relay passes on, perhaps without parameters.
    #[cfg(feature = "relay")]
    pub(crate) fn forwarded(method: &str, params: Option<&RawJson>, kind: OutgoingKind) -> Self {
        let notification = Notification::new(method.to_owned(), params.cloned());
        let message = encode(&notification).expect("raw JSON can be written");
        Self { message, kind }
    }

    /// Creates a notification whose parameters are serialized directly into the message.
    pub(crate) fn write<P: Serialize>(
        method: &str,
        params: &P,
        kind: OutgoingKind,
    ) -> serde_json::Result<Self> {
        let message = notification(method, params)?;
        Ok(Self { message, kind })
    }
}

/// Encodes a notification.
pub(crate) fn notification<P: Serialize>(method: &str, params: &P) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Message<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a P,
    }

    encode(&Message {
        jsonrpc: "2.0",
        method,
        params,
    })
}

/// The transport's side of one request.
///
/// Each transport implements this trait: `StdioContext` for byte streams, [`NullContext`] without a channel to the
/// client. Data that is known only after parsing is in [`RequestScope`](crate::RequestScope), which wraps this.
pub trait TransportContext: Send + Sync + fmt::Debug {
    /// Sends a notification of the request without waiting. A full queue applies its policy.
    fn notify(&self, notification: OutgoingNotification);

    /// Returns `true` if a handler that sends many notifications should wait before the next one, because the client
    /// reads slowly. A relay, which cannot wait, drops notifications of the upstream server then.
    #[cfg(any(feature = "events", feature = "relay"))]
    fn is_full(&self) -> bool {
        false
    }

    /// Reports a notification that was dropped because [`is_full`](Self::is_full) returns `true`.
    #[cfg(feature = "relay")]
    fn report_drop(&self) {}

    /// Returns the number of messages that wait for the client on this connection, if the transport counts them.
    fn queued_messages(&self) -> usize {
        0
    }

    /// Sends a request to the client and returns the raw response.
    ///
    /// This method checks nothing. Its callers check capabilities and eras.
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>>;

    /// Returns `true` if [`request`](Self::request) can succeed on this transport.
    fn can_request(&self) -> bool;

    /// Returns the state of the request's connection or session, if the transport stores one.
    fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        None
    }

    /// Returns a stable name of the connection or session, if the transport has one.
    fn connection_token(&self) -> Option<&str> {
        None
    }

    /// Returns what the transport knows about the connection, for logs and traces. Over HTTP, only a server with middleware
    /// collects it.
    fn connection_info(&self) -> Option<&ConnectionInfo> {
        None
    }

    /// Returns the channel to the client outside of this request, if the client has a connection or a session.
    fn client_channel(&self) -> Option<Arc<dyn TransportContext>> {
        None
    }

    /// Returns a flag that is set when the connection or session has ended, if the transport has one.
    fn ended(&self) -> Option<Cancellation> {
        None
    }

    /// Returns `true` if the response has become an event stream (HTTP).
    fn streaming(&self) -> bool {
        false
    }

    /// Returns the id of the next event of the response, or `None` if the response is not a stream that can be resumed.
    fn next_event_id(&self) -> Option<String> {
        None
    }

    /// Returns `true` if the transport knows that the client no longer expects the response.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Returns a flag that is set when [`is_cancelled`](Self::is_cancelled) becomes true, if that can happen.
    fn cancellation(&self) -> Option<Cancellation> {
        None
    }

    /// Closes the connection of the response. The client reconnects for the rest of the stream. Returns `false` if
    /// clients cannot do that.
    fn release_stream(&self) -> bool {
        false
    }

    /// Returns `true` if this transport identifies callers by tokens. A caller without a token then has no scopes.
    fn uses_tokens(&self) -> bool {
        false
    }

    /// Returns the verified token, or [`TokenInfo::none`].
    fn auth(&self) -> &TokenInfo {
        TokenInfo::none()
    }
}

/// A context without a client: notifications are dropped, and requests to the client fail.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct NullContext;

impl NullContext {
    /// Creates the context.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl TransportContext for NullContext {
    fn notify(&self, _notification: OutgoingNotification) {}

    fn request<'a>(
        &'a self,
        method: &'a str,
        _params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move { Err(no_channel(method)) })
    }

    fn can_request(&self) -> bool {
        false
    }
}

/// Returns the error of a context that cannot send requests to the client.
pub(crate) fn no_channel(method: &str) -> Error {
    ErrorObject::invalid_request(format!(
        "`{method}` needs a channel to the client, and this transport has none"
    ))
    .into()
}
