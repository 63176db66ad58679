//! What an HTTP request shows about its connection, for the middleware of a server.

use http::request::Parts;
use http::{HeaderMap, Version};
use toolwire_proto::trace_context::TraceContext;
use toolwire_types::meta_key;

use crate::engine::ConnectionInfo;
use crate::transport::http::request::client_address::ClientAddress;

/// What a request shows about its connection. Collecting it allocates nothing, unless there is a trace context.
#[derive(Debug)]
pub(crate) struct ConnectionFacts {
    version: Version,
    client: Option<ClientAddress>,
    trace: Option<Box<TraceContext>>,
}

impl ConnectionFacts {
    pub(crate) fn new(parts: &Parts, client: Option<ClientAddress>) -> Self {
        let trace = trace_context(&parts.headers);
        Self {
            version: parts.version,
            client,
            trace: (!trace.is_empty()).then(|| Box::new(trace)),
        }
    }

    /// Returns the facts for middleware.
    pub(crate) fn to_info(&self) -> ConnectionInfo {
        let mut info = ConnectionInfo::http();
        info.protocol_version = http_version(self.version);
        info.peer_address = self.client.map(|client| client.address.to_string());
        info.peer_port = self.client.and_then(|client| client.port);
        info.trace = self.trace.as_deref().cloned().unwrap_or_default();
        info
    }
}

/// Returns the version of HTTP as text.
fn http_version(version: Version) -> Option<&'static str> {
    match version {
        Version::HTTP_10 => Some("1.0"),
        Version::HTTP_11 => Some("1.1"),
        Version::HTTP_2 => Some("2"),
        _ => None,
    }
}

/// Reads the trace context of the header fields. Malformed and repeated fields count as absent.
fn trace_context(headers: &HeaderMap) -> TraceContext {
    let field = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(value)
    };
    let parent = field(meta_key::TRACEPARENT).and_then(|parent| TraceContext::new(parent).ok());
    let mut trace = parent.unwrap_or_default();
    if let Some(state) = field(meta_key::TRACESTATE)
        && let Ok(with_state) = trace.clone().with_tracestate(state)
    {
        trace = with_state;
    }
    if let Some(baggage) = field(meta_key::BAGGAGE)
        && let Ok(with_baggage) = trace.clone().with_baggage(baggage)
    {
        trace = with_baggage;
    }
    trace
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn trace_context_of_valid_and_single_fields_is_used() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let check = |fields: &[(&str, &str)], expected: (bool, bool, bool)| {
            let mut request = Request::builder();
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let trace = ConnectionFacts::new(&parts, None).to_info().trace;
            let found = (
                trace.traceparent().is_some(),
                trace.tracestate().is_some(),
                trace.baggage().is_some(),
            );
            assert_eq!(found, expected, "{fields:?}");
        };
        check(&[], (false, false, false));
        check(&[("traceparent", parent)], (true, false, false));
        let all = [
            ("traceparent", parent),
            ("tracestate", "a=1"),
            ("baggage", "b=2"),
        ];
        check(&all, (true, true, true));
        check(
            &[("traceparent", parent), ("traceparent", parent)],
            (false, false, false),
        );
        check(
            &[("traceparent", "00-0"), ("tracestate", "a=1")],
            (false, false, false),
        );
        check(&[("baggage", "b=2")], (false, false, true));
    }
}
