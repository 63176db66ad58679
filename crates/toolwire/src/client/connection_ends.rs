//! What middleware does when a connection of a client ends.

use std::fmt;
use std::sync::Mutex;

use toolwire_types::ProtocolVersion;

use crate::client::middleware::{ClientChain, ConnectionEnd};
use crate::engine::{ConnectionInfo, catch_panic};
use crate::sync::lock;

/// The functions for the end of a connection. They are called once: by [`run`](Self::run), or when the value is dropped.
#[derive(Default)]
pub(crate) struct ConnectionEnds(Mutex<Vec<ConnectionEnd>>);

impl ConnectionEnds {
    /// Tells all middleware that the client has connected.
    pub(crate) fn of(
        chain: Option<&ClientChain>,
        version: ProtocolVersion,
        connection: &ConnectionInfo,
    ) -> Self {
        let chain = chain.into_iter().flat_map(|chain| chain.iter());
        let ends = chain.filter_map(|middleware| middleware.connected(version, connection));
        Self(Mutex::new(ends.collect()))
    }

    /// Calls the functions. One that panics does not affect the others.
    pub(crate) fn run(&self) {
        let ends = std::mem::take(&mut *lock(&self.0));
        for end in ends {
            if catch_panic(end).is_err() {
                let _ = catch_panic(|| {
                    tracing::error!("a function for the end of a connection panicked");
                });
            }
        }
    }
}

impl Drop for ConnectionEnds {
    fn drop(&mut self) {
        self.run();
    }
}

impl fmt::Debug for ConnectionEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionEnds").finish_non_exhaustive()
    }
}
