//! Takes a new configuration while the gateway runs.

use std::path::{Path, PathBuf};

use crate::config::GatewayConfig;
use crate::connection::{has_same_connection, upstream_source};
use crate::error::GatewayError;
use crate::gateway::running::RunningUpstream;
use crate::gateway::{Gateway, GatewayState, check_pins, configure_audit, has_rules};
use crate::limits::CommonLimits;
use crate::sync::lock;

/// The configuration file of a running gateway.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    /// The text that was read last.
    seen: Option<String>,
}

impl ConfigFile {
    /// Starts to watch a file whose current content the gateway already has.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            seen: std::fs::read_to_string(path).ok(),
        }
    }

    /// Looks at the file and at the lock file, and passes changes to the gateway. An invalid configuration is rejected
    /// with a log message, and the gateway goes on with the last one.
    ///
    /// With `is_forced`, the file is read also if it has not changed, and the audit log is opened again.
    pub async fn update(&mut self, gateway: &Gateway, is_forced: bool) {
        if is_forced {
            gateway.reopen_audit();
        }
        gateway.update_pins().await;
        let text = std::fs::read_to_string(&self.path).ok();
        if text == self.seen && !is_forced {
            return;
        }
        self.seen = text;
        let path = self.path.display();
        let loaded = GatewayConfig::load(&self.path).map_err(GatewayError::from);
        let taken = match loaded {
            Ok(config) => gateway.reload(config).await,
            Err(error) => Err(error),
        };
        match taken {
            Ok(()) => tracing::info!(%path, "the configuration was taken"),
            Err(error) => {
                tracing::error!(%path, %error, "the new configuration is rejected; the last one goes on");
            }
        }
    }
}

impl Gateway {
    /// Takes a new configuration. Upstreams whose connection settings are the same keep their connections.
    ///
    /// The address, `[auth]`, `public_hosts` and the place of the lock file change only with a restart.
    ///
    /// # Errors
    /// Returns an error if the configuration cannot be used. Then nothing changes.
    pub async fn reload(&self, config: GatewayConfig) -> Result<(), GatewayError> {
        let mut state = self.inner.state.lock().await;
        if config == state.config {
            return Ok(());
        }
        check_pins(&config, &self.inner.common.pins)?;
        warn_about_restart(&state.config, &config);
        let limits = if config.limits == state.config.limits {
            state.limits.clone()
        } else {
            CommonLimits::new(&config.limits)
        };
        let upstreams = self.next_upstreams(&state, &config, &limits)?;
        if !self.inner.options.is_read_only {
            configure_audit(&self.inner.common.audit, &config)?;
        }
        let old = std::mem::replace(
            &mut *state,
            GatewayState {
                config,
                limits,
                upstreams,
            },
        );
        let is_other_policy = self.inner.common.access.replace(&state.config.policy);
        self.remount(&old.upstreams, &state.upstreams)?;
        self.replace_services(&old.upstreams, &state);
        if is_other_policy {
            self.announce_all(&state.upstreams);
        }
        close_unused(&old.upstreams, &state.upstreams);
        Ok(())
    }

    /// Returns the upstreams of a new configuration. What has not changed is used again.
    fn next_upstreams(
        &self,
        state: &GatewayState,
        config: &GatewayConfig,
        limits: &CommonLimits,
    ) -> Result<Vec<RunningUpstream>, GatewayError> {
        let is_ruled = has_rules(config);
        let is_same = config.limits == state.config.limits && is_ruled == has_rules(&state.config);
        let next = config.upstreams.iter().map(|upstream| {
            let mut known = state.upstreams.iter();
            let known = known.find(|known| has_same_connection(&known.config, upstream));
            if let Some(known) = known.filter(|known| known.config == *upstream)
                && is_same
            {
                return Ok(known.clone());
            }
            let connection = match known {
                Some(known) => Ok(known.connection.clone()),
                None => upstream_source(upstream, &self.inner.options),
            };
            let common = &self.inner.common;
            connection
                .and_then(|connection| {
                    RunningUpstream::new(upstream, connection, limits, is_ruled, common)
                })
                .map_err(|problem| {
                    GatewayError::Setting(format!("upstream `{}`: {problem}", upstream.name))
                })
        });
        next.collect()
    }

    /// Mounts the new upstreams in their order. The equal ones at the start of both lists stay mounted.
    fn remount(
        &self,
        old: &[RunningUpstream],
        new: &[RunningUpstream],
    ) -> Result<(), GatewayError> {
        let equal = old.iter().zip(new);
        let equal = equal.take_while(|(old, new)| old.is(new)).count();
        for upstream in &old[equal..] {
            self.inner.server.remove_mount(&upstream.config.name);
        }
        self.set_sources(new);
        self.mount_all(&new[equal..])
    }

    /// Replaces the addresses of single upstreams.
    fn replace_services(&self, old: &[RunningUpstream], state: &GatewayState) {
        let Some(service) = lock(&self.inner.service).clone() else {
            return;
        };
        for upstream in old {
            if !state.upstreams.iter().any(|new| new.is(upstream)) {
                service.remove_service(&upstream.path());
                upstream.alone.shutdown();
            }
        }
        for upstream in &state.upstreams {
            if !old.iter().any(|old| old.is(upstream)) {
                self.serve_alone(&service, upstream, &state.config);
            }
        }
    }

    /// Tells all clients that their lists may have changed.
    fn announce_all(&self, upstreams: &[RunningUpstream]) {
        let alone = upstreams.iter().map(|upstream| &upstream.alone);
        for server in alone.chain([&self.inner.server]) {
            server.tools_changed();
            server.prompts_changed();
            server.resources_changed();
        }
    }

    /// Reads the lock file, and compares the entries again if another process has changed it.
    async fn update_pins(&self) {
        match self.inner.common.pins.reload() {
            Ok(false) => {}
            Ok(true) => {
                tracing::info!("the lock file has changed");
                for upstream in &self.inner.state.lock().await.upstreams {
                    upstream.source.refresh();
                }
            }
            Err(error) => tracing::error!(%error, "the lock file is not used"),
        }
    }

    /// Opens the audit log again, after another program has moved its file.
    pub fn reopen_audit(&self) {
        self.inner.common.audit.reopen();
    }
}

impl RunningUpstream {
    /// Returns `true` if both are the same running upstream.
    fn is(&self, other: &Self) -> bool {
        self.source.is(&other.source)
    }
}

/// Closes the connections that no upstream uses any more, in the background.
fn close_unused(old: &[RunningUpstream], new: &[RunningUpstream]) {
    for upstream in old {
        let is_used = new
            .iter()
            .any(|new| has_same_connection(&new.config, &upstream.config));
        if !is_used {
            let connection = upstream.connection.clone();
            tokio::spawn(async move { connection.close().await });
        }
    }
}

fn warn_about_restart(old: &GatewayConfig, new: &GatewayConfig) {
    let settings = [
        ("listen", old.listen != new.listen),
        ("auth", old.auth != new.auth),
        ("public_hosts", old.public_hosts != new.public_hosts),
        ("lock_file", old.lock_file != new.lock_file),
    ];
    for (setting, is_changed) in settings {
        if is_changed {
            tracing::warn!(
                setting,
                "this setting changes with the next start of the gateway"
            );
        }
    }
}
