//! The gauges of a relay.

use std::sync::Arc;

use opentelemetry::KeyValue;
use toolwire::relay::{Relay, RelayLoad};

use crate::conventions::{attribute, metric};
use crate::telemetry::{Telemetry, TelemetryMode};

/// A gauge: its name, its unit, its description, and its value if it is known.
type Gauge = (
    &'static str,
    &'static str,
    &'static str,
    fn(&RelayLoad) -> Option<usize>,
);

const GAUGES: [Gauge; 4] = [
    (
        metric::RELAY_CONNECTIONS,
        "{connection}",
        "The number of connections to the upstream server",
        |load| Some(load.upstream_connections),
    ),
    (
        metric::RELAY_UP,
        "1",
        "Whether the last attempt to connect reached the upstream server",
        |load| load.is_reached.map(usize::from),
    ),
    (
        metric::RELAY_SESSIONS,
        "{session}",
        "The number of sessions of legacy clients",
        |load| Some(load.sessions),
    ),
    (
        metric::RELAY_PARKED_CALLS,
        "{call}",
        "The number of calls that wait for input of their clients",
        |load| Some(load.parked_calls),
    ),
];

impl Telemetry {
    /// Adds the gauges of a relay, for an upstream server with this name: its connections, whether it is reached, its
    /// sessions, and the calls that wait for input. They are read whenever metrics are collected, and do not keep the relay alive.
    ///
    /// ```
    /// use toolwire::relay::Upstream;
    /// use toolwire_otel::Telemetry;
    ///
    /// let relay = Upstream::new(|builder| builder.connect("https://example.com/mcp")).relay();
    /// Telemetry::new().observe_relay("files", &relay);
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "relay")))]
    pub fn observe_relay(&self, name: impl Into<String>, relay: &Relay) {
        let (name, read) = (name.into(), relay.load_reader());
        self.observe_relays(move || vec![(name.clone(), read())]);
    }

    /// Adds the gauges of several relays, such as those of a gateway. `read` returns the names of their upstream servers, and
    /// what the relays hold. It is called whenever metrics are collected.
    ///
    /// ```
    /// use toolwire::relay::Upstream;
    /// use toolwire_otel::Telemetry;
    ///
    /// let files = Upstream::new(|builder| builder.connect("https://example.com/mcp")).source();
    /// Telemetry::new().observe_relays(move || vec![("files".to_owned(), files.load())]);
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "relay")))]
    pub fn observe_relays(
        &self,
        read: impl Fn() -> Vec<(String, RelayLoad)> + Send + Sync + 'static,
    ) {
        if self.settings.mode != TelemetryMode::SpansAndMetrics {
            return;
        }
        let read = Arc::new(read);
        let meter = self.instruments.meter();
        for (name, unit, description, value) in GAUGES {
            let read = Arc::clone(&read);
            // The meter owns the callback. The instrument itself has no use.
            let _ = meter
                .u64_observable_gauge(name)
                .with_unit(unit)
                .with_description(description)
                .with_callback(move |observer| {
                    for (upstream, load) in read() {
                        let Some(value) = value(&load) else {
                            continue;
                        };
                        let value = u64::try_from(value).unwrap_or(u64::MAX);
                        observer.observe(value, &[KeyValue::new(attribute::UPSTREAM, upstream)]);
                    }
                })
                .build();
        }
    }
}
