//! The settings of the telemetry, which a server and a client use alike.

use std::fmt;
use std::sync::Arc;

use opentelemetry::Context;
use opentelemetry::global::{BoxedTracer, ObjectSafeTracerProvider};
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{SpanId, TraceContextExt as _};

use crate::instruments::{Instruments, scope};
use crate::propagation::Propagators;
use crate::redaction::Redaction;

/// Spans and metrics of a server or a client.
///
/// Add it as the first middleware, so that it stands around all others. It uses the global providers of OpenTelemetry from
/// the first request on. If no tracer provider is set then, it does nothing for the rest of its life. Clones share their
/// state.
///
/// ```
/// use toolwire::{Client, Server};
/// use toolwire_otel::Telemetry;
///
/// let telemetry = Telemetry::new();
/// let server = Server::new("demo", "1.0.0").with_middleware(telemetry.clone());
/// let client = Client::builder("agent", "1.0.0").with_middleware(telemetry);
/// # drop((server, client));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Telemetry {
    pub(crate) settings: Arc<Settings>,
    pub(crate) instruments: Arc<Instruments>,
}

/// What the telemetry does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TelemetryMode {
    /// Spans and metrics, and the trace context in `_meta`.
    #[default]
    SpansAndMetrics,
    /// Only the trace context: a server continues that of the client, and a client sends its current one. Another library
    /// creates the spans.
    PropagationOnly,
    /// Nothing. `_meta` is unchanged.
    Off,
}

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) mode: TelemetryMode,
    pub(crate) payloads: Option<Redaction>,
    pub(crate) session_ids: bool,
    pub(crate) metric_uris: bool,
    pub(crate) reuses_tool_span: bool,
    pub(crate) upstream: Option<Arc<str>>,
    pub(crate) trace_ids_in_errors: bool,
    pub(crate) propagators: Propagators,
}

impl Telemetry {
    /// Creates the default telemetry: spans and metrics, without arguments and results.
    #[must_use]
    pub fn new() -> Self {
        Self {
            settings: Arc::new(Settings {
                mode: TelemetryMode::default(),
                payloads: None,
                session_ids: false,
                metric_uris: false,
                reuses_tool_span: true,
                upstream: None,
                trace_ids_in_errors: false,
                propagators: Propagators::ALL,
            }),
            instruments: Arc::default(),
        }
    }

    /// Sets what the telemetry does. Default: [`TelemetryMode::SpansAndMetrics`].
    #[must_use]
    pub fn with_mode(self, mode: TelemetryMode) -> Self {
        self.changed(|settings| settings.mode = mode)
    }

    /// Uses this provider instead of the global one.
    #[must_use]
    pub fn with_tracer_provider(mut self, provider: &dyn ObjectSafeTracerProvider) -> Self {
        let tracer = BoxedTracer::new(provider.boxed_tracer(scope()));
        self.instruments = Arc::new(self.instruments.with_tracer(tracer));
        self
    }

    /// Uses this provider instead of the global one. With it, metrics are recorded even without a tracer provider.
    #[must_use]
    pub fn with_meter_provider(mut self, provider: &dyn MeterProvider) -> Self {
        let meter = provider.meter_with_scope(scope());
        self.instruments = Arc::new(self.instruments.with_meter(meter));
        self
    }

    /// Records the arguments and results of tool calls in spans, at most [4 KiB](crate::MAX_PAYLOAD_BYTES) of each. They
    /// may contain personal data. Default: they are not recorded.
    #[must_use]
    pub fn with_payloads(self, redaction: Redaction) -> Self {
        self.changed(|settings| settings.payloads = Some(redaction))
    }

    /// Records the ids of sessions. They are credentials: with one, a client can send requests in the session. Default: the
    /// first 16 hexadecimal digits of their SHA-256.
    #[must_use]
    pub fn with_session_ids(self) -> Self {
        self.changed(|settings| settings.session_ids = true)
    }

    /// Adds the URIs of resources to metrics, at most 200 of them. Use it for servers with few resources. Default: only
    /// spans have them.
    #[must_use]
    pub fn with_uris_in_metrics(self) -> Self {
        self.changed(|settings| settings.metric_uris = true)
    }

    /// Sets whether a client adds its attributes to the span of a tool call that the program created, instead of a span of
    /// its own; see [`tool_span`]. Default: `true`.
    #[must_use]
    pub fn with_reused_tool_span(self, is_reused: bool) -> Self {
        self.changed(|settings| settings.reuses_tool_span = is_reused)
    }

    /// Sets the name of the upstream server, for the client of a relay.
    #[must_use]
    pub fn with_upstream(self, name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        self.changed(|settings| settings.upstream = Some(name))
    }

    /// Adds the id of the trace to the `data` of internal errors (−32603), as `traceId`. The user of a client can then name it
    /// to the operator of the server. Data that is not an object, or that has a `traceId`, is unchanged. Default: errors are
    /// unchanged.
    #[must_use]
    pub fn with_trace_ids_in_errors(self) -> Self {
        self.changed(|settings| settings.trace_ids_in_errors = true)
    }

    /// Neither reads nor sends `traceparent` and `tracestate`: the spans of servers and clients are in separate traces.
    /// Default: they are read and sent.
    #[must_use]
    pub fn without_trace_context(self) -> Self {
        self.changed(|settings| settings.propagators.trace_context = false)
    }

    /// Neither reads nor sends `baggage`. Default: it is read and sent.
    #[must_use]
    pub fn without_baggage(self) -> Self {
        self.changed(|settings| settings.propagators.baggage = false)
    }

    fn changed(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The span that [`tool_span`] marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolSpan(pub(crate) SpanId);

/// Marks the current span of a context as the `execute_tool` span of an agent. While it is current, a tool call of a client
/// adds its attributes to that span, instead of creating a second one.
///
/// ```
/// use opentelemetry::Context;
///
/// let context = toolwire_otel::tool_span(&Context::current());
/// let _guard = context.attach();
/// ```
#[must_use]
pub fn tool_span(context: &Context) -> Context {
    let span = context.span().span_context().span_id();
    context.with_value(ToolSpan(span))
}
