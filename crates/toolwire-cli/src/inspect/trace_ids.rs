//! Reports the trace that each request of the page belongs to.

use serde::Deserialize;
use toolwire::client_middleware::{ClientMiddleware, ClientNext, ClientRequest};
use toolwire::types::Meta;
use toolwire::{BoxFuture, Error, RawJson, TraceContext};

use crate::inspect::calls::Calls;

/// The parameters of a request that the page wrote.
#[derive(Debug, Deserialize)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

/// Reads the trace in `_meta`. It stands after the middleware that writes it.
#[derive(Debug)]
pub(super) struct ReportTrace(pub(super) Calls);

impl ClientMiddleware for ReportTrace {
    fn handle<'a>(
        &'a self,
        request: &'a mut ClientRequest,
        next: ClientNext<'a>,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        let of_params = || {
            let params: Params = serde_json::from_str(request.params()?.get()).ok()?;
            Some(TraceContext::from_meta(&params.meta?))
        };
        let trace = TraceContext::from_meta(request.meta());
        let trace = trace.trace_id().map(str::to_owned);
        let trace = trace.or_else(|| of_params()?.trace_id().map(str::to_owned));
        if let Some(trace_id) = trace {
            self.0.set_trace_id(trace_id);
        }
        Box::pin(async move { next.run(request).await })
    }
}
