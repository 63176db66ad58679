//! Secrets are not recorded.

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Client, Era};
use toolwire_otel::{MAX_PAYLOAD_BYTES, Redaction};

use super::*;

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
async fn no_attribute_has_a_planted_secret() {
    for era in [Era::Modern, Era::Legacy] {
        let (front, back) = (Traced::new(), Traced::new());
        let server = server().with_middleware(back.telemetry.clone());
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
            .with_middleware(front.telemetry.clone());
        let client = builder.connect(&format!("{url}?key={SECRET}")).await;
        let client = client.expect("a connection");
        let _ = client.call_tool("fail", json!({"text": SECRET})).await;
        let _ = client.call_tool("add", json!({"a": SECRET, "b": 1})).await;
        let _ = client.get_prompt("review", [("code", SECRET)]).await;
        let uri = format!("https://me:{SECRET}@a.test/x?key={SECRET}#{SECRET}");
        let _ = client.read_resource(uri).await;
        serving.abort();
        for spans in [front.take(), back.take()] {
            assert!(spans.len() >= 5, "{spans:?}");
            let text = recorded(&spans);
            assert!(!text.contains(SECRET), "{text}");
            let has_digest = text.contains("mcp.session.id");
            assert!(!has_digest || era == Era::Legacy, "{text}");
        }
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
