//! A client that only calls, as the upper limit of speed: `limit-client URL CONCURRENCY SECONDS [current|multi]`.
//!
//! Each caller has its own socket and a prepared request. It sends the same bytes repeatedly, reads the headers and as
//! many bytes as they state, and parses the response into a borrowed struct. There are no deadlines, no pool, no
//! redirects, no TLS, no event streams, and no checks except of the returned text.

use std::borrow::Cow;
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use toolwire_bench::client_load::{Caller, ClientLoad, Failure, TEXT};
use toolwire_types::{ProtocolVersion, meta_key};

#[derive(Deserialize)]
struct Response<'a> {
    id: i64,
    #[serde(borrow)]
    result: CallResult<'a>,
}

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

struct RawCaller {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl RawCaller {
    async fn connect(url: &str) -> Result<Self, Failure> {
        let rest = url.strip_prefix("http://");
        let (authority, path) = rest
            .and_then(|rest| rest.split_once('/'))
            .ok_or("the URL must be like http://127.0.0.1:3000/mcp")?;
        let stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            request: request(authority, path).into_bytes(),
            buffer: Vec::with_capacity(16 * 1024),
        })
    }

    /// Reads until the response is complete, and returns the start of its body.
    async fn receive(&mut self) -> Result<usize, Failure> {
        self.buffer.clear();
        let mut expected = None;
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed the connection".into());
            }
            if expected.is_none() {
                expected = head(&self.buffer)?;
            }
            if let Some((begin, length)) = expected
                && self.buffer.len() >= begin + length
            {
                return Ok(begin);
            }
        }
    }
}

impl Caller for RawCaller {
    async fn call(&mut self) -> Result<(), Failure> {
        self.stream.write_all(&self.request).await?;
        let begin = self.receive().await?;
        let body = self.buffer.get(begin..).unwrap_or_default();
        let response: Response<'_> = serde_json::from_slice(body)?;
        match response.result.content.first() {
            Some(content) if response.id == 1 && content.text == TEXT => Ok(()),
            _ => Err("the result is not the text that was sent".into()),
        }
    }
}

/// Returns the start and the length of the body, if the headers are complete.
fn head(bytes: &[u8]) -> Result<Option<(usize, usize)>, Failure> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let (head, _) = bytes.split_at(end);
    let head = std::str::from_utf8(head)?;
    let mut lines = head.split("\r\n");
    if !lines
        .next()
        .is_some_and(|line| line.starts_with("HTTP/1.1 200"))
    {
        return Err(format!("not a success: {head}").into());
    }
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .ok_or("a response without a length")?;
    Ok(Some((end + 4, length.1.trim().parse()?)))
}

fn request(authority: &str, path: &str) -> String {
    let version = ProtocolVersion::LATEST.as_str();
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "echo",
            "arguments": { "text": TEXT },
            "_meta": {
                meta_key::PROTOCOL_VERSION: version,
                meta_key::CLIENT_INFO: { "name": "bench", "version": "1.0.0" },
                meta_key::CLIENT_CAPABILITIES: {},
            },
        },
    })
    .to_string();
    format!(
        "POST /{path} HTTP/1.1\r\n\
         Host: {authority}\r\n\
         Accept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\n\
         MCP-Protocol-Version: {version}\r\n\
         Mcp-Method: tools/call\r\n\
         Mcp-Name: echo\r\n\
         Content-Length: {length}\r\n\
         \r\n\
         {body}",
        length = body.len(),
    )
}

async fn run(load: &ClientLoad) -> Result<(), Failure> {
    load.run(async || RawCaller::connect(&load.url).await).await
}

fn main() -> ExitCode {
    ClientLoad::main("limit-client", run)
}
