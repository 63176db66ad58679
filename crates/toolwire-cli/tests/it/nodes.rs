//! Three nodes of `toolwire demo` without a store: 2026-07-28 clients need only the key of the request state on all nodes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::http::HttpDemo;
use crate::process::{Era, toolwire, within};

const NODES: usize = 3;
const CLIENTS: usize = 8;
const CALLS: i64 = 10_000;

/// A file with a key, which is removed at the end.
pub(crate) struct KeyFile(PathBuf);

impl KeyFile {
    pub(crate) fn new(name: &str, bytes: &[u8]) -> Self {
        let name = format!("toolwire-tests-{}-{name}.key", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).expect("the key is written");
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("the path is text")
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A client with a connection to each node. Each request goes to the next node.
pub(crate) struct RoundRobin {
    connections: Vec<BufReader<TcpStream>>,
    next: usize,
}

impl RoundRobin {
    pub(crate) async fn connect(nodes: &[HttpDemo], first: usize) -> Self {
        let mut connections = Vec::new();
        for node in nodes {
            connections.push(BufReader::new(node.connect().await));
        }
        Self {
            connections,
            next: first,
        }
    }

    /// Sends a message and returns the body of the response.
    pub(crate) async fn send(&mut self, body: &str) -> String {
        let count = self.connections.len();
        let connection = &mut self.connections[self.next % count];
        self.next += 1;
        let host = connection.get_ref().peer_addr().expect("a connection");
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: approve\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let sent = connection.write_all(request.as_bytes()).await;
        sent.expect("the node reads");
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            let read = connection.read_line(&mut line).await;
            assert_ne!(
                read.expect("the node responds"),
                0,
                "the connection is open"
            );
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length is a number");
            }
        }
        let mut body = vec![0; length];
        let read = connection.read_exact(&mut body).await;
        read.expect("the response is complete");
        String::from_utf8(body).expect("a response is text")
    }

    /// Makes a call whose rounds reach two nodes.
    async fn call(&mut self, number: i64) {
        let arguments = json!({"question": format!("Number {number}?")});
        let mut call = Era::Modern.call(number, "approve", arguments);
        let first = self.send(&call.to_string()).await;
        let mut first: Value = serde_json::from_str(&first).expect("a response is JSON");
        assert_eq!(first["id"], number, "{first}");
        assert_eq!(first["result"]["resultType"], "input_required", "{first}");
        let accepted = json!({"action": "accept", "content": {"confirmed": true}});
        call["params"]["inputResponses"] = json!({"approval": accepted});
        call["params"]["requestState"] = first["result"]["requestState"].take();
        let last = self.send(&call.to_string()).await;
        assert!(last.contains("\"approved\""), "{last}");
    }
}

#[tokio::test]
async fn calls_of_two_rounds_need_no_store_and_no_affinity() {
    let key = KeyFile::new("shared", &[7; 32]);
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(HttpDemo::start(&["--state-key", key.path()]).await);
    }
    let started = Arc::new(AtomicI64::new(0));
    let mut clients = Vec::new();
    for first in 0..CLIENTS {
        let mut client = RoundRobin::connect(&nodes, first).await;
        let started = Arc::clone(&started);
        clients.push(tokio::spawn(async move {
            loop {
                let number = started.fetch_add(1, Ordering::Relaxed);
                if number >= CALLS {
                    return;
                }
                within(client.call(number)).await;
            }
        }));
    }
    for client in clients {
        client.await.expect("no call fails");
    }
}

#[tokio::test]
async fn key_of_a_wrong_size_is_rejected() {
    let (short, long) = (
        KeyFile::new("short", &[7; 31]),
        KeyFile::new("long", &[7; 33]),
    );
    let missing = Path::new("/nowhere/state.key");
    let missing = missing.to_str().expect("the path is text");
    let mut cases = vec![
        (short.path(), "31 bytes instead of 32; create one with"),
        (long.path(), "more than 32 bytes"),
        (missing, "cannot be read"),
    ];
    if cfg!(target_os = "linux") {
        // It has no end.
        cases.push(("/dev/zero", "more than 32 bytes"));
    }
    for (path, reason) in cases {
        let mut command = toolwire(&["demo", "--http", "127.0.0.1:0", "--state-key", path]);
        let output = within(command.output()).await.expect("the program starts");
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(reason), "{text}");
    }
}
