//! An upstream of a running gateway: its connections, and how it is offered.

use std::sync::Arc;

use toolwire::middleware::Middleware;
use toolwire::relay::UpstreamSource;
use toolwire::{KeyRing, Mount, MountedUris, RegistrationError, Server, Source};

use crate::access::AccessRules;
use crate::audit::{AuditLog, AuditedServer};
use crate::config::UpstreamConfig;
use crate::connect::UserLogins;
use crate::connection::is_restricted;
use crate::error::GatewayError;
use crate::gateway::PATH;
use crate::guard::Guard;
use crate::limits::{CommonLimits, UpstreamLimits};
use crate::mounted_source::MountedSource;
use crate::pins::PinStore;
use crate::source::{GatewaySource, Pinning};

/// What all upstreams of a gateway share.
pub(super) struct Common {
    pub(super) access: Arc<AccessRules>,
    pub(super) audit: Arc<AuditLog>,
    pub(super) pins: Arc<PinStore>,
    /// The URIs at the main address.
    pub(super) uris: MountedUris,
    pub(super) middleware: Option<Arc<dyn Middleware>>,
    pub(super) state_keys: Option<KeyRing>,
    /// The logins of users at upstreams, if users are identified.
    pub(super) logins: Option<Arc<UserLogins>>,
}

impl Common {
    /// Adds the keys and the middleware of the program, which must be the first one.
    pub(super) fn in_front(&self, server: Server) -> Server {
        let server = match &self.state_keys {
            Some(keys) => server.with_request_state_keys(keys.clone()),
            None => server,
        };
        match &self.middleware {
            Some(middleware) => server.with_middleware(Arc::clone(middleware)),
            None => server,
        }
    }
}

/// An upstream of a running gateway. Clones are the same one.
#[derive(Clone)]
pub(super) struct RunningUpstream {
    pub(super) config: UpstreamConfig,
    pub(super) limits: CommonLimits,
    /// Whether there are rules, so that callers may see different lists.
    pub(super) is_ruled: bool,
    pub(super) connection: UpstreamSource,
    pub(super) source: GatewaySource,
    pub(super) own_limits: UpstreamLimits,
    /// The server that offers this upstream alone.
    pub(super) alone: Server,
    /// Held while the replaced connection is closed.
    closing_previous: Arc<tokio::sync::Mutex<()>>,
}

impl RunningUpstream {
    /// Creates an upstream that is not mounted.
    pub(super) fn new(
        config: &UpstreamConfig,
        connection: UpstreamSource,
        (limits, own_limits): (&CommonLimits, UpstreamLimits),
        is_ruled: bool,
        common: &Common,
    ) -> Self {
        let pinning = config
            .pin
            .map(|mode| Pinning::new(mode, Arc::clone(&common.pins)));
        let source = GatewaySource::new(
            &config.name,
            config.prefix.as_deref(),
            connection.clone(),
            pinning,
            config.strips_invisible,
            UserLogins::at(common.logins.as_ref(), config),
        );
        let alone = Server::new(&config.name, env!("CARGO_PKG_VERSION"));
        let alone = common
            .in_front(alone)
            .with_middleware(AuditedServer::new(Arc::clone(&common.audit)));
        Self {
            config: config.clone(),
            limits: limits.clone(),
            is_ruled,
            connection,
            source,
            own_limits,
            alone,
            closing_previous: Arc::default(),
        }
    }

    /// Mounts the upstream on the server that offers it alone.
    pub(super) fn mounted_alone(self, common: &Common) -> Result<Self, String> {
        self.check_mount(common)?;
        let mount = self.mount(common).without_prefix();
        let mounted = self.alone.add_mount(mount);
        mounted.map_err(|error| error.to_string())?;
        Ok(self)
    }

    /// Takes the server that offers the old upstream of the same name alone, so that its clients stay connected. The old
    /// upstream is mounted there until [`replace_alone`](Self::replace_alone). Also takes the connection whose entries the
    /// old upstream offers, if this one has another connection. A connection that the new settings restrict is not used any
    /// more.
    pub(super) fn replacing(
        mut self,
        old: &Self,
        has_same_connection: bool,
        common: &Common,
    ) -> Result<Self, String> {
        self.check_mount(common)?;
        self.alone = old.alone.clone();
        if is_restricted(&old.config, &self.config) {
            return Ok(self);
        }
        let previous = old.source.connection().offered_previous();
        let previous = match previous {
            None if !has_same_connection => Some(old.connection.clone()),
            previous => previous,
        };
        if let Some(previous) = previous {
            self.source.connection().set_previous(previous);
        }
        Ok(self)
    }

    /// Connects in the background, and then closes the connection that this one replaces. After a failure, the entries of
    /// the replaced connection disappear.
    pub(super) fn release_previous(&self) {
        if self.source.connection().previous().is_none() {
            return;
        }
        let upstream = self.clone();
        tokio::spawn(async move {
            let connected = upstream.connection.connect().await;
            let _closing = upstream.closing_previous.lock().await;
            let Some(previous) = upstream.source.connection().take_previous() else {
                return;
            };
            if let Err(error) = connected {
                let name = upstream.config.name.as_str();
                tracing::warn!(upstream = name, %error, "an upstream with new settings is not reachable");
                upstream.source.refresh();
            }
            previous.close().await;
        });
    }

    /// Closes the connection, and the one that it replaces.
    pub(super) async fn close(&self) {
        let _closing = self.closing_previous.lock().await;
        if let Some(previous) = self.source.connection().take_previous() {
            previous.close().await;
        }
        self.connection.close().await;
    }

    /// Replaces the old upstream of the same name on the server that offers it alone.
    pub(super) fn replace_alone(&self, common: &Common) -> Result<(), GatewayError> {
        let mount = self.mount_of(self.source.clone(), common).without_prefix();
        self.named(self.alone.replace_mount(mount))
    }

    /// Replaces the old upstream of the same name at the main address.
    pub(super) fn replace_mount(
        &self,
        server: &Server,
        common: &Common,
    ) -> Result<(), GatewayError> {
        let mount = self.mount_of(self.source.clone(), common);
        self.named(server.replace_mount(mount))
    }

    /// Adds the name of the upstream to an error.
    fn named(&self, outcome: Result<(), RegistrationError>) -> Result<(), GatewayError> {
        outcome.map_err(|error| {
            GatewayError::Setting(format!("upstream `{}`: {error}", self.config.name))
        })
    }

    /// Checks that the main address can mount this upstream, so that a new configuration fails before it changes something.
    fn check_mount(&self, common: &Common) -> Result<(), String> {
        let probe = Server::new(&self.config.name, env!("CARGO_PKG_VERSION"));
        let mounted = probe.add_mount(self.mount(common));
        mounted.map_err(|error| error.to_string())
    }

    /// Mounts this upstream at the main address, after those that are mounted.
    pub(super) fn add_mount(&self, server: &Server, common: &Common) -> Result<(), GatewayError> {
        self.named(server.add_mount(self.mount(common)))
    }

    /// Returns a new mount of this upstream.
    fn mount(&self, common: &Common) -> Mount {
        self.mount_of(MountedSource::new(self.source.clone()), common)
    }

    fn mount_of(&self, source: impl Source, common: &Common) -> Mount {
        let config = &self.config;
        let mut mount = Mount::new(&config.name, source);
        mount = match &config.prefix {
            Some(prefix) => mount.with_prefix(prefix),
            None => mount.without_prefix(),
        };
        for pattern in &config.allowed_tools {
            mount = mount.with_tools(pattern.as_str());
        }
        for pattern in &config.denied_tools {
            mount = mount.without_tools(pattern.as_str());
        }
        if self.is_ruled {
            mount = mount.with_filter(self.source.visibility(&common.access, &common.uris));
        }
        // Before the limits: a denied request does not count.
        mount = mount.with_middleware(Guard::new(
            self.source.clone(),
            Arc::clone(&common.access),
            common.uris.clone(),
        ));
        self.limits.add_to(self.own_limits.add_to(mount))
    }

    /// Returns the path of the address at which this upstream is alone.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", PATH, self.config.name)
    }
}
