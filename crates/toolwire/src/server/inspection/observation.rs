//! The observation of one exchange, from its request to its outcome.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use toolwire_proto::inspection::{
    CALL_KEY, ExchangeReport, InspectionLine, ReportedOutcome, Span, SpanKind,
};

use crate::engine::{BoxFuture, Outcome, TransportContext};
use crate::server::call_log;
use crate::server::inspection::Inspection;
use crate::server::middleware::is_stream;
use crate::server::request::Exchange;
use crate::sync::lock;

tokio::task_local! {
    /// The exchange whose request this task handles.
    static CURRENT: Arc<Observation>;
}

/// Changes the report of the exchange that this task handles, if there is one.
pub(super) fn with_current(change: impl FnOnce(&mut ExchangeReport)) {
    // Without an observation there is nothing to change.
    let _ = CURRENT.try_with(|observation| change(&mut lock(&observation.report)));
}

/// What is known so far about an exchange.
pub(crate) struct Observation {
    inspection: Arc<Inspection>,
    transport: Arc<dyn TransportContext>,
    started: Instant,
    report: Mutex<ExchangeReport>,
    is_stream: bool,
}

impl Observation {
    /// Returns `true` if the exchange is reported.
    pub(crate) fn is_wanted(exchange: &Exchange) -> bool {
        Inspection::of(exchange).is_some()
    }

    /// Starts the observation of an exchange, if it is reported.
    pub(crate) fn of(exchange: &Exchange) -> Option<Arc<Self>> {
        Inspection::of(exchange).map(|inspection| Self::start(inspection, exchange))
    }

    /// Starts the observation. It does not hold the request, which middleware can change only while there is one reference.
    #[cold]
    fn start(inspection: &Arc<Inspection>, exchange: &Exchange) -> Arc<Self> {
        let scope = exchange.context.scope();
        let method = exchange.route().name();
        let mut report = ExchangeReport::new(method, exchange.name(), scope.version().as_str());
        report.id = Some(scope.request_id().clone());
        if let Ok(Some(call)) = scope.meta().get_as::<String>(CALL_KEY) {
            report.set_call(&call);
        }
        let is_stream = is_stream(method);
        report.load = inspection.begin(is_stream);
        Arc::new(Self {
            inspection: Arc::clone(inspection),
            transport: Arc::clone(scope.transport()),
            started: Instant::now(),
            report: Mutex::new(report),
            is_stream,
        })
    }

    /// Begins a span. It ends when the returned value is dropped.
    pub(crate) fn begin_span(self: &Arc<Self>, kind: SpanKind, name: &str) -> OpenSpan {
        let start = self.elapsed();
        let index = lock(&self.report).add_span(Span::new(kind, name, start));
        OpenSpan {
            observation: Arc::clone(self),
            index,
            start,
        }
    }

    /// Returns the microseconds since the start.
    fn elapsed(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Writes the report.
    fn end(&self, outcome: ReportedOutcome) {
        self.inspection.end(self.is_stream);
        let mut report = std::mem::take(&mut *lock(&self.report));
        report.outcome = outcome;
        report.took_us = self.elapsed();
        report.load.queued = self.transport.queued_messages();
        report.set_own_times();
        let line = InspectionLine::Exchange(Box::new(report));
        (self.inspection.write)(line.write());
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation").finish_non_exhaustive()
    }
}

/// A span that has not ended.
pub(crate) struct OpenSpan {
    observation: Arc<Observation>,
    /// `None` if there were too many spans.
    index: Option<usize>,
    start: u64,
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        let took = self.observation.elapsed().saturating_sub(self.start);
        let mut report = lock(&self.observation.report);
        if let Some(index) = self.index
            && let Some(span) = report.spans.get_mut(index)
        {
            span.took_us = took;
        }
    }
}

/// Writes the report of an exchange that ends without an outcome.
struct Unfinished(Option<Arc<Observation>>);

impl Unfinished {
    fn end(mut self, outcome: &Outcome) {
        if let Some(observation) = self.0.take() {
            observation.end(reported(outcome));
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(observation) = self.0.take() {
            observation.end(ReportedOutcome::Cancelled);
        }
    }
}

/// Runs an observed exchange, and reports it.
pub(crate) fn observe(
    observation: Arc<Observation>,
    running: BoxFuture<'static, Outcome>,
) -> BoxFuture<'static, Outcome> {
    let unfinished = Unfinished(Some(Arc::clone(&observation)));
    Box::pin(async move {
        // A cancelled exchange drops what runs before this value, so its spans end before its report.
        let unfinished = unfinished;
        let outcome = CURRENT.scope(observation, running).await;
        unfinished.end(&outcome);
        outcome
    })
}

fn reported(outcome: &Outcome) -> ReportedOutcome {
    match call_log::kind(outcome) {
        "error" => ReportedOutcome::Error,
        "tool error" => ReportedOutcome::ToolError,
        "input required" => ReportedOutcome::InputRequired,
        _ => ReportedOutcome::Ok,
    }
}
