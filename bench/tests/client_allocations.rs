//! Counts the allocations of one client call, in its own binary, because it counts all allocations of the process.
//!
//! The figure is that of the last measured version, and 5 % more are accepted. A change that lowers it updates the
//! figure. The server is a thread without allocations.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::alloc::System;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde::Serialize;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use toolwire::Client;
use toolwire_bench::client_load::TEXT;
use toolwire_proto::negotiate::DetectedEra;
use toolwire_types::ProtocolVersion;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations and reallocations of one `tools/call` with a small text over HTTP.
const CALL: usize = 40;

const WARM_UP: usize = 100;
const MEASURED: usize = 1000;

#[derive(Serialize)]
struct Arguments {
    text: &'static str,
}

#[test]
fn call_allocates_as_often_as_recorded() {
    let url = start_server();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let change = runtime.block_on(async {
        let newest = DetectedEra::Modern {
            version: ProtocolVersion::LATEST,
        };
        let client = Client::builder("bench", "1.0.0").with_detected_era(newest);
        let client = client.connect(url).await.unwrap();
        calls(&client, WARM_UP).await;
        let region = Region::new(ALLOCATOR);
        calls(&client, MEASURED).await;
        region.change()
    });
    let each = (change.allocations + change.reallocations).div_ceil(MEASURED);
    assert!(
        each * 20 <= CALL * 21,
        "a call allocates {each} times; {CALL} are recorded"
    );
}

async fn calls(client: &Client, count: usize) {
    for _ in 0..count {
        let result = client.call_tool("echo", Arguments { text: TEXT }).await;
        assert_eq!(result.unwrap().content[0].as_text(), Some(TEXT));
    }
}

fn start_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        serve(stream);
    });
    url
}

/// Responds to every request with [`TEXT`] and the id of the request.
fn serve(mut stream: TcpStream) {
    let mut request = [0; 4096];
    let mut response = [0; 1024];
    let mut filled = 0;
    loop {
        let read = stream.read(&mut request[filled..]).unwrap();
        if read == 0 {
            return;
        }
        filled += read;
        // The parameters are an object within the message.
        if !request[..filled].ends_with(b"}}}") {
            continue;
        }
        let id = id_in(&request[..filled]);
        let length = TEXT.len() + id.len() + RESPONSE_BYTES;
        let mut rest = &mut response[..];
        write!(
            rest,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n\
             {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{TEXT}\"}}],\
             \"resultType\":\"complete\"}}}}"
        )
        .unwrap();
        let unused = rest.len();
        let written = response.len() - unused;
        stream.write_all(&response[..written]).unwrap();
        filled = 0;
    }
}

/// The length of a response body without its id and its text.
const RESPONSE_BYTES: usize =
    r#"{"jsonrpc":"2.0","id":,"result":{"content":[{"type":"text","text":""}],"resultType":"complete"}}"#
        .len();

fn id_in(request: &[u8]) -> &str {
    let text = std::str::from_utf8(request).unwrap();
    let (_, rest) = text.split_once("\"id\":").unwrap();
    rest.split_once(',').unwrap().0
}
