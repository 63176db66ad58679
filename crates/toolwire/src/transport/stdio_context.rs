//! The way back to the client, as handlers of one connection have it.

use std::sync::Arc;

use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::{RawJson, Request, RequestId};

use crate::engine::exchange::encode;
use crate::engine::{BoxFuture, Caller, ConnectionState, Notice, TransportContext};
use crate::error::Error;
use crate::transport::out_stream::OutStream;
use crate::transport::outlet::Outlet;

/// The transport's side of the requests of one connection.
#[derive(Debug)]
pub struct StdioContext {
    pub(super) out: Arc<OutStream>,
    pub(super) caller: Caller,
    pub(super) state: Arc<ConnectionState>,
}

impl TransportContext for StdioContext {
    fn notify(&self, notice: Notice) {
        self.out.notify(&notice.notification, notice.kind);
    }

    fn request(
        &self,
        method: &'static str,
        params: RawJson,
    ) -> BoxFuture<'_, Result<RawJson, Error>> {
        Box::pin(async move {
            let send = |id: &RequestId| match encode(&Request::new(id.clone(), method, params)) {
                Ok(bytes) => self.out.push(OutgoingKind::Request, bytes),
                Err(error) => tracing::warn!(%error, "a request could not be written"),
            };
            self.caller.call(send, |id| self.withdraw(id)).await
        })
    }

    fn has_channel(&self) -> bool {
        true
    }

    fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        Some(&self.state)
    }
}

impl StdioContext {
    /// Tells the client that nobody waits for its answer any more.
    fn withdraw(&self, id: &RequestId) {
        let params = RawJson::from_value(&serde_json::json!({ "requestId": id }));
        self.notify(Notice::new(
            "notifications/cancelled",
            params,
            OutgoingKind::Other,
        ));
    }
}
