//! Spans with OpenTelemetry: one for each request, and one of a handler.
//!
//! The spans are printed to standard error. A program usually exports them with the crate `opentelemetry-otlp` instead.
//! Run it with `cargo run -p toolwire-examples --example telemetry`, or give that command to an MCP client.

use opentelemetry::global;
use opentelemetry::trace::{Span as _, Tracer as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use toolwire::{RequestContext, Server, TraceContext, tool};
use toolwire_otel::{Redaction, Telemetry};

/// Returns the trace of the call. If the client has telemetry, it is the trace of the client.
#[tool]
async fn trace(ctx: &RequestContext) -> String {
    // The span of the request is current. So this one is its child.
    let mut lookup = global::tracer("example").start("lookup");
    lookup.end();
    let trace = TraceContext::from_meta(ctx.meta());
    trace.traceparent().unwrap_or_default().to_owned()
}

/// Prints each span.
#[derive(Debug)]
struct PrintSpans;

impl SpanExporter for PrintSpans {
    async fn export(&self, spans: Vec<SpanData>) -> OTelSdkResult {
        for span in spans {
            eprintln!(
                "{:?} {:?}: {}",
                span.span_kind, span.parent_span_id, span.name
            );
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(PrintSpans)
        .build();
    global::set_tracer_provider(provider);
    // By default, arguments and results are not recorded.
    let telemetry = Telemetry::new().with_payloads(Redaction::new());
    Server::new("traced", "1.0.0")
        .with_middleware(telemetry)
        .tool(trace)
        .serve_stdio()
        .await
}
