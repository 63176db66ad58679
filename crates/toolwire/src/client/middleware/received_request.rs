//! A request of the server, as the middleware of its client sees it.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire_types::{ErrorObject, InputRequest, ProtocolVersion, RawJson, RequestId};

use crate::client::middleware::ClientChain;
use crate::engine::{BoxFuture, CatchPanic, ConnectionInfo};

/// A request of the server to this client: an elicitation, sampling, roots, or a method of an extension. A server before
/// 2026-07-28 sends it as a message. Later ones send it as an input request in the result of a call, or in a task.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    id: Option<RequestId>,
    method: String,
    params: Option<RawJson>,
    version: ProtocolVersion,
    connection: Arc<ConnectionInfo>,
}

impl ReceivedRequest {
    pub(crate) fn new(
        id: Option<RequestId>,
        method: String,
        params: Option<RawJson>,
        version: ProtocolVersion,
        connection: &Arc<ConnectionInfo>,
    ) -> Self {
        Self {
            id,
            method,
            params,
            version,
            connection: Arc::clone(connection),
        }
    }

    /// Creates the request for an input request in a result.
    pub(crate) fn of_input(
        request: &InputRequest,
        version: ProtocolVersion,
        connection: &Arc<ConnectionInfo>,
    ) -> Self {
        #[derive(Deserialize)]
        struct Written {
            params: Option<RawJson>,
        }

        let written = RawJson::from_serialize(request).ok();
        let written = written.and_then(|written| written.parse::<Written>().ok());
        let params = written.and_then(|written| written.params);
        let method = request.method().to_owned();
        Self::new(None, method, params, version, connection)
    }

    /// Runs the handler of the request behind the middleware.
    pub(crate) async fn respond(
        &self,
        chain: Option<&ClientChain>,
        responding: BoxFuture<'_, Result<RawJson, ErrorObject>>,
    ) -> Result<RawJson, ErrorObject> {
        // A middleware may panic, too, also before it returns its future.
        let responding = CatchPanic::new(async {
            let mut responding = responding;
            for middleware in chain.iter().flat_map(|chain| chain.iter().rev()) {
                responding = middleware.handle_received(self, responding);
            }
            responding.await
        });
        responding.await.unwrap_or_else(|_| {
            let method = &self.method;
            Err(ErrorObject::internal(format!(
                "the middleware of {method} panicked"
            )))
        })
    }

    /// Returns the id of the message that the server has chosen. Returns `None` for an input request in a result.
    #[must_use]
    pub fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Returns the method, such as `elicitation/create`.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the parameters, with `_meta`.
    #[must_use]
    pub fn params(&self) -> Option<&RawValue> {
        self.params.as_ref().map(RawJson::as_raw_value)
    }

    /// Returns the protocol version of the connection.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns what is known about the connection to the server.
    #[must_use]
    pub fn connection(&self) -> &ConnectionInfo {
        &self.connection
    }
}
