//! The table of requests to clients: each method, each way in which it can end, both eras, and both sides.

use opentelemetry::Context;
use opentelemetry::context::FutureExt as _;
use opentelemetry::trace::{
    SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use toolwire::client_middleware::{ClientMiddleware, ClientNext, ClientRequest, ReceivedRequest};
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitResult, Root, SamplingMessage,
    SamplingMessageContentBlock,
};
use toolwire::{BoxFuture, Client, Elicit, Era, Error, ErrorObject, RawJson, RequestContext};

use super::*;

/// How a request to a client ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Result,
    RpcError,
    /// The client cancels the call that caused the request.
    Cancelled,
    /// The server waits no longer. A server of 2026-07-28 does not wait.
    Timeout,
}

const METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// The time that the server waits for a response. The clock of the test is paused.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(serde::Deserialize, Elicit)]
struct Name {
    #[expect(dead_code, reason = "only the request matters")]
    name: String,
}

/// Sends a request of this method to the client.
#[tool]
async fn ask(ctx: &RequestContext, method: String) -> Result<String, Error> {
    match &*method {
        "elicitation/create" => drop(ctx.ask::<Name>("name", "Name?").await?),
        "sampling/createMessage" => {
            let request = CreateMessageRequestParams::new([SamplingMessage::user("2+2?")], 5);
            drop(ctx.ask_model("model", request).await?);
        }
        _ => drop(ctx.ask_roots("roots").await?),
    }
    Ok("done".to_owned())
}

/// A middleware of a client that ends the requests of the server, and says when one has arrived.
struct Ending {
    end: End,
    arrived: tokio::sync::mpsc::UnboundedSender<()>,
}

impl ClientMiddleware for Ending {
    fn handle<'a>(
        &'a self,
        request: &'a mut ClientRequest,
        next: ClientNext<'a>,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move { next.run(request).await })
    }

    fn handle_received<'a>(
        &'a self,
        _: &'a ReceivedRequest,
        responding: BoxFuture<'a, Result<RawJson, ErrorObject>>,
    ) -> BoxFuture<'a, Result<RawJson, ErrorObject>> {
        let _ = self.arrived.send(());
        match self.end {
            End::Result => responding,
            End::RpcError => Box::pin(async { Err(ErrorObject::internal("no")) }),
            End::Cancelled | End::Timeout => Box::pin(std::future::pending()),
        }
    }
}

/// Returns the spans of one request to the client: that of the server that sends it, if it is a message of its own, that of
/// the client that receives it, and the span of the program around the call.
async fn run(method: &'static str, era: Era, end: End) -> (Option<SpanData>, SpanData, Context) {
    let (front, back) = (Traced::new(), Traced::new());
    let (arrived, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::new("demo", "1.0.0")
        .with_client_response_timeout(TIMEOUT)
        .tool(ask)
        .with_middleware(back.telemetry.clone());
    let builder = Client::builder("agent", "1.0.0")
        .on_elicitation(|_| async { Ok(ElicitResult::accept().with_content([("name", "Ann")])) })
        .on_sampling(|_| async {
            Ok(CreateMessageResult::new(
                "model",
                SamplingMessageContentBlock::text("4"),
            ))
        })
        .with_roots([Root::new("file:///a")])
        .with_middleware(front.telemetry.clone())
        .with_middleware(Ending { end, arrived });
    let client = connect(builder, &server, era).await;
    front.take();
    back.take();
    let program = front.provider.tracer("program").start("program");
    let program = Context::new().with_span(program);
    let call = async move { client.call_tool("ask", json!({ "method": method })).await };
    let call = tokio::spawn(call.with_context(program.clone()));
    let arrived = tokio::time::timeout(TIMEOUT, arrivals.recv()).await;
    assert!(matches!(arrived, Ok(Some(()))), "{method} does not arrive");
    if end == End::Cancelled {
        call.abort();
    }
    let _ = call.await;
    let find = |traced: &Traced, kind: &SpanKind| {
        let spans = traced.exporter.get_finished_spans().expect("spans");
        let mut spans = spans.into_iter();
        spans.find(|span| span.name == method && span.span_kind == *kind)
    };
    until("received span", || {
        find(&front, &SpanKind::Server).is_some()
    })
    .await;
    let received = find(&front, &SpanKind::Server).expect("the span has ended");
    let sent = (era == Era::Legacy).then(|| find(&back, &SpanKind::Client));
    let sent = sent.map(|sent| sent.expect("the server sent a request"));
    (sent, received, program)
}

fn check(span: &SpanData, method: &str, version: &str, error: Option<&str>) {
    for (key, expected) in [
        ("mcp.method.name", Some(method)),
        ("mcp.protocol.version", Some(version)),
        ("error.type", error),
        (
            "rpc.response.status_code",
            error.filter(|error| error.starts_with('-')),
        ),
        ("gen_ai.operation.name", None),
    ] {
        let found = attribute(&span.attributes, key);
        assert_eq!(found.as_deref(), expected, "{key} of {span:?}");
    }
    let is_error = matches!(span.status, Status::Error { .. });
    assert_eq!(is_error, error.is_some(), "{span:?}");
}

#[tokio::test(start_paused = true)]
async fn each_request_to_a_client_has_its_spans_for_each_end() {
    for method in METHODS {
        for (era, version, ends) in [
            (
                Era::Legacy,
                "2025-11-25",
                &[End::Result, End::RpcError, End::Cancelled, End::Timeout][..],
            ),
            (
                Era::Modern,
                "2026-07-28",
                &[End::Result, End::RpcError, End::Cancelled],
            ),
        ] {
            for end in ends {
                let (sent, received, program) = run(method, era, *end).await;
                let (sent_error, received_error) = match end {
                    End::Result => (None, None),
                    End::RpcError => (Some("-32603"), Some("-32603")),
                    // The client that is asked sees a cancellation, which is not an error.
                    End::Cancelled => (Some("cancelled"), None),
                    End::Timeout => (Some("timeout"), None),
                };
                check(&received, method, version, received_error);
                let parent = match &sent {
                    Some(sent) => {
                        check(sent, method, version, sent_error);
                        sent.span_context.span_id()
                    }
                    // It has no trace context, so the span of the program is the parent.
                    None => program.span().span_context().span_id(),
                };
                assert_eq!(received.parent_span_id, parent, "{method} {era:?} {end:?}");
            }
        }
    }
}
