//! Secrets are not recorded.

use std::sync::Arc;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Client, Era};
use toolwire_gateway::{Gateway, GatewayConfig, GatewayOptions};
use toolwire_otel::{MAX_PAYLOAD_BYTES, Redaction};

use super::*;
use crate::metered::Metered;

const SECRET: &str = "planted-secret-7381";

/// Returns all names, attributes, events and states of spans as text.
fn recorded(spans: &[SpanData]) -> String {
    let texts = spans.iter().map(|span| {
        let events: Vec<_> = span.events.iter().collect();
        let (name, status) = (&span.name, &span.status);
        format!("{name} {:?} {status:?} {events:?}\n", span.attributes)
    });
    texts.collect()
}

#[tokio::test]
async fn no_span_and_no_metric_has_a_planted_secret() {
    for era in [Era::Modern, Era::Legacy] {
        let (front, back) = (Traced::new(), Traced::new());
        let metered = Metered::new();
        let observed = |traced: &Traced| {
            let telemetry = traced.telemetry.clone().with_uris_in_metrics();
            telemetry.with_meter_provider(&metered.provider)
        };
        let server = server().with_middleware(observed(&back));
        let options = HttpOptions::new().without_signals().without_start_message();
        let listener = HttpListener::bind(server, "127.0.0.1:0", options).await;
        let listener = listener.expect("a listener");
        let url = listener.url().to_owned();
        let serving = tokio::spawn(listener.run());
        let builder = Client::builder("agent", "1.0.0")
            .with_era(era)
            .with_header("authorization", &format!("Bearer {SECRET}"))
            .expect("a header")
            .with_header("cookie", SECRET)
            .expect("a header")
            .with_middleware(observed(&front));
        let client = builder.connect(&format!("{url}?key={SECRET}")).await;
        let client = client.expect("a connection");
        let _ = client.call_tool("fail", json!({"text": SECRET})).await;
        let _ = client.call_tool("add", json!({"a": SECRET, "b": 1})).await;
        let _ = client.get_prompt("review", [("code", SECRET)]).await;
        let uri = format!("https://me:{SECRET}@a.test/x?key={SECRET}#{SECRET}");
        let _ = client.read_resource(uri).await;
        for spans in [front.take(), back.take()] {
            assert!(spans.len() >= 5, "{spans:?}");
            let text = recorded(&spans);
            assert!(!text.contains(SECRET), "{text}");
            let has_digest = text.contains("mcp.session.id");
            assert!(!has_digest || era == Era::Legacy, "{text}");
        }
        // A metric has the names of tools that exist only.
        let _ = client.call_tool(SECRET, json!({})).await;
        let metrics = metered.text();
        for expected in ["mcp.client.operation.duration", "gen_ai.tool.name", "fail"] {
            assert!(metrics.contains(expected), "{expected}: {metrics}");
        }
        assert!(!metrics.contains(SECRET), "{metrics}");
        serving.abort();
    }
}

/// Opens a session, and returns its id on the wire and in spans.
async fn session_attribute(has_ids: bool) -> (String, String) {
    let traced = Traced::new();
    let mut telemetry = traced.telemetry.clone();
    if has_ids {
        telemetry = telemetry.with_session_ids();
    }
    let (sender, mut ids) = tokio::sync::mpsc::unbounded_channel();
    let sessions = toolwire::middleware::from_fn_with(
        sender,
        async |sender: &tokio::sync::mpsc::UnboundedSender<String>,
               request: &mut toolwire::middleware::Request,
               next: toolwire::middleware::Next<'_>| {
            if let Some(id) = request.scope().connection_token() {
                let _ = sender.send(id.to_owned());
            }
            next.run(request).await
        },
    );
    let server = server()
        .with_middleware(telemetry)
        .with_middleware(sessions);
    let options = HttpOptions::new().without_signals().without_start_message();
    let listener = HttpListener::bind(server, "127.0.0.1:0", options)
        .await
        .expect("a listener");
    let url = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    let builder = Client::builder("agent", "1.0.0").with_era(Era::Legacy);
    let client = builder.connect(&url).await.expect("a connection");
    traced.take();
    send(&client, "tools/call add").await;
    let span = traced.one("tools/call add");
    let recorded = attribute(&span.attributes, "mcp.session.id").expect("a session");
    serving.abort();
    let mut id = String::new();
    while let Ok(seen) = ids.try_recv() {
        id = seen;
    }
    (id, recorded)
}

#[tokio::test]
async fn session_is_recorded_by_its_digest() {
    let (id, recorded) = session_attribute(false).await;
    assert_eq!(recorded.len(), 16, "{recorded}");
    assert!(!id.contains(&recorded));
    let (id, recorded) = session_attribute(true).await;
    assert_eq!(id, recorded);
}

#[tokio::test]
async fn payloads_are_recorded_on_request_and_redacted() {
    let (front, back) = (Traced::new(), Traced::new());
    let redaction = || Redaction::new().with_members(["text"]);
    let server = server().with_middleware(back.telemetry.clone().with_payloads(redaction()));
    let telemetry = front.telemetry.clone().with_payloads(redaction());
    let builder = Client::builder("agent", "1.0.0").with_middleware(telemetry);
    let client = connect(builder, &server, Era::Modern).await;
    front.take();
    back.take();
    let arguments = json!({"text": SECRET, "password": SECRET, "long": "x".repeat(10_000)});
    let _ = client.call_tool("fail", arguments).await;
    for span in [front.one("tools/call fail"), back.one("tools/call fail")] {
        let arguments = attribute(&span.attributes, "gen_ai.tool.call.arguments");
        let arguments = arguments.expect("arguments");
        assert_eq!(arguments.len(), MAX_PAYLOAD_BYTES);
        assert!(
            arguments.starts_with(r#"{"text":"[redacted]""#),
            "{arguments}"
        );
        let result = attribute(&span.attributes, "gen_ai.tool.call.result");
        let result = result.expect("a result");
        assert!(
            !result.contains(SECRET) && !arguments.contains(SECRET),
            "{result}"
        );
    }
}

/// The audit log of a gateway.
struct AuditFile(std::path::PathBuf);

impl AuditFile {
    fn new() -> Self {
        let name = format!("toolwire-otel-{}.jsonl", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        Self(path)
    }

    fn lines(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&self.0).expect("an audit log");
        let lines = text.lines().map(serde_json::from_str);
        lines.map(|line| line.expect("JSON")).collect()
    }
}

impl Drop for AuditFile {
    fn drop(&mut self) {
        // A file in the directory for temporary files may remain.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn records_of_a_gateway_have_no_planted_secret() {
    for era in [Era::Modern, Era::Legacy] {
        let (traced, metered) = (Traced::new(), Metered::new());
        let telemetry = traced.telemetry.clone().with_trace_ids_in_errors();
        let telemetry = telemetry.with_meter_provider(&metered.provider);
        let options = HttpOptions::new().without_signals().without_start_message();
        let listener = HttpListener::bind(server(), "127.0.0.1:0", options).await;
        let listener = listener.expect("a listener");
        let audit = AuditFile::new();
        let config = format!(
            "[audit]\nfile = {:?}\n\
             [upstream.demo]\nurl = \"{}?key={SECRET}\"\ncredentials = {{ bearer = \"{SECRET}\" }}\n\
             headers = {{ X-Key = \"{SECRET}\" }}\n\
             [upstream.gone]\ncommand = [\"no-such-command\", \"{SECRET}\"]\nenv = {{ KEY = \"{SECRET}\" }}\n",
            audit.0,
            listener.url()
        );
        let serving = tokio::spawn(listener.run());
        let config = GatewayConfig::parse("gateway.toml", &config, &|_| None);
        let behind = telemetry.clone();
        let options = GatewayOptions::new()
            .with_middleware(telemetry)
            .with_upstream_middleware(move |name| Arc::new(behind.clone().with_upstream(name)));
        let gateway = Gateway::new(config.expect("it is valid"), options).expect("it is valid");
        gateway.connect_all().await;
        let client = connect(Client::builder("agent", "1.0.0"), gateway.server(), era).await;
        for (tool, is_known) in [("demo_add", true), ("demo_none", false), ("gone_x", false)] {
            let arguments = json!({ "a": 1, "b": 2, "password": SECRET });
            let called = client.call_tool(tool, arguments).await;
            assert_eq!(called.is_ok(), is_known, "{tool}: {called:?}");
            assert!(!format!("{called:?}").contains(SECRET), "{called:?}");
        }
        let spans = traced.take();
        let text = recorded(&spans);
        for expected in ["tools/call demo_add", "toolwire.upstream"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(!text.contains(SECRET), "{text}");
        let metrics = metered.text();
        for expected in [
            "mcp.server.operation.duration",
            "demo_add",
            "toolwire.upstream",
        ] {
            assert!(metrics.contains(expected), "{expected}: {metrics}");
        }
        assert!(!metrics.contains(SECRET), "{metrics}");
        gateway.close().await;
        serving.abort();
        let lines = audit.lines();
        let line = lines.iter().find(|line| line["name"] == "demo_add");
        let mut calls = spans.iter();
        let call = calls.find(|span| span.name == "tools/call demo_add");
        let trace = call.expect("a span").span_context.trace_id().to_string();
        assert_eq!(line.expect("a line")["traceId"], trace, "{lines:?}");
        assert!(!format!("{lines:?}").contains(SECRET), "{lines:?}");
    }
}
