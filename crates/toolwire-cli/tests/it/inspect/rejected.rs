//! Requests that the HTTP interface rejects.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{DEMO, InspectCommand, RawResponse};
use crate::client::TempDirectory;
use crate::process::{toolwire, within};

/// The headers of every response. The files of the page have their own `cache-control`.
const PROTECTION: [&str; 5] = [
    "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
         connect-src 'self'; img-src 'self' data: blob:; media-src blob:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options: nosniff",
    "referrer-policy: no-referrer",
    "cross-origin-opener-policy: same-origin",
    "cross-origin-resource-policy: same-origin",
];

#[track_caller]
fn assert_protected(response: &RawResponse) {
    for header in PROTECTION {
        let status = response.status;
        assert!(response.headers.contains(header), "{status}: {header}");
    }
    assert!(!response.headers.contains("access-control"), "{response:?}");
}

#[tokio::test]
async fn every_response_has_the_headers_that_protect_it() {
    let command = InspectCommand::start(&DEMO).await;
    let token = format!("Authorization: Bearer {}", command.token);
    let check = async |method: &str, path: &str, headers: &[&str], expected: u16| {
        let response = command.send(method, path, headers, None).await;
        assert_eq!(response.status, expected, "{method} {path}");
        assert_protected(&response);
        response
    };
    let page = check("GET", "/", &[], 200).await;
    check("HEAD", "/page.js", &[], 200).await;
    let tag = page
        .headers
        .lines()
        .find_map(|line| line.strip_prefix("etag: "));
    let cached = format!("If-None-Match: {}", tag.expect("an entity tag"));
    check("GET", "/", &[&cached], 304).await;
    check("GET", "/other", &[], 404).await;
    check("POST", "/", &[], 404).await;
    check("GET", "/api/other", &[&token], 404).await;
    check("GET", "/api/state", &[], 401).await;
    check("GET", "/api/state", &[&token, "Origin: null"], 403).await;
    check("GET", "/", &["Host: attacker.example"], 403).await;
    check("POST", "/api/reconnect", &[&token], 204).await;
    // A download.
    command.set_recording(true).await;
    check("GET", "/api/record", &[&token], 200).await;
    // The stream of events does not end.
    let mut stream = TcpStream::connect(command.authority())
        .await
        .expect("a connection");
    let host = format!("Host: {}", command.authority());
    let request = format!("GET /api/events HTTP/1.1\r\n{host}\r\n{token}\r\n\r\n");
    within(stream.write_all(request.as_bytes()))
        .await
        .expect("the command reads");
    let mut received = Vec::new();
    while !received.windows(4).any(|part| part == b"\r\n\r\n") {
        let read = within(stream.read_buf(&mut received)).await;
        assert!(read.expect("a response") > 0, "the response ended early");
    }
    let response = RawResponse::read(&received);
    assert_eq!(response.status, 200);
    assert!(response.headers.contains("content-type: text/event-stream"));
    assert_protected(&response);
}

#[tokio::test]
async fn requests_of_other_hosts_origins_and_users_are_rejected() {
    let command = InspectCommand::start(&DEMO).await;
    let authority = command.authority().to_owned();
    let port = authority.rsplit_once(':').expect("a port").1;
    let token = format!("Authorization: Bearer {}", command.token);
    let check = async |headers: &[&str], expected: u16| {
        let response = command.send("GET", "/api/state", headers, None).await;
        assert_eq!(response.status, expected, "{headers:?}");
        let is_readable = response.body.windows(6).any(|part| part == b"target");
        assert_eq!(is_readable, expected == 200, "{headers:?}");
        assert_protected(&response);
        assert!(response.headers.contains("cache-control: no-store"));
    };
    check(&[&token], 200).await;
    check(&[&token, &format!("Host: localhost:{port}")], 200).await;
    check(&[], 401).await;
    check(&["Authorization: Bearer wrong"], 401).await;
    check(&[&token, "Host: attacker.example"], 403).await;
    check(&[&token, &format!("Host: attacker.example:{port}")], 403).await;
    check(&[&token, "Origin: https://attacker.example"], 403).await;
    check(&[&token, "Origin: null"], 403).await;
    check(&[&token, "Sec-Fetch-Site: cross-site"], 403).await;
    check(&[&token, &format!("Origin: http://{authority}")], 200).await;
}

#[tokio::test]
async fn printed_address_gives_access_once() {
    let command = InspectCommand::start(&DEMO).await;
    let session = async |secret: &str| {
        let body = json!({ "secret": secret });
        command.send("POST", "/api/session", &[], Some(&body)).await
    };
    assert_eq!(session("wrong").await.status, 401);
    let first = session(command.secret()).await;
    assert_eq!(
        (first.status, first.json()["token"].as_str()),
        (200, Some(command.token.as_str()))
    );
    assert_eq!(session(command.secret()).await.status, 403);
}

#[tokio::test]
async fn invalid_requests_name_the_remedy() {
    let command = InspectCommand::start(&DEMO).await;
    let check = async |method: &str, path: &str, body: Option<Value>, expected: (u16, &str)| {
        let (status, value) = command.request(method, path, body.as_ref()).await;
        assert_eq!(status, expected.0, "{path} {value}");
        let error = format!("{} {}", value["error"], value["advice"]);
        assert!(error.contains(expected.1), "{path} {error}");
    };
    check("GET", "/api/other", None, (404, "nothing at this address")).await;
    check("GET", "/api/calls/99", None, (404, "nothing")).await;
    check("GET", "/api/lists/other", None, (404, "nothing")).await;
    check(
        "POST",
        "/api/calls",
        Some(json!({"params": {}})),
        (400, "missing field `method`"),
    )
    .await;
    check(
        "POST",
        "/api/calls",
        Some(json!({"method": "a", "params": []})),
        (400, "not an object"),
    )
    .await;
    check(
        "PATCH",
        "/api/settings",
        Some(json!({"roots": ["/tmp"]})),
        (400, "write file:///path"),
    )
    .await;
    check(
        "POST",
        "/api/inputs/7",
        Some(json!({"action": "accept"})),
        (404, "nothing"),
    )
    .await;
    check(
        "POST",
        "/api/expand",
        Some(json!({"template": "{a", "variables": {}})),
        (400, "template"),
    )
    .await;
    let token = format!("Authorization: Bearer {}", command.token);
    let form = ["Content-Type: text/plain", &token];
    let response = command
        .send("POST", "/api/calls", &form, Some(&json!({})))
        .await;
    assert_eq!(response.status, 415);
}

#[tokio::test]
async fn body_beyond_the_limit_is_rejected() {
    const LIMIT: usize = 16 * 1024 * 1024;
    const SESSION_LIMIT: usize = 4 * 1024;
    let command = InspectCommand::start(&DEMO).await;
    let body = |bytes: usize| {
        let around = json!({"secret": ""}).to_string().len();
        json!({ "secret": "x".repeat(bytes - around) })
    };
    for (bytes, expected) in [(SESSION_LIMIT, 401), (SESSION_LIMIT + 1, 413)] {
        let body = body(bytes);
        let response = command.send("POST", "/api/session", &[], Some(&body));
        assert_eq!(response.await.status, expected, "{bytes}");
    }
    for (bytes, expected) in [(LIMIT, 400), (LIMIT + 1, 413)] {
        let body = body(bytes);
        let response = command.request("POST", "/api/calls", Some(&body));
        assert_eq!(response.await.0, expected, "{bytes}");
    }
}

#[tokio::test]
async fn call_beyond_the_limit_is_rejected() {
    const LIMIT: usize = 64;
    let command = InspectCommand::start(&DEMO).await;
    let params = json!({"name": "approve", "arguments": {"question": "?"}});
    let call = json!({"method": "tools/call", "params": params});
    let start = async || {
        let (status, value) = command.request("POST", "/api/calls", Some(&call)).await;
        (
            status,
            value["error"].as_str().unwrap_or_default().to_owned(),
        )
    };
    for _ in 0..LIMIT {
        assert_eq!(start().await, (202, String::new()));
    }
    let (status, error) = start().await;
    assert_eq!(status, 429, "{error}");
    assert!(error.contains("cancel one"), "{error}");
    command.request("DELETE", "/api/calls/1", None).await;
    assert_eq!(start().await.0, 202);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    const LIMIT: usize = 64;
    let command = InspectCommand::start(&DEMO).await;
    let mut idle = Vec::new();
    for _ in 0..LIMIT {
        let stream = TcpStream::connect(command.authority()).await;
        idle.push(stream.expect("a connection"));
    }
    let mut waiting = Box::pin(command.get("/api/state"));
    let is_waiting = tokio::time::timeout(Duration::from_millis(200), &mut waiting).await;
    assert!(is_waiting.is_err(), "the limit is not reached");
    idle.pop();
    assert_eq!(waiting.await["connection"]["status"], "connected");
}

#[tokio::test]
async fn address_of_other_machines_is_rejected() {
    let mut command = toolwire(&["inspect", "--listen", "0.0.0.0:0"]);
    let output = within(command.args(DEMO).output())
        .await
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("other machines could use the server"),
        "{error}"
    );
}

#[tokio::test]
async fn file_that_is_not_a_record_ends_the_command() {
    let directory = TempDirectory::new("not-a-record");
    let file = directory.write("a.mcplog", "{}\n");
    let mut command = toolwire(&["inspect", &file]);
    let output = within(command.output()).await.expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("it is not a record"), "{error}");
    assert!(error.contains("toolwire record FILE SERVER"), "{error}");
}

#[tokio::test]
async fn server_that_does_not_start_ends_the_command() {
    let mut command = toolwire(&[
        "inspect",
        "--listen",
        "127.0.0.1:0",
        "--",
        "no-such-program",
    ]);
    let output = within(command.output()).await.expect("the command runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout.is_empty());
}
