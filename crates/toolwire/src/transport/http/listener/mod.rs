//! The HTTP listener of [`Server::serve_http`].

mod accept;
mod buffer_sizes;
mod connection;
mod connections;
mod fast_path;
mod forward_io;
#[cfg(feature = "http2")]
mod http2;
#[cfg(feature = "http2")]
mod http2_streams;
mod linger;
mod preface;
pub(super) mod read_timeout;
mod request_body;
mod signals;
#[cfg(feature = "tls")]
pub mod tls;
mod write_timeout;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs};
use toolwire_proto::http::client_network;

use crate::engine::BoxFuture;
use crate::error::Error;
use crate::server::Server;
use crate::transport::http::listener::accept::{Backoff, accept};
use crate::transport::http::listener::connection::ConnectionConfig;
use crate::transport::http::listener::connections::Connections;
use crate::transport::http::listener::signals::Signals;
use crate::transport::http::options::HttpOptions;
use crate::transport::http::service::HttpService;
use crate::transport::start_message;

/// The maximum number of connections that wait to be accepted. If the backlog is full, the client's system retries
/// after a second.
const BACKLOG: u32 = 1024;

/// The longest part of the drain timeout in which requests that still run end with an error for their clients.
const MAX_STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// A server that is bound to an address, for HTTP/1.1 and HTTP/2.
///
/// [`Server::serve_http`] is the simplest way to serve. Use this type to learn the address before serving starts.
/// Clients can connect as soon as the listener exists.
///
/// ```no_run
/// use toolwire::Server;
/// use toolwire::transport::http::{HttpListener, HttpOptions};
///
/// # async fn serve() -> Result<(), toolwire::Error> {
/// let server = Server::new("demo", "1.0.0");
/// let listener = HttpListener::bind(server, "127.0.0.1:0", HttpOptions::new()).await?;
/// eprintln!("listening on {}", listener.url());
/// listener.run().await
/// # }
/// ```
pub struct HttpListener {
    listener: TcpListener,
    local_address: SocketAddr,
    server: Server,
    service: HttpService,
    config: Arc<ConnectionConfig>,
    url: String,
    signals: bool,
    max_connections: usize,
    max_connections_per_address: Option<usize>,
    drain: Duration,
}

impl HttpListener {
    /// Binds a server to an address. Port 0 selects a free port.
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound, for example because another program listens on it. Also returns
    /// an error if an extension needs something that the server does not offer.
    pub async fn bind(
        server: Server,
        address: impl ToSocketAddrs,
        options: HttpOptions,
    ) -> Result<Self, Error> {
        Self::from_listener(server, bind(address).await?, options)
    }

    /// Creates a listener from a bound `TcpListener`. Use it if options depend on the selected port, for example the
    /// URL of a protected server, or if another process has bound the socket.
    ///
    /// # Errors
    /// Returns an error if the address of the listener cannot be read, or if an extension needs something that the
    /// server does not offer.
    pub fn from_listener(
        server: Server,
        listener: TcpListener,
        options: HttpOptions,
    ) -> Result<Self, Error> {
        server.check_start()?;
        let local_address = listener.local_addr().map_err(|error| {
            Error::io("the local address of the listener cannot be read", error)
        })?;
        let config = ConnectionConfig::new(&options);
        #[cfg(feature = "tls")]
        let (config, scheme) = match &options.tls {
            Some(tls) => {
                let acceptor = crate::transport::http::listener::tls::acceptor(tls);
                (config.with_tls(acceptor), "https")
            }
            None => (config, "http"),
        };
        #[cfg(not(feature = "tls"))]
        let scheme = "http";
        Ok(Self {
            url: format!("{scheme}://{}{}", reachable(local_address), options.path),
            listener,
            local_address,
            signals: options.signals,
            max_connections: options.limits.connections,
            max_connections_per_address: options.limits.connections_per_address,
            drain: options.limits.drain,
            config: Arc::new(config),
            service: HttpService::new(server.clone(), options),
            server,
        })
    }

    /// Returns the bound address, with the selected port.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_address
    }

    /// Returns the URL of the server for clients on this machine, for example `http://127.0.0.1:3000/mcp`. A listener on
    /// all addresses (`0.0.0.0`) has the loopback address here.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the HTTP service, for example to read its load. Clones share all state.
    #[must_use]
    pub fn service(&self) -> &HttpService {
        &self.service
    }

    /// Serves until the server is shut down or the process gets a signal.
    ///
    /// During shutdown, no connection is accepted, and open connections end after their current requests. In the last
    /// tenth of [`drain`](crate::transport::http::HttpLimits::drain), at most 1 s, resumable responses that are not complete
    /// end with an error. After `drain`, the remaining connections are aborted. A second signal aborts them at once. The
    /// last changes of this node are published to the other nodes within the same time.
    ///
    /// # Errors
    /// Returns an error if the signal handlers cannot be installed.
    ///
    /// # Cancellation
    /// Dropping the future aborts all connections.
    pub async fn run(self) -> Result<(), Error> {
        boxed_run(self).await
    }

    async fn run_until_shutdown(self) -> Result<(), Error> {
        let mut signals = if self.signals {
            Signals::install()
                .map_err(|error| Error::io("signal handlers cannot be installed", error))?
        } else {
            Signals::ignored()
        };
        tracing::info!("listening on {}", self.url);
        let mut connections = Connections::default();
        let mut backoff = Backoff::default();
        loop {
            tokio::select! {
                () = self.server.shutdown_signal().cancelled() => break,
                () = signals.next() => {
                    tracing::info!("shutting down");
                    self.server.shutdown();
                    break;
                }
                // Further connections wait in the backlog of the operating system.
                (socket, address) = accept(&self.listener, &mut backoff),
                    if connections.len() < self.max_connections =>
                {
                    let network = self.counted_network(&socket);
                    if !self.may_serve(&connections, network) {
                        tracing::debug!("closed a connection because its address has too many");
                        continue;
                    }
                    let (config, service) = (Arc::clone(&self.config), self.service.clone());
                    connections.start(network, |shutdown| {
                        config.serve(socket, address, service, shutdown)
                    });
                }
                Some(()) = connections.next_ended() => {}
            }
        }
        drop(self.listener);
        self.service.shut_down_further();
        connections.start_shutdown();
        drain(&self.service, self.drain, &mut connections, &mut signals).await;
        if connections.len() > 0 {
            tracing::warn!(
                connections = connections.len(),
                "aborting connections that did not end in time"
            );
        }
        let requests = self.service.requests_in_flight();
        if requests > 0 {
            tracing::warn!(requests, "requests did not end in time");
        }
        connections.abort_all().await;
        Ok(())
    }
}

impl HttpListener {
    /// Returns the network of a client, if connections are counted for each network.
    fn counted_network(&self, socket: &TcpStream) -> Option<IpAddr> {
        self.max_connections_per_address?;
        let peer = socket.peer_addr().ok()?;
        Some(client_network(peer.ip()))
    }

    fn may_serve(&self, connections: &Connections, network: Option<IpAddr>) -> bool {
        match (network, self.max_connections_per_address) {
            (Some(network), Some(limit)) => connections.has_capacity(network, limit),
            _ => true,
        }
    }
}

/// Waits until all requests have ended and their changes are published, at most for the drain timeout.
async fn drain(
    service: &HttpService,
    timeout: Duration,
    connections: &mut Connections,
    signals: &mut Signals,
) {
    // Requests of the 2025 revisions continue after their client has disconnected.
    let finished = async {
        let requests = async { tokio::join!(connections.all_ended(), service.wait_until_idle()) };
        tokio::join!(requests, service.stop_tasks(timeout / 2));
        // A request has its response before its changes are published.
        service.wait_until_published().await;
    };
    let mut finished = std::pin::pin!(finished);
    let stop_timeout = (timeout / 10).min(MAX_STOP_TIMEOUT);
    tokio::select! {
        () = &mut finished => return,
        () = signals.next() => {
            tracing::warn!("shutting down at once");
            return;
        }
        () = tokio::time::sleep(timeout.saturating_sub(stop_timeout)) => {}
    }
    service.stop_requests();
    tokio::select! {
        () = &mut finished => {}
        () = signals.next() => tracing::warn!("shutting down at once"),
        () = tokio::time::sleep(stop_timeout) => {}
    }
}

/// Returns the address under which clients on this machine reach a listener. No client can send `0.0.0.0` or `[::]`
/// as the host.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

fn serve(
    server: Server,
    listener: TcpListener,
    options: HttpOptions,
) -> BoxFuture<'static, Result<(), Error>> {
    let writes_start_message = options.start_message;
    match HttpListener::from_listener(server, listener, options) {
        Ok(listener) => {
            if writes_start_message {
                let snapshot = listener.server.snapshot();
                start_message::write_for_http(&snapshot.info, &listener.url);
            }
            boxed_run(listener)
        }
        Err(error) => Box::pin(std::future::ready(Err(error))),
    }
}

/// Boxes the future of a listener, so that it is compiled in this crate and not again in each program.
fn boxed_run(listener: HttpListener) -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(listener.run_until_shutdown())
}

impl fmt::Debug for HttpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpListener")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Serves HTTP at `/mcp` until the server is shut down or the process gets SIGINT or SIGTERM.
    ///
    /// By default, only requests of clients on this machine are served; see [`HttpOptions::with_public_hosts`]. If
    /// standard error is a terminal, a line there contains the URL; see [`HttpOptions::without_start_message`].
    ///
    /// ```no_run
    /// # async fn serve() -> Result<(), toolwire::Error> {
    /// toolwire::Server::new("demo", "1.0.0").serve_http("127.0.0.1:3000").await
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound, for example because another program listens on it. Also returns
    /// an error if an extension needs something that the server does not offer.
    ///
    /// # Cancellation
    /// Dropping the future aborts all connections.
    #[doc(alias = "streamable", alias = "sse")]
    pub async fn serve_http(self, address: impl ToSocketAddrs) -> Result<(), Error> {
        self.serve_http_with(address, HttpOptions::default()).await
    }

    /// Serves HTTP as [`serve_http`](Self::serve_http) does, with these options.
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound, for example because another program listens on it. Also returns
    /// an error if an extension needs something that the server does not offer.
    ///
    /// # Cancellation
    /// Dropping the future aborts all connections.
    pub async fn serve_http_with(
        self,
        address: impl ToSocketAddrs,
        options: HttpOptions,
    ) -> Result<(), Error> {
        let listener = bind(address).await?;
        serve(self, listener, options).await
    }
}

/// Binds to the first available address.
async fn bind(address: impl ToSocketAddrs) -> Result<TcpListener, Error> {
    let addresses = tokio::net::lookup_host(address).await.map_err(|error| {
        Error::io(
            "the listen address cannot be resolved; an example of a valid address is 127.0.0.1:3000",
            error,
        )
    })?;
    let mut last_error = None;
    for address in addresses {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last_error = Some(Error::io(explain(address, &error), error)),
        }
    }
    Err(last_error.unwrap_or_else(|| {
        let error = io::Error::from(io::ErrorKind::NotFound);
        Error::io("the listen host name has no address", error)
    }))
}

/// Binds a listener as `TcpListener::bind` does, with a larger backlog.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Without this option, the port cannot be bound again for about a minute after a server has ended. On Windows, the
    // option has another meaning.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Returns an error message with the reason and a suggestion.
fn explain(address: SocketAddr, error: &io::Error) -> String {
    let port = address.port();
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "port {port} is in use; stop the program that listens on it, or choose another port (0 for any free port)"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("port {port} requires special permissions; choose a port above 1023")
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have that address; use 127.0.0.1 for local clients, 0.0.0.0 for all networks"
                .to_owned()
        }
        _ => error.to_string(),
    };
    format!("cannot listen on {address}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bind_error_contains_the_address_and_a_suggestion() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let check = |kind: io::ErrorKind, suggestion: &str| {
            let text = explain(address, &kind.into());
            assert!(
                text.starts_with("cannot listen on 127.0.0.1:80: "),
                "{text}"
            );
            assert!(text.contains(suggestion), "{text}");
        };
        check(io::ErrorKind::AddrInUse, "choose another port");
        check(io::ErrorKind::PermissionDenied, "above 1023");
        check(io::ErrorKind::AddrNotAvailable, "0.0.0.0");
        check(io::ErrorKind::OutOfMemory, "out of memory");
    }

    #[test]
    fn url_of_an_unspecified_address_names_the_loopback_address() {
        for (bound, expected) in [
            ("127.0.0.1:3000", "127.0.0.1:3000"),
            ("192.0.2.7:80", "192.0.2.7:80"),
            ("0.0.0.0:3000", "127.0.0.1:3000"),
            ("[::]:3000", "[::1]:3000"),
        ] {
            let bound = bound.parse().expect("an address");
            assert_eq!(reachable(bound).to_string(), expected);
        }
    }

    #[cfg(not(feature = "http2"))]
    #[tokio::test]
    async fn http2_connection_without_the_feature_is_closed() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let server = Server::new("minimal", "1");
        let options = HttpOptions::new();
        let listener = HttpListener::bind(server, "127.0.0.1:0", options)
            .await
            .unwrap();
        let address = listener.local_addr();
        let serving = tokio::spawn(listener.run());
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        socket.write_all(preface).await.unwrap();
        let mut output = Vec::new();
        socket.read_to_end(&mut output).await.unwrap();
        assert!(output.is_empty(), "{output:?}");
        serving.abort();
    }
}
