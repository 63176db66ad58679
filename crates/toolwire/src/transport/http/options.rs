//! Options of the HTTP transport.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::features::SupportedVersions;

use crate::store::{
    Bus, ClusterStores, EventLog, Mailboxes, MemoryEventLog, MemorySessionStore, SessionStore,
};
use crate::transport::http::access_log::{AccessLog, AccessRecord};
use crate::transport::http::limits::SESSION_IDLE_IN_STORE;
use crate::transport::http::{Authorizer, HttpLimits};

/// Options of the HTTP transport.
///
/// The defaults are safe on a developer's machine: only requests to local host names are served.
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
    pub(crate) start_message: bool,
    pub(crate) browser_page: bool,
    pub(crate) public_url: Option<String>,
    pub(crate) server_card: Option<String>,
    pub(crate) fast_path: bool,
    pub(crate) trusted_proxies: usize,
    pub(crate) access_log: Option<AccessLog>,
    pub(crate) retry: Duration,
    pub(crate) limits: HttpLimits,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) events: Arc<dyn EventLog>,
    /// Whether the sessions, and their streams, have stores that the program has set.
    has_store: HasStore,
    pub(crate) bus: Option<Arc<dyn Bus>>,
    pub(crate) mailboxes: Option<Arc<dyn Mailboxes>>,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
}

/// Which stores the program has set.
#[derive(Debug, Clone, Copy, Default)]
struct HasStore {
    sessions: bool,
    events: bool,
}

/// The way in which clients of the 2025 revisions are served. Requests of 2026-07-28 are stateless in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LegacyMode {
    /// `initialize` opens a session: the server can send requests to the client, push changes, and resume streams.
    #[default]
    Sessions,
    /// Every request is independent, and the server stores nothing between requests. The server cannot send requests to
    /// the client, and any node can serve any request without shared stores.
    Stateless,
    /// Only 2026-07-28 is served. Requests of other revisions are rejected.
    Reject,
}

impl LegacyMode {
    /// Returns the versions that an endpoint in this mode serves.
    pub(crate) fn served_versions(
        self,
        supported: &SupportedVersions,
    ) -> Cow<'_, SupportedVersions> {
        match self {
            Self::Reject => Cow::Owned(supported.modern().collect()),
            Self::Sessions | Self::Stateless => Cow::Borrowed(supported),
        }
    }
}

impl HttpOptions {
    /// Creates the default options: the endpoint `/mcp` for local clients of every revision.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the path of the endpoint. Default: `/mcp`. Behind a router that strips the prefix of a mounted service, the
    /// path is `/`.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the authorizer. Only requests whose access token it verifies are served.
    #[must_use]
    pub fn with_authorizer(mut self, authorizer: impl Authorizer + 'static) -> Self {
        self.authorizer = Some(Arc::new(authorizer));
        self
    }

    /// Sets how 2025-era clients are served. Default: [`LegacyMode::Sessions`].
    #[must_use]
    pub fn with_legacy(mut self, mode: LegacyMode) -> Self {
        self.legacy = mode;
        self
    }

    /// Adds public names of the server, as they appear in the `Host` header: `mcp.example.com` for any port,
    /// `mcp.example.com:8443` for one port.
    ///
    /// Without them, the server accepts only `localhost`, loopback addresses and the local address of the connection.
    /// This prevents DNS rebinding, where a web page points its own host name at this server and sends requests from
    /// the user's browser.
    #[must_use]
    pub fn with_public_hosts<H: Into<String>>(
        mut self,
        hosts: impl IntoIterator<Item = H>,
    ) -> Self {
        self.public_hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Adds origins of web pages that may call the server, for example `https://app.example.com`. Pages of the server's
    /// own hosts are always allowed.
    ///
    /// By default, every loopback origin may call a server on a loopback host: all web pages from any port of
    /// `localhost`, `127.0.0.0/8` or `[::1]`. Development tools then work without configuration, but the pages of every
    /// local web server can call this server. See [`without_loopback_origins`](Self::without_loopback_origins).
    #[must_use]
    pub fn with_allowed_origins<O: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = O>,
    ) -> Self {
        self.allowed_origins
            .extend(origins.into_iter().map(Into::into));
        self
    }

    /// Rejects web pages of this machine, except those of the server's own origin (the host and port of the request)
    /// and of [`with_allowed_origins`](Self::with_allowed_origins). Default: every loopback origin is allowed on a
    /// loopback host.
    #[must_use]
    pub fn without_loopback_origins(mut self) -> Self {
        self.rejects_loopback_origins = true;
        self
    }

    /// Accepts every host name, for servers behind a proxy that checks the `Host` header.
    #[must_use]
    pub fn with_any_host(mut self) -> Self {
        self.any_host = true;
        self
    }

    /// Installs no signal handlers. By default, `serve_http` shuts down gracefully on SIGINT and SIGTERM.
    #[must_use]
    pub fn without_signals(mut self) -> Self {
        self.signals = false;
        self
    }

    /// Writes no line with the URL to standard error. By default, [`Server::serve_http`](crate::Server::serve_http) writes
    /// one if standard error is a terminal.
    #[must_use]
    pub fn without_start_message(mut self) -> Self {
        self.start_message = false;
        self
    }

    /// Serves no page for browsers. By default, a browser that opens the endpoint or `/` gets a page with the name of the
    /// server and its URL for MCP clients.
    #[must_use]
    pub fn without_browser_page(mut self) -> Self {
        self.browser_page = false;
        self
    }

    /// Sets the URL under which clients reach the endpoint, for example `https://example.com/tools/mcp` behind a proxy
    /// that changes the path. The page for browsers and the server card contain it. Default: the host of the request and
    /// the path of the endpoint.
    ///
    /// The service panics when it is created if this is not an `http` or `https` URL, or if it has a query.
    #[must_use]
    pub fn with_public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Publishes a server card (SEP-2127, a draft that may change), so that clients find the server by its domain.
    ///
    /// The name consists of a domain in reverse order, a slash and a name of the server: `com.example/weather`. The card
    /// is at `/server-card` below the endpoint. The catalog at `/.well-known/ai-catalog.json` lists it. Both are public:
    /// every client can read the name, the version, the description and the URL of the server, without authorization.
    /// Default: no card.
    ///
    /// The service panics when it is created if the name is invalid, or if the version of the server is a range.
    #[must_use]
    pub fn with_server_card(mut self, name: impl Into<String>) -> Self {
        self.server_card = Some(name.into());
        self
    }

    /// Serves every connection of the listener with hyper, so that tests can compare both implementations. Clients see no
    /// difference.
    #[doc(hidden)]
    #[must_use]
    pub fn without_fast_path(mut self) -> Self {
        self.fast_path = false;
        self
    }

    /// Sets the number of reverse proxies in front of the server that append to `X-Forwarded-For`. The address of a client
    /// is then the entry of the outermost one: in access logs, for middleware, and for the limit of sessions per network.
    /// Default: 0, the peer of the connection.
    ///
    /// Set it only if clients cannot reach the server without these proxies: otherwise a client can choose its address.
    #[must_use]
    pub fn with_trusted_proxies(mut self, proxies: usize) -> Self {
        self.trusted_proxies = proxies;
        self
    }

    /// Calls a function for each HTTP request, when its response is complete. It should not block. If it panics, the
    /// record is lost and the request is not affected. Default: no access log.
    ///
    /// ```
    /// use toolwire::transport::http::{AccessRecord, HttpOptions};
    ///
    /// let options = HttpOptions::new().with_access_log(|record: &AccessRecord| eprintln!("{record}"));
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn with_access_log(mut self, log: impl Fn(&AccessRecord) + Send + Sync + 'static) -> Self {
        self.access_log = Some(AccessLog::new(log));
        self
    }

    /// Sets how long clients wait before they reconnect to a stream that the server closed (2025-11-25), on average. Each
    /// client gets a random delay that is up to a quarter shorter or longer. Default: 1 s.
    #[must_use]
    pub fn with_sse_retry(mut self, delay: Duration) -> Self {
        self.retry = delay;
        self
    }

    /// Sets the limits of the endpoint.
    #[must_use]
    pub fn with_limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the stores that all nodes of a service share: the session store, the event log, the bus and the mailboxes. So any
    /// node can serve any client. Default: the memory of this process.
    #[must_use]
    pub fn with_cluster(self, stores: impl Into<ClusterStores>) -> Self {
        let stores = stores.into();
        self.with_session_store(stores.sessions)
            .with_event_log(stores.events)
            .with_bus(stores.bus)
            .with_mailboxes(stores.mailboxes)
    }

    /// Sets the session store. Default: the memory of this process. With a store, sessions may be idle for longer by default;
    /// see [`session_idle`](HttpLimits::session_idle).
    #[must_use]
    pub fn with_session_store(mut self, sessions: Arc<dyn SessionStore>) -> Self {
        self.sessions = sessions;
        self.has_store.sessions = true;
        self
    }

    /// Sets the store for the messages of resumable streams. Default: the memory of this process.
    #[must_use]
    pub fn with_event_log(mut self, events: Arc<dyn EventLog>) -> Self {
        self.events = events;
        self.has_store.events = true;
        self
    }

    /// Sets the bus that carries changes and cancellations between the nodes of a service.
    #[must_use]
    pub fn with_bus(mut self, bus: Arc<dyn Bus>) -> Self {
        self.bus = Some(bus);
        self
    }

    /// Sets the mailboxes that carry responses of clients to the node that waits for them, and messages to streams of the
    /// 2024-11-05 transport. Without mailboxes, a client must send both to the node that it got the request or the stream
    /// from.
    #[must_use]
    pub fn with_mailboxes(mut self, mailboxes: Arc<dyn Mailboxes>) -> Self {
        self.mailboxes = Some(mailboxes);
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

impl HttpOptions {
    /// Returns `true` if the program has set a store of sessions, but no event log or no bus.
    pub(crate) fn lacks_stores_of_sessions(&self) -> bool {
        self.has_store.sessions && (!self.has_store.events || self.bus.is_none())
    }

    /// Returns `true` if the program has set a store that nodes share, but no store of sessions.
    pub(crate) fn lacks_session_store(&self) -> bool {
        let is_shared = self.has_store.events || self.bus.is_some() || self.mailboxes.is_some();
        is_shared && !self.has_store.sessions
    }

    /// Sets the idle time of sessions, unless it is set, to the default of their store.
    pub(crate) fn set_session_idle(&mut self) {
        if self.has_store.sessions {
            self.limits
                .session_idle
                .get_or_insert(SESSION_IDLE_IN_STORE);
        }
    }

    /// Returns the delay before a client reconnects: the option, randomly up to a quarter shorter or longer. Otherwise all
    /// clients of a node that has stopped would come back at the same moment.
    pub(crate) fn random_retry(&self) -> Duration {
        let mut random = [0; 2];
        // Without random bytes, the delay is the shortest one.
        let _ = getrandom::fill(&mut random);
        let part = u32::from(u16::from_le_bytes(random));
        let quarter = self.retry / 4;
        let spread = quarter.saturating_mul(2) / u32::from(u16::MAX);
        (self.retry - quarter).saturating_add(spread.saturating_mul(part))
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
            start_message: true,
            browser_page: true,
            public_url: None,
            server_card: None,
            fast_path: true,
            trusted_proxies: 0,
            access_log: None,
            retry: Duration::from_secs(1),
            limits: HttpLimits::default(),
            sessions: Arc::new(MemorySessionStore::default()),
            events: Arc::new(MemoryEventLog::default()),
            has_store: HasStore::default(),
            bus: None,
            mailboxes: None,
            authorizer: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::store::{MemoryBus, MemoryMailboxes};

    use super::*;

    #[test]
    fn missing_stores_are_detected() {
        let new = HttpOptions::new;
        let sessions =
            || new().with_session_store(Arc::new(MemorySessionStore::default()) as Arc<_>);
        let events =
            |options: HttpOptions| options.with_event_log(Arc::new(MemoryEventLog::default()));
        let bus = |options: HttpOptions| options.with_bus(Arc::new(MemoryBus::default()));
        let mailboxes =
            |options: HttpOptions| options.with_mailboxes(Arc::new(MemoryMailboxes::default()));
        let cluster = ClusterStores::new(
            MemorySessionStore::default(),
            MemoryEventLog::default(),
            MemoryBus::default(),
            MemoryMailboxes::default(),
        );
        let (complete, no_sessions, only_sessions) = ((false, false), (false, true), (true, false));
        for (options, expected) in [
            (new(), complete),
            (bus(new()), no_sessions),
            (events(new()), no_sessions),
            (mailboxes(new()), no_sessions),
            (sessions(), only_sessions),
            (events(sessions()), only_sessions),
            (bus(sessions()), only_sessions),
            (bus(events(sessions())), complete),
            (new().with_cluster(cluster), complete),
        ] {
            let lacks = (
                options.lacks_stores_of_sessions(),
                options.lacks_session_store(),
            );
            assert_eq!(lacks, expected, "{options:?}");
        }
    }

    #[test]
    fn retry_delay_is_random_within_a_quarter() {
        let options = HttpOptions::new().with_sse_retry(Duration::from_millis(1000));
        let delays: std::collections::BTreeSet<_> =
            (0..100).map(|_| options.random_retry()).collect();
        let limits = Duration::from_millis(750)..=Duration::from_millis(1250);
        assert!(
            delays.iter().all(|delay| limits.contains(delay)),
            "{delays:?}"
        );
        assert!(delays.len() > 50, "{delays:?}");
        let unlimited = options.with_sse_retry(Duration::MAX);
        assert!(unlimited.random_retry() >= Duration::MAX / 2);
    }

    #[test]
    fn idle_time_of_sessions_depends_on_their_store() {
        let idle = |mut options: HttpOptions| {
            options.set_session_idle();
            options.limits.effective_session_idle()
        };
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        let with_store =
            || HttpOptions::new().with_session_store(Arc::<MemorySessionStore>::default());
        assert_eq!(idle(HttpOptions::new()), minutes(5));
        assert_eq!(idle(with_store()), minutes(60));
        let limits = HttpLimits {
            session_idle: Some(minutes(5)),
            ..HttpLimits::default()
        };
        assert_eq!(idle(with_store().with_limits(limits)), minutes(5));
    }
}
