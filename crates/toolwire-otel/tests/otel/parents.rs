//! The parents and links of spans.

use opentelemetry::trace::{SpanContext, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry::{Context, trace::FutureExt as _};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Client, Era, RawJson, TraceContext};
use toolwire_otel::{TelemetryMode, tool_span};

use super::*;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn context_in_meta_is_the_parent() {
    for era in [Era::Modern, Era::Legacy] {
        let traced = Traced::new();
        let server = server().with_middleware(traced.telemetry.clone());
        let client = connect(Client::builder("agent", "1.0.0"), &server, era).await;
        let trace = TraceContext::new(PARENT).expect("a context");
        let call = client.call_tool("add", json!({"a": 1, "b": 2}));
        call.with_trace_context(trace).await.expect("a result");
        let span = traced.one("tools/call add");
        let trace_id = TraceId::from_hex(&PARENT[3..35]).expect("an id");
        assert_eq!(span.span_context.trace_id(), trace_id);
        let parent = SpanId::from_hex(&PARENT[36..52]).expect("an id");
        assert_eq!(span.parent_span_id, parent);
    }
}

#[tokio::test]
async fn invalid_context_is_ignored() {
    let long = "0".repeat(10_000);
    let zero_trace = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
    let zero_parent = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", "0".repeat(16));
    for invalid in [
        "",
        "00-1-2-01",
        &long,
        &zero_trace,
        &zero_parent,
        &format!("{PARENT}{long}"),
    ] {
        let traced = Traced::new();
        let server = server().with_middleware(traced.telemetry.clone());
        let client = connect(Client::builder("agent", "1.0.0"), &server, Era::Modern).await;
        let call = client.call_tool("add", json!({"a": 1, "b": 2}));
        let call = call.with_meta("traceparent", RawJson::from(json!(invalid)));
        let call = call.with_meta("tracestate", RawJson::from(json!("a=1")));
        call.await.expect("a result");
        let span = traced.one("tools/call add");
        assert_eq!(span.parent_span_id, SpanId::INVALID, "{invalid}");
        assert_eq!(span.span_context.trace_state().get("a"), None, "{invalid}");
    }
}

/// Calls a tool over HTTP with these headers and this `_meta`, and returns the span of the server.
async fn call_over_http(header: Option<&'static str>, meta: Option<&str>) -> SpanData {
    let traced = Traced::new();
    let server = server().with_middleware(traced.telemetry.clone());
    let options = HttpOptions::new().without_signals().without_start_message();
    let address = "127.0.0.1:0";
    let listener = HttpListener::bind(server, address, options)
        .await
        .expect("a listener");
    let url = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    let mut builder = Client::builder("agent", "1.0.0");
    if let Some(header) = header {
        builder = builder
            .with_header("traceparent", header)
            .expect("a header");
    }
    let client = builder.connect(&url).await.expect("a connection");
    traced.take();
    let mut call = client.call_tool("add", json!({"a": 1, "b": 2}));
    if let Some(meta) = meta {
        call = call.with_trace_context(TraceContext::new(meta).expect("a context"));
    }
    call.await.expect("a result");
    serving.abort();
    traced.one("tools/call add")
}

#[tokio::test]
async fn context_of_the_http_request_is_a_parent_or_a_link() {
    let other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let parent_id = |text: &str| SpanId::from_hex(&text[36..52]).expect("an id");

    let span = call_over_http(Some(PARENT), None).await;
    assert_eq!(span.parent_span_id, parent_id(PARENT));
    assert!(span.links.is_empty());
    let value = |key: &str| attribute(&span.attributes, key);
    assert_eq!(value("network.transport").as_deref(), Some("tcp"));
    assert_eq!(value("network.protocol.name").as_deref(), Some("http"));
    assert_eq!(value("network.protocol.version").as_deref(), Some("1.1"));
    assert_eq!(value("client.address").as_deref(), Some("127.0.0.1"));
    assert!(value("client.port").is_some());

    let span = call_over_http(Some(PARENT), Some(other)).await;
    assert_eq!(span.parent_span_id, parent_id(other));
    let links: Vec<SpanId> = span
        .links
        .iter()
        .map(|link| link.span_context.span_id())
        .collect();
    assert_eq!(links, [parent_id(PARENT)]);

    let span = call_over_http(Some("00-malformed"), None).await;
    assert_eq!(span.parent_span_id, SpanId::INVALID);
}

/// Starts a span of the program.
fn own_span(traced: &Traced) -> (Context, SpanContext) {
    let span = traced.provider.tracer("program").start("work");
    let context = Context::new().with_span(span);
    let span = context.span().span_context().clone();
    (context, span)
}

#[tokio::test]
async fn current_span_is_the_parent_of_a_client() {
    let traced = Traced::new();
    let builder = Client::builder("agent", "1.0.0").with_middleware(traced.telemetry.clone());
    let client = connect(builder, &server(), Era::Modern).await;
    let (context, own) = own_span(&traced);
    send(&client, "tools/list")
        .with_context(context.clone())
        .await;
    let span = traced.one("tools/list");
    assert_eq!(span.parent_span_id, own.span_id());
    assert!(!span.parent_span_is_remote);
}

#[tokio::test]
async fn marked_tool_span_gets_the_attributes() {
    for is_reused in [true, false] {
        let traced = Traced::new();
        let telemetry = traced.telemetry.clone().with_reused_tool_span(is_reused);
        let builder = Client::builder("agent", "1.0.0").with_middleware(telemetry);
        let client = connect(builder, &server(), Era::Modern).await;
        traced.take();
        let (context, _) = own_span(&traced);
        let marked = tool_span(&context);
        send(&client, "tools/call add")
            .with_context(marked.clone())
            .await;
        send(&client, "tools/list").with_context(marked).await;
        drop(context);
        let spans = traced.take();
        let mut names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
        names.sort_unstable();
        let expected: &[&str] = if is_reused {
            &["tools/list", "work"]
        } else {
            &["tools/call add", "tools/list", "work"]
        };
        assert_eq!(names, expected);
        let work = spans
            .iter()
            .find(|span| span.name == "work")
            .expect("the span");
        let method = attribute(&work.attributes, "mcp.method.name");
        assert_eq!(method.is_some(), is_reused);
    }
}

#[tokio::test]
async fn propagation_only_passes_the_context_on() {
    let traced = Traced::new();
    let inner = server().with_middleware(traced.telemetry.clone());
    let mode = TelemetryMode::PropagationOnly;
    let passing = toolwire_otel::Telemetry::new().with_mode(mode);
    let builder = Client::builder("agent", "1.0.0").with_middleware(passing);
    let client = connect(builder, &inner, Era::Modern).await;
    traced.take();
    let (context, own) = own_span(&traced);
    send(&client, "tools/list")
        .with_context(context.clone())
        .await;
    assert_eq!(traced.one("tools/list").parent_span_id, own.span_id());
}

#[tokio::test]
async fn client_sends_its_span_in_headers_and_meta() {
    for era in [Era::Modern, Era::Legacy] {
        let (front, back) = (Traced::new(), Traced::new());
        let (sender, mut headers) = tokio::sync::mpsc::unbounded_channel();
        let seen = toolwire::middleware::from_fn_with(
            sender,
            async |sender: &tokio::sync::mpsc::UnboundedSender<Option<String>>,
                   request: &mut toolwire::middleware::Request,
                   next: toolwire::middleware::Next<'_>| {
                let connection = request.scope().transport().connection_info();
                let parent = connection.and_then(|connection| connection.trace.parent_id());
                let _ = sender.send(parent.map(str::to_owned));
                next.run(request).await
            },
        );
        let server = server()
            .with_middleware(back.telemetry.clone())
            .with_middleware(seen);
        let options = HttpOptions::new().without_signals().without_start_message();
        let listener = HttpListener::bind(server, "127.0.0.1:0", options).await;
        let listener = listener.expect("a listener");
        let url = listener.url().to_owned();
        let serving = tokio::spawn(listener.run());
        let builder = Client::builder("agent", "1.0.0")
            .with_era(era)
            .with_middleware(front.telemetry.clone());
        let client = builder.connect(&url).await.expect("a connection");
        front.take();
        back.take();
        send(&client, "tools/call add").await;
        let (sent, served) = (front.one("tools/call add"), back.one("tools/call add"));
        let id = sent.span_context.span_id();
        assert_eq!(served.parent_span_id, id);
        assert!(served.links.is_empty(), "{served:?}");
        let mut header = None;
        while let Ok(seen) = headers.try_recv() {
            header = seen;
        }
        assert_eq!(header, Some(id.to_string()), "{era:?}");
        serving.abort();
    }
}

#[tokio::test]
async fn context_is_propagated_unless_it_is_switched_off() {
    for (telemetry, is_propagated) in [
        (
            Telemetry::without_baggage as fn(Telemetry) -> Telemetry,
            true,
        ),
        (Telemetry::without_trace_context, false),
    ] {
        let (front, back) = (Traced::new(), Traced::new());
        let server = server().with_middleware(back.telemetry.clone());
        let builder = Client::builder("agent", "1.0.0");
        let builder = builder.with_middleware(telemetry(front.telemetry.clone()));
        let client = connect(builder, &server, Era::Modern).await;
        back.take();
        send(&client, "tools/call add").await;
        let served = back.one("tools/call add");
        assert_eq!(served.parent_span_is_remote, is_propagated);
        // A server that does not read the context starts a trace of its own.
        let (sender, mut contexts) = tokio::sync::mpsc::unbounded_channel();
        let seen = toolwire::middleware::from_fn_with(
            sender,
            async |sender: &tokio::sync::mpsc::UnboundedSender<TraceContext>,
                   request: &mut toolwire::middleware::Request,
                   next: toolwire::middleware::Next<'_>| {
                let _ = sender.send(TraceContext::from_meta(request.meta()));
                next.run(request).await
            },
        );
        let server = super::server()
            .with_middleware(telemetry(back.telemetry.clone()))
            .with_middleware(seen);
        let builder = Client::builder("agent", "1.0.0");
        let builder = builder.with_middleware(front.telemetry.clone());
        let client = connect(builder, &server, Era::Modern).await;
        back.take();
        let trace = TraceContext::new(PARENT).expect("a context");
        let trace = trace.with_baggage("user=1").expect("a context");
        let call = client.call_tool("add", json!({"a": 1, "b": 2}));
        call.with_trace_context(trace).await.expect("a result");
        let served = back.one("tools/call add");
        assert_eq!(served.parent_span_is_remote, is_propagated);
        // What is switched off is not passed on either, for example by a relay.
        let mut passed = TraceContext::default();
        while let Ok(context) = contexts.try_recv() {
            passed = context;
        }
        assert_eq!(passed.traceparent().is_some(), is_propagated);
        assert_eq!(passed.baggage().is_some(), !is_propagated);
    }
}
