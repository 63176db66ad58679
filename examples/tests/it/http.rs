//! Examples that serve HTTP: `http`, `axum`, `protected`, `oauth_proxy`. A request is sent as bytes, and the response
//! is read until the server closes the connection.

#[cfg(unix)]
use std::process::ExitStatus;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::client::program;

/// The timeout of each step, so that a blocked test fails instead of hanging.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// A running example and its address.
pub(crate) struct Example {
    pub(crate) address: String,
    process: Child,
}

impl Example {
    async fn start(name: &str) -> Self {
        Self::run(&mut Command::new(program(name))).await
    }

    /// Starts a program that takes the listen address as its last argument.
    pub(crate) async fn run(command: &mut Command) -> Self {
        let mut child = command
            .arg("127.0.0.1:0")
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = timeout(STEP_TIMEOUT, lines.next_line()).await.unwrap();
        let line = line.unwrap().expect("the example prints its address");
        let url = line.strip_prefix("listening on http://").unwrap();
        let address = url.strip_suffix("/mcp").unwrap();
        // The example may write more lines, which needs a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            address: address.to_owned(),
            process: child,
        }
    }

    /// Asks the example to shut down.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let id = self.process.id().unwrap().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-TERM", &id])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Waits until the example has exited.
    #[cfg(unix)]
    pub(crate) async fn exited(mut self) -> ExitStatus {
        let exited = timeout(STEP_TIMEOUT, self.process.wait()).await;
        exited.expect("the example exits").unwrap()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Sends one request and returns the whole response, headers and body.
    async fn send(&self, line: &str, headers: &str, body: &str) -> String {
        self.send_as("application/json", line, headers, body).await
    }

    /// Sends one request with a body of another content type.
    async fn send_as(&self, content_type: &str, line: &str, headers: &str, body: &str) -> String {
        self.exchange(&format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: {content_type}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len(),
        ))
        .await
    }

    /// Sends a GET request of a browser or a probe.
    #[cfg(unix)]
    pub(crate) async fn get(&self, path: &str, accept: &str) -> String {
        self.exchange(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept: {accept}\r\n\r\n",
            self.address,
        ))
        .await
    }

    async fn exchange(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        timeout(STEP_TIMEOUT, stream.read_to_string(&mut response))
            .await
            .expect("the server responds and closes")
            .unwrap();
        response
    }

    /// Calls a tool like a 2026-07-28 client.
    async fn call(&self, tool: &str, arguments: Value) -> String {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": {
                "progressToken": "p",
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }},
        });
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        );
        self.send("POST /mcp", &headers, &body.to_string()).await
    }

    /// Opens a 2025-11-25 session and returns the headers of its requests.
    async fn open_session(&self) -> String {
        let initialize = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "script", "version": "1"},
            },
        });
        let response = self.send("POST /mcp", "", &initialize.to_string()).await;
        let session = header(&response, "mcp-session-id");
        let headers = format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n");
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let response = self
            .send("POST /mcp", &headers, &initialized.to_string())
            .await;
        assert!(response.starts_with("HTTP/1.1 202"), "{response}");
        headers
    }
}

fn header<'a>(response: &'a str, name: &str) -> &'a str {
    let mut lines = response.lines().take_while(|line| !line.is_empty());
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.unwrap_or_else(|| panic!("no {name} in {response}"))
}

#[tokio::test]
async fn response_is_json_without_progress_and_a_stream_with_progress() {
    let example = Example::start("http").await;
    let response = example.call("add", json!({"a": 2, "b": 3})).await;
    assert_eq!(header(&response, "content-type"), "application/json");
    assert!(response.contains(r#""text":"5""#), "{response}");

    let response = example.call("count", json!({"to": 3})).await;
    assert_eq!(header(&response, "content-type"), "text/event-stream");
    let reports = response.matches("notifications/progress").count();
    assert_eq!(reports, 3, "{response}");
    let result = response.find("counted to 3").unwrap();
    assert!(response.rfind("notifications/progress").unwrap() < result);
}

#[tokio::test]
async fn card_of_the_example_has_its_url() {
    let example = Example::start("http").await;
    let response = example.send("GET /mcp/server-card", "", "").await;
    let media_type = "application/mcp-server-card+json";
    assert_eq!(header(&response, "content-type"), media_type);
    let url = format!(r#""url":"{}""#, example.url());
    assert!(response.contains(&url), "{response}");
}

#[tokio::test]
async fn client_resumes_a_released_stream() {
    let example = Example::start("http").await;
    let session = example.open_session().await;
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "brew", "arguments": {}},
    });
    let response = example.send("POST /mcp", &session, &call.to_string()).await;
    let retry = response
        .lines()
        .find_map(|line| line.strip_prefix("retry: "));
    let retry: Option<u32> = retry.and_then(|delay| delay.parse().ok());
    // 100 ms, and up to a quarter more or less.
    assert!(
        retry.is_some_and(|delay| (75..=125).contains(&delay)),
        "{response}"
    );
    assert!(!response.contains("tea is ready"), "{response}");
    let id = response
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .expect("an event id to resume with");
    let headers = format!("{session}Last-Event-ID: {id}\r\n");
    let rest = example.send("GET /mcp", &headers, "").await;
    assert!(rest.contains("tea is ready"), "{rest}");
}

#[tokio::test]
async fn axum_application_serves_its_routes_and_the_server() {
    let example = Example::start("axum").await;
    let health = example.send("GET /health", "", "").await;
    assert!(health.ends_with("fine"), "{health}");
    let response = example.call("greet", json!({"name": "Ada"})).await;
    assert!(response.contains("Hello, Ada!"), "{response}");
    let origin = "Origin: https://evil.example\r\n";
    let rejected = example.send("POST /mcp", origin, "{}").await;
    assert!(rejected.starts_with("HTTP/1.1 403"), "{rejected}");
    let session = example.open_session().await;
    let response = example.send("DELETE /mcp", &session, "").await;
    assert!(response.starts_with("HTTP/1.1 204"), "{response}");
}

#[tokio::test]
async fn protected_serves_only_valid_tokens() {
    let example = Example::start("protected").await;
    let call = |tool: &str| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": tool, "arguments": {"text": "buy milk"}, "_meta": meta});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
    };
    let send = async |token: Option<&str>, tool: &str| {
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n{}",
            token.unwrap_or_default()
        );
        example.send("POST /mcp", &headers, &call(tool)).await
    };
    let rejected = send(None, "read").await;
    assert!(rejected.starts_with("HTTP/1.1 401"), "{rejected}");
    assert!(rejected.contains("scope=\"notes:read\""), "{rejected}");
    let insufficient = send(Some("token-of-ann"), "write").await;
    assert!(insufficient.starts_with("HTTP/1.1 403"), "{insufficient}");
    assert!(
        insufficient.contains("scope=\"notes:read notes:write\""),
        "{insufficient}"
    );
    let written = send(Some("token-of-bob"), "write").await;
    assert!(written.contains("written"), "{written}");
    let read = send(Some("token-of-ann"), "read").await;
    assert!(read.contains("ann reads: buy milk"), "{read}");
    let metadata = example
        .send("GET /.well-known/oauth-protected-resource/mcp", "", "")
        .await;
    assert!(metadata.contains("https://auth.example.com"), "{metadata}");
}

#[tokio::test]
async fn oauth_proxy_asks_for_consent_and_redirects_to_github() {
    let mut command = Command::new(program("oauth_proxy"));
    command.env("GITHUB_CLIENT_ID", "the-app");
    command.env("GITHUB_CLIENT_SECRET", "hidden");
    let example = Example::run(&mut command).await;
    let rejected = example.send("POST /mcp", "", "{}").await;
    assert!(rejected.starts_with("HTTP/1.1 401"), "{rejected}");
    assert!(rejected.contains("resource_metadata="), "{rejected}");

    let metadata = json!({
        "client_name": "Test", "redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none",
    });
    let registered = example
        .send("POST /register", "", &metadata.to_string())
        .await;
    let (_, body) = registered.split_once("\r\n\r\n").unwrap();
    let registered: Value = serde_json::from_str(body).unwrap();
    let client_id = registered["client_id"].as_str().unwrap();
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    let page = example
        .send(
            &format!(
                "GET /authorize?response_type=code&client_id={client_id}&redirect_uri=http://127.0.0.1:5000/cb\
                 &code_challenge={challenge}&code_challenge_method=S256&state=s"
            ),
            "",
            "",
        )
        .await;
    assert!(page.contains("Let Test use the example server?"), "{page}");

    let between = |start: &str, end: char| {
        let (_, rest) = page.split_once(start).unwrap();
        rest.split(end).next().unwrap().to_owned()
    };
    let sealed = between("name=\"request\" value=\"", '"');
    let cookie = between("set-cookie: ", ';');
    let body = format!("request={sealed}&decision=allow");
    let response = example
        .send_as(
            "application/x-www-form-urlencoded",
            "POST /consent",
            &format!("Cookie: {cookie}\r\n"),
            &body,
        )
        .await;
    assert!(response.starts_with("HTTP/1.1 303"), "{response}");
    let github =
        "location: https://github.com/login/oauth/authorize?response_type=code&client_id=the-app&";
    assert!(response.contains(github), "{response}");
    assert!(
        response.contains("redirect_uri=http%3A%2F%2Flocalhost%3A3000%2Fcallback&"),
        "{response}"
    );
    assert!(!response.contains("hidden"), "{response}");
}
