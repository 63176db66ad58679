//! Measures the allocated bytes of an idle stream, an idle session and a waiting task, in its own binary, because it
//! counts all allocations of the process.
//!
//! The figures are those of the last measured version, and 5 % more are accepted. A change that lowers a figure updates
//! it.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::alloc::System;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Server, tool};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A `subscriptions/listen` stream with its connection. It contains two 8 KiB buffers of hyper.
const STREAM: usize = 21_278;

/// An initialized session of a 2025 client, between two requests.
const SESSION: usize = 1_582;

/// The number opened before the measurement, and the number measured. A server caches the most recent sessions,
/// independent of their number.
const STREAMS_BEFORE: usize = 24;
const SESSIONS_BEFORE: usize = 600;
const MEASURED: usize = 1000;

/// Returns its argument.
#[tool]
fn echo(text: String) -> String {
    text
}

/// All figures are measured in one test, because concurrent tests would be counted, too.
#[test]
fn idle_streams_sessions_and_tasks_use_at_most_the_recorded_memory() {
    #[cfg(feature = "tasks")]
    waiting_tasks::check();
    let address = start_server();
    // The limit of open files would be reached first.
    toolwire_bench::allow_open_files(2 * (STREAMS_BEFORE + MEASURED) as u64 + 100).unwrap();

    let mut streams: Vec<_> = (0..STREAMS_BEFORE).map(|_| open_stream(address)).collect();
    streams.reserve(MEASURED);
    let stream = bytes_per(|| streams.push(open_stream(address)));

    let mut connection = TcpStream::connect(address).unwrap();
    for _ in 0..SESSIONS_BEFORE {
        open_session(&mut connection, address);
    }
    let session = bytes_per(|| open_session(&mut connection, address));

    let is_within = |bytes: usize, figure: usize| bytes <= figure + figure / 20;
    assert!(
        is_within(stream, STREAM) && is_within(session, SESSION),
        "an idle stream uses {stream} bytes, {STREAM} are recorded; a session uses {session}, {SESSION} are recorded"
    );
}

fn bytes_per(mut open: impl FnMut()) -> usize {
    let region = Region::new(ALLOCATOR);
    for _ in 0..MEASURED {
        open();
    }
    let change = region.change();
    (change.bytes_allocated - change.bytes_deallocated) / MEASURED
}

/// Serves on a separate thread until the process ends.
fn start_server() -> SocketAddr {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = Server::new("memory", "1.0.0").tool(echo);
    let options = HttpOptions::new().without_signals();
    let listener = runtime
        .block_on(HttpListener::bind(server, "127.0.0.1:0", options))
        .unwrap();
    let address = listener.local_addr();
    std::thread::spawn(move || runtime.block_on(listener.run()));
    address
}

/// Opens a stream on which the server has no message to send.
fn open_stream(address: SocketAddr) -> TcpStream {
    let body = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"#,
        r#""notifications":{"toolsListChanged":true},"_meta":{"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    );
    let mut stream = TcpStream::connect(address).unwrap();
    let fields = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
    post(&mut stream, address, fields, body);
    read_until(&mut stream, |response| response.contains("acknowledged"));
    stream
}

fn open_session(connection: &mut TcpStream, address: SocketAddr) {
    let body = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"memory","version":"1.0.0"}}}"#,
    );
    post(connection, address, "", body);
    let response = read_until(connection, |response| response.contains(r#""result""#));
    let name = "mcp-session-id: ";
    let start = response.find(name).expect("a session") + name.len();
    let id = &response[start..start + response[start..].find('\r').expect("the end of its line")];
    let fields = format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {id}\r\n");
    let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    post(connection, address, &fields, body);
    let accepted = read_until(connection, |response| response.contains("\r\n\r\n"));
    assert!(accepted.starts_with("HTTP/1.1 202"), "{accepted}");
}

fn post(connection: &mut TcpStream, address: SocketAddr, fields: &str, body: &str) {
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    );
    connection.write_all(request.as_bytes()).unwrap();
}

fn read_until(connection: &mut TcpStream, is_complete: impl Fn(&str) -> bool) -> String {
    let mut response = String::new();
    while !is_complete(&response) {
        let mut chunk = [0; 4096];
        let read = connection.read(&mut chunk).unwrap();
        assert_ne!(read, 0, "the server closed the connection: {response}");
        response.push_str(std::str::from_utf8(&chunk[..read]).unwrap());
    }
    response
}

#[cfg(feature = "tasks")]
mod waiting_tasks {
    use std::time::Duration;

    use serde_json::{Value, json};
    use toolwire::tasks::Tasks;
    use toolwire::{RequestContext, Server, ToolError, tool};
    use toolwire_types::tasks::extension::EXTENSION_ID;
    use toolwire_types::{ProtocolVersion, meta_key};

    use super::{MEASURED, Region};

    /// The goal for a task that waits for input, with a small journal. Its handler has left the memory, as it does after
    /// ten minutes.
    const PARKED_GOAL: usize = 4096;

    /// The same with its handler in memory.
    const WITH_HANDLER: usize = 10_835;

    /// The tasks of the runtime that are not handlers: the maintenance of the server's tasks, and of their leases.
    const OTHER_TASKS: usize = 2;

    /// The number created before the measurement.
    const BEFORE: usize = 100;

    /// Approves an order, if the user agrees.
    #[tool(task)]
    async fn approve(ctx: &RequestContext, order: u64) -> Result<String, ToolError> {
        let receipt = ctx.once("receipt", async { order + 1 }).await?;
        let question = format!("Approve order {order}?");
        let approved = ctx.confirm("approve", question).await?;
        Ok(format!("receipt {receipt}, approved: {approved}"))
    }

    pub(super) fn check() {
        let parked = bytes_per_task(Tasks::in_memory().with_park_after(Duration::ZERO), true);
        // By default, fewer handlers wait in memory than the test creates.
        let tasks = Tasks::in_memory().with_max_waiting(usize::MAX);
        let with_handler = bytes_per_task(tasks, false);
        assert!(
            parked <= PARKED_GOAL && with_handler <= WITH_HANDLER + WITH_HANDLER / 20,
            "a parked task uses {parked} bytes, the goal is {PARKED_GOAL}; a task with its handler uses {with_handler}, \
             {WITH_HANDLER} are recorded"
        );
    }

    fn bytes_per_task(tasks: Tasks, are_parked: bool) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let server = Server::new("memory", "1.0.0")
            .with_tasks(tasks)
            .tool(approve);
        runtime.block_on(async {
            create(&server, BEFORE, are_parked).await;
            let region = Region::new(super::ALLOCATOR);
            create(&server, MEASURED, are_parked).await;
            let change = region.change();
            (change.bytes_allocated - change.bytes_deallocated) / MEASURED
        })
    }

    /// Creates tasks. Waits until all handlers have ended, if they are parked.
    async fn create(server: &Server, count: usize, are_parked: bool) {
        for order in 0..count {
            create_one(server, order).await;
        }
        let metrics = tokio::runtime::Handle::current().metrics();
        while are_parked && metrics.num_alive_tasks() > OTHER_TASKS {
            tokio::task::yield_now().await;
        }
    }

    /// Creates a task, and polls it until it waits for input.
    async fn create_one(server: &Server, order: usize) {
        let params = json!({"name": "approve", "arguments": {"order": order}});
        let created = request(server, "tools/call", params).await;
        assert_eq!(created["resultType"], "task", "{created}");
        let poll = json!({"taskId": created["taskId"]});
        while request(server, "tasks/get", poll.clone()).await["status"] != "input_required" {
            tokio::task::yield_now().await;
        }
    }

    async fn request(server: &Server, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            meta_key::PROTOCOL_VERSION: ProtocolVersion::LATEST.as_str(),
            meta_key::CLIENT_CAPABILITIES: {"elicitation": {}, "extensions": {EXTENSION_ID: {}}},
        });
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = server.handle(message.to_string().as_bytes()).await.unwrap();
        let response: Value = serde_json::from_slice(&response).unwrap();
        response["result"].clone()
    }
}
