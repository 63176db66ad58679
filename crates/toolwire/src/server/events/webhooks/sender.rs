//! The interface between webhook delivery and HTTP.

use std::fmt;

use bytes::Bytes;
use toolwire_types::events::CallbackFailure;

use crate::engine::BoxFuture;

/// Sends the requests of webhook delivery. The transport implements it.
///
/// A sender resolves the host for each request, and connects only to public addresses. It follows no redirects, and
/// limits the time and the size of a response.
pub(crate) trait WebhookSender: fmt::Debug + Send + Sync {
    /// Sends a request and returns the response with any status.
    fn send(
        &self,
        request: WebhookRequest,
    ) -> BoxFuture<'_, Result<WebhookResponse, CallbackFailure>>;

    /// Returns `true` if URLs on this machine may be without TLS, in development and tests.
    fn permits_plain_loopback(&self) -> bool;
}

/// One POST request.
#[derive(Debug, Clone)]
pub(crate) struct WebhookRequest {
    pub(crate) url: String,
    /// Names in lower case, and values of visible ASCII.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
}

/// The response to a request.
#[derive(Debug, Clone)]
pub(crate) struct WebhookResponse {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}
