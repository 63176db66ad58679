//! One trace over three processes, and the page with metrics.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::process::Command;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::types::Tool;
use toolwire::{ProtocolVersion, RequestContext, Server, ToolHandler, TraceContext};

use crate::client::run_command;
use crate::http::HttpDemo;
use crate::process::toolwire;

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// Far longer than any step takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A span as the collector received it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReceivedSpan {
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    name: String,
    /// 2 for a server, 3 for a client.
    kind: u64,
}

/// A collector that stores the spans of OTLP requests.
struct Collector {
    url: String,
    spans: Arc<Mutex<Vec<ReceivedSpan>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let spans = Arc::new(Mutex::new(Vec::new()));
        let stored = Arc::clone(&spans);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let stored = Arc::clone(&stored);
                // A client that disconnects ends its thread.
                std::thread::spawn(move || drop(receive(stream, &stored)));
            }
        });
        Self { url, spans }
    }

    /// Adds the variables that make a process export its spans here.
    fn observe(&self, command: &mut Command) {
        for (name, value) in self.variables() {
            command.env(name, value);
        }
    }

    fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", self.url.clone()),
            ("OTEL_METRICS_EXPORTER", "none".to_owned()),
            ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
        ]
    }

    /// Returns the arguments that pass the variables to a server process.
    fn arguments(&self) -> Vec<String> {
        let variables = self.variables().into_iter();
        variables
            .flat_map(|(name, value)| ["--env".to_owned(), format!("{name}={value}")])
            .collect()
    }

    /// Waits for this number of spans of a call through a relay, and returns them from the outermost to the innermost.
    async fn wait_for_call(&self, count: usize) -> Vec<ReceivedSpan> {
        let start = Instant::now();
        loop {
            let spans = self.spans.lock().expect("no panic").clone();
            let calls = spans.iter().filter(|span| span.name == "tools/call add");
            let calls: Vec<ReceivedSpan> = calls.cloned().collect();
            if calls.len() >= count {
                return in_order(calls);
            }
            assert!(start.elapsed() < TIMEOUT, "{spans:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Orders spans so that each one is the child of the previous one.
fn in_order(mut spans: Vec<ReceivedSpan>) -> Vec<ReceivedSpan> {
    let mut ordered: Vec<ReceivedSpan> = Vec::new();
    let is_root = |span: &ReceivedSpan| span.parent.is_empty();
    let root = spans.iter().position(is_root).expect("a root");
    ordered.push(spans.remove(root));
    while !spans.is_empty() {
        let parent = ordered.last().expect("the root").id.clone();
        let child = spans.iter().position(|span| span.parent == parent);
        let child = child.unwrap_or_else(|| panic!("no child of {ordered:?} in {spans:?}"));
        ordered.push(spans.remove(child));
    }
    ordered
}

/// Receives the requests of one connection.
fn receive(stream: TcpStream, spans: &Mutex<Vec<ReceivedSpan>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        // `resource_spans`, `scope_spans`, `spans`.
        for resource in messages(&body, 1) {
            for scope in messages(resource, 2) {
                for span in messages(scope, 2) {
                    let bytes = |number| messages(span, number).next().unwrap_or_default();
                    let received = ReceivedSpan {
                        trace: bytes(1).to_vec(),
                        id: bytes(2).to_vec(),
                        parent: bytes(4).to_vec(),
                        name: String::from_utf8_lossy(bytes(5)).into_owned(),
                        kind: fields(span)
                            .find_map(|(number, field)| match field {
                                Field::Number(value) if number == 6 => Some(value),
                                _ => None,
                            })
                            .unwrap_or_default(),
                    };
                    spans.lock().expect("no panic").push(received);
                }
            }
        }
        writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    }
}

/// A field of a message in the encoding of Protocol Buffers.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Returns the fields of a message with this number that consist of bytes.
fn messages(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    fields(message).filter_map(move |(found, field)| match field {
        Field::Bytes(bytes) if found == number => Some(bytes),
        _ => None,
    })
}

fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        let key = (!message.is_empty()).then(|| number(&mut message))?;
        let field = match key & 7 {
            0 => Field::Number(number(&mut message)),
            1 => Field::Bytes(take(&mut message, 8)),
            2 => {
                let length = number(&mut message);
                Field::Bytes(take(&mut message, length))
            }
            5 => Field::Bytes(take(&mut message, 4)),
            other => panic!("wire type {other}"),
        };
        Some((key >> 3, field))
    })
}

/// Takes the next bytes of a message.
fn take<'a>(message: &mut &'a [u8], length: u64) -> &'a [u8] {
    let length = usize::try_from(length).expect("a length");
    let (bytes, rest) = message.split_at(length);
    *message = rest;
    bytes
}

/// Reads a number of variable length.
fn number(message: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = message[0];
        *message = &message[1..];
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn assert_one_trace(spans: &[ReceivedSpan]) {
    let kinds: Vec<u64> = spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [3, 2, 3, 2], "{spans:?}");
    assert!(spans.iter().all(|span| span.trace == spans[0].trace));
}

#[tokio::test]
async fn three_processes_on_stdio_have_one_trace() {
    let collector = Collector::start();
    let mut command = toolwire(&["call", "--json", "add", "a=1", "b=2"]);
    collector.observe(&mut command);
    command.args(collector.arguments());
    command
        .args(["--", PROGRAM, "proxy"])
        .args(collector.arguments());
    command.args(["--", PROGRAM, "demo", "--stdio"]);
    let output = run_command(command).await.json();
    assert_eq!(output["structuredContent"]["sum"], 3, "{output}");
    assert_one_trace(&collector.wait_for_call(4).await);
}

#[tokio::test]
async fn legacy_client_of_a_modern_server_has_one_trace() {
    let collector = Collector::start();
    // The server is in this process. It has no spans, but it sees the one of the proxy.
    let (sender, mut parents) = tokio::sync::mpsc::unbounded_channel();
    let descriptor = Tool::new("add", json!({"type": "object"}));
    let add = ToolHandler::raw(descriptor, move |context: RequestContext, _| {
        let trace = TraceContext::from_meta(context.meta());
        let _ = sender.send(trace.parent_id().map(str::to_owned));
        async { "3" }
    });
    let server = Server::new("modern", "1.0.0")
        .with_versions([ProtocolVersion::V2026_07_28])
        .tool(add);
    let options = HttpOptions::new().without_signals().without_start_message();
    let listener = HttpListener::bind(server, "127.0.0.1:0", options).await;
    let listener = listener.expect("a listener");
    let url = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    let mut command = toolwire(&["call", "--json", "add", "--era", "legacy"]);
    collector.observe(&mut command);
    command.args(collector.arguments());
    command.args(["--", PROGRAM, "proxy", &url]);
    let output = run_command(command).await.json();
    assert_eq!(output["content"][0]["text"], "3", "{output}");
    let spans = collector.wait_for_call(3).await;
    let kinds: Vec<u64> = spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [3, 2, 3], "{spans:?}");
    assert!(spans.iter().all(|span| span.trace == spans[0].trace));
    let parent = parents.recv().await.flatten().expect("a parent");
    let last: String = spans[2]
        .id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(parent, last);
    serving.abort();
}

#[tokio::test]
async fn three_processes_over_http_have_one_trace() {
    let collector = Collector::start();
    let mut demo = toolwire(&["demo", "--http", "127.0.0.1:0"]);
    collector.observe(&mut demo);
    let demo = HttpDemo::start_command(demo).await;
    let mut proxy = toolwire(&["proxy", &demo.url(), "--listen", "127.0.0.1:0"]);
    collector.observe(&mut proxy);
    let proxy = HttpDemo::start_command(proxy).await;
    let mut call = toolwire(&["call", &proxy.url(), "add", "a=1", "b=2", "--json"]);
    collector.observe(&mut call);
    let output = run_command(call).await.json();
    assert_eq!(output["structuredContent"]["sum"], 3, "{output}");
    assert_one_trace(&collector.wait_for_call(4).await);
}

/// Requests a page, and returns the status and the body.
async fn get(address: &str, path: &str, host: &str) -> (String, String) {
    let (address, path) = (address.to_owned(), path.to_owned());
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let reading = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let (head, body) = response.split_once("\r\n\r\n").expect("headers");
        let status = head.split(' ').nth(1).expect("a status");
        (status.to_owned(), body.to_owned())
    });
    reading.await.expect("no panic")
}

#[tokio::test]
async fn proxy_serves_metrics() {
    let mut proxy = toolwire(&[
        "proxy",
        "--listen",
        "127.0.0.1:0",
        "--metrics",
        "127.0.0.1:0",
    ]);
    proxy.args(["--", PROGRAM, "demo", "--stdio"]);
    let proxy = HttpDemo::start_command(proxy).await;
    let page = proxy
        .logged()
        .iter()
        .find_map(|line| line.strip_prefix("metrics at http://"));
    let address = page
        .and_then(|page| page.strip_suffix("/metrics"))
        .expect("the address");
    let call = toolwire(&["call", &proxy.url(), "add", "a=1", "b=2", "--json"]);
    run_command(call).await.json();
    let start = Instant::now();
    let text = loop {
        let (status, text) = get(address, "/metrics", address).await;
        // Before the first collection there is no text.
        assert!(status == "200" || status == "503", "{status}");
        let count = text.lines().find(|line| {
            line.starts_with("mcp_server_operation_duration_seconds_count{")
                && line.contains(r#"gen_ai_tool_name="add""#)
        });
        // The page has the text of the last collection.
        if let Some(count) = count {
            assert!(count.ends_with(" 1"), "{text}");
            break text;
        }
        assert!(start.elapsed() < TIMEOUT, "{text}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(
        text.contains("mcp_client_operation_duration_seconds_bucket"),
        "{text}"
    );
    assert_eq!(get(address, "/metrics", "evil.test").await.0, "403");
    assert_eq!(get(address, "/", address).await.0, "404");
}

#[tokio::test]
async fn metrics_beyond_loopback_need_a_permission() {
    let failed = toolwire(&[
        "proxy",
        "--lazy",
        "--metrics",
        "0.0.0.0:0",
        "http://127.0.0.1:9/mcp",
    ]);
    let failed = run_command(failed).await.failed(2);
    let expected = "toolwire: --metrics 0.0.0.0:0: other machines could read the metrics\n  try: listen on 127.0.0.1, or permit it with --insecure-open\n";
    assert_eq!(failed, expected);
}
