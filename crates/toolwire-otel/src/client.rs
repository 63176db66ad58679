//! The middleware of a client.

use std::time::Instant;

use opentelemetry::context::FutureExt as _;
use opentelemetry::trace::{SpanBuilder, SpanKind, TraceContextExt as _};
use opentelemetry::{Context, KeyValue};
use serde::Deserialize;
use toolwire::client_middleware::{
    ClientMiddleware, ClientNext, ClientRequest, ConnectionEnd, ReceivedRequest,
};
use toolwire::types::{Meta, meta_key};
use toolwire::{
    BoxFuture, ConnectionInfo, Error, ErrorObject, ProtocolVersion, RawJson, TraceContext,
};

use crate::attributes::{add_request, server_attributes};
use crate::conventions::attribute;
use crate::ending::Ending;
use crate::first_rounds::Round;
use crate::parent::Parent;
use crate::propagation::Propagators;
use crate::recording::{Recording, Start};
use crate::side::Side;
use crate::stream_opening::Opening;
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
                set_meta(request, self.settings.propagators, &Context::current());
                Box::pin(async move { next.run(request).await })
            }
            _ => Box::pin(async move { next.run(request).await }),
        }
    }

    fn handles_every_request(&self) -> bool {
        true
    }

    fn handle_received<'a>(
        &'a self,
        request: &'a ReceivedRequest,
        responding: BoxFuture<'a, Result<RawJson, ErrorObject>>,
    ) -> BoxFuture<'a, Result<RawJson, ErrorObject>> {
        match self.settings.mode {
            TelemetryMode::SpansAndMetrics if !self.instruments.is_inactive() => {
                Box::pin(self.record_received(request, responding))
            }
            _ => responding,
        }
    }

    fn connected(
        &self,
        version: ProtocolVersion,
        connection: &ConnectionInfo,
    ) -> Option<ConnectionEnd> {
        let is_recorded =
            self.settings.mode == TelemetryMode::SpansAndMetrics && !self.instruments.is_inactive();
        is_recorded.then(|| -> ConnectionEnd {
            let attributes = server_attributes(&self.settings, connection, version);
            let sessions = self.instruments.metrics().client_session.clone();
            let start = Instant::now();
            Box::new(move || sessions.record(start.elapsed().as_secs_f64(), &attributes))
        })
    }
}

impl Telemetry {
    async fn record_request(
        &self,
        request: &mut ClientRequest,
        next: ClientNext<'_>,
    ) -> Result<RawJson, Error> {
        let recording = self.start_request(request);
        if is_stream(request.method()) {
            return record_opening(recording, request, next).await;
        }
        let context = recording.context.clone();
        let running = RunningRequest {
            recording: Some(recording),
            request: request.clone(),
        };
        let outcome = next.run(request).with_context(context).await;
        running.end(&outcome);
        outcome
    }

    /// Starts the span of a request, and writes it into its `_meta`.
    fn start_request(&self, request: &mut ClientRequest) -> Recording {
        let method = request.method().to_owned();
        let target = Target::of(&method, request.name().as_deref(), request.params());
        let sent = SentParams::of(request);
        let is_retry = sent.is_retry();
        let round = if may_ask_input(&method) {
            let rounds = &self.instruments.rounds;
            rounds.round(is_retry, sent.request_state.as_deref())
        } else {
            Round::first()
        };
        let connection = request.connection();
        let metric_attributes = server_attributes(&self.settings, connection, request.version());
        let mut attributes = metric_attributes.clone();
        let number = (is_retry && may_ask_input(&method)).then_some(round.number);
        let arguments = || request.arguments();
        add_request(
            &mut attributes,
            &self.settings,
            &method,
            &target,
            number,
            arguments,
        );
        let (context, owns_span) = match self.reused_span(&target) {
            Some(context) => {
                context.span().set_attributes(attributes);
                (context, false)
            }
            None => {
                let parent = Parent::of(self.settings.propagators, &sent.trace(request), None);
                let builder = SpanBuilder::from_name(target.span_name(&method))
                    .with_kind(SpanKind::Client)
                    .with_attributes(attributes)
                    .with_links(parent.links(&round));
                (self.instruments.start(builder, &parent.context), true)
            }
        };
        set_meta(request, self.settings.propagators, &context);
        let start = Start {
            side: Side::Client,
            context,
            owns_span,
            method,
            target,
            round,
            metric_attributes,
        };
        Recording::new(self, start)
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

/// A request that waits for its response. Dropping the value records a cancellation.
struct RunningRequest {
    recording: Option<Recording>,
    /// A clone, which gets the id of the message, too.
    request: ClientRequest,
}

impl RunningRequest {
    fn end(mut self, outcome: &Result<RawJson, Error>) {
        if let Some(recording) = self.take() {
            let ending = match outcome {
                Ok(result) => recording.ending_of_result(result.get()),
                Err(error) => Ending::of_failure(error),
            };
            recording.end(&ending);
        }
    }

    /// Returns the recording with the id of the message, once.
    fn take(&mut self) -> Option<Recording> {
        let recording = self.recording.take()?;
        set_id(&recording, &self.request);
        Some(recording)
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// Records the opening of a stream: until the server acknowledges it. The stream itself may be open for hours.
async fn record_opening(
    recording: Recording,
    request: &mut ClientRequest,
    next: ClientNext<'_>,
) -> Result<RawJson, Error> {
    set_id(&recording, request);
    let context = recording.context.clone();
    let opening = Opening::new(recording);
    let opened = opening.clone();
    request.on_stream_opened(move || opened.end(Ending::default));
    let outcome = next.run(request).with_context(context).await;
    opening.end(|| match &outcome {
        Ok(_) => Ending::default(),
        Err(error) => Ending::of_failure(error),
    });
    outcome
}

/// Adds the id of the message to the span, once it is known.
fn set_id(recording: &Recording, request: &ClientRequest) {
    if let Some(id) = request.sent_id() {
        let id = KeyValue::new(attribute::REQUEST_ID, id.to_string());
        recording.context.span().set_attribute(id);
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
fn set_meta(request: &mut ClientRequest, propagators: Propagators, context: &Context) {
    let mut meta = Meta::new();
    propagators.trace_context(context).to_meta(&mut meta);
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
