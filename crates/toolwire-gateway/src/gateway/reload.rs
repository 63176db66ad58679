//! Takes a new configuration while the gateway runs.

use crate::config::{GatewayConfig, UpstreamConfig};
use crate::connect::check_user_logins;
use crate::connection::{has_same_connection, upstream_source};
use crate::error::GatewayError;
use crate::front_auth::FrontAuth;
use crate::gateway::running::RunningUpstream;
use crate::gateway::{
    Gateway, GatewayState, check_exchange, check_pins, configure_audit, has_rules, needs_tokens,
};
use crate::limits::{CommonLimits, UpstreamLimits};
use crate::sync::lock;

impl Gateway {
    /// Takes a new configuration. Upstreams whose connection settings are the same keep their connections. The entries of
    /// a replaced connection stay until the new one has read its lists, or has failed. They do not stay if the new settings
    /// have other credentials or another `sharing`, or permit less input.
    ///
    /// The address, `[auth]`, `public_hosts`, `public_url`, `trusted_proxies`, `[logins]` and the place of the lock file
    /// change only with a restart.
    ///
    /// # Errors
    /// Returns an error if the configuration cannot be used. Then nothing changes. Returns [`GatewayError::Partial`] if
    /// upstreams cannot be replaced. Then these stay as they are, and everything else changes.
    pub async fn reload(&self, config: GatewayConfig) -> Result<(), GatewayError> {
        let mut state = self.inner.state.lock().await;
        if config == state.config {
            return Ok(());
        }
        check_exchange(&config, config.auth.as_ref())?;
        // A new `[auth]` is not in force before a restart.
        check_exchange(&config, self.inner.start_config.auth.as_ref())?;
        for start in [&config, &self.inner.start_config] {
            check_user_logins(&config, start).map_err(GatewayError::Setting)?;
        }
        check_pins(&config, &self.inner.common.pins)?;
        let limits = if config.limits == state.config.limits {
            state.limits.clone()
        } else {
            CommonLimits::new(&config.limits)
        };
        // Everything that can fail comes before the first change.
        let upstreams = self.next_upstreams(&state, &config, &limits)?;
        if !self.inner.options.is_read_only {
            configure_audit(&self.inner.common.audit, &config)?;
        }
        for setting in settings_of_next_start(&self.inner.start_config, &config) {
            tracing::warn!(
                setting,
                "this setting changes with the next start of the gateway"
            );
        }
        let old = std::mem::replace(
            &mut *state,
            GatewayState {
                config,
                limits,
                upstreams,
            },
        );
        let is_needed = needs_tokens(&state.config);
        if is_needed != needs_tokens(&old.config) {
            self.inner.options.tokens.set_needed(is_needed);
        }
        let is_other_policy = self.inner.common.access.replace(&state.config.policy);
        let failures = self.remount(&old.upstreams, &state.upstreams);
        for failure in &failures {
            state.keep_old(&old, &failure.upstream);
        }
        // An upstream that stays as it is keeps its logins.
        if let Some(auth) = &self.inner.auth {
            auth.logins().configure(&state.config);
        }
        if !failures.is_empty() {
            self.set_sources(&state.upstreams);
        }
        self.replace_services(&old.upstreams, &state);
        if is_other_policy {
            self.announce_all(&state.upstreams);
        }
        for upstream in &state.upstreams {
            if !old.upstreams.iter().any(|old| old.is(upstream)) {
                upstream.release_previous();
            }
        }
        close_unused(&old.upstreams, &state.upstreams);
        let reasons: Vec<String> = failures
            .into_iter()
            .map(|failure| failure.error.to_string())
            .collect();
        if reasons.is_empty() {
            return Ok(());
        }
        Err(GatewayError::Partial(reasons.join("; ")))
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
                None => {
                    let logins = self.inner.auth.as_ref().map(FrontAuth::logins);
                    upstream_source(upstream, &self.inner.options, logins)
                }
            };
            let common = &self.inner.common;
            connection
                .and_then(|connection| {
                    let limits = (limits, own_limits(upstream, &state.upstreams));
                    let mut named = state.upstreams.iter();
                    let named = named.find(|old| old.has_name_of(upstream));
                    let next = RunningUpstream::new(upstream, connection, limits, is_ruled, common);
                    match named {
                        Some(old) => next.replacing(old, known.is_some(), common),
                        None => next.mounted_alone(common),
                    }
                })
                .map_err(|problem| {
                    GatewayError::Setting(format!("upstream `{}`: {problem}", upstream.name))
                })
        });
        next.collect()
    }

    /// Mounts the new upstreams in their order. Those whose order is the same stay at their places; the changed ones of them
    /// are replaced there. Returns those that failed.
    fn remount(&self, old: &[RunningUpstream], new: &[RunningUpstream]) -> Vec<RemountFailure> {
        let has_same_name =
            |old: &RunningUpstream, new: &RunningUpstream| new.has_name_of(&old.config);
        let kept = mounts_in_order(old, new, has_same_name);
        for upstream in old {
            if !new[..kept]
                .iter()
                .any(|kept| kept.has_name_of(&upstream.config))
            {
                self.inner.server.remove_mount(&upstream.config.name);
            }
        }
        self.set_sources(new);
        let (server, common) = (&self.inner.server, &self.inner.common);
        let mut failures = Vec::new();
        for (position, upstream) in new.iter().enumerate() {
            let is_changed = !old.iter().any(|old| old.is(upstream));
            let replaces = is_changed && old.iter().any(|old| has_same_name(old, upstream));
            let mounted = if position >= kept {
                upstream.add_mount(server, common)
            } else if is_changed {
                upstream.replace_mount(server, common)
            } else {
                Ok(())
            };
            let replaced = mounted.and_then(|()| {
                if replaces {
                    upstream.replace_alone(common)
                } else {
                    Ok(())
                }
            });
            if let Err(error) = replaced {
                let upstream = upstream.config.name.clone();
                failures.push(RemountFailure { upstream, error });
            }
        }
        failures
    }

    /// Removes the addresses of single upstreams that are gone, and adds those of new ones.
    fn replace_services(&self, old: &[RunningUpstream], state: &GatewayState) {
        let Some(service) = lock(&self.inner.service).clone() else {
            return;
        };
        for upstream in old {
            let mut new = state.upstreams.iter();
            if !new.any(|new| new.has_name_of(&upstream.config)) {
                service.remove_service(&upstream.path());
                upstream.alone.shutdown();
            }
        }
        for upstream in &state.upstreams {
            if !old.iter().any(|old| old.has_name_of(&upstream.config)) {
                self.serve_alone(&service, upstream);
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
    pub(super) async fn update_pins(&self) {
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

/// An upstream that could not be replaced, and the reason, which names it.
struct RemountFailure {
    upstream: String,
    error: GatewayError,
}

impl GatewayState {
    /// Takes an upstream back from the state before, so that its connection stays. The same configuration is tried again
    /// only if it is passed again: at SIGHUP, or after another change of the file.
    fn keep_old(&mut self, old: &Self, name: &str) {
        let mut known = old.upstreams.iter();
        let Some(known) = known.find(|known| known.config.name == name) else {
            return;
        };
        for config in &mut self.config.upstreams {
            if config.name == name {
                config.clone_from(&known.config);
            }
        }
        for upstream in &mut self.upstreams {
            if upstream.config.name == name {
                upstream.clone_from(known);
            }
        }
    }
}

impl RunningUpstream {
    /// Returns `true` if both are the same running upstream.
    fn is(&self, other: &Self) -> bool {
        self.source.is(&other.source)
    }

    /// Returns `true` if a configuration is that of the upstream with the same name.
    fn has_name_of(&self, config: &UpstreamConfig) -> bool {
        self.config.name == config.name
    }
}

/// Returns the limits of an upstream. Equal limits of the upstream with its name go on, with what they have counted.
fn own_limits(config: &UpstreamConfig, old: &[RunningUpstream]) -> UpstreamLimits {
    let mut old = old.iter();
    let known = old.find(|old| old.has_name_of(config) && old.config.limits == config.limits);
    match known {
        Some(known) => known.own_limits.clone(),
        None => UpstreamLimits::new(&config.limits),
    }
}

/// Returns how many elements at the start of a new list are in the old list in the same order. A mount is always added at
/// the end, so these can stay.
fn mounts_in_order<T>(old: &[T], new: &[T], is_same: impl Fn(&T, &T) -> bool) -> usize {
    let mut rest = old.iter();
    let kept = new
        .iter()
        .take_while(|new| rest.any(|old| is_same(old, new)));
    kept.count()
}

/// Closes the connections that no upstream uses any more, in the background. A new upstream closes the connection whose
/// entries it still offers.
fn close_unused(old: &[RunningUpstream], new: &[RunningUpstream]) {
    for upstream in old {
        let mut used = new.iter();
        if used.any(|new| has_same_connection(&new.config, &upstream.config)) {
            continue;
        }
        let mut successors = new.iter();
        let successor = successors.find(|new| new.has_name_of(&upstream.config));
        if let Some(successor) = successor
            && (upstream.source.connection()).is_handed_over_to(successor.source.connection())
        {
            continue;
        }
        let upstream = upstream.clone();
        tokio::spawn(async move { upstream.close().await });
    }
}

/// Returns the settings of a new configuration that differ from those in force, and change with the next start.
fn settings_of_next_start(
    start: &GatewayConfig,
    new: &GatewayConfig,
) -> impl Iterator<Item = &'static str> {
    let settings = [
        ("listen", start.listen != new.listen),
        ("auth", start.auth != new.auth),
        ("public_hosts", start.public_hosts != new.public_hosts),
        ("public_url", start.public_url != new.public_url),
        (
            "trusted_proxies",
            start.trusted_proxies != new.trusted_proxies,
        ),
        ("lock_file", start.lock_file != new.lock_file),
        ("logins", start.logins != new.logins),
    ];
    let changed = settings.into_iter().filter(|(_, is_changed)| *is_changed);
    changed.map(|(setting, _)| setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_stay_while_their_order_does() {
        let check = |old: &str, new: &str, expected: usize| {
            let letters = |text: &str| text.chars().collect::<Vec<char>>();
            let kept = mounts_in_order(&letters(old), &letters(new), char::eq);
            assert_eq!(kept, expected, "{old} {new}");
        };
        check("abc", "abc", 3);
        check("abc", "ac", 2);
        check("abc", "bc", 2);
        check("abc", "abcd", 3);
        check("abc", "aXc", 1);
        check("abc", "bac", 1);
        check("abc", "", 0);
    }

    #[test]
    fn settings_that_need_a_start_are_named() {
        let config = |lines: &str| {
            let text = format!("{lines}\n[upstream.a]\nurl = \"http://127.0.0.1:9/mcp\"\n");
            GatewayConfig::parse("gateway.toml", &text, &|_| None).expect("it is valid")
        };
        let start = config("listen = \"127.0.0.1:1\"");
        let check = |lines: &str, expected: &[&str]| {
            let found: Vec<&str> = settings_of_next_start(&start, &config(lines)).collect();
            assert_eq!(found, expected, "{lines}");
        };
        check("listen = \"127.0.0.1:1\"", &[]);
        check("", &["listen"]);
        check(
            "listen = \"127.0.0.1:1\"\nlock_file = \"other.lock\"\npublic_hosts = [\"a.test\"]\ntrusted_proxies = 1",
            &["public_hosts", "trusted_proxies", "lock_file"],
        );
        check(
            "listen = \"127.0.0.1:1\"\n[auth]\nissuer = \"https://id.test\"\naudience = \"https://a.test/mcp\"",
            &["auth"],
        );
    }
}
