//! What a transport knows about the connection of a request, for logs, metrics and traces.

use std::sync::LazyLock;

use toolwire_proto::trace_context::TraceContext;

/// What a transport knows about the connection of a request. `None` stands for an unknown value.
///
/// The values follow the conventions of OpenTelemetry for `network.*`, `client.*` and `server.*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionInfo {
    /// `pipe` for standard input and output, or `tcp`.
    pub network_transport: Option<&'static str>,
    /// `http`, unless the messages are lines.
    pub protocol_name: Option<&'static str>,
    /// The version of the protocol: `1.1` or `2`.
    pub protocol_version: Option<&'static str>,
    /// The address of the peer. For a server, that of the client, see
    /// [`HttpOptions::with_trusted_proxies`](crate::transport::http::HttpOptions::with_trusted_proxies). For a client, the
    /// host of the server.
    pub peer_address: Option<String>,
    /// The port of the peer. `None` if a reverse proxy is in between.
    pub peer_port: Option<u16>,
    /// The trace context in the header fields of the HTTP request. Empty in a client.
    pub trace: TraceContext,
}

static STDIO: LazyLock<ConnectionInfo> = LazyLock::new(|| ConnectionInfo {
    network_transport: Some("pipe"),
    ..ConnectionInfo::default()
});

impl ConnectionInfo {
    /// Returns the description of a connection over standard input and output.
    pub(crate) fn stdio() -> &'static Self {
        &STDIO
    }

    /// Returns the description of a connection over HTTP, without the peer.
    #[cfg(any(feature = "http-client", feature = "http-server"))]
    pub(crate) fn http() -> Self {
        Self {
            network_transport: Some("tcp"),
            protocol_name: Some("http"),
            ..Self::default()
        }
    }
}
