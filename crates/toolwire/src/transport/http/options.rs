//! How a server is put on HTTP.

use std::sync::Arc;
use std::time::Duration;

use crate::store::{Bus, EventLog, MemoryEventLog, MemorySessionStore, SessionStore};
use crate::transport::http::{Authorizer, HttpLimits};

/// How a server is put on HTTP. The defaults are safe on a machine of one's own: only local names are answered.
///
/// ```
/// use toolwire::transport::http::{HttpOptions, LegacyMode};
///
/// let options = HttpOptions::new()
///     .with_public_hosts(["mcp.example.com"])
///     .with_legacy(LegacyMode::Stateless);
/// ```
#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub(crate) path: String,
    pub(crate) legacy: LegacyMode,
    pub(crate) public_hosts: Vec<String>,
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) rejects_loopback_origins: bool,
    pub(crate) any_host: bool,
    pub(crate) http_sse: bool,
    pub(crate) signals: bool,
    pub(crate) retry: Duration,
    pub(crate) limits: HttpLimits,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) events: Arc<dyn EventLog>,
    pub(crate) bus: Option<Arc<dyn Bus>>,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
}

/// How clients of the 2025 revisions are served. Requests of 2026-07-28 are stateless in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LegacyMode {
    /// `initialize` opens a session: the server may ask the client, push changes, and resume streams.
    #[default]
    Sessions,
    /// Every request stands alone. Nothing is remembered, so the client cannot be asked anything, and any node can serve
    /// any request without shared stores.
    Stateless,
    /// Only 2026-07-28 is served; others are told so.
    Reject,
}

impl HttpOptions {
    /// The endpoint `/mcp` for local clients of every revision.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves at another path than `/mcp`. A router that strips the prefix it mounts something at leaves `/`.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Serves only requests whose access token this verifies.
    #[must_use]
    pub fn with_authorizer(mut self, authorizer: impl Authorizer + 'static) -> Self {
        self.authorizer = Some(Arc::new(authorizer));
        self
    }

    /// How 2025-era clients are served. The default is [`LegacyMode::Sessions`].
    #[must_use]
    pub fn with_legacy(mut self, mode: LegacyMode) -> Self {
        self.legacy = mode;
        self
    }

    /// The names under which the server is reached from elsewhere, as they stand in the `Host` header:
    /// `mcp.example.com` for any port, `mcp.example.com:8443` for one.
    ///
    /// Without them only `localhost`, loopback addresses and the address the connection came in on are answered: a web
    /// page could otherwise point a name of its own at this server and speak to it in the visitor's name.
    #[must_use]
    pub fn with_public_hosts<H: Into<String>>(
        mut self,
        hosts: impl IntoIterator<Item = H>,
    ) -> Self {
        self.public_hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Web pages that may call the server besides those of its own hosts: `https://app.example.com`.
    ///
    /// By default every loopback origin may call a server on a loopback host: any web page that is served from any port of
    /// `localhost`, `127.0.0.0/8` or `[::1]`. So development tools work without configuration, but every program on the
    /// machine that serves web pages can let them call this server. See
    /// [`without_loopback_origins`](Self::without_loopback_origins).
    #[must_use]
    pub fn with_allowed_origins<O: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = O>,
    ) -> Self {
        self.allowed_origins
            .extend(origins.into_iter().map(Into::into));
        self
    }

    /// Rejects web pages of this machine, except those of the server's own origin (the host and port of the request) and of
    /// [`with_allowed_origins`](Self::with_allowed_origins). Default: every loopback origin is allowed on a loopback host.
    #[must_use]
    pub fn without_loopback_origins(mut self) -> Self {
        self.rejects_loopback_origins = true;
        self
    }

    /// Answers to every name. For servers behind a proxy that checks the `Host` header itself.
    #[must_use]
    pub fn with_any_host(mut self) -> Self {
        self.any_host = true;
        self
    }

    /// Also serves the two endpoints of the deprecated 2024-11-05 transport: `GET /sse` and `POST /message`.
    #[must_use]
    pub fn with_http_sse(mut self) -> Self {
        self.http_sse = true;
        self
    }

    /// Leaves signals alone. By default `serve_http` shuts down gracefully on SIGINT and SIGTERM.
    #[must_use]
    pub fn without_signals(mut self) -> Self {
        self.signals = false;
        self
    }

    /// How long clients wait before they come back to a stream that was closed on them (2025-11-25). One second.
    #[must_use]
    pub fn with_sse_retry(mut self, delay: Duration) -> Self {
        self.retry = delay;
        self
    }

    /// Other bounds.
    #[must_use]
    pub fn with_limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Keeps sessions elsewhere than in the memory of this process.
    #[must_use]
    pub fn with_session_store(mut self, sessions: Arc<dyn SessionStore>) -> Self {
        self.sessions = sessions;
        self
    }

    /// Keeps the messages of resumable streams elsewhere than in the memory of this process.
    #[must_use]
    pub fn with_event_log(mut self, events: Arc<dyn EventLog>) -> Self {
        self.events = events;
        self
    }

    /// Shares changes, answers and cancellations with the other nodes of the service.
    #[must_use]
    pub fn with_bus(mut self, bus: Arc<dyn Bus>) -> Self {
        self.bus = Some(bus);
        self
    }

    /// Serves HTTPS with this configuration. HTTP/2 is offered too unless the configuration names other protocols.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, config: Arc<rustls::ServerConfig>) -> Self {
        self.tls = Some(config);
        self
    }
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            legacy: LegacyMode::default(),
            public_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            rejects_loopback_origins: false,
            any_host: false,
            http_sse: false,
            signals: true,
            retry: Duration::from_secs(1),
            limits: HttpLimits::default(),
            sessions: Arc::new(MemorySessionStore::default()),
            events: Arc::new(MemoryEventLog::default()),
            bus: None,
            authorizer: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}
