//! The middleware of a server.

use opentelemetry::context::FutureExt as _;
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{Context, KeyValue};
use toolwire::middleware::{Middleware, Next, NotificationDrop, Outcome, Request};
use toolwire::types::{code, meta_key};
use toolwire::{BoxFuture, ProtocolVersion, RawJson, TraceContext};
use toolwire_proto::observed::{recorded_name, session_digest};
use toolwire_proto::raw_object::RawObject;

use crate::attributes::{add_request, connection_attributes};
use crate::conventions::{attribute, value};
use crate::ending::Ending;
use crate::parent::Parent;
use crate::propagation::Propagators;
use crate::recording::{Received, Recording};
use crate::stream_opening::Opening;
use crate::target::{Target, is_stream, may_ask_input};
use crate::telemetry::{Telemetry, TelemetryMode};

/// The member with the id of the trace in the data of an error.
const TRACE_ID: &str = "traceId";

impl Middleware for Telemetry {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        match self.settings.mode {
            TelemetryMode::SpansAndMetrics if !self.instruments.is_inactive() => {
                Box::pin(self.record_exchange(request, next))
            }
            TelemetryMode::PropagationOnly => {
                let context = parent_of(request, self.settings.propagators).context;
                remove_switched_off(request, self.settings.propagators);
                Box::pin(next.run(request).with_context(context))
            }
            _ => Box::pin(next.run(request)),
        }
    }

    fn is_active(&self) -> bool {
        match self.settings.mode {
            TelemetryMode::SpansAndMetrics => !self.instruments.is_inactive(),
            TelemetryMode::PropagationOnly => true,
            TelemetryMode::Off => false,
        }
    }

    fn session_opened(&self, session: &str, version: ProtocolVersion) {
        self.http_session_opened(session, version);
    }

    fn session_closed(&self, session: &str) {
        self.http_session_closed(session);
    }

    fn notification_dropped(&self, dropped: NotificationDrop) {
        if self.settings.mode != TelemetryMode::SpansAndMetrics || self.instruments.is_inactive() {
            return;
        }
        let queue = match dropped {
            NotificationDrop::FromClient => value::FROM_CLIENT,
            NotificationDrop::ForOtherNodes => value::FOR_OTHER_NODES,
            NotificationDrop::ForClient => value::FOR_CLIENT,
            _ => value::OTHER_NAME,
        };
        let attributes = [KeyValue::new(attribute::QUEUE, queue)];
        let metrics = self.instruments.metrics();
        metrics.dropped_notifications.add(1, &attributes);
    }
}

impl Telemetry {
    async fn record_exchange(&self, request: &mut Request, next: Next<'_>) -> Outcome {
        let recording = self.start_exchange(request);
        let context = recording.context.clone();
        let is_new_session = starts_session(request);
        if is_stream(request.method()) {
            return record_opening(recording, request, next).await;
        }
        self.observe_client_requests(request, &recording);
        let outcome = next.run(request).with_context(context).await;
        let ending = match outcome.error() {
            Some(error) => Ending::of_error(error),
            None if may_ask_input(request.method()) => {
                let result = outcome.result();
                recording.ending_of_result(result.as_ref().map_or("null", |result| result.get()))
            }
            None => Ending::default(),
        };
        if is_new_session && ending.error_type.is_none() {
            record_session(&recording, request);
        }
        let outcome = self.with_trace_id(outcome, &recording);
        recording.end(&ending);
        outcome
    }

    /// Adds the id of the trace to an internal error, if the program asked for it.
    fn with_trace_id(&self, outcome: Outcome, recording: &Recording) -> Outcome {
        let span = recording.context.span();
        let span = span.span_context();
        match outcome.error() {
            Some(error)
                if self.settings.trace_ids_in_errors
                    && error.code == code::INTERNAL_ERROR
                    && span.is_valid() =>
            {
                match data_with_trace_id(error.data.as_ref(), &span.trace_id().to_string()) {
                    Some(data) => error.clone().with_data(data).into(),
                    None => outcome,
                }
            }
            _ => outcome,
        }
    }

    /// Starts the span of a request, and writes it into the `_meta` that the handler sees.
    fn start_exchange(&self, request: &mut Request) -> Recording {
        let method = request.method().to_owned();
        let target = Target::of(&method, request.name(), request.params());
        let rounds = &self.instruments.rounds;
        let round = rounds.round(request.is_retry(), request.sent_request_state());
        let parent = parent_of(request, self.settings.propagators);
        let connection = request.scope().transport().connection_info();
        let metric_attributes =
            connection_attributes(&self.settings, connection, request.version());
        let mut attributes = metric_attributes.clone();
        let number = request.is_retry().then_some(round.number);
        let arguments = || request.arguments().map(RawJson::from);
        add_request(
            &mut attributes,
            &self.settings,
            &method,
            &target,
            number,
            arguments,
        );
        if let Some(session) = request.scope().connection_token() {
            let session = if self.settings.session_ids {
                session.to_owned()
            } else {
                session_digest(session)
            };
            attributes.push(KeyValue::new(attribute::SESSION_ID, session));
        }
        if let Some(address) = connection.and_then(|info| info.peer_address.clone()) {
            attributes.push(KeyValue::new(attribute::CLIENT_ADDRESS, address));
            let port = connection.and_then(|info| info.peer_port);
            attributes
                .extend(port.map(|port| KeyValue::new(attribute::CLIENT_PORT, i64::from(port))));
        }
        let received = Received {
            id: Some(request.scope().request_id().to_string()),
            method,
            target,
            round,
            parent,
            attributes,
            metric_attributes,
        };
        let recording = Recording::of_received(self, received);
        set_meta(request, self.settings.propagators, &recording.context);
        recording
    }
}

/// Returns the data of an error with the id of the trace. Returns `None` if the data is not an object, or if a server behind
/// this one has added an id.
fn data_with_trace_id(data: Option<&RawJson>, id: &str) -> Option<RawJson> {
    let mut members = match data {
        Some(data) => RawObject::parse(data.as_raw_value())?,
        None => RawObject::empty(),
    };
    if members.contains(TRACE_ID) {
        return None;
    }
    members.set_text(TRACE_ID, id);
    Some(members.finish())
}

/// Records the opening of a stream: until its first message, or its end.
async fn record_opening(recording: Recording, request: &mut Request, next: Next<'_>) -> Outcome {
    let context = recording.context.clone();
    let opening = Opening::new(recording);
    let opened = opening.clone();
    request.on_notification(move |notification| {
        if let Some(recording) = opened.take() {
            let method = recorded_name(&notification.method).to_owned();
            let method = KeyValue::new(attribute::METHOD, method);
            recording.context.span().add_event("message", vec![method]);
            recording.end(&Ending::default());
        }
        Some(notification)
    });
    let outcome = next.run(request).with_context(context).await;
    opening.end(|| outcome.error().map(Ending::of_error).unwrap_or_default());
    outcome
}

/// Returns `true` if a request initializes a connection for the first time. A client may repeat `initialize`.
fn starts_session(request: &Request) -> bool {
    let connection = request.scope().connection_state();
    request.method() == "initialize"
        && request.scope().connection_token().is_none()
        && connection.is_some_and(|connection| !connection.is_initialize_processed())
}

/// Records the duration of the session that a request has initialized, when it ends.
fn record_session(recording: &Recording, request: &Request) {
    let Some(ended) = request.scope().transport().ended() else {
        return;
    };
    let sessions = recording.instruments.metrics().server_session.clone();
    let attributes = recording.metric_attributes.clone();
    let start = recording.start;
    // The task ends with the session.
    tokio::spawn(async move {
        ended.cancelled().await;
        sessions.record(start.elapsed().as_secs_f64(), &attributes);
    });
}

fn parent_of(request: &Request, propagators: Propagators) -> Parent {
    let connection = request.scope().transport().connection_info();
    let meta = TraceContext::from_meta(request.meta());
    let http = connection.map(|connection| &connection.trace);
    Parent::of(propagators, &meta, http)
}

/// Writes the trace context of a span into `_meta`, so that audit logs and relays use it.
fn set_meta(request: &mut Request, propagators: Propagators, context: &Context) {
    remove_switched_off(request, propagators);
    let trace = propagators.trace_context(context);
    if trace.traceparent().is_none() {
        return;
    }
    let mut meta = request.meta().clone();
    meta.remove(meta_key::TRACESTATE);
    trace.to_meta(&mut meta);
    request.set_meta(&meta);
}

/// Removes the values that are switched off from `_meta`, so that a relay does not forward them.
fn remove_switched_off(request: &mut Request, propagators: Propagators) {
    if propagators == Propagators::ALL {
        return;
    }
    let keys = [
        (propagators.trace_context, meta_key::TRACEPARENT),
        (propagators.trace_context, meta_key::TRACESTATE),
        (propagators.baggage, meta_key::BAGGAGE),
    ];
    let mut meta = request.meta().clone();
    let mut is_changed = false;
    for (is_sent, key) in keys {
        is_changed |= !is_sent && meta.remove(key).is_some();
    }
    if is_changed {
        request.set_meta(&meta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_an_error_gets_the_trace_id() {
        let check = |data: Option<&str>, expected: Option<&str>| {
            let data = data.map(|data| RawJson::from_string(data.to_owned()).unwrap());
            let changed = data_with_trace_id(data.as_ref(), "7f");
            assert_eq!(changed.as_ref().map(RawJson::get), expected, "{data:?}");
        };
        check(None, Some(r#"{"traceId":"7f"}"#));
        check(Some("{}"), Some(r#"{"traceId":"7f"}"#));
        // Other members stay as they are.
        let unreachable = r#"{"reason":"x","after":1.0}"#;
        let expected = r#"{"reason":"x","after":1.0,"traceId":"7f"}"#;
        check(Some(unreachable), Some(expected));
        check(Some(r#"{"traceId":"1"}"#), None);
        check(Some(r#"["a"]"#), None);
        check(Some("null"), None);
    }
}
