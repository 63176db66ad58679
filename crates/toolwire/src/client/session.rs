//! One open connection: its link, what is spoken on it, and what the server said of itself.

use std::sync::Arc;

use toolwire_proto::negotiate::DetectedEra;
use toolwire_proto::request_meta::RequestMeta;
use toolwire_types::{
    DiscoverResult, Implementation, InitializeResult, ProtocolVersion, ServerCapabilities, meta_key,
};

use crate::client::incoming::IncomingMessages;
use crate::client::transport::ClientTransport;

/// What is known of one connection. Replaced as a whole when the era turns out to be another one.
#[derive(Debug)]
pub(crate) struct ActiveConnection {
    pub(crate) link: Arc<dyn ClientTransport>,
    pub(crate) inbox: Arc<IncomingMessages>,
    pub(crate) verdict: DetectedEra,
    pub(crate) meta: RequestMeta,
    pub(crate) server: Option<Arc<ServerDetails>>,
}

impl ActiveConnection {
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.verdict.version()
    }
}

/// What a server said of itself when the client connected.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerDetails {
    /// Its name and version; modern servers may keep them to themselves.
    pub info: Option<Implementation>,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// How it wants to be used.
    pub instructions: Option<String>,
    /// The revisions it named; a legacy server names only the one that was agreed on.
    pub versions: Vec<String>,
}

impl From<DiscoverResult> for ServerDetails {
    fn from(result: DiscoverResult) -> Self {
        // The final text has it in `_meta`; servers of the drafts had it beside the capabilities.
        let in_meta = result
            .meta
            .as_ref()
            .and_then(|meta| meta.get_as(meta_key::SERVER_INFO).ok().flatten());
        let beside = || serde_json::from_value(result.extra.get("serverInfo")?.clone()).ok();
        Self {
            info: in_meta.or_else(beside),
            capabilities: result.capabilities,
            instructions: result.instructions,
            versions: result.supported_versions,
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
        }
    }
}
