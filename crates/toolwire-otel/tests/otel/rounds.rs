//! The spans of a call that asks for input.

use opentelemetry::trace::{SpanKind, Tracer as _, TracerProvider as _};
use toolwire::ask::ElicitOutcome;
use toolwire::types::ElicitResult;
use toolwire::{Client, Elicit, Era, ErrorObject, RequestContext};

use super::*;

#[derive(serde::Deserialize, Elicit)]
struct Name {
    name: String,
}

/// Greets the user.
#[tool]
async fn greet(ctx: &RequestContext) -> Result<String, ToolError> {
    Ok(match ctx.ask("name", "What is your name?").await? {
        ElicitOutcome::Accepted(Name { name }) => format!("hello {name}"),
        _ => "hello".to_owned(),
    })
}

#[tokio::test]
async fn rounds_link_to_the_first() {
    let (front, back) = (Traced::new(), Traced::new());
    let server = Server::new("demo", "1.0.0")
        .tool(greet)
        .with_middleware(back.telemetry.clone());
    let builder = Client::builder("agent", "1.0.0")
        .on_elicitation(|_| async { Ok(ElicitResult::accept().with_content([("name", "Ann")])) })
        .with_middleware(front.telemetry.clone());
    let client = connect(builder, &server, Era::Modern).await;
    front.take();
    back.take();
    let result = client
        .call_tool("greet", json!({}))
        .await
        .expect("a result");
    assert_eq!(result.content[0].as_text(), Some("hello Ann"));
    for traced in [&front, &back] {
        let spans = traced.take();
        let [first, second] = &spans[..] else {
            panic!("{spans:?}");
        };
        let value = |span: &SpanData, key: &str| attribute(&span.attributes, key);
        let outcome = value(first, "toolwire.outcome");
        assert_eq!(outcome.as_deref(), Some("input_required"));
        assert_eq!(value(first, "toolwire.round").as_deref(), Some("1"));
        assert_eq!(
            value(second, "toolwire.outcome").as_deref(),
            Some("complete")
        );
        assert_eq!(value(second, "toolwire.round").as_deref(), Some("2"));
        let links = second.links.iter();
        let links: Vec<_> = links.map(|link| link.span_context.span_id()).collect();
        assert_eq!(links, [first.span_context.span_id()]);
    }
}

#[tokio::test]
async fn request_to_a_legacy_client_is_a_child_of_the_call() {
    let traced = Traced::new();
    let server = Server::new("demo", "1.0.0")
        .tool(greet)
        .with_middleware(traced.telemetry.clone());
    for (answer, error_type) in [(Ok("Ann"), None), (Err(()), Some("-32603"))] {
        let builder = Client::builder("agent", "1.0.0").on_elicitation(move |_| async move {
            match answer {
                Ok(name) => Ok(ElicitResult::accept().with_content([("name", name)])),
                Err(()) => Err(ErrorObject::internal("broken")),
            }
        });
        let client = connect(builder, &server, Era::Legacy).await;
        traced.take();
        let _ = client.call_tool("greet", json!({})).await;
        let spans = traced.take();
        let [asked, call] = &spans[..] else {
            panic!("{spans:?}");
        };
        assert_eq!(
            (&*asked.name, &*call.name),
            ("elicitation/create", "tools/call greet")
        );
        assert_eq!(asked.span_kind, SpanKind::Client);
        assert_eq!(asked.parent_span_id, call.span_context.span_id());
        assert_eq!(asked.span_context.trace_id(), call.span_context.trace_id());
        let value = |key: &str| attribute(&asked.attributes, key);
        assert_eq!(
            value("mcp.method.name").as_deref(),
            Some("elicitation/create")
        );
        assert_eq!(value("error.type").as_deref(), error_type);
    }
}

#[tokio::test]
async fn request_that_a_legacy_client_receives_has_a_span() {
    let traced = Traced::new();
    let server = Server::new("demo", "1.0.0")
        .tool(greet)
        .with_middleware(traced.telemetry.clone());
    for (answer, error_type) in [(Ok("Ann"), None), (Err(()), Some("-32603"))] {
        let own = traced.provider.clone();
        let builder = Client::builder("agent", "1.0.0")
            .on_elicitation(move |_| {
                // The span is current in the handler.
                drop(own.tracer("program").start("handler"));
                async move {
                    match answer {
                        Ok(name) => Ok(ElicitResult::accept().with_content([("name", name)])),
                        Err(()) => Err(ErrorObject::internal("broken")),
                    }
                }
            })
            .with_middleware(traced.telemetry.clone());
        let client = connect(builder, &server, Era::Legacy).await;
        traced.take();
        let _ = client.call_tool("greet", json!({})).await;
        let spans = traced.take();
        let found = |name: &str, kind: &SpanKind| {
            let span = spans
                .iter()
                .find(|span| span.name == name && span.span_kind == *kind);
            span.unwrap_or_else(|| panic!("no {name} {kind:?}: {spans:?}"))
        };
        let sent = found("elicitation/create", &SpanKind::Client);
        let received = found("elicitation/create", &SpanKind::Server);
        assert_eq!(received.parent_span_id, sent.span_context.span_id());
        let trace = received.span_context.trace_id();
        assert_eq!(sent.span_context.trace_id(), trace);
        let handler = found("handler", &SpanKind::Internal);
        assert_eq!(handler.parent_span_id, received.span_context.span_id());
        for (key, expected) in [
            ("mcp.method.name", Some("elicitation/create")),
            ("mcp.protocol.version", Some("2025-11-25")),
            ("error.type", error_type),
        ] {
            let value = attribute(&received.attributes, key);
            assert_eq!(value.as_deref(), expected, "{key}");
        }
        assert!(attribute(&received.attributes, "jsonrpc.request.id").is_some());
    }
}
