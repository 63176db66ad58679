//! The trace context of a request in its HTTP headers, as in `_meta`.
//!
//! Proxies and HTTP servers know only the headers of W3C Trace Context and W3C Baggage. The values are those of `_meta`, so
//! that both name the same span.

use http::{HeaderMap, HeaderValue};
use memchr::memmem;
use serde::Deserialize;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::trace_context::TraceContext;
use toolwire_types::{Meta, RawJson, meta_key};

/// Adds the trace context in the `_meta` of parameters to headers. Values that are malformed are left out. `is_set` states
/// which headers the user has set, which remain.
pub(super) fn insert_trace_headers(
    headers: &mut HeaderMap,
    params: Option<&RawJson>,
    is_set: impl Fn(&str) -> bool,
) {
    let Some(params) = params else {
        return;
    };
    // Most requests have no trace context, so their parameters are not parsed.
    let has = |key: &str| params.get().contains(key);
    if !has(meta_key::TRACEPARENT) && !has(meta_key::BAGGAGE) {
        return;
    }
    let Some(trace) = trace_context(params) else {
        return;
    };
    let fields = [
        (
            meta_key::TRACEPARENT,
            meta_key::TRACEPARENT,
            trace.traceparent(),
        ),
        // The state belongs to the parent.
        (
            meta_key::TRACESTATE,
            meta_key::TRACEPARENT,
            trace.tracestate(),
        ),
        (meta_key::BAGGAGE, meta_key::BAGGAGE, trace.baggage()),
    ];
    for (name, decided_by, value) in fields {
        if let Some(Ok(value)) = value.map(HeaderValue::from_str)
            && !is_set(decided_by)
        {
            headers.insert(name, value);
        }
    }
}

/// Adds the trace context of a message that is already written, like [`insert_trace_headers`].
pub(super) fn insert_message_trace_headers(
    headers: &mut HeaderMap,
    message: &[u8],
    is_set: impl Fn(&str) -> bool,
) {
    /// The part of a message with the trace context.
    #[derive(Deserialize)]
    struct MessageParams {
        params: Option<RawJson>,
    }

    let has = |key: &str| memmem::find(message, key.as_bytes()).is_some();
    if !has(meta_key::TRACEPARENT) && !has(meta_key::BAGGAGE) {
        return;
    }
    if let Ok(message) = serde_json::from_slice::<MessageParams>(message) {
        insert_trace_headers(headers, message.params.as_ref(), is_set);
    }
}

fn trace_context(params: &RawJson) -> Option<TraceContext> {
    let params = RawObject::parse(params.as_raw_value())?;
    let meta: Meta = serde_json::from_str(params.get("_meta")?.raw().get()).ok()?;
    Some(TraceContext::from_meta(&meta))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_have_the_valid_values_of_meta() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let check = |params: serde_json::Value, expected: [Option<&str>; 3]| {
            let mut headers = HeaderMap::new();
            let is_set = |_: &str| false;
            insert_trace_headers(&mut headers, Some(&RawJson::from(params.clone())), is_set);
            let names = ["traceparent", "tracestate", "baggage"];
            let found = names.map(|name| headers.get(name).map(|value| value.to_str().unwrap()));
            assert_eq!(found, expected, "{params}");
        };
        check(json!({"name": "traceparent"}), [None; 3]);
        check(json!({"_meta": {"traceparent": "00-0"}}), [None; 3]);
        check(
            json!({"_meta": {"traceparent": parent, "tracestate": "a=1", "baggage": "b=2"}}),
            [Some(parent), Some("a=1"), Some("b=2")],
        );
        check(
            json!({"_meta": {"tracestate": "a=1", "baggage": "b=2\n"}}),
            [None; 3],
        );
    }

    #[test]
    fn headers_of_the_user_remain() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let meta = json!({"traceparent": parent, "tracestate": "a=1", "baggage": "b=2"});
        let params = RawJson::from(json!({ "_meta": meta }));
        let mut headers = HeaderMap::new();
        insert_trace_headers(&mut headers, Some(&params), |name| name == "traceparent");
        let names: Vec<&str> = headers.keys().map(http::HeaderName::as_str).collect();
        assert_eq!(names, ["baggage"]);
    }
}
