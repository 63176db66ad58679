//! An open connection: its transport, the negotiated version, and the details of the server.

use std::sync::Arc;

use toolwire_proto::negotiate::DetectedEra;
use toolwire_proto::request_meta::RequestMeta;
#[cfg(feature = "relay")]
use toolwire_types::RawJson;
use toolwire_types::{
    DiscoverResult, Implementation, InitializeResult, ProtocolVersion, ServerCapabilities, meta_key,
};

use crate::client::connection_ends::ConnectionEnds;
use crate::client::incoming::IncomingMessages;
use crate::client::transport::ClientTransport;

/// The state of one connection. It is replaced as a whole if the era turns out to be another one.
#[derive(Debug)]
pub(crate) struct ActiveConnection {
    pub(crate) transport: Arc<dyn ClientTransport>,
    pub(crate) incoming: Arc<IncomingMessages>,
    pub(crate) era: DetectedEra,
    /// Whether the server did not survive the probe of this connection, or did not respond to it.
    pub(crate) probe_failed: bool,
    pub(crate) meta: RequestMeta,
    pub(crate) server: Option<Arc<ServerDetails>>,
    pub(crate) ends: ConnectionEnds,
}

impl ActiveConnection {
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.era.version()
    }
}

/// The details that a server sent when the client connected.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerDetails {
    /// The name and version. Modern servers may omit them.
    pub info: Option<Implementation>,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for using the server.
    pub instructions: Option<String>,
    /// The supported revisions. A legacy server names only the negotiated revision.
    pub versions: Vec<String>,
    /// The result of `server/discover` or `initialize` as the server sent it.
    #[cfg(feature = "relay")]
    pub(crate) raw: Option<RawJson>,
}

#[cfg(feature = "relay")]
impl ServerDetails {
    /// Adds the result as the server sent it.
    pub(crate) fn with_raw(mut self, raw: RawJson) -> Self {
        self.raw = Some(raw);
        self
    }
}

impl From<DiscoverResult> for ServerDetails {
    fn from(result: DiscoverResult) -> Self {
        // The final specification has it in `_meta`. Servers of the drafts had it beside the capabilities.
        let in_meta = result
            .meta
            .as_ref()
            .and_then(|meta| meta.get_as(meta_key::SERVER_INFO).ok().flatten());
        let beside_capabilities =
            || serde_json::from_value(result.extra.get("serverInfo")?.clone()).ok();
        Self {
            info: in_meta.or_else(beside_capabilities),
            capabilities: result.capabilities,
            instructions: result.instructions,
            versions: result.supported_versions,
            #[cfg(feature = "relay")]
            raw: None,
        }
    }
}

impl From<InitializeResult> for ServerDetails {
    fn from(result: InitializeResult) -> Self {
        Self {
            info: Some(result.server_info),
            capabilities: result.capabilities,
            instructions: result.instructions,
            versions: vec![result.protocol_version],
            #[cfg(feature = "relay")]
            raw: None,
        }
    }
}
