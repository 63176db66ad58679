//! Spans and metrics of this program, with OpenTelemetry.
//!
//! They are exported only if a variable `OTEL_*` names a collector, or if `--metrics` is given. Without the feature `otel`,
//! nothing here has an effect.

#[cfg(feature = "otel")]
mod metrics_page;
#[cfg(feature = "otel")]
mod otlp_client;
#[cfg(feature = "otel")]
mod prometheus;
#[cfg(feature = "otel")]
mod propagators;
#[cfg(feature = "otel")]
mod providers;

#[cfg(feature = "otel")]
pub(crate) use self::metrics_page::MetricsPage;
#[cfg(feature = "otel")]
pub(crate) use self::providers::{
    observe_client, observe_gateway, observe_gateway_load, observe_relay, observe_server,
    observe_stores, observe_upstream, start, stop,
};

#[cfg(not(feature = "otel"))]
pub(crate) use self::disabled::{
    observe_client, observe_gateway, observe_gateway_load, observe_relay, observe_server,
    observe_stores, observe_upstream, start, stop,
};

/// What the options of a command demand.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(
    not(feature = "otel"),
    expect(dead_code, reason = "only OpenTelemetry uses it")
)]
pub(crate) struct TelemetryDemands {
    /// Whether metrics are collected for a page.
    pub(crate) has_page: bool,
    /// Whether internal errors get the id of the trace.
    pub(crate) trace_ids_in_errors: bool,
}

/// The same functions without OpenTelemetry.
#[cfg(not(feature = "otel"))]
mod disabled {
    use toolwire::relay::Relay;
    use toolwire::{ClientBuilder, Server};
    use toolwire_gateway::{Gateway, GatewayOptions};
    use toolwire_redis::RedisOptions;

    use crate::telemetry::TelemetryDemands;

    pub(crate) fn start(_demands: TelemetryDemands) {}

    pub(crate) fn stop() {}

    pub(crate) fn observe_client(builder: ClientBuilder) -> ClientBuilder {
        builder
    }

    pub(crate) fn observe_upstream(builder: ClientBuilder, _name: &str) -> ClientBuilder {
        builder
    }

    pub(crate) fn observe_server(server: Server) -> Server {
        server
    }

    pub(crate) fn observe_relay(_relay: &Relay) {}

    pub(crate) fn observe_gateway_load(_gateway: &Gateway) {}

    pub(crate) fn observe_stores(options: RedisOptions) -> RedisOptions {
        options
    }

    pub(crate) fn observe_gateway(options: GatewayOptions) -> GatewayOptions {
        options
    }
}
