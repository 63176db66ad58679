//! What a relay holds at one moment, for metrics.

use std::sync::Arc;

use crate::relay::forwarder::Relay;
use crate::relay::inner::RelayInner;
use crate::relay::source::UpstreamSource;

/// The connections, sessions and calls that a relay holds at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayLoad {
    /// The connections to the upstream server, including those that are being opened or closed.
    pub upstream_connections: usize,
    /// The sessions of clients before 2026-07-28.
    pub sessions: usize,
    /// The calls that wait for input of their 2026-07-28 clients.
    pub parked_calls: usize,
    /// Whether the last attempt to connect reached the upstream server. It did not if the connection was lost within ten
    /// seconds. `None` before the end of the first attempt.
    pub is_reached: Option<bool>,
}

impl Relay {
    /// Returns a function that counts what the relay holds. It does not keep the relay alive, and returns zeros once
    /// the relay is dropped.
    ///
    /// ```
    /// use toolwire::relay::Upstream;
    ///
    /// let relay = Upstream::new(|builder| builder.connect("https://example.com/mcp")).relay();
    /// let load = relay.load_reader();
    /// assert_eq!(load().upstream_connections, 0);
    /// ```
    pub fn load_reader(&self) -> impl Fn() -> RelayLoad + Send + Sync + 'static {
        let relay = Arc::downgrade(self.inner());
        move || {
            relay
                .upgrade()
                .map(|relay| load(&relay))
                .unwrap_or_default()
        }
    }
}

impl UpstreamSource {
    /// Returns what the source holds now: connections, sessions of its legacy clients, and calls that wait for input.
    #[must_use]
    pub fn load(&self) -> RelayLoad {
        load(self.relay().inner())
    }
}

fn load(relay: &RelayInner) -> RelayLoad {
    RelayLoad {
        upstream_connections: relay.connector.open_connections(),
        sessions: relay.sessions.len(),
        parked_calls: relay.parked.len(),
        is_reached: relay.connector.is_reached(),
    }
}
