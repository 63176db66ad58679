//! The span of a call, and a log line with its duration and outcome.
//!
//! Both exist only if a subscriber wants them. Otherwise a call costs one check of the level.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use serde::Deserialize;
use toolwire_proto::trace_context::TraceContext;
use tracing::Span;
use tracing::field::Empty;

use crate::engine::{EncodedResult, Outcome, PeerText};
use crate::server::RequestContext;
use crate::server::request::Exchange;

/// Returns the span of a call.
#[inline]
pub(crate) fn span(exchange: &Exchange) -> Span {
    let (context, version) = (&exchange.context, exchange.context.version());
    tracing::debug_span!(
        "exchange",
        method = exchange.route().name(),
        // Clients choose it: it may be the URI of a resource, or not exist.
        name = exchange.name().map(|name| PeerText::new(name).as_str()),
        id = %context.request_id(),
        %version,
        trace_id = Empty,
        span_id = Empty,
        outcome = Empty,
    )
}

/// Adds the ids of the trace and of the span in `_meta` to the span of a call, so that log messages can be found with their
/// trace. With telemetry, that is the span of this server, otherwise the one of the client.
pub(crate) fn record_trace(span: &Span, context: &RequestContext) {
    let trace = TraceContext::from_meta(context.meta());
    if let Some(id) = trace.trace_id() {
        span.record("trace_id", id);
    }
    if let Some(id) = trace.parent_id() {
        span.record("span_id", id);
    }
}

/// A running call that is logged when it ends. Dropping the value before that logs a cancellation.
pub(crate) struct CallLog {
    exchange: Exchange,
    started: Instant,
    has_ended: bool,
}

impl CallLog {
    pub(crate) fn start(context: RequestContext) -> Self {
        Self {
            exchange: Exchange { context },
            started: Instant::now(),
            has_ended: false,
        }
    }

    /// Logs the outcome of the call.
    pub(crate) fn end(mut self, outcome: &Outcome) {
        self.has_ended = true;
        let code = outcome.as_ref().err().map(|error| error.code);
        self.log(kind(outcome), code);
    }

    fn log(&self, outcome: &str, code: Option<i64>) {
        let method = self.exchange.route().name();
        let name = PeerText::new(self.exchange.name().unwrap_or_default());
        let duration = self.started.elapsed();
        // The response is sent even if the subscriber panics, as `tracing_subscriber::fmt` does if standard error is
        // closed.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            Span::current().record("outcome", outcome);
            tracing::debug!(outcome, code, ?duration, "served {method} {name}");
        }));
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        if !self.has_ended {
            self.log("cancelled", None);
        }
    }
}

/// Returns the kind of an outcome.
pub(crate) fn kind(outcome: &Outcome) -> &'static str {
    /// The members of a result that determine its kind.
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct LoggedResult<'a> {
        is_error: Option<bool>,
        #[serde(borrow)]
        result_type: Option<Cow<'a, str>>,
    }

    /// A response with such a result.
    #[derive(Deserialize)]
    struct LoggedMessage<'a> {
        #[serde(borrow)]
        result: LoggedResult<'a>,
    }

    let result = match outcome {
        Err(_) => return "error",
        Ok(EncodedResult::Message(message)) => {
            serde_json::from_slice::<LoggedMessage<'_>>(message).map(|message| message.result)
        }
        Ok(EncodedResult::Json(result)) => serde_json::from_str(result.get()),
        Ok(EncodedResult::Shared(result)) => serde_json::from_slice(result),
    };
    let result = result.unwrap_or_default();
    match (result.is_error, result.result_type.as_deref()) {
        (Some(true), _) => "tool error",
        (_, Some("input_required")) => "input required",
        _ => "ok",
    }
}

#[cfg(test)]
mod tests {
    use toolwire_types::{ErrorObject, RawJson};

    use super::*;

    #[test]
    fn outcome_has_its_kind() {
        let json = |text: &str| {
            let json = RawJson::from_string(text.to_owned()).unwrap();
            Ok(EncodedResult::Json(json))
        };
        let message = |text: &str| {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#);
            Ok(EncodedResult::Message(message.into_bytes()))
        };
        for (result, expected) in [
            (r#"{"content":[]}"#, "ok"),
            (r#"{"structuredContent":{"isError":true}}"#, "ok"),
            (r#"{"content":[],"isError":false}"#, "ok"),
            (r#"{"isError":true,"content":[]}"#, "tool error"),
            (r#"{"resultType":"input_required"}"#, "input required"),
            (r#"{"resultType":"comp\u006cete"}"#, "ok"),
        ] {
            assert_eq!(kind(&json(result)), expected, "{result}");
            assert_eq!(kind(&message(result)), expected, "{result}");
        }
        assert_eq!(kind(&Err(ErrorObject::invalid_params("no"))), "error");
    }
}
