//! What the engine needs from a transport: a way out for notices, and perhaps a channel back to the client.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::exchange::encode;
use crate::engine::{ConnectionState, TokenInfo};
use crate::error::Error;

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A notification of a running request, and how the queue on its way out may treat it.
#[derive(Debug)]
#[non_exhaustive]
pub struct OutgoingNotification {
    /// The encoded message, without framing.
    pub message: Vec<u8>,
    /// Whether it may be merged or dropped when the peer does not read.
    pub kind: OutgoingKind,
}

impl OutgoingNotification {
    /// A notice of the given kind.
    #[must_use]
    pub fn new(method: &'static str, params: RawJson, kind: OutgoingKind) -> Self {
        Self::write(method, &params, kind).expect("raw JSON can be written")
    }

    /// A notice whose parameters are written straight into the message.
    pub(crate) fn write<P: Serialize>(
        method: &'static str,
        params: &P,
        kind: OutgoingKind,
    ) -> serde_json::Result<Self> {
        let message = notification(method, params)?;
        Ok(Self { message, kind })
    }
}

/// Writes a notification.
pub(crate) fn notification<P: Serialize>(
    method: &'static str,
    params: &P,
) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Message<'a, P> {
        jsonrpc: &'static str,
        method: &'static str,
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
/// Each transport implements this once: `StdioContext` for byte streams, [`NullContext`] where there is no way back.
/// Everything that is known only after the message was parsed lives in [`RequestScope`](crate::engine::RequestScope),
/// which wraps this.
pub trait TransportContext: Send + Sync + fmt::Debug {
    /// Sends a notification that belongs to the request. Never waits; a queue that is full applies its policy.
    fn notify(&self, notice: OutgoingNotification);

    /// Sends a request to the client and waits for its answer, returned raw.
    ///
    /// This is the primitive without any gate: capabilities and eras are checked by the callers above.
    fn request(
        &self,
        method: &'static str,
        params: RawJson,
    ) -> BoxFuture<'_, Result<RawJson, Error>>;

    /// Whether [`request`](Self::request) can work at all.
    fn can_request(&self) -> bool;

    /// The state of the connection or session the request came on, when the transport keeps one.
    fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        None
    }

    /// A stable name of the connection or session, when the transport is scoped to one.
    fn connection_token(&self) -> Option<&str> {
        None
    }

    /// Whether the transport itself knows that nobody waits for the answer any more.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Closes the connection the answer would go out on; the client comes back for the rest of the stream. False where
    /// clients cannot do that.
    fn release_stream(&self) -> bool {
        false
    }

    /// Whether callers of this transport may be known by tokens: then those without one have no scopes.
    fn uses_tokens(&self) -> bool {
        false
    }

    /// Who is calling, when the transport verified a token.
    fn auth(&self) -> &TokenInfo {
        TokenInfo::none()
    }
}

/// A context without a way back: notices go nowhere and requests to the client fail.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct NullContext;

impl NullContext {
    /// The context.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl TransportContext for NullContext {
    fn notify(&self, _notice: OutgoingNotification) {}

    fn request(
        &self,
        method: &'static str,
        _params: RawJson,
    ) -> BoxFuture<'_, Result<RawJson, Error>> {
        Box::pin(async move { Err(no_channel(method)) })
    }

    fn can_request(&self) -> bool {
        false
    }
}

/// The error of a context that cannot send requests to the client.
pub(crate) fn no_channel(method: &str) -> Error {
    ErrorObject::invalid_request(format!(
        "`{method}` needs a channel to the client, and there is none here"
    ))
    .into()
}
