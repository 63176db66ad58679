//! The sources of unauthenticated requests, as owners of the records that these requests store.

use http::Request;
use sha2::{Digest as _, Sha256};
use toolwire_proto::auth::authorization_server::source::Source;

use crate::store::{OwnerLimit, ProxyOwner};
use crate::transport::http::PeerAddress;

/// How many unused registrations, and how many logins in progress, one source may have by default, of each.
pub(super) const PER_SOURCE: usize = 200;

/// Finds out where requests come from.
#[derive(Debug)]
pub(super) struct Sources {
    /// How many reverse proxies in front of the server append to `X-Forwarded-For`.
    pub(super) trusted_proxies: usize,
    /// How many records of one kind a source may have.
    pub(super) limit: usize,
}

impl Sources {
    /// Returns where a request comes from, or `None` if that is not known.
    pub(super) fn of<T>(&self, request: &Request<T>) -> Option<Source> {
        let peer = request.extensions().get::<PeerAddress>();
        let peer = peer.map(|peer| peer.socket_address().ip());
        let values = request.headers().get_all("x-forwarded-for").iter();
        let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
        Source::of(peer, &values, self.trusted_proxies)
    }

    /// Returns the owner of what a request makes the store hold.
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
