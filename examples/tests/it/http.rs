//! Examples that serve HTTP: `http`, `axum`, `protected`, `oauth_proxy`. A request is written as its bytes, and read until the server is done.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::client::program;

/// Nothing here takes long. This only turns a hanging test into a failing one.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running example and where it listens.
pub(crate) struct Example {
    pub(crate) address: String,
    _child: Child,
}

impl Example {
    async fn start(name: &str) -> Self {
        Self::run(&mut Command::new(program(name))).await
    }

    /// Starts a program that takes the address to listen on as its last argument.
    pub(crate) async fn run(command: &mut Command) -> Self {
        let mut child = command
            .arg("127.0.0.1:0")
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = timeout(PATIENCE, lines.next_line()).await.unwrap();
        let line = line.unwrap().expect("it says where it listens");
        let url = line.strip_prefix("listening on http://").unwrap();
        let address = url.strip_suffix("/mcp").unwrap();
        Self {
            address: address.to_owned(),
            _child: child,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Sends one request and returns the whole answer, head and body.
    async fn send(&self, line: &str, headers: &str, body: &str) -> String {
        self.send_as("application/json", line, headers, body).await
    }

    /// The same, with a body of another type.
    async fn send_as(&self, content_type: &str, line: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: {content_type}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len(),
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut answer))
            .await
            .expect("the server answers and closes")
            .unwrap();
        answer
    }

    /// Calls a tool as a 2026-07-28 client does.
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

    /// Opens a 2025-11-25 session and returns the headers its requests carry.
    async fn open_session(&self) -> String {
        let initialize = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "script", "version": "1"},
            },
        });
        let answer = self.send("POST /mcp", "", &initialize.to_string()).await;
        let session = header(&answer, "mcp-session-id");
        let headers = format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n");
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let answer = self
            .send("POST /mcp", &headers, &initialized.to_string())
            .await;
        assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
        headers
    }
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let mut lines = answer.lines().take_while(|line| !line.is_empty());
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("no {name} in {answer}"))
}

#[tokio::test]
async fn a_plain_call_is_answered_with_json_and_one_that_reports_with_a_stream() {
    let example = Example::start("http").await;
    let answer = example.call("add", json!({"a": 2, "b": 3})).await;
    assert_eq!(header(&answer, "content-type"), "application/json");
    assert!(answer.contains(r#""text":"5""#), "{answer}");

    let answer = example.call("count", json!({"to": 3})).await;
    assert_eq!(header(&answer, "content-type"), "text/event-stream");
    let reports = answer.matches("notifications/progress").count();
    assert_eq!(reports, 3, "{answer}");
    let result = answer.find("counted to 3").unwrap();
    assert!(answer.rfind("notifications/progress").unwrap() < result);
}

#[tokio::test]
async fn a_client_that_was_sent_away_comes_back_for_its_result() {
    let example = Example::start("http").await;
    let session = example.open_session().await;
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "brew", "arguments": {}},
    });
    let answer = example.send("POST /mcp", &session, &call.to_string()).await;
    assert!(answer.contains("retry: 100"), "{answer}");
    assert!(!answer.contains("tea is ready"), "{answer}");
    let id = answer
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .expect("an id to come back with");
    let headers = format!("{session}Last-Event-ID: {id}\r\n");
    let rest = example.send("GET /mcp", &headers, "").await;
    assert!(rest.contains("tea is ready"), "{rest}");
}

#[tokio::test]
async fn an_axum_application_serves_its_own_routes_and_the_server() {
    let example = Example::start("axum").await;
    let health = example.send("GET /health", "", "").await;
    assert!(health.ends_with("fine"), "{health}");
    let answer = example.call("greet", json!({"name": "Ada"})).await;
    assert!(answer.contains("Hello, Ada!"), "{answer}");
    let foreign = "Origin: https://evil.example\r\n";
    let refused = example.send("POST /mcp", foreign, "{}").await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let session = example.open_session().await;
    let answer = example.send("DELETE /mcp", &session, "").await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
}

#[tokio::test]
async fn protected_serves_whom_a_token_lets_in() {
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
    let refused = send(None, "read").await;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert!(refused.contains("scope=\"notes:read\""), "{refused}");
    let too_little = send(Some("token-of-ann"), "write").await;
    assert!(too_little.starts_with("HTTP/1.1 403"), "{too_little}");
    assert!(
        too_little.contains("scope=\"notes:read notes:write\""),
        "{too_little}"
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
async fn oauth_proxy_asks_its_user_and_sends_them_to_github() {
    let mut command = Command::new(program("oauth_proxy"));
    command.env("GITHUB_CLIENT_ID", "the-app");
    command.env("GITHUB_CLIENT_SECRET", "hidden");
    let example = Example::run(&mut command).await;
    let refused = example.send("POST /mcp", "", "{}").await;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert!(refused.contains("resource_metadata="), "{refused}");

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

    let found = |start: &str, end: char| {
        let (_, rest) = page.split_once(start).unwrap();
        rest.split(end).next().unwrap().to_owned()
    };
    let sealed = found("name=\"request\" value=\"", '"');
    let cookie = found("set-cookie: ", ';');
    let body = format!("request={sealed}&decision=allow");
    let answer = example
        .send_as(
            "application/x-www-form-urlencoded",
            "POST /consent",
            &format!("Cookie: {cookie}\r\n"),
            &body,
        )
        .await;
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let github =
        "location: https://github.com/login/oauth/authorize?response_type=code&client_id=the-app&";
    assert!(answer.contains(github), "{answer}");
    assert!(
        answer.contains("redirect_uri=http%3A%2F%2Flocalhost%3A3000%2Fcallback&"),
        "{answer}"
    );
    assert!(!answer.contains("hidden"), "{answer}");
}
