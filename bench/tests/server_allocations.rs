//! Counts the server's allocations per request, in its own binary, because it counts all allocations of the process.
//!
//! The figures are those of the last measured version, and 5 % more are accepted. A change that lowers a figure updates
//! it.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::alloc::System;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use toolwire::middleware::{Middleware, Next, Outcome, Request as HandledRequest};
use toolwire::transport::InProcess;
use toolwire::transport::http::{HttpOptions, HttpService, ServerBody};
use toolwire::{BoxFuture, JsonSchema, RequestContext, Server, ToolHandler, tool};
use toolwire_types::{ProtocolVersion, meta_key};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One `tools/call` of the newest revision with a small text, from bytes to bytes in process.
const CALL: usize = 7;

/// The same over a connection, many at once: no task, queue or flag per call. The count includes the response of each
/// call.
const CALL_IN_BURST: usize = 7;

/// The same over HTTP without the connection: the count excludes hyper's allocations, and includes the request.
const HTTP_CALL: usize = 22;

/// A middleware that does nothing, around a call: its future.
const MIDDLEWARE: usize = 1;

/// A list of tools, independent of their number.
const LIST: usize = 12;

/// A poll of a task that waits for input. It includes the declared capabilities, which a poll has to have.
#[cfg(feature = "tasks")]
const POLL: usize = 15;

const BURST: usize = 50;

const WARM_UP: usize = 10;
const MEASURED: usize = 100;

/// Returns its argument.
#[tool]
fn echo(text: String) -> String {
    text
}

#[derive(serde::Deserialize, JsonSchema)]
struct Text {
    text: String,
}

fn server(tools: usize) -> Server {
    (1..tools).fold(
        Server::new("bench", "1.0.0").tool(echo),
        |server, number| {
            let handler = |_: RequestContext, input: Text| async move { input.text };
            server.tool(ToolHandler::typed(format!("tool_{number:04}"), handler))
        },
    )
}

/// A middleware that does nothing.
struct PassOn;

impl Middleware for PassOn {
    fn handle<'a>(
        &'a self,
        request: &'a mut HandledRequest,
        next: Next<'a>,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(next.run(request))
    }
}

fn message(method: &str, params: serde_json::Value) -> Vec<u8> {
    message_with_capabilities(method, params, &json!({}))
}

fn message_with_capabilities(
    method: &str,
    mut params: serde_json::Value,
    capabilities: &serde_json::Value,
) -> Vec<u8> {
    params["_meta"] = json!({
        meta_key::PROTOCOL_VERSION: ProtocolVersion::LATEST.as_str(),
        meta_key::CLIENT_CAPABILITIES: capabilities,
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    message.to_string().into_bytes()
}

fn call() -> Vec<u8> {
    let arguments = json!({"text": "x".repeat(100)});
    message(
        "tools/call",
        json!({"name": "echo", "arguments": arguments}),
    )
}

/// All figures are measured in one test, because concurrent tests would be counted, too.
#[test]
fn requests_allocate_as_often_as_recorded() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        for tools in [1, 1000] {
            let server = server(tools);
            let (call, list) = (call(), message("tools/list", json!({})));
            check("a call", CALL, async || {
                let response = server.handle(&call).await.unwrap();
                assert!(response.ends_with(b"}}"));
            })
            .await;
            check("a list", LIST, async || {
                let response = server.handle(&list).await.unwrap();
                assert!(response.len() > tools * 50);
            })
            .await;
            let mut connection = InProcess::connect(&server);
            let lines = [&call[..], b"\n"].concat().repeat(BURST);
            check_each("a call in a burst", CALL_IN_BURST, BURST, async || {
                connection.send_bytes(lines.clone()).await.unwrap();
                for _ in 0..BURST {
                    assert!(connection.receive().await.unwrap().ends_with("}}"));
                }
            })
            .await;
            let service = HttpService::new(server, HttpOptions::new());
            let call = Bytes::from(call);
            check("a call over HTTP", HTTP_CALL, async || {
                let response = service.respond(request(call.clone())).await;
                read(response).await;
            })
            .await;
        }
        let call = call();
        let mut behind = Vec::new();
        for middleware in 1..=2 {
            let layers = 0..middleware;
            let server = layers.fold(server(1), |server, _| server.with_middleware(PassOn));
            let each = allocations(1, async || {
                let response = server.handle(&call).await.unwrap();
                assert!(response.ends_with(b"}}"));
            });
            behind.push(each.await);
        }
        // The first middleware also pays for the request that all of them see.
        assert!(behind[1] - behind[0] <= MIDDLEWARE, "{behind:?}");
        #[cfg(feature = "tasks")]
        {
            let server = waiting_task::server();
            let poll = waiting_task::poll_of_new_task(&server).await;
            check("a poll of a task", POLL, async || {
                let response = server.handle(&poll).await.unwrap();
                assert!(response.ends_with(b"}}"));
            })
            .await;
        }
    });
}

async fn check(what: &str, recorded: usize, work: impl AsyncFnMut()) {
    check_each(what, recorded, 1, work).await;
}

/// Checks work that makes this many calls at once.
async fn check_each(what: &str, recorded: usize, times: usize, work: impl AsyncFnMut()) {
    let each = allocations(times, work).await;
    assert!(
        each * 20 <= recorded * 21,
        "{what} allocates {each} times; {recorded} are recorded"
    );
}

/// Returns the allocations of a call, for work that makes this many calls at once.
async fn allocations(times: usize, mut work: impl AsyncFnMut()) -> usize {
    for _ in 0..WARM_UP {
        work().await;
    }
    let region = Region::new(ALLOCATOR);
    for _ in 0..MEASURED {
        work().await;
    }
    let change = region.change();
    // One-time work, such as the start of the runtime, is not part of every request.
    (change.allocations + change.reallocations) / (MEASURED * times)
}

fn request(message: Bytes) -> Request<FullBody> {
    Request::post("/mcp")
        .header("host", "127.0.0.1")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", ProtocolVersion::LATEST.as_str())
        .header("mcp-method", "tools/call")
        .header("mcp-name", "echo")
        .body(FullBody(Some(message)))
        .unwrap()
}

async fn read(response: Response<ServerBody>) {
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = response.into_body();
    let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
    assert!(frame.unwrap().unwrap().is_data());
}

/// A body of one frame.
struct FullBody(Option<Bytes>);

impl Body for FullBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

#[cfg(feature = "tasks")]
mod waiting_task {
    use serde_json::{Value, json};
    use toolwire::tasks::Tasks;
    use toolwire::{RequestContext, Server, ToolError, tool};
    use toolwire_types::tasks::extension::EXTENSION_ID;

    use super::message_with_capabilities;

    /// Approves an order, if the user agrees.
    #[tool(task)]
    async fn approve(ctx: &RequestContext) -> Result<String, ToolError> {
        let approved = ctx.confirm("approve", "Approve the order?").await?;
        Ok(format!("approved: {approved}"))
    }

    pub(super) fn server() -> Server {
        Server::new("bench", "1.0.0")
            .with_tasks(Tasks::in_memory())
            .tool(approve)
    }

    /// Creates a task that waits for input, and returns the request that polls it.
    pub(super) async fn poll_of_new_task(server: &Server) -> Vec<u8> {
        let capabilities = json!({"elicitation": {}, "extensions": {EXTENSION_ID: {}}});
        let request = |method, params| message_with_capabilities(method, params, &capabilities);
        let call = request("tools/call", json!({"name": "approve", "arguments": {}}));
        let created: Value = serde_json::from_slice(&server.handle(&call).await.unwrap()).unwrap();
        let poll = request("tasks/get", json!({"taskId": created["result"]["taskId"]}));
        loop {
            let polled: Value =
                serde_json::from_slice(&server.handle(&poll).await.unwrap()).unwrap();
            if polled["result"]["status"] == "input_required" {
                return poll;
            }
            tokio::task::yield_now().await;
        }
    }
}
