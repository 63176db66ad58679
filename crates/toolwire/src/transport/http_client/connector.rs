//! Makes the connections of the pool: addresses, then a proxy where one is wanted, then TLS.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;

use crate::transport::http_client::HttpFailure;
use crate::transport::http_client::addresses::Addresses;
use crate::transport::http_client::deadline::Deadline;
use crate::transport::http_client::place::Place;
use crate::transport::http_client::proxy::{Proxy, Rules};
use crate::transport::http_client::tls::Trust;
use crate::transport::http_client::wire::Wire;

/// What a server may choose from, best first.
const PROTOCOLS: &[&str] = &["h2", "http/1.1"];

/// What a proxy may choose from: a tunnel is asked for in HTTP/1.1.
const PROXY_PROTOCOLS: &[&str] = &["http/1.1"];

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector(Arc<Plan>);

/// How connections are made.
pub(super) struct Plan {
    pub(super) timeout: Duration,
    pub(super) addresses: Addresses,
    pub(super) proxies: Rules,
    pub(super) trust: Trust,
}

impl Connector {
    pub(super) fn new(plan: Plan) -> Self {
        Self(Arc::new(plan))
    }

    /// The proxy through which a request to this URI goes.
    pub(super) fn proxy_for(&self, uri: &Uri) -> Result<Option<Proxy>, HttpFailure> {
        self.0.proxies.proxy_for(uri)
    }

    /// Opens a connection to the server that this URI names.
    pub(super) async fn connect(&self, uri: &Uri) -> Result<Wire, HttpFailure> {
        self.0.connect(uri).await
    }
}

impl Plan {
    async fn connect(&self, uri: &Uri) -> Result<Wire, HttpFailure> {
        let target = Place::of(uri)?;
        let secure = uri.scheme() == Some(&Scheme::HTTPS);
        let deadline = Deadline::after(self.timeout);
        let Some(proxy) = self.proxies.proxy_for(uri)? else {
            let wire = Wire::plain(self.addresses.connect(&target, deadline).await?);
            return if secure {
                self.secure(wire, &target, PROTOCOLS, deadline).await
            } else {
                Ok(wire)
            };
        };
        let mut wire = Wire::plain(self.addresses.connect(proxy.place(), deadline).await?);
        if proxy.speaks_tls() {
            wire = self
                .secure(wire, proxy.place(), PROXY_PROTOCOLS, deadline)
                .await?;
        }
        if secure {
            let wire = proxy.tunnel(wire, &target, deadline).await?;
            self.secure(wire, &target, PROTOCOLS, deadline).await
        } else {
            Ok(wire.into_proxied())
        }
    }

    async fn secure(
        &self,
        wire: Wire,
        place: &Place,
        protocols: &[&str],
        deadline: Deadline,
    ) -> Result<Wire, HttpFailure> {
        self.trust
            .shake_hands(wire, place, protocols, deadline)
            .await
    }
}
