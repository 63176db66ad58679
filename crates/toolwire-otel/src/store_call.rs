//! The requests of stores to their engine.

use std::sync::Arc;
use std::time::Instant;

use opentelemetry::trace::{SpanBuilder, SpanKind, Status, TraceContextExt as _};
use opentelemetry::{Context, KeyValue};

use crate::conventions::attribute;
use crate::instruments::Instruments;
use crate::telemetry::{Telemetry, TelemetryMode};

impl Telemetry {
    /// Records a request of a store to its engine, and returns a function for its outcome: `ok`, or a word for the error. For
    /// `RedisOptions::with_call_observer` of the crate `toolwire-redis`:
    ///
    /// ```
    /// # use toolwire_otel::Telemetry;
    /// let telemetry = Telemetry::new();
    /// let end = telemetry.store_call("redis", "sessions", "GET");
    /// // The request is sent here.
    /// end("ok");
    /// ```
    ///
    /// The metric is `db.client.operation.duration`. There is a span only if the current context has one: requests in the
    /// background belong to no trace.
    #[must_use]
    pub fn store_call(
        &self,
        system: &'static str,
        store: &'static str,
        operation: &str,
    ) -> Box<dyn FnOnce(&'static str) + Send> {
        if self.settings.mode != TelemetryMode::SpansAndMetrics || self.instruments.is_inactive() {
            return Box::new(|_| {});
        }
        let attributes = vec![
            KeyValue::new(attribute::DB_SYSTEM, system),
            KeyValue::new(attribute::DB_OPERATION, operation.to_owned()),
            KeyValue::new(attribute::STORE, store),
        ];
        let parent = Context::current();
        let span = parent.has_active_span().then(|| {
            let builder = SpanBuilder::from_name(format!("{operation} {store}"))
                .with_kind(SpanKind::Client)
                .with_attributes(attributes.clone());
            self.instruments.start(builder, &parent)
        });
        let call = RunningCall {
            instruments: Arc::clone(&self.instruments),
            attributes,
            span,
            start: Instant::now(),
        };
        Box::new(move |outcome| call.end(outcome))
    }
}

/// A request that waits for its response.
struct RunningCall {
    instruments: Arc<Instruments>,
    attributes: Vec<KeyValue>,
    span: Option<Context>,
    start: Instant,
}

impl RunningCall {
    fn end(mut self, outcome: &'static str) {
        let error = (outcome != "ok").then(|| KeyValue::new(attribute::ERROR_TYPE, outcome));
        if let Some(context) = &self.span {
            let span = context.span();
            if let Some(error) = &error {
                span.set_attribute(error.clone());
                span.set_status(Status::error(""));
            }
            span.end();
        }
        self.attributes.extend(error);
        let duration = self.start.elapsed().as_secs_f64();
        let durations = &self.instruments.metrics().store_duration;
        durations.record(duration, &self.attributes);
    }
}
