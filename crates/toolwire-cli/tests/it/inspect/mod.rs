//! `toolwire inspect`: the HTTP interface as a program sees it, and the page in a real browser.

mod browser;
#[rustfmt::skip]
mod copied_tests;
mod faults;
pub(crate) mod inside;
mod interface;
mod many_tools;
#[cfg(target_os = "linux")]
mod opening;
mod records;
mod rejected;
mod saved;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::process::{start_and_read_line, toolwire, within};

/// The command that starts the demo server.
const DEMO: [&str; 4] = ["--", env!("CARGO_BIN_EXE_toolwire"), "demo", "--stdio"];

/// A running `toolwire inspect`, or the page of another command.
pub(crate) struct InspectCommand {
    /// The address with the secret.
    url: String,
    token: String,
    /// The command ends when it is dropped.
    _child: Option<Child>,
}

impl InspectCommand {
    /// Starts the command and waits for its address.
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let mut command = toolwire(&Self::WORDS);
        command.args(arguments);
        Self::start_command(command).await
    }

    /// The first words of the command line.
    pub(crate) const WORDS: [&str; 4] = ["inspect", "--json", "--listen", "127.0.0.1:0"];

    /// Starts a command that begins with these words.
    pub(crate) async fn start_command(command: Command) -> Self {
        let (child, printed) = start_and_read_line(command).await;
        let text = |name: &str| printed[name].as_str().expect("a text").to_owned();
        Self {
            url: text("url"),
            token: text("token"),
            _child: Some(child),
        }
    }

    /// Returns the page at an address, with a token that the command printed.
    #[cfg(unix)]
    pub(crate) fn of_address(url: String, token: String) -> Self {
        Self {
            url,
            token,
            _child: None,
        }
    }

    /// Returns the host and port.
    fn authority(&self) -> &str {
        let rest = self.url.strip_prefix("http://").expect("an HTTP address");
        rest.split_once('/').expect("a path").0
    }

    /// Returns the secret of the address.
    fn secret(&self) -> &str {
        self.url.split_once('#').expect("a secret").1
    }

    /// Sends a request with the token, and returns the status and the JSON of the response.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let token = format!("Authorization: Bearer {}", self.token);
        let response = self.send(method, path, &[&token], body).await;
        (response.status, response.json())
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, value) = self.request("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// Calls a tool, and returns the outcome.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Value {
        let body = json!({
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
            "wait": true,
        });
        let (status, outcome) = self.request("POST", "/api/calls", Some(&body)).await;
        assert_eq!(status, 200, "{outcome}");
        outcome
    }

    /// Starts or stops the record of the page. Returns the status and the JSON of the response.
    pub(crate) async fn set_recording(&self, is_running: bool) -> (u16, Value) {
        let body = json!({ "running": is_running });
        self.request("POST", "/api/record", Some(&body)).await
    }

    /// Returns the record of the page.
    pub(crate) async fn record(&self) -> String {
        let token = format!("Authorization: Bearer {}", self.token);
        let response = self.send("GET", "/api/record", &[&token], None).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert!(response.headers.contains("content-security-policy"));
        String::from_utf8(response.body).expect("UTF-8")
    }

    /// Sends a request with these headers.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: Option<&Value>,
    ) -> RawResponse {
        let host = format!("Host: {}", self.authority());
        let is_host = |header: &&&str| header.starts_with("Host:");
        let mut lines = vec![format!("{method} {path} HTTP/1.1")];
        if !headers.iter().any(|header| is_host(&header)) {
            lines.push(host);
        }
        lines.extend(headers.iter().map(|header| (*header).to_owned()));
        let body = body.map(Value::to_string).unwrap_or_default();
        if !body.is_empty() {
            if !headers
                .iter()
                .any(|header| header.starts_with("Content-Type:"))
            {
                lines.push("Content-Type: application/json".to_owned());
            }
            lines.push(format!("Content-Length: {}", body.len()));
        }
        lines.push("Connection: close\r\n\r\n".to_owned());
        let text = lines.join("\r\n") + &body;
        let mut stream = TcpStream::connect(self.authority())
            .await
            .expect("a connection");
        // The command may reject a request before it has read all of it.
        let _ = within(stream.write_all(text.as_bytes())).await;
        let mut response = Vec::new();
        let _ = within(stream.read_to_end(&mut response)).await;
        RawResponse::read(&response)
    }
}

/// A response with its headers.
#[derive(Debug)]
pub(crate) struct RawResponse {
    status: u16,
    headers: String,
    body: Vec<u8>,
}

impl RawResponse {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n");
        let end = end.expect("the end of the headers");
        let headers = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let status = headers.get(9..12).and_then(|status| status.parse().ok());
        Self {
            status: status.expect("a status"),
            headers,
            body: bytes[end + 4..].to_vec(),
        }
    }

    #[cfg(unix)]
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}
