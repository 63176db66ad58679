//! HTTP requests as text: valid requests of either era, and changes that make them invalid.

use std::fmt::Write as _;

use serde_json::Value;

/// An HTTP request to send.
#[derive(Debug, Clone)]
pub struct Request {
    method: &'static str,
    target: String,
    /// `Host` is first unless it was removed.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    announce_length: bool,
}

impl Request {
    /// Returns a request with `Host` as its only header.
    pub fn new(method: &'static str) -> Self {
        Self {
            method,
            target: "/mcp".to_owned(),
            headers: vec![("Host".to_owned(), "localhost".to_owned())],
            body: Vec::new(),
            announce_length: method == "POST",
        }
    }

    /// Returns a POST request with a message and the headers that every POST has.
    pub fn post(message: &Value) -> Self {
        Self::new("POST")
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream")
            .with_body(message.to_string())
    }

    /// Returns a POST request with a 2026-07-28 message and the headers that repeat parts of it.
    pub fn modern(message: &Value) -> Self {
        let mut request = Self::post(message).with("MCP-Protocol-Version", "2026-07-28");
        if let Some(method) = message["method"].as_str() {
            request = request.with("Mcp-Method", method);
        }
        let params = &message["params"];
        let names = ["name", "uri", "taskId"].map(|member| params[member].as_str());
        if let Some(name) = names.into_iter().flatten().next() {
            request = request.with("Mcp-Name", name);
        }
        request
    }

    /// Returns a GET request for the server stream of a session.
    pub fn get(session: &str, version: &str) -> Self {
        Self::new("GET")
            .with("Accept", "text/event-stream")
            .in_session(session, version)
    }

    /// Returns a DELETE request for a session.
    pub fn delete(session: &str, version: &str) -> Self {
        Self::new("DELETE").in_session(session, version)
    }

    /// Adds the headers of a session.
    pub fn in_session(self, session: &str, version: &str) -> Self {
        self.with("Mcp-Session-Id", session)
            .with("MCP-Protocol-Version", version)
    }

    /// Adds a header, even if there is one with this name.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Removes the header with this name. Panics if there is none.
    pub fn without(mut self, name: &str) -> Self {
        let before = self.headers.len();
        self.headers
            .retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        assert!(self.headers.len() < before, "there is no {name}");
        self
    }

    /// Replaces the header with this name.
    pub fn replacing(self, name: &str, value: impl Into<String>) -> Self {
        self.without(name).with(name, value)
    }

    /// Replaces the request target.
    pub fn with_target(mut self, target: impl Into<String>) -> Self {
        self.target = target.into();
        self
    }

    /// Replaces the body.
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Omits `Content-Length`.
    pub fn without_length(mut self) -> Self {
        self.announce_length = false;
        self
    }

    /// Returns the number of headers.
    pub fn header_count(&self) -> usize {
        self.headers.len() + usize::from(self.announce_length)
    }

    /// Returns the total length of all header names and values in bytes.
    pub fn header_bytes(&self) -> usize {
        let own: usize = self
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        let length = if self.announce_length {
            "content-length".len() + self.body.len().to_string().len()
        } else {
            0
        };
        own + length
    }

    /// Returns the request line and the headers as text.
    pub fn header_text(&self) -> String {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            write!(text, "{name}: {value}\r\n").expect("writing to a string does not fail");
        }
        if self.announce_length {
            write!(text, "Content-Length: {}\r\n", self.body.len())
                .expect("writing to a string does not fail");
        }
        text + "\r\n"
    }

    /// Returns the complete request.
    pub fn bytes(&self) -> Vec<u8> {
        [self.header_text().as_bytes(), &self.body].concat()
    }

    /// Returns the body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Converts the request for a service without a socket.
    pub fn to_http(&self) -> http::Request<String> {
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(&self.target);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let body = String::from_utf8(self.body.clone()).unwrap();
        request.body(body).unwrap()
    }
}

impl Request {
    /// Returns `true` if there is a header with this name.
    pub fn has(&self, name: &str) -> bool {
        let mut headers = self.headers.iter();
        headers.any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    /// Returns the request target.
    pub fn target(&self) -> &str {
        &self.target
    }
}
