//! Compares the responses of a listener with the fast path and of one on which hyper serves every connection.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use toolwire::Server;
use toolwire::transport::http::HttpOptions;

use crate::http::endpoint::Endpoint;
use crate::http::request::Request;
use crate::peer::{call, within};

/// The times without output after which a connection is assumed to wait for input. The next one is used only if the
/// outputs differ, because a slow machine may need longer than the first.
const QUIET: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(500),
    Duration::from_secs(3),
];

/// The same server behind two listeners.
#[derive(Debug)]
pub struct ConnectionPaths {
    with_fast_path: Endpoint,
    without_fast_path: Endpoint,
    /// The request that is sent after the input. Its response shows that the connection is open and waits for requests.
    probe: Vec<u8>,
    /// The body of the response to the probe.
    probe_body: Vec<u8>,
}

impl ConnectionPaths {
    /// Starts both listeners.
    pub async fn serve(server: &Server, options: HttpOptions) -> Self {
        let with_fast_path = Endpoint::serve_with(server, options.clone()).await;
        let without_fast_path = Endpoint::serve_with(server, options.without_fast_path()).await;
        let probe = Request::modern(&call("probe", "no-such-tool", json!({})));
        let response = with_fast_path.request(&probe).await;
        assert!(!response.body.is_empty());
        Self {
            with_fast_path,
            without_fast_path,
            probe: probe.bytes(),
            probe_body: response.body,
        }
    }

    /// Sends the same bytes to both listeners. Panics unless the status, the headers and the body of every response are
    /// equal, and both connections stay open or both are closed. Dates and session IDs are not compared.
    pub async fn expect_equal(&self, input: &[u8]) {
        for quiet in QUIET {
            let (with, without) = self.exchange(input, quiet).await;
            if with == without {
                return;
            }
            if quiet == QUIET[QUIET.len() - 1] {
                let input = String::from_utf8_lossy(input);
                panic!("{input:?}\nwith the fast path: {with:#?}\nwithout: {without:#?}");
            }
        }
    }

    async fn exchange(&self, input: &[u8], quiet: Duration) -> (Exchange, Exchange) {
        let input = [input, &self.probe].concat();
        tokio::join!(
            exchange(self.with_fast_path.address, &input, &self.probe_body, quiet),
            exchange(
                self.without_fast_path.address,
                &input,
                &self.probe_body,
                quiet
            ),
        )
    }
}

/// Sends bytes and receives the output until it ends with `last`, the connection is closed, or nothing more arrives.
async fn exchange(address: SocketAddr, input: &[u8], last: &[u8], quiet: Duration) -> Exchange {
    let mut socket = within(TcpStream::connect(address)).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let (mut reader, mut writer) = socket.split();
    let mut output = Vec::new();
    let reading = async {
        loop {
            match tokio::time::timeout(quiet, reader.read_buf(&mut output)).await {
                Ok(Ok(0) | Err(_)) => return false,
                Ok(Ok(_)) if output.ends_with(last) => return true,
                Ok(Ok(_)) => {}
                Err(_) => return true,
            }
        }
    };
    let writing = async {
        // The server may close the connection before it has read everything.
        let _ = writer.write_all(input).await;
        std::future::pending().await
    };
    let is_open = tokio::select! {
        is_open = reading => is_open,
        is_open = writing => is_open,
    };
    Exchange {
        responses: responses(&output),
        is_open,
    }
}

/// The comparable result of one connection.
#[derive(Debug, PartialEq, Eq)]
struct Exchange {
    responses: Vec<ComparableResponse>,
    is_open: bool,
}

/// A response without the values that always differ.
#[derive(PartialEq, Eq)]
struct ComparableResponse {
    /// The status line and the sorted headers.
    headers: Vec<String>,
    /// The body without its framing.
    body: Vec<u8>,
}

impl fmt::Debug for ComparableResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComparableResponse")
            .field("headers", &self.headers)
            .field("body", &String::from_utf8_lossy(&self.body))
            .finish()
    }
}

/// Splits the output of a connection into responses. A response ends where the next status line begins, because the
/// framing alone does not show whether the response belongs to a HEAD request.
fn responses(mut output: &[u8]) -> Vec<ComparableResponse> {
    let mut responses = Vec::new();
    while !output.is_empty() {
        let headers_end = find(output, b"\r\n\r\n").map_or(output.len(), |at| at + 4);
        let (headers, rest) = output.split_at(headers_end);
        let (body, next) = rest.split_at(find(rest, b"HTTP/1.1 ").unwrap_or(rest.len()));
        responses.push(ComparableResponse::new(headers, body));
        output = next;
    }
    responses
}

impl ComparableResponse {
    fn new(headers: &[u8], body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(headers).to_ascii_lowercase();
        let mut headers: Vec<String> = text
            .split("\r\n")
            .map(|line| match line.split_once(": ") {
                Some((name @ ("date" | "mcp-session-id"), _)) => name.to_owned(),
                _ => line.to_owned(),
            })
            .collect();
        headers.sort();
        let is_chunked = headers
            .iter()
            .any(|line| line == "transfer-encoding: chunked");
        let body = if is_chunked {
            without_chunks(body)
        } else {
            body.to_vec()
        };
        Self { headers, body }
    }
}

/// Removes the chunk sizes of a body. An incomplete chunk at the end is retained.
fn without_chunks(mut body: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    while let Some((chunk, rest)) = split_chunk(body) {
        data.extend_from_slice(chunk);
        body = rest;
    }
    data.extend_from_slice(body);
    data
}

/// Returns the data of the first chunk and the bytes after it. The last chunk is not split off, so that a complete body
/// differs from an incomplete one.
fn split_chunk(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = find(body, b"\r\n")?;
    let size = std::str::from_utf8(&body[..line]).ok()?;
    let size = usize::from_str_radix(size, 16).ok()?;
    let start = line + 2;
    let end = start.checked_add(size)?;
    let is_complete = size > 0 && body.get(end..)?.starts_with(b"\r\n");
    is_complete.then(|| (&body[start..end], &body[end + 2..]))
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
