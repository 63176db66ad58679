//! One trace over three processes, and what the variables `OTEL_*` decide.

mod collector;
mod environment;
mod metrics_page;
mod trace_ids;

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::types::Tool;
use toolwire::{ProtocolVersion, RequestContext, Server, ToolHandler, TraceContext};

use crate::client::run_command;
use crate::http::HttpDemo;
use crate::process::{Demo, Era, toolwire};

use self::collector::{Collector, ReceivedSpan};

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// Far longer than any step takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

fn assert_one_trace(spans: &[ReceivedSpan]) {
    let kinds: Vec<u64> = spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [3, 2, 3, 2], "{spans:?}");
    assert!(spans.iter().all(|span| span.trace == spans[0].trace));
}

#[tokio::test]
async fn three_processes_on_stdio_have_one_trace() {
    let collector = Collector::start();
    let mut command = toolwire(&["call", "--json", "add", "a=1", "b=2"]);
    collector.observe(&mut command);
    command.args(collector.arguments());
    command
        .args(["--", PROGRAM, "proxy"])
        .args(collector.arguments());
    command.args(["--", PROGRAM, "demo", "--stdio"]);
    let output = run_command(command).await.json();
    assert_eq!(output["structuredContent"]["sum"], 3, "{output}");
    let spans = collector.wait_for_call(4).await;
    assert_one_trace(&spans);
    for span in &spans {
        assert_eq!(
            span.attribute("network.transport"),
            Some("pipe"),
            "{span:?}"
        );
        assert_eq!(span.attribute("network.protocol.name"), None, "{span:?}");
        assert_eq!(span.attribute("server.address"), None, "{span:?}");
    }
}

#[tokio::test]
async fn legacy_client_of_a_modern_server_has_one_trace() {
    let collector = Collector::start();
    // The server is in this process. It has no spans, but it sees the one of the proxy.
    let (sender, mut parents) = tokio::sync::mpsc::unbounded_channel();
    let descriptor = Tool::new("add", json!({"type": "object"}));
    let add = ToolHandler::raw(descriptor, move |context: RequestContext, _| {
        let trace = TraceContext::from_meta(context.meta());
        let _ = sender.send(trace.parent_id().map(str::to_owned));
        async { "3" }
    });
    let server = Server::new("modern", "1.0.0")
        .with_versions([ProtocolVersion::V2026_07_28])
        .tool(add);
    let options = HttpOptions::new().without_signals().without_start_message();
    let listener = HttpListener::bind(server, "127.0.0.1:0", options).await;
    let listener = listener.expect("a listener");
    let url = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    let mut command = toolwire(&["call", "--json", "add", "--era", "legacy"]);
    collector.observe(&mut command);
    command.args(collector.arguments());
    command.args(["--", PROGRAM, "proxy", &url]);
    let output = run_command(command).await.json();
    assert_eq!(output["content"][0]["text"], "3", "{output}");
    let spans = collector.wait_for_call(3).await;
    let kinds: Vec<u64> = spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [3, 2, 3], "{spans:?}");
    assert!(spans.iter().all(|span| span.trace == spans[0].trace));
    let parent = parents.recv().await.flatten().expect("a parent");
    let last: String = spans[2]
        .id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(parent, last);
    serving.abort();
}

#[tokio::test]
async fn three_processes_over_http_have_one_trace() {
    let collector = Collector::start();
    let mut demo = toolwire(&["demo", "--http", "127.0.0.1:0"]);
    collector.observe(&mut demo);
    let demo = HttpDemo::start_command(demo).await;
    let mut proxy = toolwire(&["proxy", &demo.url(), "--listen", "127.0.0.1:0"]);
    collector.observe(&mut proxy);
    let proxy = HttpDemo::start_command(proxy).await;
    let mut call = toolwire(&["call", &proxy.url(), "add", "a=1", "b=2", "--json"]);
    collector.observe(&mut call);
    let output = run_command(call).await.json();
    assert_eq!(output["structuredContent"]["sum"], 3, "{output}");
    assert_one_trace(&collector.wait_for_call(4).await);
}

#[tokio::test]
async fn log_messages_of_a_call_have_the_ids_of_its_trace_and_span() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";
    let mut command = toolwire(&["demo", "--stdio"]);
    command
        .env("RUST_LOG", "debug")
        .env("NO_COLOR", "1")
        .stderr(Stdio::piped());
    let mut demo = Demo::start_command(Era::Legacy, command).await;
    let trace = json!({"traceparent": format!("00-{TRACE}-{SPAN}-01")});
    let params = json!({"name": "echo", "arguments": {"text": "a"}, "_meta": trace});
    demo.ask("tools/call", params).await;
    let logged = demo.end().await.stderr;
    let ids = format!("trace_id=\"{TRACE}\" span_id=\"{SPAN}\"");
    let mut lines = logged.lines();
    let is_found = lines.any(|line| line.contains("served tools/call") && line.contains(&ids));
    assert!(is_found, "{logged}");
}
