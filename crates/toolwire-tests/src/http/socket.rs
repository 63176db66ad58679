//! An HTTP/1.1 client on a plain socket. It can send invalid requests, which no library would send.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::peer::within;

/// A client connection.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    /// Received bytes that are not yet consumed.
    unread: Vec<u8>,
}

impl Connection {
    /// Opens a connection.
    pub async fn connect(address: SocketAddr) -> Self {
        Self::new(within(TcpStream::connect(address)).await.unwrap())
    }

    /// Uses a connected socket.
    pub fn new(socket: TcpStream) -> Self {
        socket.set_nodelay(true).unwrap();
        Self {
            socket,
            unread: Vec::new(),
        }
    }

    /// Returns the address of the client.
    pub fn local_address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    /// Sends bytes.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        within(self.socket.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Sends bytes to a server that may have closed the connection.
    pub async fn send_if_possible(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = within(self.socket.write_all(bytes.as_ref())).await;
    }

    /// Returns the next response with its complete body.
    pub async fn response(&mut self) -> Response {
        let headers = self.headers().await;
        self.read_body(headers).await
    }

    /// Reads the body of the response with these headers.
    pub async fn read_body(&mut self, headers: ResponseHeaders) -> Response {
        let mut body = Vec::new();
        match headers.framing() {
            Framing::Length(length) => body = self.take(length).await,
            Framing::Chunked => {
                while let Some(chunk) = self.chunk().await.expect("the response is incomplete") {
                    body.extend(chunk);
                }
            }
        }
        Response { headers, body }
    }

    /// Returns the headers of the next response.
    pub async fn headers(&mut self) -> ResponseHeaders {
        self.headers_unless_closed()
            .await
            .expect("the server has closed the connection")
    }

    /// Returns the headers of the next response, or `None` if the server closes the connection.
    pub async fn headers_unless_closed(&mut self) -> Option<ResponseHeaders> {
        let status_line = self.line().await?;
        let status = status_line
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse().ok())
            .unwrap_or_else(|| panic!("no status line: {status_line}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line().await.expect("the headers are incomplete");
            if line.is_empty() {
                return Some(ResponseHeaders { status, headers });
            }
            let (name, value) = line.split_once(':').expect("a header has a colon");
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// Returns the next chunk of a body, `Ok(None)` after the last, or `Err` if the connection was closed before.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Disconnected> {
        let size = self.line().await.ok_or(Disconnected)?;
        let size = usize::from_str_radix(&size, 16).expect("a chunk begins with its size");
        while self.unread.len() < size + 2 {
            if self.fill().await == 0 {
                return Err(Disconnected);
            }
        }
        let mut chunk: Vec<u8> = self.unread.drain(..size + 2).collect();
        assert_eq!(chunk.split_off(size), b"\r\n");
        Ok((size > 0).then_some(chunk))
    }

    /// Expects that the server closes the connection without sending anything.
    pub async fn expect_close(mut self) {
        let read = self.fill().await;
        let unread = String::from_utf8_lossy(&self.unread).into_owned();
        assert_eq!(read, 0, "{unread}");
        assert_eq!(unread, "");
    }

    /// Resets the connection, as a crash of the client would.
    pub fn reset(self) {
        self.socket.set_zero_linger().unwrap();
    }

    async fn line(&mut self) -> Option<String> {
        let end = loop {
            if let Some(end) = self.unread.windows(2).position(|pair| pair == b"\r\n") {
                break end;
            }
            if self.fill().await == 0 {
                return None;
            }
        };
        let mut line: Vec<u8> = self.unread.drain(..end + 2).collect();
        line.truncate(end);
        Some(String::from_utf8(line).unwrap())
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.unread.len() < length {
            assert_ne!(self.fill().await, 0, "the body is incomplete");
        }
        self.unread.drain(..length).collect()
    }

    /// Receives bytes and returns their number, or 0 if the connection was closed or reset.
    async fn fill(&mut self) -> usize {
        within(self.socket.read_buf(&mut self.unread))
            .await
            .unwrap_or(0)
    }
}

/// The connection was closed in the middle of a response.
#[derive(Debug)]
#[non_exhaustive]
pub struct Disconnected;

/// The status and the headers of a response.
#[derive(Debug, Clone)]
pub struct ResponseHeaders {
    /// The status code.
    pub status: u16,
    headers: Vec<(String, String)>,
}

enum Framing {
    Length(usize),
    Chunked,
}

impl ResponseHeaders {
    /// Returns the only header with this name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(own, _)| own == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert_eq!(values.next(), None, "{name} occurs twice");
        value
    }

    /// Returns all headers with this name, given in lower case.
    pub fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h str> {
        let values = self.headers.iter().filter(move |(own, _)| own == name);
        values.map(|(_, value)| value.as_str())
    }

    /// Returns all headers except those with this name, given in lower case.
    pub fn without(&self, name: &str) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        headers.retain(|(own, _)| own != name);
        headers
    }

    /// Returns `true` if the body is an event stream.
    pub fn is_event_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    fn framing(&self) -> Framing {
        match (
            self.header("transfer-encoding"),
            self.header("content-length"),
        ) {
            (Some("chunked"), None) => Framing::Chunked,
            (None, Some(length)) => Framing::Length(length.parse().unwrap()),
            (None, None) => Framing::Length(0),
            other => panic!("{other:?}"),
        }
    }
}

/// A complete response.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Response {
    /// The status code and the headers.
    pub headers: ResponseHeaders,
    /// The body without its framing.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the status code.
    pub fn status(&self) -> u16 {
        self.headers.status
    }

    /// Returns the header with this name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.header(name)
    }

    /// Returns the body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Returns the single message of a JSON response.
    #[track_caller]
    pub fn message(&self) -> Value {
        let content_type = self.header("content-type");
        assert_eq!(content_type, Some("application/json"), "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }
}
