//! The providers of OpenTelemetry, from the environment.

use std::io::Write as _;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;
use std::{env, thread};

use opentelemetry_otlp::{MetricExporter, SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use toolwire::relay::Relay;
use toolwire::{ClientBuilder, Server};
use toolwire_gateway::{Gateway, GatewayOptions};
use toolwire_otel::Telemetry;
use toolwire_redis::RedisOptions;

use crate::show::plain_text;
use crate::telemetry::TelemetryDemands;
use crate::telemetry::otlp_client::OtlpClient;
use crate::telemetry::prometheus::PrometheusText;
use crate::telemetry::propagators::OtelPropagators;

/// How long the exit waits until the last spans and metrics are exported.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// How often the text of the metrics is written. A request for it gets the last one: collecting for each request would
/// also export the metrics to the collector, and wait for it.
const TEXT_INTERVAL: Duration = Duration::from_secs(5);

/// The providers of this program.
struct Providers {
    telemetry: Telemetry,
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
    text: Option<PrometheusText>,
}

static PROVIDERS: OnceLock<Providers> = OnceLock::new();

/// Creates the providers that the environment and the options demand. Must be called in a runtime.
pub(crate) fn start(demands: TelemetryDemands) {
    let environment = OtelEnvironment::read(|name| env::var(name).ok());
    let traces = environment.exports_traces.then(traces).flatten();
    if demands.trace_ids_in_errors && traces.is_none() {
        warn(
            "--trace-ids-in-errors has no effect, because no spans are exported; set OTEL_EXPORTER_OTLP_ENDPOINT",
        );
    }
    let text = demands.has_page.then(PrometheusText::default);
    let metrics = metrics(environment.exports_metrics, text.clone());
    if traces.is_none() && metrics.is_none() {
        return;
    }
    let mut telemetry = Telemetry::new();
    let propagators = OtelPropagators::read(env::var("OTEL_PROPAGATORS").ok().as_deref());
    if let Some(unknown) = &propagators.unknown {
        warn(&format!(
            "OTEL_PROPAGATORS has unknown names, which are ignored: {}; the known ones are tracecontext, baggage and \
             none",
            plain_text(unknown)
        ));
    }
    if demands.trace_ids_in_errors && traces.is_some() {
        telemetry = telemetry.with_trace_ids_in_errors();
    }
    if !propagators.trace_context {
        telemetry = telemetry.without_trace_context();
    }
    if !propagators.baggage {
        telemetry = telemetry.without_baggage();
    }
    if let Some(provider) = &traces {
        telemetry = telemetry.with_tracer_provider(provider);
    }
    if let Some(provider) = &metrics {
        telemetry = telemetry.with_meter_provider(provider);
    }
    let providers = Providers {
        telemetry,
        traces,
        metrics,
        text,
    };
    // There is one call for each process.
    let _ = PROVIDERS.set(providers);
}

/// Exports what is left. Blocks for at most three seconds.
pub(crate) fn stop() {
    let Some(providers) = PROVIDERS.get() else {
        return;
    };
    // A collector that does not respond must not change the exit code of the command, or delay the exit for longer.
    let (ended, endings) = mpsc::channel::<()>();
    let (traces, metrics) = (providers.traces.clone(), providers.metrics.clone());
    if let Some(traces) = traces {
        end(ended.clone(), move || {
            let _ = traces.shutdown_with_timeout(STOP_TIMEOUT);
        });
    }
    if let Some(metrics) = metrics {
        end(ended.clone(), move || {
            let _ = metrics.shutdown_with_timeout(STOP_TIMEOUT);
        });
    }
    drop(ended);
    // Nothing is sent: the channel closes when both threads are done.
    let _ = endings.recv_timeout(STOP_TIMEOUT);
}

/// Runs a function in a thread that owns a sender as long as it runs.
fn end(running: mpsc::Sender<()>, function: impl FnOnce() + Send + 'static) {
    // Without a thread, what is left is not exported.
    let _ = thread::Builder::new().spawn(move || {
        function();
        drop(running);
    });
}

/// Returns the metrics as text, or `None` if they are not collected for a page, or not yet.
pub(super) fn metrics_text() -> Option<String> {
    let providers = PROVIDERS.get()?;
    providers.text.as_ref()?.get()
}

/// Adds spans and metrics to the client of a command.
pub(crate) fn observe_client(builder: ClientBuilder) -> ClientBuilder {
    match PROVIDERS.get() {
        Some(providers) => builder.with_middleware(providers.telemetry.clone()),
        None => builder,
    }
}

/// Adds spans and metrics to the client of a relay.
pub(crate) fn observe_upstream(builder: ClientBuilder, name: &str) -> ClientBuilder {
    match PROVIDERS.get() {
        Some(providers) => {
            let telemetry = providers.telemetry.clone().with_upstream(name);
            builder.with_middleware(telemetry)
        }
        None => builder,
    }
}

/// Adds spans and metrics to a server.
pub(crate) fn observe_server(server: Server) -> Server {
    match PROVIDERS.get() {
        Some(providers) => server.with_middleware(providers.telemetry.clone()),
        None => server,
    }
}

/// Adds spans and metrics to a gateway and to its upstreams.
pub(crate) fn observe_gateway(options: GatewayOptions) -> GatewayOptions {
    match PROVIDERS.get() {
        Some(providers) => {
            let upstream = |name: &str| -> Arc<dyn toolwire::client_middleware::ClientMiddleware> {
                Arc::new(providers.telemetry.clone().with_upstream(name))
            };
            options
                .with_middleware(providers.telemetry.clone())
                .with_upstream_middleware(upstream)
        }
        None => options,
    }
}

/// Adds the gauges of the upstreams of a gateway.
pub(crate) fn observe_gateway_load(gateway: &Gateway) {
    if let Some(providers) = PROVIDERS.get() {
        providers.telemetry.observe_relays(gateway.load_reader());
    }
}

/// Adds the gauges of the relay of a proxy.
pub(crate) fn observe_relay(relay: &Relay) {
    if let Some(providers) = PROVIDERS.get() {
        providers.telemetry.observe_relay("upstream", relay);
    }
}

/// Adds spans and metrics of the requests of stores to their engine.
pub(crate) fn observe_stores(options: RedisOptions) -> RedisOptions {
    match PROVIDERS.get() {
        Some(providers) => {
            let telemetry = providers.telemetry.clone();
            options.with_call_observer(move |call| {
                telemetry.store_call("redis", call.store, call.operation)
            })
        }
        None => options,
    }
}

fn traces() -> Option<SdkTracerProvider> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(OtlpClient::new())
        .build();
    let exporter = exporter.map_err(|error| report("spans", &error)).ok()?;
    let provider = SdkTracerProvider::builder().with_resource(resource());
    Some(provider.with_batch_exporter(exporter).build())
}

fn metrics(is_exported: bool, text: Option<PrometheusText>) -> Option<SdkMeterProvider> {
    let exporter = is_exported.then(|| {
        MetricExporter::builder()
            .with_http()
            .with_http_client(OtlpClient::new())
            .build()
            .map_err(|error| report("metrics", &error))
    });
    let exporter = exporter.and_then(Result::ok);
    if exporter.is_none() && text.is_none() {
        return None;
    }
    let mut provider = SdkMeterProvider::builder().with_resource(resource());
    if let Some(exporter) = exporter {
        provider = provider.with_reader(PeriodicReader::builder(exporter).build());
    }
    if let Some(text) = text {
        let reader = PeriodicReader::builder(text).with_interval(TEXT_INTERVAL);
        provider = provider.with_reader(reader.build());
    }
    Some(provider.build())
}

/// Shows a warning. The command also runs if standard error is closed.
fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "toolwire: warning: {text}");
}

/// Reports an exporter that cannot be created. The command runs without it.
fn report(what: &str, error: &dyn std::error::Error) {
    // The command also runs if standard error is closed.
    let _ = writeln!(
        std::io::stderr(),
        "toolwire: {what} are not exported: {error}; check the variables OTEL_*"
    );
}

/// Returns the description of this process. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take precedence.
fn resource() -> Resource {
    let is_named = env::var_os("OTEL_SERVICE_NAME").is_some()
        || env::var("OTEL_RESOURCE_ATTRIBUTES").is_ok_and(|all| all.contains("service.name="));
    let resource = Resource::builder();
    if is_named {
        resource.build()
    } else {
        resource.with_service_name("toolwire").build()
    }
}

/// What the environment demands.
#[derive(Debug, PartialEq, Eq)]
struct OtelEnvironment {
    exports_traces: bool,
    exports_metrics: bool,
}

impl OtelEnvironment {
    /// Reads the variables. Without an endpoint or an exporter in them, nothing is exported: a command must not send data
    /// that its user did not ask for.
    fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.trim().is_empty());
        let is_disabled = variable("OTEL_SDK_DISABLED")
            .is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        let exports = |exporter: &str, endpoint: &str| {
            let exporter = variable(exporter).unwrap_or_default();
            let has_endpoint = is_set("OTEL_EXPORTER_OTLP_ENDPOINT") || is_set(endpoint);
            let is_named = exporter.split(',').any(|name| name.trim() == "otlp");
            !is_disabled && (is_named || exporter.trim().is_empty() && has_endpoint)
        };
        Self {
            exports_traces: exports("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
            exports_metrics: exports(
                "OTEL_METRICS_EXPORTER",
                "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_decides_what_is_exported() {
        let check = |variables: &[(&str, &str)], traces: bool, metrics: bool| {
            let read = OtelEnvironment::read(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            });
            let expected = OtelEnvironment {
                exports_traces: traces,
                exports_metrics: metrics,
            };
            assert_eq!(read, expected, "{variables:?}");
        };
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");
        check(&[], false, false);
        check(&[endpoint], true, true);
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], false, false);
        check(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "x")], true, false);
        check(&[endpoint, ("OTEL_METRICS_EXPORTER", "none")], true, false);
        check(&[("OTEL_TRACES_EXPORTER", "otlp")], true, false);
        check(&[endpoint, ("OTEL_SDK_DISABLED", "true")], false, false);
    }
}
