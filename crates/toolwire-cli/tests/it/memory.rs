//! Attacks on the memory of `toolwire demo --http`, with the default limits and an address space of 1 GiB.
//!
//! `TOOLWIRE_BIN` names another binary, for example that of a release build.

#![expect(
    clippy::unwrap_used,
    reason = "tests may panic, also in helper functions"
)]

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::Request;
use hyper::body::{Body, Bytes, Frame};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::task::JoinSet;
use toolwire::Client;

use crate::http::HttpDemo;
use crate::process::{remove_log_variables, within};

const MIB: usize = 1024 * 1024;

/// The address space of the process, in KiB.
const ADDRESS_SPACE: usize = 1024 * 1024;

/// The longest time to wait for an expected response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The time to wait for a rejection. A call that is accepted has no response within it.
const REJECTION_TIMEOUT: Duration = Duration::from_millis(500);

/// Starts the server under attack.
async fn start() -> HttpDemo {
    let binary =
        std::env::var("TOOLWIRE_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_toolwire").to_owned());
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {ADDRESS_SPACE} && exec \"$0\" \"$@\""))
        .args([&binary, "demo", "--http", "127.0.0.1:0"]);
    remove_log_variables(&mut command);
    HttpDemo::start_command(command).await
}

/// Runs the attack, and calls the server as another client during the attack and once after it.
async fn attack(server: &HttpDemo, attack: impl Future<Output = ()>) {
    let client = within(Client::connect(&server.url())).await.unwrap();
    let mut calls = 0;
    tokio::pin!(attack);
    loop {
        let is_over = tokio::select! {
            () = &mut attack => true,
            () = tokio::time::sleep(Duration::from_millis(20)) => false,
        };
        let result = within(
            client
                .call_tool("echo", json!({"text": "still here"}))
                .into_future(),
        )
        .await;
        let result = result.unwrap_or_else(|error| panic!("call {calls}: {error}"));
        assert_eq!(result.content[0].as_text(), Some("still here"));
        calls += 1;
        if is_over {
            break;
        }
    }
    // A new client is served, too.
    let other = within(Client::connect(&server.url())).await.unwrap();
    assert!(
        !within(other.list_tools().into_future())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(calls > 3, "{calls}");
}

/// Returns the peak resident memory of the server, in bytes.
fn peak_memory(server: &HttpDemo) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line
        .and_then(|line| line.split_whitespace().nth(1))
        .unwrap();
    kib.parse::<usize>().unwrap() * 1024
}

/// Adds the `_meta` of a request of 2026-07-28.
fn modern(method: &str, mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn headers(server: &HttpDemo, message: &Value) -> String {
    let address = server.address();
    let mut headers = format!(
        "Host: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    );
    let params = &message["params"];
    if params["_meta"].is_object() {
        headers += "MCP-Protocol-Version: 2026-07-28\r\n";
        headers += &format!("Mcp-Method: {}\r\n", message["method"].as_str().unwrap());
        if let Some(name) = params["name"].as_str() {
            headers += &format!("Mcp-Name: {name}\r\n");
        }
    }
    headers
}

/// Returns the bytes of an HTTP/1.1 request that sends a message.
fn request(server: &HttpDemo, message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let headers = headers(server, message);
    let length = body.len();
    format!("POST /mcp HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// Sends a request. Returns the open connection and the start of the response, which is empty if the server closed the
/// connection.
async fn send(server: &HttpDemo, request: &[u8], wait: Duration) -> (TcpStream, String) {
    let mut socket = within(TcpStream::connect(server.address())).await.unwrap();
    let _ = within(socket.write_all(request)).await;
    let mut beginning = vec![0; 2048];
    let read = tokio::time::timeout(wait, socket.read(&mut beginning)).await;
    let length = read.ok().and_then(Result::ok).unwrap_or(0);
    beginning.truncate(length);
    (socket, String::from_utf8_lossy(&beginning).into_owned())
}

/// Sends many messages, a few at a time. Returns the connections and the starts of their responses.
async fn send_many(
    server: &HttpDemo,
    count: usize,
    message: &Value,
    wait: Duration,
) -> (Vec<TcpStream>, Vec<String>) {
    let mut sockets = Vec::new();
    let mut responses = Vec::new();
    // Encoded once: it has several megabytes.
    let request = request(server, message);
    for _ in 0..count.div_ceil(4) {
        let sent = tokio::join!(
            send(server, &request, wait),
            send(server, &request, wait),
            send(server, &request, wait),
            send(server, &request, wait)
        );
        for (socket, response) in [sent.0, sent.1, sent.2, sent.3] {
            sockets.push(socket);
            responses.push(response);
        }
    }
    (sockets, responses)
}

#[tokio::test]
async fn sessions_with_large_capabilities_are_rejected() {
    let server = start().await;
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "clientInfo": {"name": "attacker", "version": "1"},
            "capabilities": {"experimental": {"x": {"text": "x".repeat(39 * MIB / 10)}}},
        },
    });
    attack(&server, async {
        let (_sockets, responses) = send_many(&server, 150, &initialize, RESPONSE_TIMEOUT).await;
        let rejected = responses.iter().filter(|text| text.contains("-32602"));
        assert!(rejected.count() > 120);
        assert!(!responses.iter().any(|text| text.contains("mcp-session-id")));
    })
    .await;
    let peak = peak_memory(&server);
    assert!(peak < 500 * MIB, "{peak}");
}

#[tokio::test]
async fn filters_with_large_uris_stay_within_the_memory_limit() {
    let server = start().await;
    let listen = |count: usize, bytes: usize| {
        let uris: Vec<_> = (0..count)
            .map(|n| format!("note://{n:04}{}", "x".repeat(bytes)))
            .collect();
        let filter = json!({"resourceSubscriptions": uris});
        modern("subscriptions/listen", json!({"notifications": filter}))
    };
    attack(&server, async {
        let (_sockets, responses) =
            send_many(&server, 150, &listen(1024, 3790), RESPONSE_TIMEOUT).await;
        let rejected = responses.iter().filter(|text| text.contains("-32602"));
        assert!(rejected.count() > 120);
        // The largest accepted filters fill their budget and do not exceed it.
        let (_sockets, responses) =
            send_many(&server, 800, &listen(60, 1000), RESPONSE_TIMEOUT).await;
        assert!(responses.iter().any(|text| text.contains(" 200 OK")));
        assert!(responses.iter().any(|text| text.contains(" 503 ")));
        tokio::time::sleep(Duration::from_millis(200)).await;
    })
    .await;
    let peak = peak_memory(&server);
    assert!(peak < 500 * MIB, "{peak}");
}

#[tokio::test]
async fn calls_with_large_arguments_stay_within_the_memory_limit() {
    let server = start().await;
    let call = modern(
        "tools/call",
        json!({
            "name": "countdown",
            "arguments": {"from": 1000, "delay_ms": 1000},
            "_meta": {"text": "x".repeat(39 * MIB / 10)},
        }),
    );
    attack(&server, async {
        let (_sockets, responses) = send_many(&server, 150, &call, REJECTION_TIMEOUT).await;
        assert!(responses.iter().any(|text| text.contains(" 503 ")));
    })
    .await;
    let peak = peak_memory(&server);
    assert!(peak < 500 * MIB, "{peak}");
}

/// A body that arrives in parts and never ends.
struct Unfinished {
    left: usize,
}

impl Body for Unfinished {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        const PART: usize = 16 * 1024;
        if self.left == 0 {
            return Poll::Pending;
        }
        self.left -= PART;
        let part = Bytes::from_static(&[b' '; PART]);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }
}

#[tokio::test]
async fn unfinished_http2_bodies_stay_within_the_memory_limit() {
    let server = start().await;
    let socket = within(TcpStream::connect(server.address())).await.unwrap();
    let (client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket))
            .await
            .unwrap();
    tokio::spawn(connection);
    attack(&server, async {
        let mut streams = JoinSet::new();
        for _ in 0..200 {
            streams.spawn(unfinished(client.clone(), server.url()));
        }
        // Most are rejected while they arrive. The others are as large as the limit permits.
        for _ in 0..100 {
            let status = within(streams.join_next()).await.expect("a stream is open");
            assert_eq!(status.unwrap(), 503);
        }
        while let Ok(Some(status)) =
            tokio::time::timeout(Duration::from_secs(3), streams.join_next()).await
        {
            assert_eq!(status.unwrap(), 503);
        }
        assert!(!streams.is_empty());
        tokio::time::sleep(Duration::from_millis(500)).await;
    })
    .await;
    let peak = peak_memory(&server);
    assert!(peak < 500 * MIB, "{peak}");
}

/// Sends a request with an endless body, and returns the status of the response.
async fn unfinished(mut client: SendRequest<Unfinished>, url: String) -> u16 {
    let request = Request::post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "echo")
        .body(Unfinished {
            left: 4 * MIB - 16 * 1024,
        })
        .unwrap();
    client.ready().await.unwrap();
    let response = client.send_request(request).await.unwrap();
    let status = response.status().as_u16();
    let _ = response.into_body().collect().await;
    status
}
