//! Spans and metrics as an exporter sees them.

#![expect(deprecated, reason = "deprecated features are tested, too")]

mod access_log;
mod activity;
mod client_requests;
mod connections;
mod dropped_notifications;
mod log_fields;
mod metered;
mod metrics;
mod outcomes;
mod parents;
mod privacy;
mod relay;
mod rounds;
mod spans;
mod trace_ids;

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;
use toolwire::types::{CompletionArgument, PromptReference};
use toolwire::{Client, ClientBuilder, Era, Server, ToolError, prompt, resource, tool};
use toolwire_otel::Telemetry;

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fails with a text for the model.
#[tool]
async fn fail(text: String) -> Result<String, ToolError> {
    Err(ToolError::failed(text))
}

/// Reviews code.
#[prompt]
async fn review(code: String) -> String {
    code
}

/// A note.
#[resource(uri = "note:today")]
async fn note() -> &'static str {
    "nothing"
}

/// Telemetry with an exporter in memory.
struct Traced {
    telemetry: Telemetry,
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
}

impl Traced {
    fn new() -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder()
            .with_simple_exporter(exporter.clone())
            .build();
        Self {
            telemetry: Telemetry::new().with_tracer_provider(&provider),
            exporter,
            provider,
        }
    }

    /// Returns the spans that ended, and forgets them.
    fn take(&self) -> Vec<SpanData> {
        let spans = self.exporter.get_finished_spans().expect("spans");
        self.exporter.reset();
        spans
    }

    /// Returns the only span with this name, and forgets all.
    fn one(&self, name: &str) -> SpanData {
        let spans = self.take();
        let names: Vec<_> = spans.iter().map(|span| span.name.clone()).collect();
        let mut found = spans.into_iter().filter(|span| span.name == name);
        let (first, second) = (found.next(), found.next());
        assert!(second.is_none(), "{name} twice: {names:?}");
        first.unwrap_or_else(|| panic!("no {name}: {names:?}"))
    }
}

/// Returns a server with one entry of each kind.
fn server() -> Server {
    Server::new("demo", "1.0.0")
        .tool(add)
        .tool(fail)
        .prompt(review)
        .resource(note)
}

/// Waits until a condition is true.
async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    assert!(waited.is_ok(), "no {what} within a minute");
}

/// Returns the value of an attribute as text.
fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|found| found.key.as_str() == key);
    found.map(|found| found.value.to_string())
}

/// Connects a client of an era.
async fn connect(builder: ClientBuilder, server: &Server, era: Era) -> Client {
    let connecting = builder.with_era(era).in_process(server);
    connecting.await.expect("a connection")
}

/// Sends one request of a kind.
async fn send(client: &Client, request: &str) {
    let _ = match request {
        "tools/list" => client.list_tools_page(None).await.map(drop),
        "tools/call add" => client
            .call_tool("add", json!({"a": 1, "b": 2}))
            .await
            .map(drop),
        "tools/call fail" => client
            .call_tool("fail", json!({"text": "no"}))
            .await
            .map(drop),
        "tools/call missing" => client.call_tool("missing", json!({})).await.map(drop),
        "prompts/list" => client.list_prompts_page(None).await.map(drop),
        "prompts/get review" => client.get_prompt("review", [("code", "1")]).await.map(drop),
        "prompts/get missing" => {
            let arguments: [(&str, &str); 0] = [];
            client.get_prompt("missing", arguments).await.map(drop)
        }
        "resources/list" => client.list_resources_page(None).await.map(drop),
        "resources/templates/list" => client.list_resource_templates_page(None).await.map(drop),
        "resources/read" => client.read_resource("note:today").await.map(drop),
        "resources/read missing" => client.read_resource("note:missing").await.map(drop),
        "completion/complete" => {
            let argument = CompletionArgument::new("code", "1");
            client
                .complete(PromptReference::new("review"), argument)
                .await
                .map(drop)
        }
        "ping" => client.ping().await.map(drop),
        "acme/method" => client.request("acme/method", json!({})).await.map(drop),
        other => panic!("{other}"),
    };
}
