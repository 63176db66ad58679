//! The connections to the upstreams.

use std::fmt;
use std::sync::Arc;

use toolwire::client_middleware::ClientMiddleware;
use toolwire::middleware::Middleware;
use toolwire::relay::{Upstream, UpstreamSource};
use toolwire::transport::http::AccessRecord;
use toolwire::types::Implementation;
use toolwire::{ClientBuilder, KeyRing, Principal, ProcessTracker, ServerCommand};
use toolwire_auth::client::{IdentityProvider, OAuthConfig, RegisteredClient};
use toolwire_auth::documents::Secret;

use crate::caller_tokens::{CallerTokens, TokenOfCaller};
use crate::config::{
    AssertionProvider, CommandUpstream, HttpUpstream, UpstreamConfig, UpstreamCredentials,
    UpstreamTransport,
};
use crate::connect::UserLogins;

type StderrListener = dyn Fn(&str, &str) + Send + Sync;

type AccessLog = dyn Fn(&AccessRecord) + Send + Sync;

type ConnectHook = dyn Fn(&str, ClientBuilder) -> ClientBuilder + Send + Sync;

/// Returns the middleware of the client of an upstream.
type ClientMiddlewareSource = dyn Fn(&str) -> Arc<dyn ClientMiddleware> + Send + Sync;

/// What a gateway needs besides its configuration.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct GatewayOptions {
    processes: Option<ProcessTracker>,
    logins: Option<OAuthConfig>,
    on_stderr: Option<Arc<StderrListener>>,
    on_connect: Option<Arc<ConnectHook>>,
    pub(crate) listen: Option<String>,
    pub(crate) is_read_only: bool,
    pub(crate) middleware: Option<Arc<dyn Middleware>>,
    pub(crate) state_keys: Option<KeyRing>,
    pub(crate) access_log: Option<Arc<AccessLog>>,
    client_middleware: Option<Arc<ClientMiddlewareSource>>,
    pub(crate) tokens: Arc<CallerTokens>,
}

impl GatewayOptions {
    /// Creates options without logins.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the tracker of server processes, with which a program waits for their end.
    #[must_use]
    pub fn with_processes(mut self, processes: &ProcessTracker) -> Self {
        self.processes = Some(processes.clone());
        self
    }

    /// Sets the logins for upstreams with `credentials = { login = true }`.
    #[must_use]
    pub fn with_logins(mut self, logins: OAuthConfig) -> Self {
        self.logins = Some(logins);
        self
    }

    /// Sets the address to listen on, instead of that of the configuration.
    #[must_use]
    pub fn with_listen(mut self, address: impl Into<String>) -> Self {
        self.listen = Some(address.into());
        self
    }

    /// Writes no files: no audit log, and no lock file. To look at what a gateway offers.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// Sets a middleware around all requests, in front of the policy, the limits and the audit log.
    #[must_use]
    pub fn with_middleware(mut self, middleware: impl Middleware) -> Self {
        self.middleware = Some(Arc::new(middleware));
        self
    }

    /// Seals request state with these keys. Default: a random key per process. A gateway with the same keys opens the state
    /// of one that ran before it, or of another node.
    #[must_use]
    pub fn with_request_state_keys(mut self, keys: KeyRing) -> Self {
        self.state_keys = Some(keys);
        self
    }

    /// Sets a function that gets the record of each HTTP request at all addresses, as
    /// [`HttpOptions::with_access_log`](toolwire::transport::http::HttpOptions::with_access_log) does.
    #[must_use]
    pub fn with_access_log(mut self, log: impl Fn(&AccessRecord) + Send + Sync + 'static) -> Self {
        self.access_log = Some(Arc::new(log));
        self
    }

    /// Sets a function that returns the middleware around the requests to an upstream, by its name. Only middleware that
    /// [handles every request](ClientMiddleware::handles_every_request) has an effect.
    #[must_use]
    pub fn with_upstream_middleware(
        mut self,
        middleware: impl Fn(&str) -> Arc<dyn ClientMiddleware> + Send + Sync + 'static,
    ) -> Self {
        self.client_middleware = Some(Arc::new(middleware));
        self
    }

    /// Sets a function that gets each line that a server process writes to standard error, with the name of its upstream.
    #[must_use]
    pub fn on_stderr(mut self, listener: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        self.on_stderr = Some(Arc::new(listener));
        self
    }

    /// Sets a function that may change the options of each connection to an upstream server, for example to record its
    /// messages. It gets the name of the upstream, and is called for each connection.
    #[must_use]
    pub fn on_connect(
        mut self,
        hook: impl Fn(&str, ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.on_connect = Some(Arc::new(hook));
        self
    }

    /// Returns the options of a new connection.
    fn connecting(&self, upstream: &str, builder: ClientBuilder) -> ClientBuilder {
        match &self.on_connect {
            Some(hook) => hook(upstream, builder),
            None => builder,
        }
    }
}

impl fmt::Debug for GatewayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayOptions").finish_non_exhaustive()
    }
}

/// Creates the source of an upstream. It connects later.
///
/// # Errors
/// Returns an error if a header is invalid, or if there is no login that the configuration needs.
pub(crate) fn upstream_source(
    config: &UpstreamConfig,
    options: &GatewayOptions,
    logins: Option<&Arc<UserLogins>>,
) -> Result<UpstreamSource, String> {
    let info = Implementation::new("toolwire-gateway", env!("CARGO_PKG_VERSION"));
    let mut builder = ClientBuilder::default().with_info(info);
    if let Some(middleware) = &options.client_middleware {
        builder = builder.with_middleware(middleware(&config.name));
    }
    let upstream = match &config.transport {
        UpstreamTransport::Http(http) => http_upstream(&config.name, http, builder, options)?,
        UpstreamTransport::Command(command) => {
            command_upstream(&config.name, command, options).with_builder(builder)
        }
    };
    let upstream = upstream
        .with_name(&config.name)
        .with_sampling(config.may_sample)
        .with_roots(config.sees_roots)
        .with_secret_forms(config.may_use_secret_forms)
        .with_sharing(config.sharing);
    let upstream = match config.children {
        Some(children) => upstream.with_max_processes(children),
        None => upstream,
    };
    let upstream = match config.timeout {
        Some(timeout) => upstream.with_timeout(timeout),
        None => upstream,
    };
    let upstream = match config.sampling_limit {
        Some(limit) => upstream.with_sampling_limit(limit.calls, limit.period),
        None => upstream,
    };
    let upstream = with_session_limits(upstream, config);
    let upstream = match UserLogins::at(logins, config) {
        Some(login) => login.add_to(upstream),
        None => upstream,
    };
    Ok(upstream.source())
}

/// Sets the limits on the connections of an upstream that the configuration has.
fn with_session_limits(mut upstream: Upstream, config: &UpstreamConfig) -> Upstream {
    if let Some(sessions) = config.sessions {
        upstream = upstream.with_max_sessions(sessions);
    }
    if let Some(sessions) = config.idle_sessions {
        upstream = upstream.with_max_idle_sessions(sessions);
    }
    if let Some(timeout) = config.idle_timeout {
        upstream = upstream.with_idle_timeout(timeout);
    }
    upstream
}

/// Returns `true` if an upstream gets tokens in exchange for those of callers.
pub(crate) fn has_exchange(config: &UpstreamConfig) -> bool {
    match &config.transport {
        UpstreamTransport::Http(http) => {
            matches!(http.credentials, Some(UpstreamCredentials::Exchange { .. }))
        }
        UpstreamTransport::Command(_) => false,
    }
}

/// Returns `true` if two configurations have the same connections.
pub(crate) fn has_same_connection(one: &UpstreamConfig, other: &UpstreamConfig) -> bool {
    one.name == other.name
        && one.transport == other.transport
        && one.may_sample == other.may_sample
        && one.sampling_limit == other.sampling_limit
        && one.may_use_secret_forms == other.may_use_secret_forms
        && one.sees_roots == other.sees_roots
        && one.children == other.children
        && one.sessions == other.sessions
        && one.idle_sessions == other.idle_sessions
        && one.idle_timeout == other.idle_timeout
        && one.sharing == other.sharing
        && one.timeout == other.timeout
}

/// Returns `true` if the connections of an old configuration must not be used with a new one: if they have rights that the
/// new one does not give, other credentials, or are shared by other callers.
pub(crate) fn is_restricted(old: &UpstreamConfig, new: &UpstreamConfig) -> bool {
    let has_other_credentials = match (&old.transport, &new.transport) {
        (UpstreamTransport::Http(old), UpstreamTransport::Http(new)) => {
            old.headers != new.headers || old.credentials != new.credentials
        }
        (UpstreamTransport::Command(old), UpstreamTransport::Command(new)) => {
            old.environment != new.environment
        }
        _ => true,
    };
    has_other_credentials
        || (old.may_sample && !new.may_sample)
        || (new.may_sample
            && new.sampling_limit.is_some()
            && old.sampling_limit != new.sampling_limit)
        || (old.may_use_secret_forms && !new.may_use_secret_forms)
        || (old.sees_roots && !new.sees_roots)
        || old.sharing != new.sharing
}

fn http_upstream(
    name: &str,
    config: &HttpUpstream,
    mut builder: ClientBuilder,
    options: &GatewayOptions,
) -> Result<Upstream, String> {
    for (name, value) in &config.headers {
        let added = builder.with_header(name, value.expose());
        builder = added.map_err(|error| error.to_string())?;
    }
    match &config.credentials {
        None => {}
        Some(UpstreamCredentials::Bearer(token)) => {
            let value = format!("Bearer {}", token.expose());
            let added = builder.with_header("Authorization", &value);
            builder = added.map_err(|error| error.to_string())?;
        }
        Some(UpstreamCredentials::Client {
            id,
            secret,
            issuer,
            scopes,
        }) => {
            let client = registered_client(id, secret, issuer);
            let oauth = OAuthConfig::client_credentials(client);
            builder = builder.with_http_layer(with_scopes(oauth, scopes.as_deref())?);
        }
        // Each caller has a layer of its own.
        Some(UpstreamCredentials::Exchange { .. } | UpstreamCredentials::UserLogin { .. }) => {}
        Some(UpstreamCredentials::Login) => {
            let logins = options.logins.clone();
            let logins = logins.ok_or("no logins are stored; log in with `toolwire login URL`")?;
            builder = builder.with_http_layer(logins);
        }
    }
    let (name, url, hooks) = (name.to_owned(), config.url.clone(), options.clone());
    let upstream = Upstream::new(move |builder| {
        let url = url.clone();
        let builder = hooks.connecting(&name, builder);
        async move { builder.connect(&url).await }
    });
    let upstream = upstream.with_builder(builder);
    match &config.credentials {
        Some(UpstreamCredentials::Exchange {
            id,
            secret,
            issuer,
            scopes,
            provider,
        }) => {
            let exchange = TokenExchange {
                client: registered_client(id, secret, issuer),
                provider: provider.clone(),
                scopes: scopes.clone(),
                tokens: Arc::clone(&options.tokens),
            };
            exchange.add_to(upstream)
        }
        _ => Ok(upstream),
    }
}

/// The exchange of the token of each caller for one of an upstream.
struct TokenExchange {
    client: RegisteredClient,
    provider: Option<AssertionProvider>,
    scopes: Option<String>,
    tokens: Arc<CallerTokens>,
}

impl TokenExchange {
    /// Adds the exchange to an upstream. The gateway itself uses its client credentials, to read the lists. It is the
    /// anonymous caller, because `exchange` needs `[auth]`.
    fn add_to(self, upstream: Upstream) -> Result<Upstream, String> {
        let own = OAuthConfig::client_credentials(self.client.clone());
        let own = with_scopes(own, self.scopes.as_deref())?;
        Ok(upstream.with_caller_layer(move |caller| {
            if *caller == Principal::anonymous() {
                return Arc::new(own.clone());
            }
            let oauth = self.of_caller(caller);
            // The scopes were checked above.
            let oauth = match &self.scopes {
                Some(scopes) => oauth.clone().with_scopes(scopes).unwrap_or(oauth),
                None => oauth,
            };
            Arc::new(oauth)
        }))
    }

    fn of_caller(&self, caller: &Principal) -> OAuthConfig {
        let client = self.client.clone();
        let subject = TokenOfCaller {
            tokens: Arc::clone(&self.tokens),
            caller: caller.clone(),
        };
        let Some(provider) = &self.provider else {
            return OAuthConfig::token_exchange(client, subject);
        };
        let at_provider = registered_client(&provider.id, &provider.secret, &provider.issuer);
        let mut assertions = IdentityProvider::new(&provider.issuer, at_provider, subject);
        if !provider.has_id_tokens {
            assertions = assertions.with_access_tokens();
        }
        OAuthConfig::enterprise(client, assertions)
    }
}

/// Returns the registration of the gateway at an authorization server. No other one gets the secret.
fn registered_client(id: &str, secret: &Secret, issuer: &str) -> RegisteredClient {
    RegisteredClient::new(id)
        .with_secret(secret.clone())
        .with_issuer(issuer)
}

fn with_scopes(oauth: OAuthConfig, scopes: Option<&str>) -> Result<OAuthConfig, String> {
    match scopes {
        Some(scopes) => oauth.with_scopes(scopes).map_err(|error| error.to_string()),
        None => Ok(oauth),
    }
}

fn command_upstream(name: &str, config: &CommandUpstream, options: &GatewayOptions) -> Upstream {
    let (name, config, options) = (name.to_owned(), config.clone(), options.clone());
    Upstream::new(move |builder| {
        let mut command = ServerCommand::new(&config.program).args(&config.arguments);
        for (name, value) in &config.environment {
            command = command.env(name, value.expose());
        }
        if let Some(directory) = &config.directory {
            command = command.current_dir(directory);
        }
        if let Some(processes) = &options.processes {
            command = command.with_tracker(processes);
        }
        if let Some(listener) = options.on_stderr.clone() {
            let name = name.clone();
            command = command.on_stderr(move |line| listener(&name, line));
        }
        let builder = options.connecting(&name, builder);
        async move { builder.spawn(command).await }
    })
}
