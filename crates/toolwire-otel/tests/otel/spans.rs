//! The table of spans: each method, its outcomes, and both eras.

use opentelemetry::trace::{SpanKind, Status};
use serde_json::Value;
use toolwire::types::Tool;
use toolwire::{Client, Era, ErrorObject, RequestContext, ToolHandler};
use toolwire_otel::TelemetryMode;

use super::*;

/// A request, the name of its span, `error.type`, and the attribute that names its target.
type Row = (
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<(&'static str, &'static str)>,
);

const TOOL: &str = "gen_ai.tool.name";
const PROMPT: &str = "gen_ai.prompt.name";
const URI: &str = "mcp.resource.uri";

const BOTH_ERAS: &[Row] = &[
    ("tools/list", "tools/list", None, None),
    (
        "tools/call add",
        "tools/call add",
        None,
        Some((TOOL, "add")),
    ),
    (
        "tools/call fail",
        "tools/call fail",
        Some("tool_error"),
        Some((TOOL, "fail")),
    ),
    (
        "tools/call missing",
        "tools/call missing",
        Some("-32602"),
        Some((TOOL, "missing")),
    ),
    ("prompts/list", "prompts/list", None, None),
    (
        "prompts/get review",
        "prompts/get review",
        None,
        Some((PROMPT, "review")),
    ),
    (
        "prompts/get missing",
        "prompts/get missing",
        Some("-32602"),
        Some((PROMPT, "missing")),
    ),
    ("resources/list", "resources/list", None, None),
    (
        "resources/templates/list",
        "resources/templates/list",
        None,
        None,
    ),
    (
        "resources/read",
        "resources/read",
        None,
        Some((URI, "note:today")),
    ),
    (
        "completion/complete",
        "completion/complete review",
        Some("-32601"),
        Some((PROMPT, "review")),
    ),
    ("acme/method", "acme/method", Some("-32603"), None),
];

const MODERN: &[Row] = &[
    ("ping", "server/discover", None, None),
    (
        "resources/read missing",
        "resources/read",
        Some("-32602"),
        Some((URI, "note:missing")),
    ),
];

const LEGACY: &[Row] = &[
    ("ping", "ping", None, None),
    (
        "resources/read missing",
        "resources/read",
        Some("-32002"),
        Some((URI, "note:missing")),
    ),
];

fn check(span: &SpanData, row: &Row, kind: &SpanKind, version: &str) {
    let (request, name, error_type, target) = *row;
    let shown = format!("{request} {version} {kind:?}: {span:?}");
    assert_eq!(span.name, name, "{shown}");
    assert_eq!(&span.span_kind, kind, "{shown}");
    let value = |key: &str| attribute(&span.attributes, key);
    let method = name.split(' ').next();
    assert_eq!(value("mcp.method.name").as_deref(), method, "{shown}");
    assert_eq!(
        value("mcp.protocol.version").as_deref(),
        Some(version),
        "{shown}"
    );
    assert_eq!(value("error.type").as_deref(), error_type, "{shown}");
    assert!(value("jsonrpc.request.id").is_some(), "{shown}");
    for key in [TOOL, PROMPT, URI] {
        let expected = target.filter(|(expected, _)| *expected == key);
        assert_eq!(
            value(key).as_deref(),
            expected.map(|(_, value)| value),
            "{shown}"
        );
    }
    let is_call = name.starts_with("tools/call");
    let operation = is_call.then_some("execute_tool");
    assert_eq!(
        value("gen_ai.operation.name").as_deref(),
        operation,
        "{shown}"
    );
    let is_error = matches!(span.status, Status::Error { .. });
    assert_eq!(is_error, error_type.is_some(), "{shown}");
    let code = error_type.filter(|error_type| error_type.starts_with('-'));
    assert_eq!(
        value("rpc.response.status_code").as_deref(),
        code,
        "{shown}"
    );
    let asks = ["tools/call", "prompts/get", "resources/read"];
    let may_ask = method.is_some_and(|method| asks.contains(&method));
    let outcome = (may_ask && error_type.is_none()).then_some("complete");
    assert_eq!(value("toolwire.outcome").as_deref(), outcome, "{shown}");
}

#[tokio::test]
async fn each_request_has_a_span_on_both_sides() {
    for (era, version, more) in [
        (Era::Modern, "2026-07-28", MODERN),
        (Era::Legacy, "2025-11-25", LEGACY),
    ] {
        let (front, back) = (Traced::new(), Traced::new());
        let server = server().with_middleware(back.telemetry.clone()).method(
            "acme/method",
            |_: RequestContext, _: Value| async {
                Err::<Value, _>(ErrorObject::internal("broken"))
            },
        );
        let builder = Client::builder("agent", "1.0.0").with_middleware(front.telemetry.clone());
        let client = connect(builder, &server, era).await;
        let opening = match era {
            Era::Modern => "server/discover",
            _ => "initialize",
        };
        for traced in [&front, &back] {
            assert_eq!(traced.one(opening).name, opening);
        }
        for row in BOTH_ERAS.iter().chain(more) {
            send(&client, row.0).await;
            let (sent, served) = (front.one(row.1), back.one(row.1));
            check(&sent, row, &SpanKind::Client, version);
            check(&served, row, &SpanKind::Server, version);
            let trace = sent.span_context.trace_id();
            assert_eq!(served.span_context.trace_id(), trace);
            assert_eq!(served.parent_span_id, sent.span_context.span_id());
            assert!(served.parent_span_is_remote);
        }
    }
}

#[tokio::test]
async fn error_message_is_the_description_of_the_status() {
    let traced = Traced::new();
    let server = server().with_middleware(traced.telemetry.clone());
    let client = connect(Client::builder("agent", "1.0.0"), &server, Era::Modern).await;
    send(&client, "tools/call missing").await;
    let Status::Error { description } = traced.one("tools/call missing").status else {
        panic!("no error");
    };
    assert!(description.contains("missing"), "{description}");
}

#[tokio::test]
async fn cancelled_call_is_an_error_of_the_client_only() {
    let (front, back) = (Traced::new(), Traced::new());
    let (started, mut waiting) = tokio::sync::mpsc::channel(1);
    let descriptor = Tool::new("wait", json!({"type": "object"}));
    let wait = ToolHandler::raw(descriptor, move |_, _| {
        let started = started.clone();
        async move {
            let _ = started.send(()).await;
            std::future::pending::<String>().await
        }
    });
    let wait = wait.without_argument_check();
    let server = Server::new("demo", "1.0.0")
        .tool(wait)
        .with_middleware(back.telemetry.clone());
    let builder = Client::builder("agent", "1.0.0").with_middleware(front.telemetry.clone());
    let client = connect(builder, &server, Era::Modern).await;
    front.take();
    back.take();
    let call = tokio::spawn(async move { client.call_tool("wait", json!({})).await.map(drop) });
    waiting.recv().await.expect("the handler runs");
    call.abort();
    let _ = call.await;
    let sent = front.one("tools/call wait");
    assert_eq!(
        attribute(&sent.attributes, "error.type").as_deref(),
        Some("cancelled")
    );
    // The server drops the call when it reads the cancellation.
    let has_spans = || {
        !back
            .exporter
            .get_finished_spans()
            .expect("spans")
            .is_empty()
    };
    until("span", has_spans).await;
    let served = back.one("tools/call wait");
    assert_eq!(attribute(&served.attributes, "error.type"), None);
    assert_eq!(served.status, Status::Unset);
    let outcome = attribute(&served.attributes, "toolwire.outcome");
    assert_eq!(outcome.as_deref(), Some("cancelled"));
}

#[tokio::test]
async fn panic_of_a_handler_is_an_error() {
    let traced = Traced::new();
    let inner = toolwire::middleware::from_fn(
        async |request: &mut toolwire::middleware::Request,
               next: toolwire::middleware::Next<'_>| {
            assert!(request.method() != "tools/call", "broken");
            next.run(request).await
        },
    );
    let server = server()
        .with_middleware(traced.telemetry.clone())
        .with_middleware(inner);
    let client = connect(Client::builder("agent", "1.0.0"), &server, Era::Modern).await;
    send(&client, "tools/call add").await;
    let span = traced.one("tools/call add");
    let error_type = attribute(&span.attributes, "error.type");
    assert_eq!(error_type.as_deref(), Some("_OTHER"));
}

#[tokio::test]
async fn mode_off_changes_nothing() {
    for (mode, is_sent) in [
        (TelemetryMode::Off, false),
        (TelemetryMode::PropagationOnly, false),
        (TelemetryMode::SpansAndMetrics, true),
    ] {
        let (front, back) = (Traced::new(), Traced::new());
        let server = server().with_middleware(back.telemetry.clone());
        let telemetry = front.telemetry.clone().with_mode(mode);
        let builder = Client::builder("agent", "1.0.0").with_middleware(telemetry);
        let client = connect(builder, &server, Era::Modern).await;
        back.take();
        send(&client, "tools/call add").await;
        assert_eq!(front.take().is_empty(), !is_sent, "{mode:?}");
        assert_eq!(
            back.one("tools/call add").parent_span_is_remote,
            is_sent,
            "{mode:?}"
        );
    }
}

#[tokio::test]
async fn stream_has_a_span_until_its_first_message() {
    let (front, back) = (Traced::new(), Traced::new());
    let server = server().with_middleware(back.telemetry.clone());
    let builder = Client::builder("agent", "1.0.0").with_middleware(front.telemetry.clone());
    let client = connect(builder, &server, Era::Modern).await;
    front.take();
    back.take();
    let filter = toolwire::types::SubscriptionFilter::new().with_tools_list_changed();
    let mut changes = client.listen(filter).await.expect("a subscription");
    let (sent, served) = (
        front.one("subscriptions/listen"),
        back.one("subscriptions/listen"),
    );
    assert_eq!(served.parent_span_id, sent.span_context.span_id());
    assert_eq!(served.events.len(), 1);
    // The span of the client covers the request and its acknowledgement.
    assert!(sent.start_time <= served.start_time && sent.end_time >= served.start_time);
    server.remove_tool("add");
    changes.next().await.expect("a change");
    assert!(back.take().is_empty());
}

#[tokio::test]
async fn rejected_stream_is_an_error_on_both_sides() {
    let (front, back) = (Traced::new(), Traced::new());
    let rejecting = toolwire::middleware::from_fn(
        async |request: &mut toolwire::middleware::Request,
               next: toolwire::middleware::Next<'_>| {
            if request.method() == "subscriptions/listen" {
                return ErrorObject::internal("no").into();
            }
            next.run(request).await
        },
    );
    let server = server()
        .with_middleware(back.telemetry.clone())
        .with_middleware(rejecting);
    let builder = Client::builder("agent", "1.0.0").with_middleware(front.telemetry.clone());
    let client = connect(builder, &server, Era::Modern).await;
    let filter = toolwire::types::SubscriptionFilter::new().with_tools_list_changed();
    assert!(client.listen(filter).await.is_err());
    for traced in [front, back] {
        let span = traced.one("subscriptions/listen");
        let error_type = attribute(&span.attributes, "error.type");
        assert_eq!(error_type.as_deref(), Some("-32603"));
    }
}

#[tokio::test]
async fn unreachable_server_is_an_error_of_the_connection() {
    let traced = Traced::new();
    let builder = Client::builder("agent", "1.0.0").with_middleware(traced.telemetry.clone());
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}/mcp", closed.local_addr().expect("an address"));
    drop(closed);
    assert!(builder.connect(&url).await.is_err());
    let spans = traced.take();
    let error_type = attribute(&spans[0].attributes, "error.type");
    assert_eq!(error_type.as_deref(), Some("connection"), "{spans:?}");
}

#[tokio::test]
async fn long_method_is_shortened() {
    let (front, back) = (Traced::new(), Traced::new());
    let method = format!("acme/{}", "x".repeat(1000));
    let server = server()
        .with_middleware(back.telemetry.clone())
        .method(method.clone(), |_: RequestContext, _: Value| async {
            Ok::<_, ErrorObject>(json!({}))
        });
    let builder = Client::builder("agent", "1.0.0").with_middleware(front.telemetry.clone());
    let client = connect(builder, &server, Era::Modern).await;
    for traced in [&front, &back] {
        traced.take();
    }
    client
        .request(method.clone(), json!({}))
        .await
        .expect("a result");
    for traced in [front, back] {
        let span = traced.one(&method[..256]);
        let recorded = attribute(&span.attributes, "mcp.method.name");
        assert_eq!(recorded.as_deref(), Some(&method[..256]));
    }
}
