//! HTTP over sockets: HTTP/1.1 as this crate speaks it, HTTP/2 as hyper does, with a pool and a connector for both.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, Uri, Version, request};

use crate::engine::BoxFuture;

use crate::transport::http_client::addresses::Addresses;
use crate::transport::http_client::connector::{Connector, Plan};
use crate::transport::http_client::explain;
use crate::transport::http_client::origin::IdleLimits;
use crate::transport::http_client::pool::Pool;
use crate::transport::http_client::proxy::HttpProxies;
use crate::transport::http_client::redirect::{self, MAX_REDIRECTS};
use crate::transport::http_client::tls::Trust;
use crate::transport::http_client::{HttpBody, HttpClient, HttpFailure, HttpStep};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const IDLE_TIME: Duration = Duration::from_secs(60);
const IDLE_CONNECTIONS: usize = 64;
const HEAD_LIMIT: u32 = 64 * 1024;

/// What a head may have beside the names and values of its headers: its first line, and the bytes between them. No more
/// than all of it together is read, in whole reads, so the exact limit is checked here.
const HEAD_FRAMING: u32 = 8 * 1024;

/// The HTTP client that comes with toolwire: pooled connections, HTTP/1.1 and HTTP/2, TLS, proxies.
///
/// * Connections are kept for later requests; HTTP/2 is spoken where the server chooses it in the TLS handshake.
/// * A request that meets a connection which the server has closed in the meantime goes over a new one, if none of its
///   bytes were written. So does a GET or HEAD request that was written and got no byte of a response. No other request
///   is ever sent twice.
/// * Only redirects with status 307 or 308 within the origin are followed, five at most.
/// * Proxies are taken from the environment, see [`HttpProxies::from_environment`].
///
/// It has no deadline of its own for answers; those who wait for one have.
///
/// ```no_run
/// use bytes::Bytes;
/// use toolwire::transport::http_client::{HttpClient, HyperHttp};
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let http = HyperHttp::new();
/// let answer = http.send(http::Request::get("https://example.com/").body(Bytes::new())?).await?;
/// assert_eq!(answer.status(), 200);
/// # Ok(())
/// # }
/// ```
pub struct HyperHttp {
    settings: Settings,
    pool: Pool,
}

#[derive(Clone, Debug)]
struct Settings {
    connect_timeout: Duration,
    idle_time: Duration,
    idle_connections: usize,
    head_limit: u32,
    addresses: Addresses,
    proxies: HttpProxies,
    trust: Trust,
}

impl HyperHttp {
    /// A client with the limits named at each option, the proxies of the environment, and the root certificates of the
    /// machine.
    #[must_use]
    pub fn new() -> Self {
        Self::from_settings(Settings {
            connect_timeout: CONNECT_TIMEOUT,
            idle_time: IDLE_TIME,
            idle_connections: IDLE_CONNECTIONS,
            head_limit: HEAD_LIMIT,
            addresses: Addresses::default(),
            proxies: HttpProxies::from_environment(),
            trust: Trust::native(),
        })
    }

    /// How long it may take to be connected, from the name of the host to the end of the TLS handshake: 10 seconds if
    /// not said otherwise.
    #[must_use]
    pub fn with_connect_timeout(self, timeout: Duration) -> Self {
        self.with(|settings| settings.connect_timeout = timeout)
    }

    /// How long a connection is kept that nobody uses: 60 seconds if not said otherwise.
    #[must_use]
    pub fn with_idle_time(self, time: Duration) -> Self {
        self.with(|settings| settings.idle_time = time)
    }

    /// How many unused connections are kept for each host: 64 if not said otherwise. With 0 none is used twice.
    #[must_use]
    pub fn with_idle_connections(self, count: usize) -> Self {
        self.with(|settings| settings.idle_connections = count)
    }

    /// How many bytes the names and the values of an answer's headers may have together: 64 KiB if not said otherwise.
    #[must_use]
    pub fn with_head_limit(self, bytes: u32) -> Self {
        self.with(|settings| settings.head_limit = bytes)
    }

    /// Reaches this host at this address, whatever the name servers say. The port of the address counts, that of the
    /// URL does not.
    #[must_use]
    pub fn with_address(self, host: &str, address: SocketAddr) -> Self {
        self.with(|settings| settings.addresses.pin(host, address))
    }

    /// Connects only to addresses for which this says yes. A name any of whose addresses it refuses is not asked at all.
    ///
    /// It judges what a name really led to, right before the connection is made, so a name that suddenly leads to an
    /// address inside the network does not get around it. It judges every address that is connected to, pinned ones
    /// and those of proxies too; where a proxy goes from there it cannot see, see
    /// [`without_proxy`](Self::without_proxy).
    ///
    /// ```
    /// use toolwire::transport::http_client::HyperHttp;
    ///
    /// let http = HyperHttp::new()
    ///     .without_proxy()
    ///     .with_address_policy(|address| !address.ip().is_loopback());
    /// ```
    #[must_use]
    pub fn with_address_policy(
        self,
        policy: impl Fn(SocketAddr) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.addresses.judge_by(policy))
    }

    /// Uses these proxies in place of those that the environment names.
    #[must_use]
    pub fn with_proxies(self, proxies: HttpProxies) -> Self {
        self.with(|settings| settings.proxies = proxies)
    }

    /// Asks every server directly.
    #[must_use]
    pub fn without_proxy(self) -> Self {
        self.with_proxies(HttpProxies::none())
    }

    /// Trusts these certificates too, in PEM, beside those of the machine.
    ///
    /// # Errors
    ///
    /// When there is no certificate, or one that cannot be used.
    pub fn with_root_certificates(mut self, pem: &[u8]) -> Result<Self, HttpFailure> {
        self.settings.trust.add(pem)?;
        Ok(Self::from_settings(self.settings))
    }

    /// Does not trust the certificates of the machine, only those given with
    /// [`with_root_certificates`](Self::with_root_certificates).
    #[must_use]
    pub fn without_native_roots(self) -> Self {
        self.with(|settings| settings.trust.forget_native())
    }

    /// Shakes hands with this configuration, for instance one that has a certificate of the client. Which version of
    /// HTTP is offered is not taken from it, and root certificates given before no longer count.
    #[must_use]
    pub fn with_tls(self, config: Arc<rustls::ClientConfig>) -> Self {
        self.with(|settings| settings.trust = Trust::given(config))
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        Self::from_settings(self.settings)
    }

    fn from_settings(settings: Settings) -> Self {
        let connector = Connector::new(Plan {
            timeout: settings.connect_timeout,
            addresses: settings.addresses.clone(),
            proxies: settings.proxies.rules(),
            trust: settings.trust.clone(),
        });
        let idle = IdleLimits {
            time: settings.idle_time,
            connections: settings.idle_connections,
        };
        let head_room = settings.head_limit.saturating_add(HEAD_FRAMING);
        Self {
            pool: Pool::new(connector, idle, head_room),
            settings,
        }
    }

    async fn send_once(
        &self,
        head: &request::Parts,
        body: &Bytes,
    ) -> Result<Response<HttpBody>, HttpFailure> {
        let origin = self.pool.origin(&head.uri)?;
        let answer = self.pool.send(head, body, &origin).await?;
        let bytes = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
        match answer.headers().iter().map(bytes).sum::<usize>() <= self.settings.head_limit as usize
        {
            true => Ok(answer),
            false => Err(explain::long_head(origin.place(), self.settings.head_limit)),
        }
    }
}

impl Default for HyperHttp {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpClient for HyperHttp {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<HttpBody>, HttpFailure>> {
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            refuse_credentials(&head.uri)?;
            // Which version is spoken is the connection's choice.
            head.version = Version::HTTP_11;
            let mut followed = 0;
            loop {
                let answer = self.send_once(&head, &body).await?;
                match redirect::target(&head.uri, answer.status(), answer.headers())? {
                    None => return Ok(answer),
                    Some(target) if followed == MAX_REDIRECTS => {
                        return Err(redirect::too_many(&target));
                    }
                    Some(target) => {
                        followed += 1;
                        head.uri = target;
                    }
                }
            }
        })
    }
}

/// Credentials in a URL end up in logs, and nobody would send them.
fn refuse_credentials(uri: &Uri) -> Result<(), HttpFailure> {
    match uri.authority() {
        Some(authority) if authority.as_str().contains('@') => Err(HttpFailure::new(
            HttpStep::Prepare,
            "the URL has credentials in it",
        )
        .with_advice("send them in an `Authorization` header")),
        _ => Ok(()),
    }
}

impl fmt::Debug for HyperHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HyperHttp").field(&self.settings).finish()
    }
}
