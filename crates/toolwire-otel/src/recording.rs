//! One request that is being recorded: its span and its metrics.

use std::sync::Arc;
use std::time::Instant;

use opentelemetry::trace::{SpanBuilder, SpanKind, Status, TraceContextExt as _};
use opentelemetry::{Context, KeyValue};
use toolwire_proto::methods;
use toolwire_proto::observed::recorded_name;

use crate::attributes::upstream;
use crate::conventions::{attribute, value};
use crate::ending::Ending;
use crate::first_rounds::Round;
use crate::instruments::Instruments;
use crate::known_names::Peer;
use crate::parent::Parent;
use crate::side::Side;
use crate::target::{Target, may_ask_input};
use crate::telemetry::{Settings, Telemetry};

/// A running request. Dropping the value before its end records a cancellation, or a panic.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) instruments: Arc<Instruments>,
    settings: Arc<Settings>,
    side: Side,
    /// The context with the span of the request.
    pub(crate) context: Context,
    /// Whether the span is ended with the request.
    owns_span: bool,
    method: String,
    pub(crate) target: Target,
    round: Round,
    /// The attributes of metrics that are known at the start.
    pub(crate) metric_attributes: Vec<KeyValue>,
    pub(crate) start: Instant,
    /// The method in metrics, whose number is limited.
    metric_method: Arc<str>,
    has_ended: bool,
}

/// What is known about a request at its start.
pub(crate) struct Start {
    pub(crate) side: Side,
    /// The context with the span of the request.
    pub(crate) context: Context,
    /// Whether the span is ended with the request.
    pub(crate) owns_span: bool,
    pub(crate) method: String,
    pub(crate) target: Target,
    pub(crate) round: Round,
    /// The attributes of metrics that are known at the start.
    pub(crate) metric_attributes: Vec<KeyValue>,
}

/// A received request, before its span starts.
pub(crate) struct Received {
    /// The id of the message, if it is one.
    pub(crate) id: Option<String>,
    pub(crate) method: String,
    pub(crate) target: Target,
    pub(crate) round: Round,
    pub(crate) parent: Parent,
    /// The attributes of the span, without the id.
    pub(crate) attributes: Vec<KeyValue>,
    /// The attributes of metrics that are known at the start.
    pub(crate) metric_attributes: Vec<KeyValue>,
}

impl Recording {
    /// Starts the span of a received request.
    pub(crate) fn of_received(telemetry: &Telemetry, received: Received) -> Self {
        let mut attributes = received.attributes;
        let id = received.id.as_deref().map(recorded_name);
        attributes.extend(id.map(|id| KeyValue::new(attribute::REQUEST_ID, id.to_owned())));
        let builder = SpanBuilder::from_name(received.target.span_name(&received.method))
            .with_kind(SpanKind::Server)
            .with_attributes(attributes)
            .with_links(received.parent.links(&received.round));
        let instruments = &telemetry.instruments;
        let context = instruments.start(builder, &received.parent.context);
        let start = Start {
            // Durations are those of the side that receives a request.
            side: Side::Server,
            context,
            owns_span: true,
            method: received.method,
            target: received.target,
            round: received.round,
            metric_attributes: received.metric_attributes,
        };
        Self::new(telemetry, start)
    }

    /// Starts to record a request, and counts it as active.
    pub(crate) fn new(telemetry: &Telemetry, start: Start) -> Self {
        let instruments = Arc::clone(&telemetry.instruments);
        // Clients of a relay can send any method.
        let is_known = methods::find(&start.method).is_some();
        let everyone = Peer {
            side: start.side,
            upstream: None,
        };
        let metric_method = instruments
            .methods
            .bounded(&everyone, &start.method, is_known);
        let recording = Self {
            instruments,
            settings: Arc::clone(&telemetry.settings),
            side: start.side,
            context: start.context,
            owns_span: start.owns_span,
            method: start.method,
            target: start.target,
            round: start.round,
            metric_attributes: start.metric_attributes,
            start: Instant::now(),
            metric_method,
            has_ended: false,
        };
        recording.count_active(1);
        recording
    }

    /// Returns how a request ended with this result, and adds the result to the span if payloads are recorded.
    pub(crate) fn ending_of_result(&self, result: &str) -> Ending {
        if !may_ask_input(&self.method) {
            return Ending::default();
        }
        if let Some(redaction) = &self.settings.payloads
            && matches!(self.target, Target::Tool(_))
            && let Some(payload) = redaction.payload(result)
        {
            let span = self.context.span();
            span.set_attribute(KeyValue::new(attribute::TOOL_RESULT, payload));
        }
        Ending::of_result(&self.method, result)
    }

    /// Counts the request as active.
    fn count_active(&self, change: i64) {
        if self.side == Side::Server {
            let method = KeyValue::new(attribute::METHOD, Arc::clone(&self.metric_method));
            let active = &self.instruments.metrics().active_requests;
            active.add(change, &[method]);
        }
    }

    /// Records the end of the request.
    pub(crate) fn end(mut self, ending: &Ending) {
        self.record(ending);
    }

    fn record(&mut self, ending: &Ending) {
        self.has_ended = true;
        self.count_active(-1);
        self.record_span(ending);
        self.record_metrics(ending);
        if let Some(state) = &ending.request_state {
            let span = self.context.span();
            let rounds = &self.instruments.rounds;
            rounds.store(&self.round, span.span_context(), state);
        }
    }

    fn record_span(&self, ending: &Ending) {
        let span = self.context.span();
        if let Some(code) = ending.code {
            span.set_attribute(KeyValue::new(attribute::STATUS_CODE, code.to_string()));
        }
        if ending.is_cancelled {
            span.set_attribute(KeyValue::new(attribute::OUTCOME, value::CANCELLED));
        } else if may_ask_input(&self.method) && ending.error_type.is_none() {
            let outcome = if ending.is_input_required {
                span.set_attribute(KeyValue::new(attribute::ROUND, self.round.number));
                value::INPUT_REQUIRED
            } else {
                value::COMPLETE
            };
            span.set_attribute(KeyValue::new(attribute::OUTCOME, outcome));
        }
        if let Some(error_type) = &ending.error_type {
            span.set_attribute(KeyValue::new(attribute::ERROR_TYPE, error_type.clone()));
            let message = ending.message.as_deref().unwrap_or_default();
            span.set_status(Status::error(self.target.recorded_message(message)));
        }
        if self.owns_span {
            span.end();
        }
    }

    fn record_metrics(&self, ending: &Ending) {
        let metrics = self.instruments.metrics();
        let mut attributes = self.metric_attributes.clone();
        let method = Arc::clone(&self.metric_method);
        attributes.push(KeyValue::new(attribute::METHOD, method));
        // A peer may invent names. A request for one that does not exist fails with an error.
        let exists = ending.code.is_none() && !ending.is_cancelled;
        let peer = Peer {
            side: self.side,
            upstream: self.settings.upstream.clone(),
        };
        let names = &self.instruments.names;
        match &self.target {
            Target::Tool(name) => {
                let name = names.bounded(&peer, name, exists);
                attributes.push(KeyValue::new(attribute::TOOL_NAME, name));
                let operation = KeyValue::new(attribute::OPERATION_NAME, value::EXECUTE_TOOL);
                attributes.push(operation);
            }
            Target::Prompt(name) => {
                let name = names.bounded(&peer, name, exists);
                attributes.push(KeyValue::new(attribute::PROMPT_NAME, name));
            }
            Target::Resource { uri, .. } if self.settings.metric_uris => {
                let uri = self.instruments.uris.bounded(&peer, uri, exists);
                attributes.push(KeyValue::new(attribute::RESOURCE_URI, uri));
            }
            Target::Resource { .. } | Target::Nothing => {}
        }
        if let Some(code) = ending.code {
            let code = self
                .instruments
                .codes
                .bounded(&peer, &code.to_string(), true);
            let code_attribute = KeyValue::new(attribute::STATUS_CODE, Arc::clone(&code));
            attributes.push(code_attribute);
            attributes.push(KeyValue::new(attribute::ERROR_TYPE, code));
        } else if let Some(error_type) = &ending.error_type {
            attributes.push(KeyValue::new(attribute::ERROR_TYPE, error_type.clone()));
        }
        let histogram = match self.side {
            Side::Server => &metrics.server_duration,
            Side::Client => &metrics.client_duration,
        };
        histogram.record(self.start.elapsed().as_secs_f64(), &attributes);
        if let Some(limit) = ending.limit {
            let mut attributes = vec![KeyValue::new(attribute::LIMIT, limit)];
            attributes.extend(upstream(&self.settings));
            metrics.rejections.add(1, &attributes);
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let ending = if std::thread::panicking() {
            Ending::failed(value::OTHER_ERROR)
        } else if self.side == Side::Client {
            Ending::failed(value::CANCELLED)
        } else {
            // A client that cancels its request is not an error of the server.
            Ending {
                is_cancelled: true,
                ..Ending::default()
            }
        };
        self.record(&ending);
    }
}
