//! The listener behind [`Server::serve_http`].

mod accept;
mod buffer_sizes;
mod connection;
mod connections;
mod fast_path;
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
use std::net::{IpAddr, SocketAddr};
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

/// How many connections may wait to be accepted. A client that finds no place tries again after a second.
const BACKLOG: u32 = 1024;

/// A server that is bound to an address, HTTP/1.1 and HTTP/2 alike.
///
/// [`Server::serve_http`] is the short way. This one is for callers who want to know the address before serving begins:
/// clients can connect as soon as it exists.
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
    setup: Arc<ConnectionConfig>,
    url: String,
    signals: bool,
    max_connections: usize,
    max_connections_per_address: Option<usize>,
    drain: Duration,
}

impl HttpListener {
    /// Binds a server to an address. Port 0 is any free port.
    ///
    /// # Errors
    /// When the address cannot be bound, most likely because another program already listens there.
    pub async fn bind(
        server: Server,
        address: impl ToSocketAddrs,
        options: HttpOptions,
    ) -> Result<Self, Error> {
        Self::from_listener(server, bind(address).await?, options)
    }

    /// Serves on a listener of your own: where options depend on the port that was chosen, as the address of a protected
    /// server does, or where another process has bound it.
    ///
    /// # Errors
    /// When its address cannot be read.
    pub fn from_listener(
        server: Server,
        listener: TcpListener,
        options: HttpOptions,
    ) -> Result<Self, Error> {
        let local_address = listener
            .local_addr()
            .map_err(|error| Error::io("the address bound to cannot be read", error))?;
        let setup = ConnectionConfig::new(&options.limits);
        #[cfg(feature = "tls")]
        let (setup, scheme) = match &options.tls {
            Some(config) => {
                let acceptor = crate::transport::http::listener::tls::acceptor(config);
                (setup.with_tls(acceptor), "https")
            }
            None => (setup, "http"),
        };
        #[cfg(not(feature = "tls"))]
        let scheme = "http";
        Ok(Self {
            url: format!("{scheme}://{local_address}{}", options.path),
            listener,
            local_address,
            signals: options.signals,
            max_connections: options.limits.connections,
            max_connections_per_address: options.limits.connections_per_address,
            drain: options.limits.drain,
            setup: Arc::new(setup),
            service: HttpService::new(server.clone(), options),
            server,
        })
    }

    /// The address it is bound to, with the port that was chosen.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_address
    }

    /// Where a client on this machine finds the server: `http://127.0.0.1:3000/mcp`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The service that answers, to see how much it has to do. Clones share everything.
    #[must_use]
    pub fn service(&self) -> &HttpService {
        &self.service
    }

    /// Serves until the server is shut down, or a signal asks for it.
    ///
    /// Then no connection is accepted any more, open ones end after the requests they have begun, and after
    /// [`drain`](crate::transport::http::HttpLimits::drain) what is left is cut off. A second signal does so at once.
    ///
    /// # Errors
    /// When signals cannot be heard.
    ///
    /// # Cancellation
    /// Dropping the future cuts off every connection.
    pub async fn run(self) -> Result<(), Error> {
        running(self).await
    }

    async fn run_to_the_end(self) -> Result<(), Error> {
        let mut signals = match self.signals {
            true => {
                Signals::heard().map_err(|error| Error::io("signals cannot be heard", error))?
            }
            false => Signals::ignored(),
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
                // Further connections wait in the backlog of the system.
                (socket, address) = accept(&self.listener, &mut backoff),
                    if connections.len() < self.max_connections =>
                {
                    let network = self.counted_network(&socket);
                    if !self.may_serve(&connections, network) {
                        tracing::debug!("closed a connection: its address has too many");
                        continue;
                    }
                    let (setup, service) = (Arc::clone(&self.setup), self.service.clone());
                    connections.start(network, |leave| setup.serve(socket, address, service, leave));
                }
                Some(()) = connections.next_ended() => {}
            }
        }
        drop(self.listener);
        connections.start_shutdown();
        // Requests of the 2025 revisions run on when their client has gone.
        let finished = async { tokio::join!(connections.all_ended(), self.service.idle()) };
        tokio::select! {
            _ = finished => {}
            () = signals.next() => tracing::warn!("shutting down at once"),
            () = tokio::time::sleep(self.drain) => {}
        }
        if connections.len() > 0 {
            tracing::warn!(connections = connections.len(), "cut off what did not end");
        }
        connections.abort_all().await;
        Ok(())
    }
}

impl HttpListener {
    /// Returns the network of a client, if connections are counted for each.
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

fn serving(
    server: Server,
    listener: TcpListener,
    options: HttpOptions,
) -> BoxFuture<'static, Result<(), Error>> {
    match HttpListener::from_listener(server, listener, options) {
        Ok(listener) => running(listener),
        Err(error) => Box::pin(std::future::ready(Err(error))),
    }
}

/// In a box, so that all of it is compiled here, and not anew in each program that serves.
fn running(listener: HttpListener) -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(listener.run_to_the_end())
}

impl fmt::Debug for HttpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpListener")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Serves on HTTP, at `/mcp`, until the server is shut down or the process gets SIGINT or SIGTERM.
    ///
    /// Only clients on this machine are answered by default; see [`HttpOptions::with_public_hosts`].
    ///
    /// ```no_run
    /// # async fn serve() -> Result<(), toolwire::Error> {
    /// toolwire::Server::new("demo", "1.0.0").serve_http("127.0.0.1:3000").await
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the address cannot be bound, most likely because another program already listens there.
    ///
    /// # Cancellation
    /// Dropping the future cuts off every connection.
    pub async fn serve_http(self, address: impl ToSocketAddrs) -> Result<(), Error> {
        self.serve_http_with(address, HttpOptions::default()).await
    }

    /// [`serve_http`](Self::serve_http) with options.
    ///
    /// # Errors
    /// When the address cannot be bound, most likely because another program already listens there.
    ///
    /// # Cancellation
    /// Dropping the future cuts off every connection.
    pub async fn serve_http_with(
        self,
        address: impl ToSocketAddrs,
        options: HttpOptions,
    ) -> Result<(), Error> {
        let listener = bind(address).await?;
        serving(self, listener, options).await
    }
}

/// Binds to the first address that can be had.
async fn bind(address: impl ToSocketAddrs) -> Result<TcpListener, Error> {
    let addresses = tokio::net::lookup_host(address).await.map_err(|error| {
        Error::io(
            "the address to listen on cannot be resolved; it looks like 127.0.0.1:3000",
            error,
        )
    })?;
    let mut refusal = None;
    for address in addresses {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => refusal = Some(Error::io(explain(address, &error), error)),
        }
    }
    Err(refusal.unwrap_or_else(|| {
        let error = io::Error::from(io::ErrorKind::NotFound);
        Error::io("the name to listen on has no address", error)
    }))
}

/// As `TcpListener::bind`, with room for more connections than its default holds.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A server that was just ended leaves its port in a state that would keep its successor away for a minute. On Windows
    // the option means something else.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What went wrong, and what can be done about it.
fn explain(address: SocketAddr, error: &io::Error) -> String {
    let port = address.port();
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "port {port} is taken; stop the program that listens there, or choose another port (0 for any free one)"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("port {port} needs special rights; choose a port above 1023")
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have that address; 127.0.0.1 serves local clients, 0.0.0.0 all networks"
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
    fn a_refusal_names_the_address_and_the_remedy() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let check = |kind: io::ErrorKind, remedy: &str| {
            let text = explain(address, &kind.into());
            assert!(
                text.starts_with("cannot listen on 127.0.0.1:80: "),
                "{text}"
            );
            assert!(text.contains(remedy), "{text}");
        };
        check(io::ErrorKind::AddrInUse, "choose another port");
        check(io::ErrorKind::PermissionDenied, "above 1023");
        check(io::ErrorKind::AddrNotAvailable, "0.0.0.0");
        check(io::ErrorKind::OutOfMemory, "out of memory");
    }

    #[cfg(not(feature = "http2"))]
    #[tokio::test]
    async fn a_connection_that_begins_with_http2_is_closed() {
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
        let mut said = Vec::new();
        socket.read_to_end(&mut said).await.unwrap();
        assert!(said.is_empty(), "{said:?}");
        serving.abort();
    }
}
