//! Metrics, and the limit on their time series.

use std::collections::BTreeSet;

use opentelemetry::Context;
use opentelemetry::trace::{TraceContextExt as _, Tracer as _, TracerProvider as _};
use toolwire::middleware::RateLimit;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::types::Tool;
use toolwire::{Client, Era, ToolHandler};

use super::*;
use crate::metered::Metered;

#[tokio::test]
async fn durations_have_the_method_the_name_and_the_error() {
    let (front, back) = (Metered::new(), Metered::new());
    let server = server().with_middleware(back.telemetry.clone());
    let builder = Client::builder("agent", "1.0.0").with_middleware(front.telemetry.clone());
    let client = connect(builder, &server, Era::Legacy).await;
    for request in [
        "tools/call add",
        "tools/call add",
        "tools/call fail",
        "resources/read",
    ] {
        send(&client, request).await;
    }
    for (metered, name) in [
        (&back, "mcp.server.operation.duration"),
        (&front, "mcp.client.operation.duration"),
    ] {
        let series = metered.series(name);
        let count = |tool: Option<&str>, method: &str, error: Option<&str>| {
            let found = series.iter().filter(|(attributes, _)| {
                attribute(attributes, "gen_ai.tool.name").as_deref() == tool
                    && attribute(attributes, "mcp.method.name").as_deref() == Some(method)
                    && attribute(attributes, "error.type").as_deref() == error
                    && attribute(attributes, "mcp.protocol.version").is_some()
                    && attribute(attributes, "mcp.resource.uri").is_none()
            });
            found.map(|(_, count)| *count).sum::<i64>()
        };
        assert_eq!(count(Some("add"), "tools/call", None), 2, "{series:?}");
        assert_eq!(
            count(Some("fail"), "tools/call", Some("tool_error")),
            1,
            "{series:?}"
        );
        assert_eq!(count(None, "resources/read", None), 1, "{series:?}");
    }
    let active = back.series("toolwire.server.active_requests");
    assert!(active.iter().all(|(_, value)| *value == 0), "{active:?}");
    assert!(front.series("mcp.client.session.duration").is_empty());
    client.close().await;
    drop(client);
    let sessions = front.series("mcp.client.session.duration");
    let [(attributes, 1)] = &sessions[..] else {
        panic!("{sessions:?}");
    };
    assert!(attribute(attributes, "mcp.protocol.version").is_some());
    drop(server);
    let has_session = || !back.series("mcp.server.session.duration").is_empty();
    until("session", has_session).await;
}

#[tokio::test]
async fn http_session_has_a_duration() {
    let metered = Metered::new();
    let server = server().with_middleware(metered.telemetry.clone());
    let options = HttpOptions::new().without_signals().without_start_message();
    let listener = HttpListener::bind(server, "127.0.0.1:0", options).await;
    let listener = listener.expect("a listener");
    let url = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    let client = Client::builder("agent", "1.0.0").with_era(Era::Legacy);
    let client = client.connect(&url).await.expect("a connection");
    send(&client, "tools/call add").await;
    assert!(metered.series("mcp.server.session.duration").is_empty());
    // The client deletes its session.
    client.close().await;
    let has_session = || !metered.series("mcp.server.session.duration").is_empty();
    until("session", has_session).await;
    let sessions = metered.series("mcp.server.session.duration");
    let [(attributes, 1)] = &sessions[..] else {
        panic!("{sessions:?}");
    };
    let value = |key: &str| attribute(attributes, key);
    assert_eq!(value("mcp.protocol.version").as_deref(), Some("2025-11-25"));
    assert_eq!(value("network.transport").as_deref(), Some("tcp"));
    assert_eq!(value("network.protocol.name").as_deref(), Some("http"));
    serving.abort();
}

#[tokio::test]
async fn names_beyond_the_limit_share_a_time_series() {
    let metered = Metered::new();
    let mut server = Server::new("demo", "1.0.0").with_middleware(metered.telemetry.clone());
    for number in 0..202 {
        let descriptor = Tool::new(format!("tool_{number}"), json!({"type": "object"}));
        let tool = ToolHandler::raw(descriptor, |_, _| async { "done" });
        server = server.tool(tool.without_argument_check());
    }
    let client = connect(Client::builder("agent", "1.0.0"), &server, Era::Modern).await;
    for number in 0..300 {
        let _ = client
            .call_tool(format!("invented_{number}"), json!({}))
            .await;
    }
    for number in 0..202 {
        let call = client.call_tool(format!("tool_{number}"), json!({}));
        call.await.expect("a result");
    }
    let series = metered.series("mcp.server.operation.duration");
    let names = series
        .iter()
        .filter_map(|(attributes, _)| attribute(attributes, "gen_ai.tool.name"));
    let names: BTreeSet<String> = names.collect();
    assert_eq!(names.len(), 201, "{names:?}");
    assert!(names.contains("_other") && names.contains("tool_199"));
    assert!(!names.contains("tool_200"));
    assert!(names.iter().all(|name| !name.starts_with("invented")));
}

#[tokio::test]
async fn requests_that_a_limit_rejects_are_counted() {
    let metered = Metered::new();
    let hour = std::time::Duration::from_secs(3600);
    let server = server()
        .with_middleware(metered.telemetry.clone())
        .with_middleware(RateLimit::per_caller(1, hour));
    let client = connect(Client::builder("agent", "1.0.0"), &server, Era::Modern).await;
    for _ in 0..3 {
        send(&client, "tools/call add").await;
    }
    let series = metered.series("toolwire.limit.rejections");
    assert_eq!(series.len(), 1, "{series:?}");
    let limit = attribute(&series[0].0, "toolwire.limit");
    assert_eq!((limit.as_deref(), series[0].1), (Some("rate_limited"), 2));
}

#[tokio::test]
async fn uris_are_in_metrics_only_on_request() {
    let metered = Metered::new();
    let telemetry = metered.telemetry.clone().with_uris_in_metrics();
    let server = server().with_middleware(telemetry);
    let client = connect(Client::builder("agent", "1.0.0"), &server, Era::Modern).await;
    send(&client, "resources/read").await;
    send(&client, "resources/read missing").await;
    let series = metered.series("mcp.server.operation.duration");
    let uris = series
        .iter()
        .filter_map(|(attributes, _)| attribute(attributes, "mcp.resource.uri"));
    let uris: BTreeSet<String> = uris.collect();
    let expected = ["_other", "note:today"].map(str::to_owned);
    assert_eq!(uris, BTreeSet::from(expected));
}

#[tokio::test]
async fn store_calls_have_durations_and_spans_within_a_trace() {
    let (traced, metered) = (Traced::new(), Metered::new());
    let telemetry = traced.telemetry.clone();
    let telemetry = telemetry.with_meter_provider(&metered.provider);
    telemetry.store_call("redis", "bus", "PUBLISH")("ok");
    assert!(traced.take().is_empty(), "a span without a trace");
    let (work, parent) = {
        let span = traced.provider.tracer("program").start("work");
        let context = Context::new().with_span(span);
        let id = context.span().span_context().span_id();
        (context, id)
    };
    let guard = work.attach();
    telemetry.store_call("redis", "sessions", "GET")("unavailable");
    drop(telemetry.store_call("redis", "sessions", "GET"));
    drop(guard);
    let spans = traced.take();
    let span = &spans[0];
    assert_eq!((&*span.name, span.parent_span_id), ("GET sessions", parent));
    assert_eq!(
        attribute(&span.attributes, "db.system.name").as_deref(),
        Some("redis")
    );
    assert_eq!(
        attribute(&span.attributes, "error.type").as_deref(),
        Some("unavailable")
    );
    let series = metered.series("db.client.operation.duration");
    let errors: BTreeSet<_> = series
        .iter()
        .map(|(attributes, count)| (attribute(attributes, "error.type"), *count))
        .collect();
    let expected = [(None, 1), (Some("unavailable".to_owned()), 1)];
    assert_eq!(errors, BTreeSet::from(expected), "{series:?}");
}

#[cfg(feature = "relay")]
#[tokio::test]
async fn relay_has_gauges() {
    use toolwire::relay::Upstream;

    let metered = Metered::new();
    let gauges = |name: &str| {
        let series = metered.series(&format!("toolwire.relay.{name}"));
        let [(attributes, value)] = &series[..] else {
            panic!("{name}: {series:?}");
        };
        assert_eq!(
            attribute(attributes, "toolwire.upstream").as_deref(),
            Some("demo")
        );
        *value
    };
    let all = || ["upstream.connections", "sessions", "parked_calls"].map(gauges);
    let server = server().with_versions([toolwire::ProtocolVersion::V2025_11_25]);
    let upstream = Upstream::new(move |builder| {
        let server = server.clone();
        async move { builder.in_process(&server).await }
    });
    let relay = upstream.relay();
    metered.telemetry.observe_relay("demo", &relay);
    assert_eq!(all(), [0, 0, 0]);
    assert!(metered.series("toolwire.relay.upstream.up").is_empty());
    let client = connect(
        Client::builder("agent", "1.0.0"),
        relay.server(),
        Era::Legacy,
    )
    .await;
    send(&client, "tools/call add").await;
    assert_eq!(all(), [1, 1, 0]);
    assert_eq!(gauges("upstream.up"), 1);
    relay.close().await;
    drop((client, relay));
    until("empty relay", || all() == [0, 0, 0]).await;
}
