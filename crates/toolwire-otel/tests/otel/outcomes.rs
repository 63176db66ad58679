//! The table of outcomes: each method that a client sends, each way in which it can end, both eras, and both sides.

use std::sync::{Arc, Mutex};

use opentelemetry::trace::{SpanKind, Status};
use toolwire::middleware::{Deadline, Middleware, Next, Outcome, Request};
use toolwire::{BoxFuture, Client, Era, ErrorObject, ProtocolVersion, RawJson};
use toolwire_proto::methods::{self, Method};

use super::*;

/// How a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Result,
    ToolError,
    RpcError,
    /// A deadline of the server ends the request with an error.
    Deadline,
    /// The caller drops the call.
    Cancelled,
    /// The client waits no longer.
    Timeout,
    /// The connection closes before the response.
    ConnectionLost,
}

const ENDS: [End; 7] = [
    End::Result,
    End::ToolError,
    End::RpcError,
    End::Deadline,
    End::Cancelled,
    End::Timeout,
    End::ConnectionLost,
];

/// The time after which a request of the table times out. The clock of the test is paused.
const TIMEOUT: Duration = Duration::from_secs(5);

impl End {
    /// Returns `true` if a request of this method can end so.
    fn applies_to(self, method: &str) -> bool {
        match self {
            Self::ToolError => method == "tools/call",
            // Streams, and requests that wait for a task, have no deadline.
            Self::Deadline => {
                !["subscriptions/listen", "events/stream", "tasks/result"].contains(&method)
            }
            _ => true,
        }
    }

    /// Returns `error.type` on the side of the client.
    fn client_error(self) -> Option<&'static str> {
        match self {
            Self::Result => None,
            Self::ToolError => Some("tool_error"),
            Self::RpcError => Some("-32602"),
            Self::Deadline => Some("-32603"),
            Self::Cancelled => Some("cancelled"),
            Self::Timeout => Some("timeout"),
            Self::ConnectionLost => Some("connection"),
        }
    }

    /// Returns `error.type` on the side of the server, where a cancellation is not an error.
    fn server_error(self) -> Option<&'static str> {
        if self.is_cancellation() {
            return None;
        }
        self.client_error()
    }

    /// Returns `true` if the server only sees that its request was cancelled.
    fn is_cancellation(self) -> bool {
        matches!(self, Self::Cancelled | Self::Timeout | Self::ConnectionLost)
    }
}

/// A middleware that ends every request in one way, and says when one has arrived.
struct Ending {
    end: Arc<Mutex<Option<End>>>,
    arrived: tokio::sync::mpsc::UnboundedSender<()>,
}

impl Middleware for Ending {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        let end = *self.end.lock().expect("no panic");
        Box::pin(async move {
            let Some(end) = end else {
                return next.run(request).await;
            };
            let _ = self.arrived.send(());
            match end {
                End::Result => Outcome::from_result(RawJson::empty_object()),
                End::ToolError => Outcome::tool_error("no"),
                End::RpcError => ErrorObject::invalid_params("no").into(),
                _ => std::future::pending().await,
            }
        })
    }
}

/// The parameters that name a target, for every method.
fn params() -> serde_json::Value {
    json!({
        "name": "x", "uri": "note:x", "taskId": "x",
        "ref": {"type": "ref/prompt", "name": "review"},
        "notifications": {"toolsListChanged": true},
    })
}

/// Returns the attribute with the target of a method, and the name of its span.
fn expected_target(method: &str) -> (Option<(&'static str, &'static str)>, String) {
    let target = match method {
        "tools/call" => ("gen_ai.tool.name", "x"),
        "prompts/get" => ("gen_ai.prompt.name", "x"),
        "completion/complete" => ("gen_ai.prompt.name", "review"),
        "resources/read"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "resources/directory/read"
        | "skills/get" => ("mcp.resource.uri", "note:x"),
        _ => return (None, method.to_owned()),
    };
    let name = match target.0 {
        "mcp.resource.uri" => method.to_owned(),
        _ => format!("{method} {}", target.1),
    };
    (Some(target), name)
}

fn check(span: &SpanData, method: &Method, version: &str, end: End, kind: &SpanKind) {
    let shown = format!("{} {version} {end:?} {kind:?}: {span:?}", method.name);
    let value = |key: &str| attribute(&span.attributes, key);
    let (target, name) = expected_target(method.name);
    assert_eq!(span.name, name, "{shown}");
    assert_eq!(&span.span_kind, kind, "{shown}");
    let is_server = *kind == SpanKind::Server;
    let error = if is_server {
        end.server_error()
    } else {
        end.client_error()
    };
    let code = error.filter(|error| error.starts_with('-'));
    let may_ask = ["tools/call", "prompts/get", "resources/read"].contains(&method.name);
    let outcome = match end {
        _ if is_server && end.is_cancellation() => Some("cancelled"),
        End::Result if may_ask => Some("complete"),
        _ => None,
    };
    let operation = (method.name == "tools/call").then_some("execute_tool");
    let expected = [
        ("mcp.method.name", Some(method.name)),
        ("mcp.protocol.version", Some(version)),
        ("error.type", error),
        ("rpc.response.status_code", code),
        ("gen_ai.operation.name", operation),
        ("toolwire.outcome", outcome),
        ("mcp.session.id", None),
        ("jsonrpc.protocol.version", None),
    ];
    for (key, expected) in expected {
        assert_eq!(value(key).as_deref(), expected, "{key} of {shown}");
    }
    for key in ["gen_ai.tool.name", "gen_ai.prompt.name", "mcp.resource.uri"] {
        let expected = target.filter(|(expected, _)| *expected == key);
        let expected = expected.map(|(_, value)| value);
        assert_eq!(value(key).as_deref(), expected, "{key} of {shown}");
    }
    // `Client::listen` knows the id of a stream before it sends the request. The generic requests of this table do not.
    let is_stream = ["subscriptions/listen", "events/stream"].contains(&method.name);
    if is_server || !is_stream {
        assert!(value("jsonrpc.request.id").is_some(), "{shown}");
    }
    let description = match end {
        End::RpcError => "no",
        End::Deadline => "the request took longer than 2.5s",
        _ => "",
    };
    let status = match error {
        Some(_) => Status::error(description),
        None => Status::Unset,
    };
    assert_eq!(span.status, status, "{shown}");
}

/// Waits until a request has reached the middleware of the server.
async fn arrival(arrivals: &mut tokio::sync::mpsc::UnboundedReceiver<()>, method: &str) {
    let arrived = tokio::time::timeout(TIMEOUT, arrivals.recv()).await;
    assert!(matches!(arrived, Ok(Some(()))), "{method} does not arrive");
}

/// Sends a request that ends in this way, and returns the spans of the client and of the server.
async fn run(method: &Method, era: Era, end: End) -> (SpanData, SpanData) {
    let (front, back) = (Traced::new(), Traced::new());
    let (arrived, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
    let ending = Arc::new(Mutex::new(None));
    let mut server = server().with_middleware(back.telemetry.clone());
    if end == End::Deadline {
        server = server.with_middleware(Deadline::new(TIMEOUT / 2));
    }
    let server = server.with_middleware(Ending {
        end: Arc::clone(&ending),
        arrived,
    });
    let builder = Client::builder("agent", "1.0.0").with_middleware(front.telemetry.clone());
    let client = connect(builder, &server, era).await;
    front.take();
    back.take();
    *ending.lock().expect("no panic") = Some(end);
    let call = client.request(method.name, params()).with_timeout(TIMEOUT);
    let call = tokio::spawn(async move { call.await.map(drop) });
    arrival(&mut arrivals, method.name).await;
    match end {
        End::Cancelled => call.abort(),
        End::ConnectionLost => client.close().await,
        _ => {}
    }
    let ended = call.await;
    assert_eq!(ended.is_err(), end == End::Cancelled, "{ended:?}");
    until_span(&back).await;
    let (_, name) = expected_target(method.name);
    (front.one(&name), back.one(&name))
}

/// Waits until a span has ended.
async fn until_span(traced: &Traced) {
    let has_span = || {
        let spans = traced.exporter.get_finished_spans();
        !spans.expect("spans").is_empty()
    };
    until("span", has_span).await;
}

#[tokio::test(start_paused = true)]
async fn each_method_has_its_span_for_each_end() {
    for (era, version) in [
        (Era::Modern, ProtocolVersion::V2026_07_28),
        (Era::Legacy, ProtocolVersion::V2025_11_25),
    ] {
        let sent = methods::all()
            .iter()
            .filter(|method| method.is_client_request(version))
            // The requests that connect have a test of their own.
            .filter(|method| !["initialize", "server/discover"].contains(&method.name));
        let mut count = 0;
        for method in sent {
            for end in ENDS.into_iter().filter(|end| end.applies_to(method.name)) {
                count += 1;
                let (sent, served) = run(method, era, end).await;
                let version = version.as_str();
                check(&sent, method, version, end, &SpanKind::Client);
                check(&served, method, version, end, &SpanKind::Server);
                let parent = sent.span_context.span_id();
                assert_eq!(served.parent_span_id, parent, "{} {end:?}", method.name);
            }
        }
        assert!(count >= 60, "{count} rows");
    }
}

#[tokio::test(start_paused = true)]
async fn request_that_connects_has_its_span_for_each_end() {
    for (era, method) in [
        (Era::Modern, "server/discover"),
        (Era::Legacy, "initialize"),
    ] {
        for end in [End::Result, End::RpcError, End::Cancelled, End::Timeout] {
            let (front, back) = (Traced::new(), Traced::new());
            let (arrived, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
            let ending = (end != End::Result).then_some(end);
            let server = server().with_middleware(back.telemetry.clone());
            let server = server.with_middleware(Ending {
                end: Arc::new(Mutex::new(ending)),
                arrived,
            });
            let builder = Client::builder("agent", "1.0.0");
            let builder = builder.with_middleware(front.telemetry.clone());
            let connecting = tokio::spawn(async move {
                let connected = builder.with_era(era).in_process(&server).await;
                connected.map(drop)
            });
            if end != End::Result {
                arrival(&mut arrivals, method).await;
            }
            if end == End::Cancelled {
                connecting.abort();
            }
            let _ = connecting.await;
            until_span(&back).await;
            for (traced, kind, error) in [
                (&front, SpanKind::Client, end.client_error()),
                (&back, SpanKind::Server, end.server_error()),
            ] {
                let span = traced.one(method);
                let found = attribute(&span.attributes, "error.type");
                let shown = format!("{method} {end:?} {kind:?}");
                assert_eq!(found.as_deref(), error, "{shown}");
                assert_eq!(span.span_kind, kind, "{shown}");
                let is_error = matches!(span.status, Status::Error { .. });
                assert_eq!(is_error, error.is_some(), "{shown}");
            }
        }
    }
}
