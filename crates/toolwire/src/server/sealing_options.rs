//! The switches of a server for sealed request state.

use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::request_state::KeyRing;

use crate::server::Server;
use crate::server::state_seal::StateSeal;
use crate::store::NonceStore;

impl Server {
    /// Seals request state with these keys instead of a random one of the process. Every node that may serve a client's
    /// next round needs the same keys, and the same name of the server.
    #[must_use]
    pub fn with_request_state_keys(self, keys: KeyRing) -> Self {
        self.change_seal(|seal| seal.with_keys(keys))
    }

    /// How long a client may take to come back with the answers to what it was asked (2026-07-28). The default is ten
    /// minutes.
    #[must_use]
    pub fn with_request_state_ttl(self, ttl: Duration) -> Self {
        self.change_seal(|seal| seal.with_ttl(ttl))
    }

    /// Lets every request state be used once: a client that sends one again gets the error of an invalid one.
    ///
    /// Without it a client can go back to an earlier round while its state lasts, and have what happened after it happen
    /// again. With it a client whose answers were lost on the way, or refused, has to make its call anew.
    #[must_use]
    pub fn with_single_use_request_state(self, nonces: impl NonceStore + 'static) -> Self {
        self.change_seal(|seal| seal.with_nonces(Arc::new(nonces)))
    }

    /// Hands the request state of handlers to clients as its author wrote it. They can then read and change it: validate
    /// it as untrusted input. What [`RequestContext::ask`](crate::RequestContext::ask) and
    /// [`once`](crate::RequestContext::once) remember is sealed all the same.
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
