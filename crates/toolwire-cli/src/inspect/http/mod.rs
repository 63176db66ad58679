//! Serves the page and its HTTP interface to this machine.

mod access;
mod api;
mod event_body;
mod event_stream;
mod mcp_endpoint;
mod page;
mod response;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Either;
use hyper::body::Incoming;
use hyper::{Method, Request, Response};
use tokio::net::TcpListener;
use toolwire::transport::http::ServerBody;

use crate::failure::{Exit, Failure};
use crate::inspect::http::access::Access;
use crate::inspect::http::response::{PageBody, PageResponse};
use crate::inspect::inspector::Inspector;
use crate::opened_page::OpenedPage;
use crate::page_server::{PageLimits, serve};
use crate::screen::Screen;

pub(crate) use self::mcp_endpoint::McpEndpoint;

/// The ports that are tried before a random one, so that the address is often the same.
const PORTS: std::ops::Range<u16> = 6280..6300;

/// The limits of the page.
const LIMITS: PageLimits = PageLimits {
    connections: 64,
    header_timeout: Duration::from_secs(30),
    request_timeout: None,
};

/// The listener of the page.
pub(crate) struct PageListener {
    listener: TcpListener,
    address: SocketAddr,
    access: Arc<Access>,
}

impl PageListener {
    /// Listens at an address of this machine, or at a free port. Returns an error if other machines can reach the
    /// address.
    pub(crate) async fn bind(address: Option<&str>) -> Result<Self, Failure> {
        let listener = match address {
            Some(address) => TcpListener::bind(&*local(address).await?).await,
            None => free_port().await,
        };
        let listener = listener.map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        let access = Access::new(address.port()).map_err(cannot_listen)?;
        Ok(Self {
            listener,
            address,
            access: Arc::new(access),
        })
    }

    /// Returns the address of the page with the secret that gives access once.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/#{}", self.address, self.access.secret())
    }

    /// Opens the page in the browser.
    pub(crate) fn open(&self, screen: &Screen) {
        self.access.set_opened(OpenedPage::new(&self.url(), screen));
    }

    /// Returns the address of the endpoint for MCP clients.
    pub(crate) fn mcp_url(&self) -> String {
        format!("http://{}{}", self.address, McpEndpoint::PATH)
    }

    /// Returns the token for programs.
    pub(crate) fn token(&self) -> &str {
        self.access.token()
    }

    /// Serves until the future is dropped, which also closes all connections. With an endpoint, also serves MCP clients.
    pub(crate) async fn run(self, inspector: &Arc<Inspector>, endpoint: Option<McpEndpoint>) {
        let (inspector, access) = (Arc::clone(inspector), Arc::clone(&self.access));
        let address = self.address;
        let respond = move |request, peer| {
            let (inspector, access) = (Arc::clone(&inspector), Arc::clone(&access));
            let endpoint = endpoint.as_ref();
            let endpoint = endpoint.map(|endpoint| endpoint.of_connection(address, peer));
            async move { route(request, &inspector, &access, endpoint.as_ref()).await }
        };
        serve(&self.listener, LIMITS, respond).await;
    }
}

impl Drop for PageListener {
    fn drop(&mut self) {
        // Connections may keep the secrets until the process ends.
        self.access.set_opened(None);
    }
}

/// Routes a request to the endpoint for MCP clients, which checks it itself, or to the page.
async fn route(
    request: Request<Incoming>,
    inspector: &Arc<Inspector>,
    access: &Access,
    endpoint: Option<&McpEndpoint>,
) -> Response<Either<PageBody, ServerBody>> {
    match endpoint {
        Some(endpoint) if request.uri().path() == McpEndpoint::PATH => {
            endpoint.respond(request).await.map(Either::Right)
        }
        _ => {
            let response = respond(request, inspector, access).await;
            response.map(Either::Left)
        }
    }
}

/// Checks where a request comes from, and routes it within the page.
async fn respond(
    request: Request<Incoming>,
    inspector: &Arc<Inspector>,
    access: &Access,
) -> PageResponse {
    if let Err(rejection) = access.check_host(request.headers()) {
        return rejection.response();
    }
    let path = request.uri().path();
    let Some(path) = path.strip_prefix("/api/").map(str::to_owned) else {
        return match request.method() {
            &Method::GET | &Method::HEAD => page::respond(&request),
            _ => response::not_found(),
        };
    };
    if let Err(rejection) = access.check_origin(request.headers()) {
        return rejection.response();
    }
    if (request.method(), path.as_str()) == (&Method::POST, "session") {
        return api::open_session(request, access).await;
    }
    match access.check_token(request.headers()) {
        Ok(()) => api::respond(request, &path, inspector).await,
        Err(rejection) => rejection.response(),
    }
}

/// Returns the addresses of `--listen`. Returns an error if other machines can reach one.
async fn local(address: &str) -> Result<Vec<SocketAddr>, Failure> {
    let found = tokio::net::lookup_host(address).await;
    let found = found.map_err(|error| {
        Failure::usage(format!("--listen {address}: {error}"))
            .with_advice("give a host and a port: --listen 127.0.0.1:6280")
    })?;
    let addresses: Vec<SocketAddr> = found.collect();
    if addresses.iter().all(|address| address.ip().is_loopback()) {
        return Ok(addresses);
    }
    Err(Failure::usage(format!(
        "--listen {address}: other machines could use the server with your credentials"
    ))
    .with_advice("listen on 127.0.0.1, and forward the port, for example with `ssh -L`"))
}

async fn free_port() -> io::Result<TcpListener> {
    for port in PORTS {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            return Ok(listener);
        }
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await
}

fn cannot_listen(error: io::Error) -> Failure {
    let message = format!("cannot listen on this machine: {error}");
    Failure::new(Exit::NoConnection, message).with_advice("give another port: --listen 127.0.0.1:0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_this_machine_can_be_listened_to() {
        let check = async |address: &str, expected: bool| {
            assert_eq!(local(address).await.is_ok(), expected, "{address}");
        };
        check("127.0.0.1:0", true).await;
        check("[::1]:0", true).await;
        check("0.0.0.0:0", false).await;
        check("[::]:0", false).await;
        check("192.0.2.1:80", false).await;
        check("127.0.0.1", false).await;
    }
}
