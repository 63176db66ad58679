//! A running gateway.

mod config_file;
mod listen;
mod reload;
mod report;
mod running;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use toolwire::Server;
use toolwire::relay::RelayLoad;
use toolwire::transport::http::HttpService;
use toolwire_proto::relay::policy::Policy;

use self::running::{Common, RunningUpstream};
use crate::access::AccessRules;
use crate::audit::{AuditLog, AuditedServer};
use crate::config::{AuthConfig, GatewayConfig};
use crate::connect::check_user_logins;
use crate::connection::{GatewayOptions, has_exchange, upstream_source};
use crate::error::GatewayError;
use crate::front_auth::FrontAuth;
use crate::limits::{CommonLimits, UpstreamLimits};
use crate::pins::PinStore;
use crate::source::GatewaySource;
use crate::sync::lock;

pub use self::config_file::ConfigFile;
pub use self::report::{EntryReport, GatewayReport, UpstreamReport};

/// The path of the main address.
const PATH: &str = "/mcp";

/// How long the start waits for upstreams that are not required. They connect in the background then.
const START_WAIT: Duration = Duration::from_secs(2);

/// A gateway: one server that offers the tools, prompts and resources of its upstreams.
///
/// Clones are handles to the same gateway.
#[derive(Clone)]
pub struct Gateway {
    inner: Arc<GatewayInner>,
}

struct GatewayInner {
    options: GatewayOptions,
    server: Server,
    common: Common,
    /// The sources of the upstreams, for readers that do not wait for the state.
    sources: Mutex<Arc<[GatewaySource]>>,
    auth: Option<FrontAuth>,
    /// The configuration of the start. Some of its settings stay in force until the next start.
    start_config: GatewayConfig,
    /// The configuration and the upstreams. Locked while a configuration is taken.
    state: tokio::sync::Mutex<GatewayState>,
    /// The HTTP service, after the gateway was bound to an address.
    service: Mutex<Option<HttpService>>,
}

struct GatewayState {
    config: GatewayConfig,
    limits: CommonLimits,
    upstreams: Vec<RunningUpstream>,
}

impl Gateway {
    /// Creates a gateway without connecting to its upstreams. Requires a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if a file that the configuration names cannot be used, and if the lock file is not valid. Also
    /// returns an error if an upstream has `exchange`, and callers have no access tokens of an authorization server, or if
    /// an upstream has `login`, and there is no `[auth]`.
    pub fn new(config: GatewayConfig, options: GatewayOptions) -> Result<Self, GatewayError> {
        let auth = config.auth.as_ref();
        let auth = auth
            .map(|auth| FrontAuth::new(auth, config.trusted_proxies, Arc::clone(&options.tokens)));
        let auth = auth.transpose().map_err(GatewayError::Setting)?;
        Self::with_front_auth(config, options, auth)
    }

    /// Creates a gateway with the authorizer of its configuration.
    fn with_front_auth(
        config: GatewayConfig,
        options: GatewayOptions,
        auth: Option<FrontAuth>,
    ) -> Result<Self, GatewayError> {
        let setting = GatewayError::Setting;
        check_exchange(&config, config.auth.as_ref())?;
        check_user_logins(&config, &config).map_err(setting)?;
        let logins = auth.as_ref().map(FrontAuth::logins);
        if let Some(logins) = logins {
            if let Some(file) = config.logins.as_ref().filter(|_| !options.is_read_only) {
                logins.open_vault(file).map_err(setting)?;
            }
            logins.configure(&config);
        }
        let pins = PinStore::open(config.lock_file.clone(), options.is_read_only);
        let pins = pins.map_err(|error| setting(error.to_string()))?;
        check_pins(&config, &pins)?;
        let audit = AuditLog::default();
        if !options.is_read_only {
            configure_audit(&audit, &config)?;
        }
        let server = Server::new("toolwire-gateway", env!("CARGO_PKG_VERSION"));
        let common = Common {
            access: Arc::new(AccessRules::new(config.policy.clone())),
            audit: Arc::new(audit),
            pins: Arc::new(pins),
            uris: server.mounted_uris(),
            middleware: options.middleware.clone(),
            state_keys: options.state_keys.clone(),
            logins: logins.cloned(),
        };
        let server = common
            .in_front(server)
            .with_middleware(AuditedServer::new(Arc::clone(&common.audit)));
        let limits = CommonLimits::new(&config.limits);
        let mut upstreams = Vec::new();
        for upstream in &config.upstreams {
            let name = &upstream.name;
            let named = |problem| setting(format!("upstream `{name}`: {problem}"));
            let connection = upstream_source(upstream, &options, logins).map_err(named)?;
            let limits = (&limits, UpstreamLimits::new(&upstream.limits));
            let running =
                RunningUpstream::new(upstream, connection, limits, has_rules(&config), &common);
            upstreams.push(running.mounted_alone(&common).map_err(named)?);
        }
        // Gateways with clones of the options share the tokens.
        if needs_tokens(&config) {
            options.tokens.set_needed(true);
        }
        let gateway = Self {
            inner: Arc::new(GatewayInner {
                options,
                server,
                common,
                sources: Mutex::default(),
                auth,
                start_config: config.clone(),
                state: tokio::sync::Mutex::new(GatewayState {
                    config,
                    limits,
                    upstreams: upstreams.clone(),
                }),
                service: Mutex::default(),
            }),
        };
        gateway.set_sources(&upstreams);
        gateway.mount_all(&upstreams)?;
        gateway.follow_logins();
        Ok(gateway)
    }

    /// Connects to the upstreams. Waits for the required ones, and up to 2 s for the others, which go on in the
    /// background.
    ///
    /// # Errors
    /// Returns an error if a required upstream is not reachable.
    pub async fn connect(&self) -> Result<(), GatewayError> {
        let upstreams = self.inner.state.lock().await.upstreams.clone();
        let (required, others): (Vec<_>, Vec<_>) = upstreams
            .into_iter()
            .partition(|upstream| upstream.config.is_required);
        let mut connecting = connect_all(others);
        let mut required = connect_all(required);
        while let Some(ended) = required.join_next().await {
            let Ok((name, connected)) = ended else {
                continue;
            };
            if let Err(reason) = connected {
                return Err(GatewayError::Upstream { name, reason });
            }
        }
        let all = async { while connecting.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(START_WAIT, all).await;
        connecting.detach_all();
        Ok(())
    }

    /// Connects to all upstreams and waits for every attempt. The report has the failures.
    pub async fn connect_all(&self) {
        let upstreams = self.inner.state.lock().await.upstreams.clone();
        let mut connecting = connect_all(upstreams);
        while connecting.join_next().await.is_some() {}
    }

    /// Returns the server that offers all upstreams.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.inner.server
    }

    /// Returns a function that counts what the gateway holds for each upstream, with the names of the upstreams. It does not
    /// keep the gateway alive, and follows its configuration.
    pub fn load_reader(&self) -> impl Fn() -> Vec<(String, RelayLoad)> + Send + Sync + 'static {
        let gateway = Arc::downgrade(&self.inner);
        move || {
            let sources = gateway
                .upgrade()
                .map(|gateway| Arc::clone(&lock(&gateway.sources)));
            let sources = sources.iter().flat_map(|sources| sources.iter());
            sources
                .map(|source| (source.name().to_owned(), source.connection().load()))
                .collect()
        }
    }

    /// Ends all streams, and lets running requests finish.
    pub async fn shutdown(&self) {
        self.inner.server.shutdown();
        for upstream in &self.inner.state.lock().await.upstreams {
            upstream.alone.shutdown();
        }
    }

    /// Closes the connections to the upstreams and the audit log.
    pub async fn close(&self) {
        self.shutdown().await;
        let upstreams = self.inner.state.lock().await.upstreams.clone();
        let mut closing = JoinSet::new();
        for upstream in upstreams {
            closing.spawn(async move { upstream.close().await });
        }
        while closing.join_next().await.is_some() {}
        if let Some(auth) = &self.inner.auth {
            auth.logins().flush().await;
        }
        self.inner.common.audit.close().await;
    }

    /// Reads the lists of an upstream after the first login of a user there.
    fn follow_logins(&self) {
        let Some(auth) = &self.inner.auth else {
            return;
        };
        let gateway = Arc::downgrade(&self.inner);
        auth.logins().on_login(move |upstream| {
            let Some(inner) = gateway.upgrade() else {
                return;
            };
            let upstream = upstream.to_owned();
            tokio::spawn(async move {
                let upstreams = inner.state.lock().await.upstreams.clone();
                let mut upstreams = upstreams.iter();
                if let Some(used) = upstreams.find(|running| running.config.name == upstream) {
                    // A failure is logged, and the connection is tried again.
                    let _ = used.connection.connect().await;
                }
            });
        });
    }

    /// Mounts upstreams on the main server, after those that are mounted.
    fn mount_all(&self, upstreams: &[RunningUpstream]) -> Result<(), GatewayError> {
        for upstream in upstreams {
            upstream.add_mount(&self.inner.server, &self.inner.common)?;
        }
        Ok(())
    }

    /// Sets the upstreams whose load is read.
    fn set_sources(&self, upstreams: &[RunningUpstream]) {
        let sources = upstreams.iter().map(|upstream| upstream.source.clone());
        *lock(&self.inner.sources) = sources.collect();
    }
}

/// Returns `true` if the policy of a configuration has rules. Otherwise lists are the same for all callers.
fn has_rules(config: &GatewayConfig) -> bool {
    config.policy != Policy::default()
}

/// Returns `true` if an upstream gets tokens in exchange for those of callers.
fn needs_tokens(config: &GatewayConfig) -> bool {
    config.upstreams.iter().any(has_exchange)
}

/// Checks that callers have tokens that can be exchanged, if an upstream needs them. Without `[auth]`, every caller would use
/// the upstream with the credentials of the gateway. No authorization server knows the tokens of a file, or those that the
/// gateway issues itself.
fn check_exchange(config: &GatewayConfig, auth: Option<&AuthConfig>) -> Result<(), GatewayError> {
    if matches!(auth, Some(AuthConfig::ResourceServer { .. })) {
        return Ok(());
    }
    let mut upstreams = config.upstreams.iter();
    match upstreams.find(|upstream| has_exchange(upstream)) {
        None => Ok(()),
        Some(upstream) => Err(GatewayError::Setting(format!(
            "upstream `{}`: `exchange` needs callers with access tokens of an authorization server; start the gateway with \
             `issuer` and `audience` in [auth], or use other `credentials`",
            upstream.name
        ))),
    }
}

/// Checks that approvals can be stored, if an upstream has pins.
fn check_pins(config: &GatewayConfig, pins: &PinStore) -> Result<(), GatewayError> {
    let mut upstreams = config.upstreams.iter();
    if upstreams.all(|upstream| upstream.pin.is_none()) {
        return Ok(());
    }
    let checked = pins.check_writable();
    checked.map_err(|error| GatewayError::Setting(error.to_string()))
}

/// Opens the audit log of a configuration.
fn configure_audit(audit: &AuditLog, config: &GatewayConfig) -> Result<(), GatewayError> {
    let configured = audit.configure(config.audit.as_ref());
    configured.map_err(|error| {
        let file = config.audit.as_ref().map(|audit| audit.file.display());
        let file = file.map(|file| file.to_string()).unwrap_or_default();
        GatewayError::Setting(format!("the audit log {file} cannot be opened: {error}"))
    })
}

/// The outcome of an attempt: the name of the upstream, and the reason of a failure.
type Attempt = (String, Result<(), String>);

fn connect_all(upstreams: Vec<RunningUpstream>) -> JoinSet<Attempt> {
    let mut connecting = JoinSet::new();
    for upstream in upstreams {
        connecting.spawn(async move {
            let connected = upstream.connection.connect().await;
            let connected = connected.map_err(|error| error.to_string());
            if let Err(reason) = &connected {
                let upstream = upstream.config.name.as_str();
                tracing::warn!(upstream, reason, "an upstream is not reachable");
            }
            (upstream.config.name, connected)
        });
    }
    connecting
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}
