//! Fills every limit of an HTTP server at once, and compares the allocated memory with the documented sum. It is its
//! own binary, because it counts all allocations of the process.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::alloc::System;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use toolwire::store::{MemorySessionLimits, MemorySessionStore};
use toolwire::transport::http::{HttpLimits, HttpListener, HttpOptions, HttpService};
use toolwire::{ResourceHandler, Server, tool};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const KIB: usize = 1024;

/// The size of the session store in bytes.
const SESSION_BYTES: usize = 1024 * KIB;

/// Never returns.
#[tool]
async fn wait() -> String {
    std::future::pending().await
}

fn limits() -> HttpLimits {
    let mut limits = HttpLimits::default();
    limits.body_bytes = 64 * KIB;
    limits.bytes_in_flight = 4 * 1024 * KIB;
    limits.stream_bytes = 1024 * KIB;
    limits.queued_bytes = 8 * KIB;
    limits.connections = 300;
    limits.requests_in_flight = 60;
    limits.open_streams = 60;
    limits
}

#[test]
fn full_server_stays_below_the_documented_memory() {
    let (address, service) = start_server();
    let limits = limits();
    toolwire_bench::allow_open_files(2 * limits.connections as u64 + 100).unwrap();
    let region = Region::new(ALLOCATOR);
    let mut connections = Vec::new();

    // Streams: large filters until they are rejected, then small ones until the limit.
    for bytes in [3000, 10] {
        fill(address, &mut connections, &listen(bytes), "acknowledged");
    }
    // Sessions with large records.
    let mut opened = 0;
    let mut connection = TcpStream::connect(address).unwrap();
    while exchange(&mut connection, &initialize(), "\r\n\r\n").contains("200 OK") {
        opened += 1;
    }
    assert!(opened > 10, "{opened}");
    // Unfinished bodies, and running calls, large and small.
    for _ in 0..100 {
        let mut connection = TcpStream::connect(address).unwrap();
        let request = call(60 * KIB);
        connection.write_all(&request[..request.len() - 1]).unwrap();
        connections.push(connection);
    }
    for bytes in [30 * KIB, 10] {
        for _ in 0..60 {
            let mut connection = TcpStream::connect(address).unwrap();
            connection.write_all(&call(bytes)).unwrap();
            connections.push(connection);
        }
    }
    // Connections with the maximum of header bytes, or with bytes sent ahead.
    while connections.len() + 1 < limits.connections {
        let mut connection = TcpStream::connect(address).unwrap();
        connection
            .write_all(b"POST /mcp HTTP/1.1\r\nX-Padding: ")
            .unwrap();
        connection.write_all(&vec![b'x'; 15 * KIB]).unwrap();
        connections.push(connection);
    }
    // The server has read everything when the memory does not change any more.
    let mut before = usize::MAX;
    let allocated = loop {
        std::thread::sleep(Duration::from_millis(300));
        let change = region.change();
        let allocated = change.bytes_allocated - change.bytes_deallocated;
        if allocated == before {
            break allocated;
        }
        before = allocated;
    };
    let load = service.load();
    assert!(load.requests > 10 && load.streams > 10, "{load:?}");
    assert!(load.request_bytes > limits.bytes_in_flight / 2, "{load:?}");
    assert!(load.stream_bytes > limits.stream_bytes / 2, "{load:?}");
    assert!(load.request_bytes <= limits.bytes_in_flight, "{load:?}");
    assert!(load.stream_bytes <= limits.stream_bytes, "{load:?}");
    let sum = limits.max_memory() + 2 * SESSION_BYTES;
    assert!(
        allocated <= sum,
        "{allocated} bytes are allocated, of at most {sum}: {load:?}"
    );
}

/// Opens streams until one is rejected.
fn fill(address: SocketAddr, streams: &mut Vec<TcpStream>, request: &[u8], accepted: &str) {
    loop {
        let mut connection = TcpStream::connect(address).unwrap();
        let response = exchange(&mut connection, request, "}");
        if !response.contains(accepted) {
            assert!(response.contains(" 503 "), "{response}");
            return;
        }
        streams.push(connection);
    }
}

/// Sends a request, and reads until a text arrives.
fn exchange(connection: &mut TcpStream, request: &[u8], until: &str) -> String {
    connection.write_all(request).unwrap();
    let mut response = String::new();
    while !response.contains(until) {
        let mut chunk = [0; 4096];
        let read = connection.read(&mut chunk).unwrap();
        assert_ne!(read, 0, "the server closed the connection: {response}");
        response.push_str(std::str::from_utf8(&chunk[..read]).unwrap());
    }
    response
}

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

fn listen(uri_bytes: usize) -> Vec<u8> {
    let uris: Vec<_> = (0..10)
        .map(|n| format!(r#""note://{n}/{}""#, "x".repeat(uri_bytes)))
        .collect();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":[{}]}},"_meta":{{{META}}}}}}}"#,
        uris.join(",")
    );
    post(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n",
        &body,
    )
}

fn call(bytes: usize) -> Vec<u8> {
    let padding = "x".repeat(bytes);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"wait","arguments":{{}},"_meta":{{"padding":"{padding}",{META}}}}}}}"#
    );
    post(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: wait\r\n",
        &body,
    )
}

fn initialize() -> Vec<u8> {
    let padding = "x".repeat(50 * KIB);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"experimental":{{"x":{{"padding":"{padding}"}}}}}},"clientInfo":{{"name":"memory","version":"1.0.0"}}}}}}"#
    );
    post("", &body)
}

fn post(fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Serves on a separate thread until the process ends.
fn start_server() -> (SocketAddr, HttpService) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let note = ResourceHandler::new("note://1", "note", |_, _| async { "text" });
    let server = Server::new("memory", "1.0.0")
        .with_resource_subscriptions()
        .resource(note)
        .tool(wait);
    let sessions = MemorySessionLimits::default().with_bytes(SESSION_BYTES);
    let options = HttpOptions::new()
        .with_limits(limits())
        .with_session_store(Arc::new(MemorySessionStore::new(sessions)))
        .without_signals();
    let listener = runtime
        .block_on(HttpListener::bind(server, "127.0.0.1:0", options))
        .unwrap();
    let address = listener.local_addr();
    let service = listener.service().clone();
    std::thread::spawn(move || runtime.block_on(listener.run()));
    (address, service)
}
