//! The variables `OTEL_*` of a process.

use serde_json::json;
use tokio::sync::mpsc;
use toolwire::types::Tool;
use toolwire::{RequestContext, Server, ToolHandler, TraceContext};

use super::PROGRAM;
use super::collector::Collector;
use crate::client::run_command;
use crate::client::small_server::SmallServer;
use crate::process::toolwire;

#[tokio::test]
async fn spans_and_metrics_are_exported_with_headers_and_the_name_of_the_service() {
    let collector = Collector::start();
    let mut command = toolwire(&["call", "add", "a=1", "b=2"]);
    command
        .args(["--", PROGRAM, "demo", "--stdio"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "x-api-key=first,x-tenant=a%20b",
        )
        .env("OTEL_SERVICE_NAME", "tests")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=ci");
    run_command(command).await.ok();
    // The process has exported everything when it exits.
    let exports = collector.exports();
    for path in ["/v1/traces", "/v1/metrics"] {
        let export = exports.iter().find(|export| export.path == path);
        let export = export.unwrap_or_else(|| panic!("no {path}: {exports:?}"));
        assert_eq!(export.header("x-api-key"), Some("first"), "{export:?}");
        assert_eq!(export.header("x-tenant"), Some("a b"), "{export:?}");
        assert_eq!(export.resource("service.name"), Some("tests"));
        assert_eq!(export.resource("deployment.environment"), Some("ci"));
    }
    let names = exports.iter().flat_map(|export| &export.metrics);
    let names: Vec<&str> = names.map(String::as_str).collect();
    for metric in [
        "mcp.client.operation.duration",
        "mcp.client.session.duration",
    ] {
        assert!(names.contains(&metric), "{names:?}");
    }
    let spans = collector.spans();
    assert!(spans.iter().any(|span| span.name == "tools/call add"));
}

#[tokio::test]
async fn disabled_sdk_exports_nothing() {
    let collector = Collector::start();
    let mut command = toolwire(&["call", "add", "a=1", "b=2"]);
    command
        .args(["--", PROGRAM, "demo", "--stdio"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env("OTEL_SDK_DISABLED", "true");
    run_command(command).await.ok();
    assert!(collector.exports().is_empty());
}

#[tokio::test]
async fn propagators_decide_what_is_sent() {
    let (sender, mut received) = mpsc::unbounded_channel();
    let descriptor = Tool::new("look", json!({"type": "object"}));
    let look = ToolHandler::raw(descriptor, move |context: RequestContext, _| {
        let trace = TraceContext::from_meta(context.meta());
        let _ = sender.send(trace.traceparent().is_some());
        async { "seen" }
    });
    let server = SmallServer::start(Server::new("traced", "1.0.0").tool(look)).await;
    let collector = Collector::start();
    for (propagators, is_sent, warning) in [
        (None, true, None),
        (Some("none"), false, None),
        (Some("baggage"), false, None),
        (
            Some("b3,tracecontext"),
            true,
            Some("unknown names, which are ignored: b3;"),
        ),
    ] {
        let mut command = toolwire(&["call", server.url(), "look"]);
        collector.observe(&mut command);
        if let Some(propagators) = propagators {
            command.env("OTEL_PROPAGATORS", propagators);
        }
        let output = run_command(command).await;
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(received.recv().await, Some(is_sent), "{propagators:?}");
        let warned = output.stderr.contains("OTEL_PROPAGATORS");
        assert_eq!(warned, warning.is_some(), "{output:?}");
        assert!(output.stderr.contains(warning.unwrap_or_default()));
    }
}
