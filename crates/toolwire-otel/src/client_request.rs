//! The requests that a server sends to its client while it serves a call: elicitation, sampling and roots.
//!
//! Only clients before 2026-07-28 get such requests. For later ones, each round of the call has a span.

use opentelemetry::trace::{SpanBuilder, SpanKind, TraceContextExt as _};
use opentelemetry::{Context, KeyValue};
use toolwire::RawJson;
use toolwire::middleware::{ClientRequestEnd, Request};
use toolwire::types::Meta;
use toolwire_proto::raw_object::RawObject;

use crate::attributes::add_request;
use crate::ending::Ending;
use crate::first_rounds::Round;
use crate::propagation::Propagators;
use crate::recording::{Recording, Start};
use crate::side::Side;
use crate::target::Target;
use crate::telemetry::Telemetry;

impl Telemetry {
    /// Records the requests to the client that this request causes, as children of its span.
    pub(crate) fn observe_client_requests(&self, request: &mut Request, call: &Recording) {
        if !request.scope().transport().can_request() {
            return;
        }
        let telemetry = self.clone();
        let (context, attributes) = (call.context.clone(), call.metric_attributes.clone());
        request.on_client_request(move |method, params| {
            telemetry.start_client_request(method, params, &context, &attributes)
        });
    }

    fn start_client_request(
        &self,
        method: &str,
        params: &mut RawJson,
        call: &Context,
        metric_attributes: &[KeyValue],
    ) -> ClientRequestEnd {
        // A handler may have spans of its own. A task that it spawned has none.
        let current = Context::current();
        let parent = if current.has_active_span() {
            &current
        } else {
            call
        };
        let mut attributes = metric_attributes.to_vec();
        let target = Target::Nothing;
        add_request(
            &mut attributes,
            &self.settings,
            method,
            &target,
            None,
            || None,
        );
        let builder = SpanBuilder::from_name(target.span_name(method))
            .with_kind(SpanKind::Client)
            .with_attributes(attributes);
        let context = self.instruments.start(builder, parent);
        set_trace_context(params, self.settings.propagators, &context);
        let start = Start {
            side: Side::Client,
            context,
            owns_span: true,
            method: method.to_owned(),
            target,
            round: Round::first(),
            metric_attributes: metric_attributes.to_vec(),
        };
        let recording = Recording::new(self, start);
        Box::new(move |outcome| {
            let ending = match outcome {
                Ok(_) => Ending::default(),
                Err(error) => Ending::of_failure(error),
            };
            recording.end(&ending);
        })
    }
}

/// Writes the trace context of a span into the `_meta` of parameters. Their other members are unchanged.
fn set_trace_context(params: &mut RawJson, propagators: Propagators, context: &Context) {
    let trace = propagators.trace_context(context);
    if trace.is_empty() {
        return;
    }
    let changed = RawObject::parse(params.as_raw_value()).map(|mut object| {
        let sent = object.get("_meta");
        let sent = sent.and_then(|meta| serde_json::from_str::<Meta>(meta.raw().get()).ok());
        let mut meta = sent.unwrap_or_default();
        trace.to_meta(&mut meta);
        if let Ok(meta) = RawJson::from_serialize(&meta) {
            object.set("_meta", meta);
        }
        object.finish()
    });
    if let Some(changed) = changed {
        *params = changed;
    }
}
