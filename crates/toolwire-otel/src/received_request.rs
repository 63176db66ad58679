//! The requests that a server sends to a client while it serves a call: elicitation, sampling and roots, as the client
//! receives them.
//!
//! A client of 2026-07-28 gets them in the results of its calls. They have no id and no trace context: the spans are
//! children of the current one.

use opentelemetry::context::FutureExt as _;
use serde::Deserialize;
use toolwire::client_middleware::ReceivedRequest;
use toolwire::types::Meta;
use toolwire::{BoxFuture, ErrorObject, RawJson, TraceContext};

use crate::attributes::{add_request, server_attributes};
use crate::ending::Ending;
use crate::first_rounds::Round;
use crate::parent::Parent;
use crate::recording::{Received, Recording};
use crate::target::Target;
use crate::telemetry::Telemetry;

impl Telemetry {
    /// Records a request of the server until the client responds. The handler runs inside the span.
    pub(crate) async fn record_received(
        &self,
        request: &ReceivedRequest,
        responding: BoxFuture<'_, Result<RawJson, ErrorObject>>,
    ) -> Result<RawJson, ErrorObject> {
        let recording = self.start_received(request);
        let context = recording.context.clone();
        let outcome = responding.with_context(context).await;
        let ending = match &outcome {
            Ok(_) => Ending::default(),
            Err(error) => Ending::of_error(error),
        };
        recording.end(&ending);
        outcome
    }

    fn start_received(&self, request: &ReceivedRequest) -> Recording {
        let method = request.method().to_owned();
        let target = Target::Nothing;
        let parent = Parent::of(self.settings.propagators, &trace_of(request), None);
        let metric_attributes =
            server_attributes(&self.settings, request.connection(), request.version());
        let mut attributes = metric_attributes.clone();
        add_request(
            &mut attributes,
            &self.settings,
            &method,
            &target,
            None,
            || None,
        );
        let received = Received {
            id: request.id().map(ToString::to_string),
            method,
            target,
            round: Round::first(),
            parent,
            attributes,
            metric_attributes,
        };
        Recording::of_received(self, received)
    }
}

/// Returns the trace context in the `_meta` of a request.
fn trace_of(request: &ReceivedRequest) -> TraceContext {
    /// The part of the parameters with the trace context.
    #[derive(Deserialize)]
    struct ParamsWithMeta {
        #[serde(rename = "_meta")]
        meta: Option<Meta>,
    }

    let params = request.params();
    let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
    let meta = params.and_then(|params: ParamsWithMeta| params.meta);
    meta.map(|meta| TraceContext::from_meta(&meta))
        .unwrap_or_default()
}
