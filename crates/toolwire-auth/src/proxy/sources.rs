//! The sources of unauthenticated requests. They own the records that these requests store.

use http::{HeaderValue, Request};
use sha2::{Digest as _, Sha256};
use toolwire::transport::http::PeerAddress;

use crate::proxy::store::{OwnerLimit, ProxyOwner};
use crate::rules::authorization_server::source::Source;

/// The default limit per source of unused registrations, and of logins in progress.
pub(super) const DEFAULT_LIMIT_PER_SOURCE: usize = 200;

/// The settings that determine the source of a request.
#[derive(Debug)]
pub(super) struct Sources {
    /// The number of reverse proxies in front of the server that append to `X-Forwarded-For`.
    pub(super) trusted_proxies: usize,
    /// The maximum number of records of one kind per source.
    pub(super) limit: usize,
}

impl Sources {
    /// Returns the source of a request, or `None` if it is unknown.
    pub(super) fn of<T>(&self, request: &Request<T>) -> Option<Source> {
        let peer = request.extensions().get::<PeerAddress>();
        let peer = peer.map(|peer| peer.socket_address().ip());
        let values = request.headers().get_all("x-forwarded-for").iter();
        let values = values.map(HeaderValue::as_bytes);
        Source::of(peer, values, self.trusted_proxies)
    }

    /// Returns the owner of the records that a request stores.
    pub(super) fn owner<T>(
        &self,
        request: &Request<T>,
        at_limit: OwnerLimit,
    ) -> Option<ProxyOwner> {
        let source = self.of(request)?;
        let mut digest = Sha256::new();
        digest.update(b"toolwire source");
        digest.update(source.to_string());
        let key = digest.finalize().into();
        Some(ProxyOwner::new(key, self.limit, at_limit))
    }
}
