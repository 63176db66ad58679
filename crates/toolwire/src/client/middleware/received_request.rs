//! A request of the server, as the middleware of its client sees it.

use std::sync::Arc;

use serde_json::value::RawValue;
use toolwire_types::{ProtocolVersion, RawJson, RequestId};

use crate::engine::ConnectionInfo;

/// A request that a server before 2026-07-28 has sent to this client: an elicitation, sampling, roots, or a method of an
/// extension.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    id: RequestId,
    method: String,
    params: Option<RawJson>,
    version: ProtocolVersion,
    connection: Arc<ConnectionInfo>,
}

impl ReceivedRequest {
    pub(crate) fn new(
        id: RequestId,
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

    /// Returns the id that the server has chosen.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
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
