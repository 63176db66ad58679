//! Binds a gateway to an address.

use std::net::SocketAddr;

use http::Uri;
use toolwire::transport::http::{HttpListener, HttpOptions, HttpService};

use crate::config::{AuthConfig, GatewayConfig};
use crate::error::GatewayError;
use crate::gateway::running::RunningUpstream;
use crate::gateway::{Gateway, PATH};
use crate::sync::lock;

impl Gateway {
    /// Binds the gateway to the address of its configuration: all upstreams at `/mcp`, and each one alone at
    /// `/mcp/NAME`.
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound. Also returns an error if other machines can reach the address and
    /// there is no `[auth]`, unless `is_open` permits it.
    pub async fn bind(&self, is_open: bool) -> Result<HttpListener, GatewayError> {
        let state = self.inner.state.lock().await;
        let listen = self.inner.options.listen.as_ref();
        let listen = listen.unwrap_or(&self.inner.start_config.listen);
        let failed = |problem: String| GatewayError::Setting(format!("listen {listen}: {problem}"));
        let found = tokio::net::lookup_host(listen).await;
        let found = found.map_err(|error| {
            failed(format!(
                "{error}; give a host and a port, such as 127.0.0.1:8080"
            ))
        })?;
        let addresses: Vec<SocketAddr> = found.collect();
        let is_local = addresses.iter().all(|address| address.ip().is_loopback());
        if !is_local && self.inner.auth.is_none() && !is_open {
            return Err(failed(
                "other machines could use the gateway without authorization; add [auth], listen on 127.0.0.1, or \
                 permit it with --insecure-open"
                    .to_owned(),
            ));
        }
        let options = self.http_options();
        let server = self.inner.server.clone();
        let listener = HttpListener::bind(server, &addresses[..], options).await;
        let listener = listener.map_err(|error| failed(error.to_string()))?;
        let service = listener.service().clone();
        for upstream in &state.upstreams {
            self.serve_alone(&service, upstream);
        }
        *lock(&self.inner.service) = Some(service);
        Ok(listener)
    }

    /// Adds the address at which an upstream is alone.
    pub(super) fn serve_alone(&self, service: &HttpService, upstream: &RunningUpstream) {
        let options = self.http_options().with_path(upstream.path());
        service.add_service(HttpService::new(upstream.alone.clone(), options));
    }

    /// Returns the options of all addresses. They are those of the start, so that addresses which are added later have the
    /// same ones.
    fn http_options(&self) -> HttpOptions {
        let config = &self.inner.start_config;
        let options = HttpOptions::new()
            .with_path(PATH)
            .with_public_hosts(public_hosts(config))
            .with_trusted_proxies(config.trusted_proxies)
            .without_signals()
            .without_start_message();
        let options = match self.inner.options.access_log.clone() {
            Some(log) => options.with_access_log(move |record| log(record)),
            None => options,
        };
        match &self.inner.auth {
            Some(auth) => options.with_authorizer(auth.clone()),
            None => options,
        }
    }
}

/// Returns the host names that remote clients use: those of the configuration, and that of the public URL.
fn public_hosts(config: &GatewayConfig) -> Vec<String> {
    let mut hosts = config.public_hosts.clone();
    let audience = config.auth.as_ref().and_then(AuthConfig::audience);
    for url in [audience, config.public_url.as_deref()]
        .into_iter()
        .flatten()
    {
        if let Ok(url) = url.parse::<Uri>()
            && let Some(host) = url.host()
            && !hosts.iter().any(|known| known == host)
        {
            hosts.push(host.to_owned());
        }
    }
    hosts
}
