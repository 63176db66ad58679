//! The tracer and the metrics, created at the first request.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};
use opentelemetry::trace::{Span as _, SpanBuilder, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, InstrumentationScope};

use crate::conventions::{DURATION_BOUNDS, SCHEMA_URL, SCOPE, STORE_BOUNDS, metric};
use crate::first_rounds::FirstRounds;
use crate::http_sessions::HttpSessions;
use crate::known_names::KnownNames;

/// The maximum number of tools and prompts in the metrics of a server or client. The others are `_other`.
const MAX_NAMES: usize = 200;

/// The maximum number of methods in metrics, including those of extensions.
const MAX_METHODS: usize = 100;

/// The maximum number of error codes in metrics.
const MAX_CODES: usize = 50;

const UNKNOWN: u8 = 0;
const ACTIVE: u8 = 1;
const INACTIVE: u8 = 2;

/// Everything that requests are recorded with.
#[derive(Debug)]
pub(crate) struct Instruments {
    tracer: OnceLock<Arc<BoxedTracer>>,
    meter: OnceLock<Meter>,
    metrics: OnceLock<Metrics>,
    /// Whether the program passed a meter provider.
    has_meter: bool,
    /// Whether there is a provider: known after the first span.
    state: AtomicU8,
    pub(crate) names: KnownNames,
    pub(crate) uris: KnownNames,
    pub(crate) methods: KnownNames,
    pub(crate) codes: KnownNames,
    pub(crate) rounds: FirstRounds,
    pub(crate) http_sessions: HttpSessions,
}

/// The metrics.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    pub(crate) server_duration: Histogram<f64>,
    pub(crate) client_duration: Histogram<f64>,
    pub(crate) server_session: Histogram<f64>,
    pub(crate) client_session: Histogram<f64>,
    pub(crate) store_duration: Histogram<f64>,
    pub(crate) active_requests: UpDownCounter<i64>,
    pub(crate) rejections: Counter<u64>,
    pub(crate) dropped_notifications: Counter<u64>,
}

impl Default for Instruments {
    fn default() -> Self {
        Self {
            tracer: OnceLock::new(),
            meter: OnceLock::new(),
            metrics: OnceLock::new(),
            has_meter: false,
            state: AtomicU8::new(UNKNOWN),
            names: KnownNames::new(MAX_NAMES),
            uris: KnownNames::new(MAX_NAMES),
            methods: KnownNames::new(MAX_METHODS),
            codes: KnownNames::new(MAX_CODES),
            rounds: FirstRounds::default(),
            http_sessions: HttpSessions::default(),
        }
    }
}

/// Returns the scope of all spans and metrics.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(SCOPE)
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url(SCHEMA_URL)
        .build()
}

impl Instruments {
    /// Returns new instruments with this tracer, and the meter of these.
    pub(crate) fn with_tracer(&self, tracer: BoxedTracer) -> Self {
        Self {
            tracer: OnceLock::from(Arc::new(tracer)),
            meter: self.meter.clone(),
            metrics: self.metrics.clone(),
            has_meter: self.has_meter,
            ..Self::default()
        }
    }

    /// Returns new instruments with this meter, and the tracer of these.
    pub(crate) fn with_meter(&self, meter: Meter) -> Self {
        Self {
            tracer: self.tracer.clone(),
            metrics: OnceLock::from(Metrics::new(&meter)),
            meter: OnceLock::from(meter),
            has_meter: true,
            ..Self::default()
        }
    }

    /// Returns `true` if there is no provider, so that there is nothing to do.
    #[inline]
    pub(crate) fn is_inactive(&self) -> bool {
        self.state.load(Ordering::Relaxed) == INACTIVE
    }

    /// Returns the meter that the program passed, or that of the global provider.
    pub(crate) fn meter(&self) -> &Meter {
        self.meter.get_or_init(|| global::meter_with_scope(scope()))
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        self.metrics.get_or_init(|| Metrics::new(self.meter()))
    }

    /// Starts a span. The first one shows whether there is a provider.
    pub(crate) fn start(&self, builder: SpanBuilder, parent: &Context) -> Context {
        let tracer = self
            .tracer
            .get_or_init(|| Arc::new(global::tracer_with_scope(scope())));
        let span = tracer.build_with_context(builder, parent);
        if self.state.load(Ordering::Relaxed) == UNKNOWN && !parent.is_telemetry_suppressed() {
            // Without a provider, a span has the context of its parent.
            let own = span.span_context();
            let is_new = own.is_valid() && own.span_id() != parent.span().span_context().span_id();
            let state = if is_new || self.has_meter {
                ACTIVE
            } else {
                INACTIVE
            };
            self.state.store(state, Ordering::Relaxed);
        }
        parent.with_span(span)
    }
}

impl Metrics {
    fn new(meter: &Meter) -> Self {
        let duration = |name: &'static str, description: &'static str| {
            meter
                .f64_histogram(name)
                .with_unit("s")
                .with_description(description)
                .with_boundaries(DURATION_BOUNDS.to_vec())
                .build()
        };
        Self {
            server_duration: duration(
                metric::SERVER_DURATION,
                "The duration of requests, from their arrival to their outcome",
            ),
            client_duration: duration(
                metric::CLIENT_DURATION,
                "The duration of requests, from sending them to their response",
            ),
            server_session: duration(
                metric::SERVER_SESSION,
                "The duration of sessions, from their initialization to their end",
            ),
            client_session: duration(
                metric::CLIENT_SESSION,
                "The duration of connections to servers, from their negotiation to their end",
            ),
            store_duration: meter
                .f64_histogram(metric::STORE_DURATION)
                .with_unit("s")
                .with_description("The duration of requests of stores to their engine")
                .with_boundaries(STORE_BOUNDS.to_vec())
                .build(),
            active_requests: meter
                .i64_up_down_counter(metric::ACTIVE_REQUESTS)
                .with_unit("{request}")
                .with_description("The number of requests that are being served")
                .build(),
            rejections: meter
                .u64_counter(metric::REJECTIONS)
                .with_unit("{request}")
                .with_description("The number of requests that a limit rejected")
                .build(),
            dropped_notifications: meter
                .u64_counter(metric::DROPPED_NOTIFICATIONS)
                .with_unit("{notification}")
                .with_description(
                    "The number of notifications that were dropped because a queue is full",
                )
                .build(),
        }
    }
}
