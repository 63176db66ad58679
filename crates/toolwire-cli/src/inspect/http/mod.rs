//! Serves the page and its HTTP interface to this machine.

mod access;
mod api;
mod event_body;
mod event_stream;
mod page;
mod response;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::failure::{Exit, Failure};
use crate::inspect::http::access::Access;
use crate::inspect::http::response::PageResponse;
use crate::inspect::inspector::Inspector;

/// The ports that are tried before a random one, so that the address is often the same.
const PORTS: std::ops::Range<u16> = 6280..6300;

/// The maximum number of connections.
const MAX_CONNECTIONS: usize = 64;

/// How long a connection may take for the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// The listener of the page.
pub(super) struct PageListener {
    listener: TcpListener,
    address: SocketAddr,
    access: Arc<Access>,
}

impl PageListener {
    /// Listens at an address of this machine, or at a free port. Returns an error if other machines can reach the
    /// address.
    pub(super) async fn bind(address: Option<&str>) -> Result<Self, Failure> {
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
    pub(super) fn url(&self) -> String {
        format!("http://{}/#{}", self.address, self.access.secret())
    }

    /// Returns the token for programs.
    pub(super) fn token(&self) -> &str {
        self.access.token()
    }

    /// Serves until the future is dropped, which also closes all connections.
    pub(super) async fn run(self, inspector: &Arc<Inspector>) {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                return;
            };
            let Ok((stream, _)) = self.listener.accept().await else {
                // The process has too many open files. Another connection may end meanwhile.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            while connections.try_join_next().is_some() {}
            let (inspector, access) = (Arc::clone(inspector), Arc::clone(&self.access));
            connections.spawn(async move {
                let service = service_fn(move |request| {
                    let (inspector, access) = (Arc::clone(&inspector), Arc::clone(&access));
                    async move { Ok::<_, Infallible>(respond(request, &inspector, &access).await) }
                });
                let mut server = http1::Builder::new();
                server
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEADER_TIMEOUT);
                // A browser closes connections at any time.
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
                drop(permit);
            });
        }
    }
}

/// Checks where a request comes from, and routes it.
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
