//! The transport context of handlers on stdio and in-process connections.

use std::sync::Arc;

use toolwire_types::RawJson;

use crate::engine::{
    BoxFuture, Cancellation, ClientRequests, ConnectionInfo, ConnectionState, OutgoingNotification,
    TokenInfo, TransportContext,
};
use crate::error::Error;
use crate::transport::chunk::ChunkPermit;
use crate::transport::outgoing_queue::{MessageSink as _, OutgoingQueue, send_request};

/// The [`TransportContext`] of the requests of one connection.
#[derive(Debug)]
pub struct StdioContext {
    pub(super) out: Arc<OutgoingQueue>,
    pub(super) client_requests: Arc<ClientRequests>,
    pub(super) state: Arc<ConnectionState>,
    /// The token of the client, on connections that use tokens.
    pub(super) token: Option<Arc<TokenInfo>>,
    /// What is known about the connection, if it is not in process.
    pub(super) info: Option<&'static ConnectionInfo>,
    /// Counts the bytes of the chunk whose requests have this context.
    pub(super) permit: Option<ChunkPermit>,
}

impl StdioContext {
    /// Creates the context for the next chunk of the same connection.
    pub(super) fn with_sender(
        &self,
        token: Option<Arc<TokenInfo>>,
        permit: Option<ChunkPermit>,
    ) -> Self {
        Self {
            out: Arc::clone(&self.out),
            client_requests: Arc::clone(&self.client_requests),
            state: Arc::clone(&self.state),
            token,
            info: self.info,
            permit,
        }
    }
}

impl TransportContext for StdioContext {
    fn notify(&self, notification: OutgoingNotification) {
        self.out.push(notification.kind, notification.message);
    }

    #[cfg(any(feature = "events", feature = "relay"))]
    fn is_full(&self) -> bool {
        self.out.is_full()
    }

    #[cfg(feature = "relay")]
    fn report_drop(&self) {
        self.out.drops().report(1);
    }

    fn queued_messages(&self) -> usize {
        self.out.len()
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(send_request(
            &*self.out,
            &self.client_requests,
            method,
            params,
        ))
    }

    fn can_request(&self) -> bool {
        true
    }

    fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        Some(&self.state)
    }

    fn connection_info(&self) -> Option<&ConnectionInfo> {
        self.info
    }

    fn ended(&self) -> Option<Cancellation> {
        Some(self.state.ended())
    }

    fn client_channel(&self) -> Option<Arc<dyn TransportContext>> {
        Some(Arc::new(self.with_sender(self.token.clone(), None)))
    }

    fn uses_tokens(&self) -> bool {
        self.token.is_some()
    }

    fn auth(&self) -> &TokenInfo {
        self.token.as_deref().unwrap_or(TokenInfo::none())
    }
}
