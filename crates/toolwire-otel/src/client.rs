//! The middleware of a client.

use std::sync::Arc;
use std::time::Instant;

use opentelemetry::context::FutureExt as _;
use opentelemetry::trace::{SpanBuilder, SpanKind, TraceContextExt as _};
use opentelemetry::{Context, KeyValue};
use serde::Deserialize;
use toolwire::client_middleware::{ClientMiddleware, ClientNext, ClientRequest};
use toolwire::types::{Meta, meta_key};
use toolwire::{BoxFuture, Error, RawJson, TraceContext};

use crate::conventions::attribute;
use crate::ending::Ending;
use crate::first_rounds::Round;
use crate::parent::Parent;
use crate::propagation::trace_context;
use crate::recording::{Recording, Side, upstream};
use crate::server::network_attributes;
use crate::target::{Target, is_stream, may_ask_input};
use crate::telemetry::{Telemetry, TelemetryMode, ToolSpan};

impl ClientMiddleware for Telemetry {
    fn handle<'a>(
        &'a self,
        request: &'a mut ClientRequest,
        next: ClientNext<'a>,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        match self.settings.mode {
            TelemetryMode::SpansAndMetrics if !self.instruments.is_inactive() => {
                Box::pin(self.record_request(request, next))
            }
            TelemetryMode::PropagationOnly => {
                set_meta(request, &Context::current());
                Box::pin(async move { next.run(request).await })
            }
            _ => Box::pin(async move { next.run(request).await }),
        }
    }

    fn handles_every_request(&self) -> bool {
        true
    }
}

impl Telemetry {
    async fn record_request(
        &self,
        request: &mut ClientRequest,
        next: ClientNext<'_>,
    ) -> Result<RawJson, Error> {
        let recording = self.start_request(request);
        let context = recording.context.clone();
        if is_stream(request.method()) {
            // The stream may be open for hours. So its span covers only the start.
            recording.end(&Ending::default());
            return next.run(request).await;
        }
        let outcome = next.run(request).with_context(context).await;
        let span = recording.context.span();
        if let Some(id) = request.sent_id() {
            span.set_attribute(KeyValue::new(attribute::REQUEST_ID, id.to_string()));
        }
        let ending = match &outcome {
            Ok(result) if may_ask_input(request.method()) => {
                if let Some(redaction) = &self.settings.payloads
                    && matches!(recording.target, Target::Tool(_))
                    && let Some(payload) = redaction.payload(result.get())
                {
                    span.set_attribute(KeyValue::new(attribute::TOOL_RESULT, payload));
                }
                Ending::of_result(request.method(), result.get())
            }
            Ok(_) => Ending::default(),
            Err(error) => Ending::of_failure(error),
        };
        recording.end(&ending);
        outcome
    }

    /// Starts the span of a request, and writes it into its `_meta`.
    fn start_request(&self, request: &mut ClientRequest) -> Recording {
        let method = request.method().to_owned();
        let target = Target::of(&method, request.name().as_deref());
        let sent = SentParams::of(request);
        let is_retry = sent.is_retry();
        let round = if may_ask_input(&method) {
            let rounds = &self.instruments.rounds;
            rounds.round(is_retry, sent.request_state.as_deref())
        } else {
            Round::first()
        };
        let connection = request.connection();
        let mut metric_attributes = network_attributes(Some(connection));
        let version = KeyValue::new(attribute::PROTOCOL_VERSION, request.version().as_str());
        metric_attributes.push(version);
        metric_attributes.extend(upstream(&self.settings));
        if let Some(address) = &connection.peer_address {
            metric_attributes.push(KeyValue::new(attribute::SERVER_ADDRESS, address.clone()));
            let port = connection.peer_port.map(i64::from);
            metric_attributes.extend(port.map(|port| KeyValue::new(attribute::SERVER_PORT, port)));
        }
        let mut attributes = metric_attributes.clone();
        attributes.push(KeyValue::new(attribute::METHOD, method.clone()));
        target.add_to(&mut attributes);
        if is_retry && may_ask_input(&method) {
            attributes.push(KeyValue::new(attribute::ROUND, round.number));
        }
        if let (Some(redaction), Target::Tool(_)) = (&self.settings.payloads, &target)
            && let Some(arguments) = request.arguments()
            && let Some(payload) = redaction.payload(arguments.get())
        {
            attributes.push(KeyValue::new(attribute::TOOL_ARGUMENTS, payload));
        }
        let (context, owns_span) = match self.reused_span(&target) {
            Some(context) => {
                context.span().set_attributes(attributes);
                (context, false)
            }
            None => {
                let parent = Parent::of(&sent.trace(request), None);
                let builder = SpanBuilder::from_name(target.span_name(&method))
                    .with_kind(SpanKind::Client)
                    .with_attributes(attributes)
                    .with_links(parent.links(&round));
                (self.instruments.start(builder, &parent.context), true)
            }
        };
        set_meta(request, &context);
        Recording {
            instruments: Arc::clone(&self.instruments),
            settings: Arc::clone(&self.settings),
            side: Side::Client,
            context,
            owns_span,
            metric_method: Recording::metric_method(&self.instruments, &method),
            method,
            target,
            round,
            metric_attributes,
            start: Instant::now(),
            has_ended: false,
        }
    }

    /// Returns the current context, if its span is the one of this tool call.
    fn reused_span(&self, target: &Target) -> Option<Context> {
        let context = Context::current();
        let marked = context.get::<ToolSpan>()?;
        let is_current = *marked == ToolSpan(context.span().span_context().span_id());
        let is_reused = self.settings.reuses_tool_span
            && matches!(target, Target::Tool(_))
            && context.span().span_context().is_valid();
        (is_current && is_reused).then_some(context)
    }
}

/// The members of the parameters that decide about the parent and the links of a span.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SentParams {
    request_state: Option<String>,
    input_responses: Option<RawJson>,
    /// The `_meta` of requests that connect, and of those of a relay.
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

impl SentParams {
    fn of(request: &ClientRequest) -> Self {
        let params = request.params();
        let sent = params.and_then(|params| serde_json::from_str(params.get()).ok());
        sent.unwrap_or_default()
    }

    fn is_retry(&self) -> bool {
        self.request_state.is_some() || self.input_responses.is_some()
    }

    /// Returns the trace context that the caller of the client set.
    fn trace(&self, request: &ClientRequest) -> TraceContext {
        let set = TraceContext::from_meta(request.meta());
        match &self.meta {
            Some(meta) if set.is_empty() => TraceContext::from_meta(meta),
            _ => set,
        }
    }
}

/// Writes the trace context of a span into `_meta`.
fn set_meta(request: &mut ClientRequest, context: &Context) {
    let mut meta = Meta::new();
    trace_context(context).to_meta(&mut meta);
    let keys = [
        meta_key::TRACEPARENT,
        meta_key::TRACESTATE,
        meta_key::BAGGAGE,
    ];
    for key in keys {
        if let Some(value) = meta.remove(key) {
            request.set_meta(key, value);
        }
    }
}
