//! The HTTP client: hyper's pooled client with this crate's connector, redirects and limits.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, Version, request};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::client::http::{ClientBody, HttpClient, HttpError, HttpPhase};
use crate::engine::BoxFuture;
use crate::transport::http_client::addresses::AddressRules;
use crate::transport::http_client::authority::HostPort;
use crate::transport::http_client::connector::{Connector, ConnectorSettings};
use crate::transport::http_client::error_mapping;
use crate::transport::http_client::proxy::{ProxyRules, ProxySettings};
use crate::transport::http_client::redirect::{self, MAX_REDIRECTS};
use crate::transport::http_client::response_body::ResponseBody;
use crate::transport::http_client::tls::TlsSettings;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const IDLE_CONNECTIONS: usize = 64;
const MAX_HEADER_BYTES: u32 = 64 * 1024;

/// The pool adds the idle timeout to the current time, which must not overflow.
const MAX_IDLE_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Extra bytes for the status line and the separators of response headers. hyper stops reading at the sum of this value
/// and the limit. The exact limit of names and values is checked after that.
const HEADER_FRAMING_BYTES: u32 = 8 * 1024;

/// The smallest read buffer that hyper accepts.
const MIN_BUFFER_BYTES: u32 = 8 * 1024;

/// How often an HTTP/2 connection with open streams sends a ping, and how long the response may take.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// The HTTP client of toolwire: pooled connections, HTTP/1.1 and HTTP/2, TLS, proxies.
///
/// It is built on hyper.
///
/// * Connections are reused. HTTP/2 is used if the server chooses it in the TLS handshake.
/// * If the server closed a pooled connection before a byte of a request was written, the request is sent over another
///   connection. A request with a safe method (GET, HEAD) is also sent again if it was written to a reused connection
///   and no byte of a response arrived. So is a POST of a client of this crate whose message has no effect if the server
///   receives it twice: `initialize`, `server/discover`, `ping`, the lists, and the notifications of an initialization
///   and a cancellation. No other request is sent twice.
/// * Only redirects with status 307 or 308 within the origin are followed, at most five.
/// * Proxies are read from the environment, see [`ProxySettings::from_environment`].
///
/// The client has no response timeout. Callers set their own. A connection ends with the tokio runtime that opened it,
/// so use one client per runtime.
///
/// ```no_run
/// use bytes::Bytes;
/// use toolwire::transport::http_client::{HttpClient, HyperClient};
///
/// # async fn get() -> Result<(), Box<dyn std::error::Error>> {
/// let http = HyperClient::new();
/// let response = http.send(http::Request::get("https://example.com/").body(Bytes::new())?).await?;
/// assert_eq!(response.status(), 200);
/// # Ok(())
/// # }
/// ```
pub struct HyperClient {
    settings: ClientSettings,
    proxies: Arc<ProxyRules>,
    client: Client<Connector, Full<Bytes>>,
}

/// Marks a request that may be sent again, although its method is not safe. It is an extension of the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeatable;

/// Marks a request whose redirects are returned as responses. It is an extension of the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct WithoutRedirects;

#[derive(Clone, Debug)]
struct ClientSettings {
    connect_timeout: Duration,
    idle_timeout: Duration,
    idle_connections: usize,
    header_bytes: u32,
    addresses: AddressRules,
    proxies: ProxySettings,
    tls: TlsSettings,
}

impl HyperClient {
    /// Creates a client with the default limits, the proxies of the environment, and the root certificates of the
    /// system.
    #[must_use]
    pub fn new() -> Self {
        Self::from_settings(ClientSettings {
            connect_timeout: CONNECT_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            idle_connections: IDLE_CONNECTIONS,
            header_bytes: MAX_HEADER_BYTES,
            addresses: AddressRules::default(),
            proxies: ProxySettings::from_environment(),
            tls: TlsSettings::native(),
        })
    }

    /// Sets the timeout of connection attempts, from the resolution of the host to the end of the TLS handshake.
    /// Default: 10 s.
    #[must_use]
    pub fn with_connect_timeout(self, timeout: Duration) -> Self {
        self.with(|settings| settings.connect_timeout = timeout)
    }

    /// Sets how long an idle connection stays in the pool. Default: 60 s. The pool closes expired connections within
    /// twice that time.
    #[must_use]
    pub fn with_idle_timeout(self, time: Duration) -> Self {
        self.with(|settings| settings.idle_timeout = time)
    }

    /// Sets the maximum number of idle connections per host. Default: 64. With 0 no connection is reused.
    #[must_use]
    pub fn with_max_idle_per_host(self, count: usize) -> Self {
        self.with(|settings| settings.idle_connections = count)
    }

    /// Sets the maximum number of bytes of all names and values of the response headers. Default: 64 KiB.
    #[must_use]
    pub fn with_max_header_bytes(self, bytes: u32) -> Self {
        self.with(|settings| settings.header_bytes = bytes)
    }

    /// Sets the address of a host, which is then not resolved. The port of the address replaces the port of the URL.
    #[must_use]
    pub fn with_resolve_override(self, host: &str, address: SocketAddr) -> Self {
        self.with(|settings| settings.addresses.set_override(host, address))
    }

    /// Connects only to addresses for which the policy returns `true`. If the policy rejects one address of a host, the
    /// client does not connect to that host.
    ///
    /// The policy checks the resolved addresses right before the connection is opened, so a name that changes its
    /// address cannot bypass it. It checks every address, also those of
    /// [`with_resolve_override`](Self::with_resolve_override) and of proxies. It does not see where a proxy connects to,
    /// see [`without_proxy`](Self::without_proxy).
    ///
    /// ```
    /// use toolwire::transport::http_client::HyperClient;
    ///
    /// let http = HyperClient::new()
    ///     .without_proxy()
    ///     .with_address_policy(|address| !address.ip().is_loopback());
    /// ```
    #[must_use]
    pub fn with_address_policy(
        self,
        policy: impl Fn(SocketAddr) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.addresses.set_policy(policy))
    }

    /// Sets the proxies. They replace those of the environment.
    #[must_use]
    pub fn with_proxies(self, proxies: ProxySettings) -> Self {
        self.with(|settings| settings.proxies = proxies)
    }

    /// Sends every request without a proxy.
    #[must_use]
    pub fn without_proxy(self) -> Self {
        self.with_proxies(ProxySettings::none())
    }

    /// Adds root certificates in PEM to those of the system.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no certificate, or if one of them is invalid.
    pub fn with_root_certificates(mut self, pem: &[u8]) -> Result<Self, HttpError> {
        self.settings.tls.add(pem)?;
        Ok(Self::from_settings(self.settings))
    }

    /// Removes the root certificates of the system, so that only those of
    /// [`with_root_certificates`](Self::with_root_certificates) are trusted.
    #[must_use]
    pub fn without_native_roots(self) -> Self {
        self.with(|settings| settings.tls.remove_native())
    }

    /// Sets the TLS configuration, for example one with a client certificate. The client replaces its list of
    /// protocols. Root certificates that were added before are not used.
    #[must_use]
    pub fn with_tls(self, config: Arc<rustls::ClientConfig>) -> Self {
        self.with(|settings| settings.tls = TlsSettings::from_config(&config))
    }

    /// Replaces the resolver of the system.
    #[cfg(test)]
    pub(in crate::transport) fn with_scripted_resolver(
        self,
        resolver: impl Fn(&str) -> Vec<SocketAddr> + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.addresses.set_resolver(resolver))
    }

    fn with(mut self, change: impl FnOnce(&mut ClientSettings)) -> Self {
        change(&mut self.settings);
        Self::from_settings(self.settings)
    }

    fn from_settings(settings: ClientSettings) -> Self {
        let proxies = Arc::new(settings.proxies.rules());
        let connector = Connector::new(ConnectorSettings {
            timeout: settings.connect_timeout,
            addresses: settings.addresses.clone(),
            proxies: Arc::clone(&proxies),
            tls: settings.tls.clone(),
        });
        // The pool does not evict connections without an idle timeout.
        let idle_connections = match settings.idle_timeout {
            Duration::ZERO => 0,
            _ => settings.idle_connections,
        };
        let read_bytes = settings.header_bytes.saturating_add(HEADER_FRAMING_BYTES);
        let buffer_bytes = usize::try_from(read_bytes.max(MIN_BUFFER_BYTES)).unwrap_or(usize::MAX);
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(settings.idle_timeout.min(MAX_IDLE_TIMEOUT))
            .pool_max_idle_per_host(idle_connections)
            .http1_max_buf_size(buffer_bytes)
            .http2_max_header_list_size(read_bytes)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .build(connector);
        Self {
            settings,
            proxies,
            client,
        }
    }

    async fn send_once(
        &self,
        parts: &mut request::Parts,
        body: &Bytes,
    ) -> Result<Response<ClientBody>, HttpError> {
        let is_repeatable =
            parts.method.is_safe() || parts.extensions.get::<Repeatable>().is_some();
        loop {
            // The clone is for the next attempt, because a cloned header map has no room for the headers of hyper.
            let next = parts.clone();
            let original = std::mem::replace(parts, next);
            let mut request = Request::from_parts(original, Full::new(body.clone()));
            if let Some(credentials) = self.proxies.credentials_for(&parts.uri)? {
                let headers = request.headers_mut();
                headers.insert(PROXY_AUTHORIZATION, credentials);
            }
            let mut response = match self.client.request(request).await {
                Ok(response) => response,
                Err(error)
                    if is_repeatable
                        && error_mapping::failed_without_response_on_reused_connection(&error) =>
                {
                    continue;
                }
                Err(error) => return Err(error_mapping::no_response(&parts.uri, error)),
            };
            if header_bytes(response.headers()) > u64::from(self.settings.header_bytes) {
                let limit = self.settings.header_bytes;
                return Err(error_mapping::headers_too_large(&parts.uri, limit));
            }
            // The extensions contain what the connector attached to the connection.
            response.extensions_mut().clear();
            return Ok(ResponseBody::wrap(response, &parts.uri));
        }
    }
}

fn header_bytes(headers: &HeaderMap) -> u64 {
    let bytes = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    bytes.sum::<usize>() as u64
}

impl Default for HyperClient {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpClient for HyperClient {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            HostPort::check(&parts.uri)?;
            reject_credentials(&parts.uri)?;
            // The connection decides which version is used.
            parts.version = Version::HTTP_11;
            set_length(&mut parts, &body);
            set_host(&mut parts);
            let follows_redirects = parts.extensions.get::<WithoutRedirects>().is_none();
            let mut redirects = 0;
            loop {
                let response = self.send_once(&mut parts, &body).await?;
                if !follows_redirects {
                    return Ok(response);
                }
                match redirect::target(&parts.uri, response.status(), response.headers())? {
                    None => return Ok(response),
                    Some(target) if redirects == MAX_REDIRECTS => {
                        return Err(redirect::too_many(&target));
                    }
                    Some(target) => {
                        redirects += 1;
                        parts.uri = target;
                    }
                }
            }
        })
    }
}

/// Rejects a URL with credentials: they would appear in logs, and the client does not send them.
fn reject_credentials(uri: &Uri) -> Result<(), HttpError> {
    match uri.authority() {
        Some(authority) if authority.as_str().contains('@') => Err(HttpError::new(
            HttpPhase::Prepare,
            "the URL has credentials in it",
        )
        .with_advice("send them in an `Authorization` header")),
        _ => Ok(()),
    }
}

/// Removes the length headers of the request, and sets the length of an empty body.
fn set_length(parts: &mut request::Parts, body: &Bytes) {
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.remove(TRANSFER_ENCODING);
    // RFC 9110, 8.6: an empty body has a length if the method expects a body. hyper sets all other lengths.
    let expects_body = [Method::POST, Method::PUT, Method::PATCH].contains(&parts.method);
    if body.is_empty() && expects_body {
        let zero = HeaderValue::from_static("0");
        parts.headers.insert(CONTENT_LENGTH, zero);
    }
}

/// Sets `Host` where it is the authority of the URL. hyper-util sets it otherwise, with more work.
fn set_host(parts: &mut request::Parts) {
    // HTTP/2 needs no `Host`, and is used with TLS only. The default port is not named.
    let is_authority = parts.uri.scheme() == Some(&Scheme::HTTP)
        && parts.uri.port_u16() != Some(80)
        && !parts.headers.contains_key(HOST);
    if is_authority
        && let Some(authority) = parts.uri.authority()
        && let Ok(value) = HeaderValue::from_str(authority.as_str())
    {
        parts.headers.insert(HOST, value);
    }
}

impl fmt::Debug for HyperClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HyperClient").field(&self.settings).finish()
    }
}
