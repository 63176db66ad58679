//! The gauges of a relay.

use opentelemetry::KeyValue;
use toolwire::relay::{Relay, RelayLoad};

use crate::conventions::{attribute, metric};
use crate::telemetry::{Telemetry, TelemetryMode};

/// A gauge: its name, its unit, its description, and its value.
type Gauge = (
    &'static str,
    &'static str,
    &'static str,
    fn(&RelayLoad) -> usize,
);

const GAUGES: [Gauge; 3] = [
    (
        metric::RELAY_CONNECTIONS,
        "{connection}",
        "The number of connections to the upstream server",
        |load| load.upstream_connections,
    ),
    (
        metric::RELAY_SESSIONS,
        "{session}",
        "The number of sessions of legacy clients",
        |load| load.sessions,
    ),
    (
        metric::RELAY_PARKED_CALLS,
        "{call}",
        "The number of calls that wait for input of their clients",
        |load| load.parked_calls,
    ),
];

impl Telemetry {
    /// Adds the gauges of a relay, for an upstream server with this name: its connections, its sessions, and the calls that
    /// wait for input. They are read whenever metrics are collected, and do not keep the relay alive.
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
        if self.settings.mode != TelemetryMode::SpansAndMetrics {
            return;
        }
        let upstream = KeyValue::new(attribute::UPSTREAM, name.into());
        let meter = self.instruments.meter();
        for (name, unit, description, value) in GAUGES {
            let (read, upstream) = (relay.load_reader(), upstream.clone());
            // The meter owns the callback. The instrument itself has no use.
            let _ = meter
                .u64_observable_gauge(name)
                .with_unit(unit)
                .with_description(description)
                .with_callback(move |observer| {
                    let value = u64::try_from(value(&read())).unwrap_or(u64::MAX);
                    observer.observe(value, std::slice::from_ref(&upstream));
                })
                .build();
        }
    }
}
