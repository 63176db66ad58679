//! Server options for sealed request state.

use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::request_state::KeyRing;

use crate::server::Server;
use crate::server::state_seal::StateSeal;
use crate::store::NonceStore;

impl Server {
    /// Seals request state with these keys. Default: a random key per process. Each node that may serve a client's next
    /// round needs the same keys and the same server name.
    #[must_use]
    pub fn with_request_state_keys(self, keys: KeyRing) -> Self {
        self.change_seal(|seal| seal.with_keys(keys))
    }

    /// Sets how long request state stays valid: the time for the client to gather input and retry (2026-07-28).
    /// Default: 10 min.
    #[must_use]
    pub fn with_request_state_ttl(self, ttl: Duration) -> Self {
        self.change_seal(|seal| seal.with_ttl(ttl))
    }

    /// Permits each request state only once. A client that sends a state again receives the error of an invalid state.
    ///
    /// Without this option, a client can return to an earlier round while its state is valid, and repeat what happened
    /// after it. With this option, a client whose responses were lost or rejected has to start its call again.
    #[must_use]
    pub fn with_single_use_request_state(self, nonces: impl NonceStore + 'static) -> Self {
        self.change_seal(|seal| seal.with_nonces(Arc::new(nonces)))
    }

    /// Sends the request state of handlers to clients unsealed. Clients can then read and change it: validate it as
    /// untrusted input. The results of [`RequestContext::ask`](crate::RequestContext::ask) and
    /// [`once`](crate::RequestContext::once) stay sealed.
    #[must_use]
    pub fn without_sealed_request_state(self) -> Self {
        self.change_seal(StateSeal::with_open_author_state)
    }

    fn change_seal(self, change: impl FnOnce(StateSeal) -> StateSeal) -> Self {
        self.change(|snapshot| {
            let seal = StateSeal::clone(&snapshot.options.seal);
            snapshot.options.seal = Arc::new(change(seal));
        });
        self
    }
}
