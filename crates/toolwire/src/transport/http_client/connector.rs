//! Opens the connections of the HTTP client: resolves the host, connects, asks a proxy for a tunnel, negotiates TLS.
//!
//! One deadline covers all these steps. This module does not pool connections and does not send requests.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, Write};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use crate::client::http::{HttpError, HttpPhase};
use crate::engine::{BoxFuture, deadline_after};
use crate::transport::http_client::addresses::AddressRules;
use crate::transport::http_client::authority::HostPort;
use crate::transport::http_client::error_mapping;
use crate::transport::http_client::proxy::{Proxy, ProxyRules};
use crate::transport::http_client::stream::{ClientStream, PeerStream};
use crate::transport::http_client::tls::TlsSettings;
use crate::transport::http_client::tunnel;

/// How long the first address family is tried alone, if a host has addresses of both families.
const HAPPY_EYEBALLS_DELAY: Duration = Duration::from_millis(250);

/// When and how often TCP probes a connection without traffic. An event stream may be silent for hours, and a peer that
/// disappeared must not keep it open.
const KEEPALIVE_TIME: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// A URL for a connector whose resolver knows the addresses. It has no port, so the ports of the addresses are used.
const RESOLVED: &str = "http://resolved.invalid/";

/// Opens connections for hyper's client.
#[derive(Clone)]
pub(super) struct Connector(Arc<ConnectorSettings>);

/// The settings of a connector.
pub(super) struct ConnectorSettings {
    pub(super) timeout: Duration,
    pub(super) addresses: AddressRules,
    pub(super) proxies: Arc<ProxyRules>,
    pub(super) tls: TlsSettings,
}

impl Connector {
    pub(super) fn new(settings: ConnectorSettings) -> Self {
        Self(Arc::new(settings))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<ClientStream>;
    type Error = HttpError;
    type Future = BoxFuture<'static, Result<TokioIo<ClientStream>, HttpError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), HttpError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let settings = Arc::clone(&self.0);
        Box::pin(async move { settings.connect(&uri).await })
    }
}

impl ConnectorSettings {
    /// Opens a connection over which requests to this URL can be sent.
    async fn connect(&self, uri: &Uri) -> Result<TokioIo<ClientStream>, HttpError> {
        let server = HostPort::of(uri)?;
        let is_https = uri.scheme() == Some(&Scheme::HTTPS);
        let deadline = ConnectionDeadline::after(self.timeout);
        if let Some(proxy) = self.proxies.proxy_for(uri)? {
            let stream = self.connect_to_proxy(&proxy, deadline).await?;
            if !is_https {
                return Ok(ClientStream::to_proxy(stream));
            }
            let opening = || format!("the tunnel through the proxy {} to {server}", proxy.host());
            let stream = deadline
                .limit(
                    HttpPhase::Proxy,
                    opening,
                    tunnel::open(stream, &proxy, &server),
                )
                .await??;
            return self.connect_tls(stream, &server, deadline).await;
        }
        let stream = MaybeHttpsStream::Http(self.connect_tcp(&server, deadline).await?);
        if is_https {
            self.connect_tls(stream, &server, deadline).await
        } else {
            Ok(ClientStream::to_server(MaybeHttpsStream::Http(stream)))
        }
    }

    async fn connect_to_proxy(
        &self,
        proxy: &Proxy,
        deadline: ConnectionDeadline,
    ) -> Result<PeerStream, HttpError> {
        let stream = self.connect_tcp(proxy.host(), deadline).await?;
        if !proxy.uses_tls() {
            return Ok(MaybeHttpsStream::Http(stream));
        }
        let config = self.tls.configs().await?.for_proxies();
        handshake(stream, proxy.host(), config, deadline).await
    }

    async fn connect_tls(
        &self,
        stream: PeerStream,
        server: &HostPort,
        deadline: ConnectionDeadline,
    ) -> Result<TokioIo<ClientStream>, HttpError> {
        let config = self.tls.configs().await?.for_servers();
        let stream = handshake(stream, server, config, deadline).await?;
        Ok(ClientStream::to_server(stream))
    }

    async fn connect_tcp(
        &self,
        host: &HostPort,
        deadline: ConnectionDeadline,
    ) -> Result<TokioIo<TcpStream>, HttpError> {
        let resolving = || format!("the resolution of {}", host.name());
        let addresses = deadline
            .limit(HttpPhase::Resolve, resolving, self.addresses.resolve(host))
            .await??;
        // With several addresses each gets its share of the time, so that the next one is tried in time.
        let timeout = (addresses.len() > 1).then_some(self.timeout);
        let mut connector = HttpConnector::new_with_resolver(ResolvedAddresses(addresses));
        connector.set_happy_eyeballs_timeout(Some(HAPPY_EYEBALLS_DELAY));
        connector.set_connect_timeout(timeout);
        connector.set_nodelay(true);
        connector.set_keepalive(Some(KEEPALIVE_TIME));
        connector.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        let connecting = || format!("the connection to {host}");
        deadline
            .limit(
                HttpPhase::Connect,
                connecting,
                connector.call(Uri::from_static(RESOLVED)),
            )
            .await?
            .map_err(|error| error_mapping::not_connected(host, error))
    }
}

async fn handshake<T: Read + Write + Unpin>(
    stream: T,
    server: &HostPort,
    config: Arc<ClientConfig>,
    deadline: ConnectionDeadline,
) -> Result<MaybeHttpsStream<T>, HttpError> {
    let name = ServerName::try_from(server.name().to_owned())
        .map_err(|error| error_mapping::invalid_server_name(server, error))?;
    let negotiating = || format!("the TLS handshake with {server}");
    let handshake = TlsConnector::from(config).connect(name, TokioIo::new(stream));
    deadline
        .limit(HttpPhase::Tls, negotiating, handshake)
        .await?
        .map(MaybeHttpsStream::from)
        .map_err(|error| error_mapping::no_tls(server, error))
}

/// The deadline of a connection attempt.
#[derive(Clone, Copy, Debug)]
struct ConnectionDeadline {
    at: Instant,
    timeout: Duration,
}

impl ConnectionDeadline {
    fn after(timeout: Duration) -> Self {
        Self {
            at: deadline_after(Instant::now(), timeout),
            timeout,
        }
    }

    /// Runs one step. `name` returns the subject of the error text if the deadline passes.
    async fn limit<T>(
        self,
        step: HttpPhase,
        name: impl FnOnce() -> String,
        work: impl Future<Output = T>,
    ) -> Result<T, HttpError> {
        timeout_at(self.at, work).await.map_err(|_| {
            let what = format!("{} was not complete within {:?}", name(), self.timeout);
            HttpError::new(step, what)
                .with_advice(
                    "check the address, the network and its firewalls, or use a longer connect timeout",
                )
                .timed_out()
        })
    }
}

/// A resolver that returns known addresses.
#[derive(Clone, Debug)]
struct ResolvedAddresses(Vec<SocketAddr>);

impl Service<Name> for ResolvedAddresses {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _name: Name) -> Self::Future {
        ready(Ok(self.0.clone().into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::transport::http_client::ProxySettings;

    async fn connect(addresses: Vec<SocketAddr>) -> Result<SocketAddr, HttpError> {
        let mut connector = HttpConnector::new_with_resolver(ResolvedAddresses(addresses));
        let connected = connector.call(Uri::from_static(RESOLVED)).await;
        let host = HostPort::of(&Uri::from_static(RESOLVED)).unwrap();
        let stream = connected.map_err(|error| error_mapping::not_connected(&host, error))?;
        Ok(stream.inner().peer_addr().unwrap())
    }

    #[tokio::test]
    async fn next_address_is_tried_with_its_own_port() {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closed = free.local_addr().unwrap();
        drop(free);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();

        assert_eq!(connect(vec![closed, open, closed]).await.unwrap(), open);
        let failure = connect(vec![closed, closed]).await.unwrap_err();
        assert!(failure.message().contains("refused"), "{failure}");
    }

    #[tokio::test]
    async fn sockets_have_no_delay_and_probe_silent_peers() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let settings = ConnectorSettings {
            timeout: Duration::from_secs(10),
            addresses: AddressRules::default(),
            proxies: Arc::new(ProxySettings::none().rules()),
            tls: TlsSettings::native(),
        };
        let host = HostPort::of(&Uri::try_from(uri).unwrap()).unwrap();
        let deadline = ConnectionDeadline::after(settings.timeout);
        let stream = settings.connect_tcp(&host, deadline).await.unwrap();
        assert!(stream.inner().nodelay().unwrap());
        let socket = socket2::SockRef::from(stream.inner());
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE_TIME);
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), KEEPALIVE_INTERVAL);
    }
}
