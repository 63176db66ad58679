//! An upstream of a running gateway: its connections, and how it is offered.

use std::sync::Arc;

use toolwire::middleware::Middleware;
use toolwire::relay::UpstreamSource;
use toolwire::{Mount, Server};

use crate::access::AccessRules;
use crate::audit::{AuditLog, AuditedServer};
use crate::config::UpstreamConfig;
use crate::exposed_uris::ExposedUris;
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
    pub(super) uris: Arc<ExposedUris>,
    pub(super) middleware: Option<Arc<dyn Middleware>>,
}

impl Common {
    /// Adds the middleware of the program, which must be the first one.
    pub(super) fn in_front(&self, server: Server) -> Server {
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
}

impl RunningUpstream {
    pub(super) fn new(
        config: &UpstreamConfig,
        connection: UpstreamSource,
        (limits, own_limits): (&CommonLimits, UpstreamLimits),
        is_ruled: bool,
        common: &Common,
    ) -> Result<Self, String> {
        let pinning = config
            .pin
            .map(|mode| Pinning::new(mode, Arc::clone(&common.pins)));
        let source = GatewaySource::new(
            &config.name,
            config.prefix.as_deref(),
            connection.clone(),
            pinning,
        );
        let alone = Server::new(&config.name, env!("CARGO_PKG_VERSION"));
        let alone = common
            .in_front(alone)
            .with_middleware(AuditedServer::new(Arc::clone(&common.audit)));
        let upstream = Self {
            config: config.clone(),
            limits: limits.clone(),
            is_ruled,
            connection,
            source,
            own_limits,
            alone,
        };
        let mount = upstream.mount(common).without_prefix();
        let mounted = upstream.alone.add_mount(mount);
        mounted.map_err(|error| error.to_string())?;
        upstream.check_mount(common)?;
        Ok(upstream)
    }

    /// Checks that the main address can mount this upstream, so that a new configuration fails before it changes something.
    fn check_mount(&self, common: &Common) -> Result<(), String> {
        let probe = Server::new(&self.config.name, env!("CARGO_PKG_VERSION"));
        let mounted = probe.add_mount(self.mount(common));
        mounted.map_err(|error| error.to_string())
    }

    /// Returns the mount of this upstream at the main address.
    pub(super) fn mount(&self, common: &Common) -> Mount {
        let config = &self.config;
        let mut mount = Mount::new(&config.name, MountedSource::new(self.source.clone()));
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
            Arc::clone(&common.uris),
        ));
        self.limits.add_to(self.own_limits.add_to(mount))
    }

    /// Returns the path of the address at which this upstream is alone.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", PATH, self.config.name)
    }
}
