//! The upstream server: how it is reached, and the connections to it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::features::Era;
use toolwire_proto::relay::rate_limit::CallRate;
use toolwire_types::RawJson;

#[cfg(feature = "http-client")]
use crate::client::http::HttpLayer;
use crate::client::{Client, ClientBuilder, ClientLimits};
use crate::engine::{BoxFuture, Principal};
use crate::error::Error;
use crate::relay::connection::UpstreamConnection;
use crate::relay::credentials::Credentials;
#[cfg(feature = "http-client")]
use crate::relay::credentials::CredentialsLayer;
use crate::relay::idle_sessions::IdleLimits;
use crate::relay::messages::UpstreamMessages;

/// How long a request may take by default without a message of the upstream server that belongs to it.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// The default limits on connections, and on the processes of an upstream that is a command.
const DEFAULT_MAX_SESSIONS: usize = 64;
const DEFAULT_MAX_PROCESSES: usize = 8;

type ConnectClient =
    dyn Fn(ClientBuilder) -> BoxFuture<'static, Result<Client, Error>> + Send + Sync;

/// A server that a relay forwards to.
///
/// Clones reach the same server, over connections of their own.
#[derive(Clone)]
#[doc(alias = "ProxyClient")]
pub struct Upstream {
    connect: Arc<ConnectClient>,
    builder: ClientBuilder,
    pub(super) name: Arc<str>,
    pub(super) timeout: Duration,
    pub(super) max_sessions: usize,
    pub(super) max_processes: usize,
    pub(super) idle: IdleLimits,
    pub(super) sharing: Sharing,
    pub(super) input: PermittedInput,
    /// How often each caller can be asked for sampling. `None`: without a limit.
    pub(super) sampling_rate: Option<CallRate>,
    pub(super) credentials: Option<Arc<dyn Credentials>>,
    #[cfg(feature = "http-client")]
    caller_layer: Option<Arc<CallerLayer>>,
}

/// Returns the HTTP layer for the connections of a caller.
#[cfg(feature = "http-client")]
type CallerLayer = dyn Fn(&Principal) -> Arc<dyn HttpLayer> + Send + Sync;

/// The input that an upstream server may request from clients, besides other elicitations.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PermittedInput {
    pub(super) sampling: bool,
    pub(super) roots: bool,
    /// Forms that ask for secrets.
    pub(super) secret_forms: bool,
}

/// Which callers share a connection to an upstream server.
///
/// At a legacy server, the session of a legacy client has a connection of its own, and so has a call that the server may
/// ask for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Sharing {
    /// The requests of one verified principal share a connection. Those of all callers without authorization share
    /// another one.
    #[default]
    PerPrincipal,
    /// The requests of all callers share a connection, unless they have credentials of their own. The upstream server
    /// cannot tell the callers apart.
    Shared,
}

impl Upstream {
    /// Creates an upstream that `connect` opens connections to, with the builder that it gets.
    ///
    /// The relay calls it for each connection, and again for one that was lost. The modern requests of each principal have a
    /// connection. With a legacy server, each session of a legacy client has one, and each call at a time that the server may
    /// ask for input.
    pub fn new<F, Fut>(connect: F) -> Self
    where
        F: Fn(ClientBuilder) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Client, Error>> + Send + 'static,
    {
        Self {
            connect: Arc::new(move |builder| Box::pin(connect(builder))),
            builder: ClientBuilder::new("toolwire-relay", env!("CARGO_PKG_VERSION")),
            name: "upstream".into(),
            timeout: DEFAULT_TIMEOUT,
            max_sessions: DEFAULT_MAX_SESSIONS,
            max_processes: DEFAULT_MAX_PROCESSES,
            idle: IdleLimits::default(),
            sharing: Sharing::default(),
            input: PermittedInput::default(),
            sampling_rate: None,
            credentials: None,
            #[cfg(feature = "http-client")]
            caller_layer: None,
        }
    }

    /// Sets the name of the server in errors, log messages and input requests. Default: `upstream`.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into().into();
        self
    }

    /// Permits a [mounted](Self::source) server to request sampling from the models of clients. Default: `false`. A
    /// [relay](Self::relay) forwards such requests always.
    #[must_use]
    pub fn with_sampling(mut self, is_permitted: bool) -> Self {
        self.input.sampling = is_permitted;
        self
    }

    /// Permits a [mounted](Self::source) server to request sampling, at most this often of each caller in a period. All requests
    /// may come at once. A request beyond the limit gets −32603, with `data.reason` `rate_limited`, and does not reach the
    /// client. Each request that a client receives counts, also if it is the same in several rounds. A caller is what
    /// [`RateLimit::per_caller`](crate::middleware::RateLimit::per_caller) says.
    #[must_use]
    pub fn with_sampling_limit(mut self, requests: u32, period: Duration) -> Self {
        self.input.sampling = true;
        self.sampling_rate = Some(CallRate::new(requests, period));
        self
    }

    /// Permits a [mounted](Self::source) server to request the roots of clients. Default: `false`. A
    /// [relay](Self::relay) forwards such requests always.
    #[must_use]
    pub fn with_roots(mut self, is_permitted: bool) -> Self {
        self.input.roots = is_permitted;
        self
    }

    /// Permits a [mounted](Self::source) server to ask for passwords, tokens and keys with a form, which the specification
    /// forbids. Default: `false`. A [relay](Self::relay) forwards such requests always.
    ///
    /// A field asks for a secret if its format is `password`, if it is `writeOnly`, or if its name or title contains a word such
    /// as `password`, `apiKey` or `token`, unless it is a choice.
    #[must_use]
    pub fn with_secret_forms(mut self, are_permitted: bool) -> Self {
        self.input.secret_forms = are_permitted;
        self
    }

    /// Sets the options of the connections, such as their limits.
    ///
    /// Handlers and extensions of the builder have no effect: the upstream server sees the capabilities of the relay's
    /// clients.
    #[must_use]
    pub fn with_builder(mut self, builder: ClientBuilder) -> Self {
        self.builder = builder;
        self
    }

    /// Sets how long a request may take without a message of the upstream server that belongs to it. Subscriptions have
    /// no such limit. Default: 10 min.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the maximum number of connections at a time, including those of calls that wait for input. A client beyond
    /// it gets an error. Default: 64.
    #[must_use]
    pub fn with_max_sessions(mut self, limit: usize) -> Self {
        self.max_sessions = limit;
        self
    }

    /// Sets the maximum number of processes at a time, if the server is a command. Each connection starts one.
    /// Default: 8.
    #[must_use]
    pub fn with_max_processes(mut self, limit: usize) -> Self {
        self.max_processes = limit;
        self
    }

    /// Sets how many sessions with a legacy server stay open without a request, for the next calls of their clients.
    /// Further ones are closed. Default: 8.
    #[must_use]
    pub fn with_max_idle_sessions(mut self, limit: usize) -> Self {
        self.idle.sessions = limit;
        self
    }

    /// Sets how long such a session, and the connection of a verified principal, stays open without a request.
    /// Default: 5 min.
    #[must_use]
    pub fn with_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle.timeout = timeout;
        self
    }

    /// Sets which callers share connections. Default: [`Sharing::PerPrincipal`].
    #[must_use]
    pub fn with_sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// Sets the credentials for a server over HTTP. The token and the headers of a caller are never forwarded.
    ///
    /// ```
    /// use toolwire::relay::{Credential, FixedCredential, Upstream};
    ///
    /// let upstream = Upstream::new(|builder| builder.connect("https://api.example.com/mcp"))
    ///     .with_credentials(FixedCredential::new(Credential::bearer("secret")));
    /// # drop(upstream);
    /// ```
    #[must_use]
    pub fn with_credentials(mut self, credentials: impl Credentials) -> Self {
        self.credentials = Some(Arc::new(credentials));
        self
    }

    /// Returns `true` if each caller has credentials of its own.
    pub(super) fn has_credentials_per_caller(&self) -> bool {
        #[cfg(feature = "http-client")]
        if self.caller_layer.is_some() {
            return true;
        }
        let credentials = self.credentials.as_ref();
        credentials.is_some_and(|credentials| credentials.is_per_caller())
    }

    /// Returns the limits of the connections.
    pub(super) fn limits(&self) -> ClientLimits {
        self.builder.config.limits.clone()
    }

    /// Opens a legacy session with these parameters of `initialize`, and with the credentials of a caller.
    pub(super) async fn open_legacy(
        &self,
        caller: &Principal,
        initialize: RawJson,
        messages: Arc<UpstreamMessages>,
    ) -> Result<UpstreamConnection, Error> {
        let builder = self.builder.clone().with_era(Era::Legacy);
        let builder = builder.with_initialize_params(initialize);
        self.open(caller, builder, messages).await
    }

    /// Opens a legacy session like [`open_legacy`](Self::open_legacy). If the server is a command that supports no legacy
    /// revision, the connection is modern.
    pub(super) async fn open_legacy_or_modern(
        &self,
        caller: &Principal,
        initialize: RawJson,
        messages: Arc<UpstreamMessages>,
    ) -> Result<UpstreamConnection, Error> {
        let builder = self.builder.clone().with_legacy_preferred();
        let builder = builder.with_initialize_params(initialize);
        self.open(caller, builder, messages).await
    }

    /// Opens a connection for modern requests, with the credentials of a caller. If the server is legacy, the connection
    /// is a session without capabilities, which is not initialized yet.
    pub(super) async fn open_shared(
        &self,
        caller: &Principal,
        messages: Arc<UpstreamMessages>,
    ) -> Result<UpstreamConnection, Error> {
        self.open(caller, self.builder.clone(), messages).await
    }

    async fn open(
        &self,
        caller: &Principal,
        builder: ClientBuilder,
        messages: Arc<UpstreamMessages>,
    ) -> Result<UpstreamConnection, Error> {
        let relay = Arc::clone(&messages);
        let builder = self.with_credentials_layer(caller, builder.with_relay(relay));
        let client = (self.connect)(builder).await?;
        Ok(UpstreamConnection {
            client,
            messages,
            timeout: self.timeout,
            permit: None,
        })
    }
}

#[cfg(feature = "http-client")]
impl Upstream {
    /// Sets a function that returns the HTTP layer for the connections of a caller, such as one that obtains tokens for it.
    /// Callers then never share connections. The anonymous principal stands for callers without authorization, and for the
    /// relay itself, which reads the lists.
    ///
    /// Use it instead of [`with_credentials`](Self::with_credentials) for tokens that the layer obtains and renews itself.
    #[must_use]
    pub fn with_caller_layer(
        mut self,
        layer: impl Fn(&Principal) -> Arc<dyn HttpLayer> + Send + Sync + 'static,
    ) -> Self {
        self.caller_layer = Some(Arc::new(layer));
        self
    }

    fn with_credentials_layer(
        &self,
        caller: &Principal,
        mut builder: ClientBuilder,
    ) -> ClientBuilder {
        if let Some(layer) = &self.caller_layer {
            builder = builder.with_http_layer(layer(caller));
        }
        let Some(credentials) = &self.credentials else {
            return builder;
        };
        builder.with_http_layer(CredentialsLayer {
            credentials: Arc::clone(credentials),
            caller: caller.clone(),
            upstream: Arc::clone(&self.name),
        })
    }
}

#[cfg(not(feature = "http-client"))]
impl Upstream {
    /// Returns the builder unchanged: only HTTP has credentials.
    fn with_credentials_layer(&self, caller: &Principal, builder: ClientBuilder) -> ClientBuilder {
        tracing::trace!(upstream = &*self.name, ?caller, "opening a connection");
        builder
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("name", &self.name)
            .field("timeout", &self.timeout)
            .field("max_sessions", &self.max_sessions)
            .field("max_processes", &self.max_processes)
            .field("idle", &self.idle)
            .field("sharing", &self.sharing)
            .finish_non_exhaustive()
    }
}
