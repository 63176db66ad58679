//! An endpoint for MCP clients at the address of the page.

use std::net::SocketAddr;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::sync::watch::Receiver;
use toolwire::Server;
use toolwire::transport::http::{HttpOptions, HttpService, ServerBody};

/// A server for MCP clients. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct McpEndpoint {
    service: HttpService,
    is_ready: Receiver<bool>,
}

impl McpEndpoint {
    /// The path of the endpoint.
    pub(super) const PATH: &str = "/mcp";

    /// Creates the endpoint. Requests wait until `is_ready` is `true`.
    pub(crate) fn new(server: Server, is_ready: Receiver<bool>) -> Self {
        let options = HttpOptions::new().with_path(Self::PATH);
        Self {
            service: HttpService::new(server, options),
            is_ready,
        }
    }

    /// Waits until requests are served.
    pub(crate) async fn wait_until_ready(&self) {
        let mut is_ready = self.is_ready.clone();
        // Without a sender, the command ends.
        let _ = is_ready.wait_for(|is_ready| *is_ready).await;
    }

    /// Returns the same endpoint for one connection.
    pub(super) fn of_connection(&self, local: SocketAddr, peer: SocketAddr) -> Self {
        let service = self.service.with_local_addr(local).with_peer_address(peer);
        Self {
            service,
            is_ready: self.is_ready.clone(),
        }
    }

    /// Serves one request.
    pub(super) async fn respond(&self, request: Request<Incoming>) -> Response<ServerBody> {
        self.wait_until_ready().await;
        self.service.respond(request).await
    }
}
