//! Tests of reports: what a server reports about exchanges on standard input and output.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolwire_proto::inspection::{
    ExchangeReport, InspectionLine, Rejected, ReportedOutcome, SpanKind,
};
use toolwire_types::{ProtocolVersion, RawJson};

use crate::engine::BoxFuture;
use crate::server::middleware::{
    Middleware, Next, Outcome, Policy, PolicyConditions, PolicyRule, Request, from_fn,
};
use crate::server::{Mount, RequestContext, Server, ToolHandler};
use crate::sync::lock;
use crate::transport::duplex::MessageLoop;
use crate::transport::limits::Limits;
use crate::transport::outgoing_queue::OutgoingQueue;

/// The lines that a server wrote.
type Lines = Arc<Mutex<Vec<String>>>;

fn report_to_lines(server: &Server) -> Lines {
    let lines = Lines::default();
    let written = Arc::clone(&lines);
    server.report_exchanges(move |line| lock(&written).push(line));
    lines
}

/// Returns a request of the newest revision.
fn request(id: i64, method: &str, mut params: Value) -> Vec<u8> {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(ProtocolVersion::LATEST);
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    format!("{request}\n").into_bytes()
}

/// Serves requests as on standard input, one after the other, and returns their reports.
async fn serve(
    server: &Server,
    requests: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<ExchangeReport> {
    let lines = report_to_lines(server);
    for request in requests {
        let limits = Limits::default();
        let out = Arc::new(OutgoingQueue::of_lines(limits.outbox()));
        let (sender, chunks) = mpsc::channel(1);
        sender.send(request.into()).await.expect("a receiver");
        drop(sender);
        MessageLoop::on_stdio(server.clone(), out, limits)
            .run(chunks)
            .await;
    }
    let lines = lock(&lines);
    let reports = lines
        .iter()
        .filter_map(|line| match InspectionLine::read(line) {
            Some(InspectionLine::Exchange(report)) => Some(*report),
            _ => None,
        });
    reports.collect()
}

async fn serve_one(server: &Server, method: &str, params: Value) -> ExchangeReport {
    let mut reports = serve(server, [request(1, method, params)]).await;
    assert_eq!(reports.len(), 1, "{reports:?}");
    reports.remove(0)
}

fn tool(name: &str, schema: Value) -> ToolHandler {
    let tool = toolwire_types::Tool::new(name.to_owned(), RawJson::from(schema));
    ToolHandler::raw(tool, |_: RequestContext, _: RawJson| async { "done" })
}

fn plain(name: &str) -> ToolHandler {
    tool(name, json!({"type": "object"}))
}

/// Waits before the handler.
struct Slow;

impl Middleware for Slow {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            std::thread::sleep(Duration::from_millis(5));
            next.run(request).await
        })
    }
}

fn spans(report: &ExchangeReport) -> Vec<(SpanKind, &str)> {
    let spans = report.spans.iter();
    spans.map(|span| (span.kind, span.name.as_str())).collect()
}

#[tokio::test]
async fn middleware_and_handler_have_spans_in_their_order() {
    let mounted = Server::new("inner", "1")
        .tool(plain("run"))
        .with_middleware(Slow);
    let named = from_fn(async |request: &mut Request, next: Next<'_>| next.run(request).await);
    let server = Server::new("test", "1")
        .with_middleware(Slow)
        .with_middleware(named)
        .mount_with(Mount::new("inner", mounted));
    let meta = json!({"toolwire/call": "7"});
    let report = serve_one(
        &server,
        "tools/call",
        json!({"name": "inner_run", "_meta": meta}),
    )
    .await;
    assert_eq!(report.outcome, ReportedOutcome::Ok);
    assert_eq!(
        (report.call.as_deref(), report.name.as_deref()),
        (Some("7"), Some("inner_run"))
    );
    let middleware = SpanKind::Middleware;
    let closure = "middleware_and_handler_have_spans_in_their_order (closure)";
    let expected = [
        (middleware, "Slow"),
        (middleware, closure),
        (middleware, "mounted server"),
        (middleware, "Slow"),
        (SpanKind::Handler, ""),
    ];
    assert_eq!(spans(&report), expected);
    let (slow, handler) = (&report.spans[0], &report.spans[4]);
    assert!(
        slow.own_us >= 5_000 && slow.took_us >= slow.own_us + report.spans[3].own_us,
        "{report:?}"
    );
    assert!(
        handler.start_us >= 10_000 && handler.took_us <= report.took_us,
        "{report:?}"
    );
}

/// Checks what was rejected, and that the report has no values of these tests.
fn check_rejection(report: &ExchangeReport, what: Rejected, path: &str) {
    let rejection = report.rejected.as_ref().expect("a rejection");
    assert_eq!(rejection.what, what);
    assert_eq!(rejection.paths, [path]);
    let text = format!("{report:?}");
    assert!(!text.contains("secret") && !text.contains("7777"), "{text}");
}

#[tokio::test]
async fn rejected_arguments_and_results_have_paths_and_no_values() {
    let schema = json!({
        "type": "object",
        "properties": {"count": {"type": "integer", "maximum": 3}},
        "required": ["count"],
    });
    let output =
        json!({"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]});
    let result = toolwire_types::CallToolResult::structured(&json!({"rows": "secret"}));
    let result = result.expect("JSON");
    let descriptor = toolwire_types::Tool::new("rows", RawJson::from(json!({"type": "object"})));
    let rows = ToolHandler::raw(descriptor, move |_: RequestContext, _: RawJson| {
        let result = result.clone();
        async move { result }
    });
    let server = Server::new("test", "1")
        .with_output_validation()
        .tool(tool("counted", schema))
        .tool(rows.with_output_schema(output));
    let arguments = json!({"name": "counted", "arguments": {"count": 7777}});
    let report = serve_one(&server, "tools/call", arguments).await;
    check_rejection(&report, Rejected::Arguments, "arguments.count");
    assert_eq!(report.outcome, ReportedOutcome::ToolError);
    let report = serve_one(&server, "tools/call", json!({"name": "rows"})).await;
    check_rejection(&report, Rejected::Result, "structuredContent.rows");
    assert_eq!(report.outcome, ReportedOutcome::Error);
}

#[tokio::test]
async fn hidden_entries_have_their_reasons() {
    let mounted = Server::new("inner", "1").tool(plain("a")).tool(plain("b"));
    let mount = Mount::new("inner", mounted).with_filter(|_, name| name != "a");
    let deletes = PolicyConditions::new().with_tool("delete");
    let policy = Policy::new([PolicyRule::deny(deletes).with_name("no deletes")]);
    let policy = policy.expect("a policy");
    let server = Server::new("test", "1")
        .tool(plain("open"))
        .tool(plain("admin"))
        .tool(plain("delete"))
        .mount_with(mount)
        .with_visibility(|_, name| name != "admin")
        .with_middleware(policy);
    let report = serve_one(&server, "tools/list", json!({})).await;
    let hidden: Vec<_> = report
        .hidden
        .iter()
        .map(|entry| (&*entry.name, &*entry.because))
        .collect();
    let expected = [
        ("admin", "the visibility rule of the server"),
        ("delete", "policy: no deletes"),
        ("inner_a", "a filter of mount `inner`"),
    ];
    assert_eq!(hidden, expected);
    assert!(report.hidden.iter().all(|entry| entry.kind == "tool"));
    let report = serve_one(&server, "tools/call", json!({"name": "admin"})).await;
    assert_eq!(report.outcome, ReportedOutcome::Error);
    let because = &report.hidden[0].because;
    assert_eq!((report.hidden.len(), because.as_str()), (1, expected[0].1));
}

#[tokio::test]
async fn running_requests_and_cancellations_are_reported() {
    let descriptor = toolwire_types::Tool::new("wait", RawJson::from(json!({"type": "object"})));
    let wait = ToolHandler::raw(descriptor, |_: RequestContext, _: RawJson| async {
        std::future::pending::<&str>().await
    });
    let server = Server::new("test", "1").tool(wait).tool(plain("run"));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let messages = [
        request(1, "tools/call", json!({"name": "wait"})),
        request(2, "tools/call", json!({"name": "run"})),
        format!("{cancel}\n").into_bytes(),
    ];
    let reports = serve(&server, [messages.concat()]).await;
    let found = |id: i64| {
        let report = reports.iter().find(|report| report.id == Some(id.into()));
        report.expect("a report")
    };
    assert_eq!(found(1).outcome, ReportedOutcome::Cancelled);
    assert_eq!((found(1).load.running, found(2).load.running), (1, 2));
    // The counts of ended exchanges do not remain.
    let report = serve_one(&server, "tools/call", json!({"name": "run"})).await;
    assert_eq!((report.load.running, report.load.streams), (1, 0));
}

#[tokio::test]
async fn exchange_of_another_transport_is_not_reported() {
    let server = Server::new("test", "1")
        .tool(plain("run"))
        .with_middleware(Slow);
    let lines = report_to_lines(&server);
    // A single message has no connection, as in a function that a platform runs for each request.
    let handled = server
        .handle(&request(1, "tools/call", json!({"name": "run"})))
        .await;
    assert!(handled.is_some());
    assert_eq!(lock(&lines).len(), 1, "only the start is reported");
}
