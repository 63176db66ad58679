//! The spans of a call that asks for input.

use opentelemetry::trace::{SpanKind, Tracer as _, TracerProvider as _};
use toolwire::ask::ElicitOutcome;
use toolwire::types::ElicitResult;
use toolwire::{Client, Elicit, Era, Error, ErrorObject, RequestContext};

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

/// Writes a greeting for the user.
#[prompt]
async fn greeting(ctx: &RequestContext) -> Result<String, Error> {
    Ok(match ctx.ask("name", "What is your name?").await? {
        ElicitOutcome::Accepted(Name { name }) => format!("hello {name}"),
        _ => "hello".to_owned(),
    })
}

/// A greeting of the user.
#[resource(uri = "note:greeting")]
async fn greeting_note(ctx: &RequestContext) -> Result<String, Error> {
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
        .prompt(greeting)
        .resource(greeting_note)
        .with_middleware(back.telemetry.clone());
    let builder = Client::builder("agent", "1.0.0")
        .on_elicitation(|_| async { Ok(ElicitResult::accept().with_content([("name", "Ann")])) })
        .with_middleware(front.telemetry.clone());
    let client = connect(builder, &server, Era::Modern).await;
    for name in ["tools/call greet", "prompts/get greeting", "resources/read"] {
        front.take();
        back.take();
        let no_arguments: [(&str, &str); 0] = [];
        let result = match name {
            "tools/call greet" => format!("{:?}", client.call_tool("greet", json!({})).await),
            "prompts/get greeting" => {
                format!("{:?}", client.get_prompt("greeting", no_arguments).await)
            }
            _ => format!("{:?}", client.read_resource("note:greeting").await),
        };
        assert!(result.contains("hello Ann"), "{name}: {result}");
        check_two_rounds(name, &front);
        check_two_rounds(name, &back);
    }
}

/// Checks the spans of a request with these names: one that asks for input, and one with the response.
fn check_two_rounds(name: &str, traced: &Traced) {
    let mut spans = traced.take();
    spans.retain(|span| span.name == name);
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
async fn request_that_a_client_receives_has_a_span() {
    let traced = Traced::new();
    let server = Server::new("demo", "1.0.0")
        .tool(greet)
        .with_middleware(traced.telemetry.clone());
    for (era, answer, error_type) in [
        (Era::Legacy, Ok("Ann"), None),
        (Era::Legacy, Err(()), Some("-32603")),
        (Era::Modern, Ok("Ann"), None),
        (Era::Modern, Err(()), Some("-32603")),
    ] {
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
        let client = connect(builder, &server, era).await;
        traced.take();
        let _ = client.call_tool("greet", json!({})).await;
        let spans = traced.take();
        let found = |name: &str, kind: &SpanKind| {
            let span = spans
                .iter()
                .find(|span| span.name == name && span.span_kind == *kind);
            span.unwrap_or_else(|| panic!("no {name} {kind:?}: {spans:?}"))
        };
        let received = found("elicitation/create", &SpanKind::Server);
        let is_message = era == Era::Legacy;
        if is_message {
            let sent = found("elicitation/create", &SpanKind::Client);
            assert_eq!(received.parent_span_id, sent.span_context.span_id());
            let trace = received.span_context.trace_id();
            assert_eq!(sent.span_context.trace_id(), trace);
        }
        let handler = found("handler", &SpanKind::Internal);
        assert_eq!(handler.parent_span_id, received.span_context.span_id());
        let version = if is_message {
            "2025-11-25"
        } else {
            "2026-07-28"
        };
        for (key, expected) in [
            ("mcp.method.name", Some("elicitation/create")),
            ("mcp.protocol.version", Some(version)),
            ("error.type", error_type),
        ] {
            let value = attribute(&received.attributes, key);
            assert_eq!(value.as_deref(), expected, "{key}");
        }
        let id = attribute(&received.attributes, "jsonrpc.request.id");
        assert_eq!(id.is_some(), is_message, "{era:?}");
    }
}
