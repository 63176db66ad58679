//! The pages of `toolwire view open` without a browser: policies, the token, and the origin of requests.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use toolwire::apps::{Permissions, View};
use toolwire::{RawJson, RequestContext, Server, Tool, ToolHandler};

use super::ViewCommand;
use crate::client::run;
use crate::client::small_server::SmallServer;
use crate::process::within;

const HTML: &str = "<!doctype html><p>12:00";

fn clock() -> Server {
    let tool = |name: &str| {
        let tool = Tool::new(name, json!({"type": "object"}));
        ToolHandler::raw(tool, |_: RequestContext, _: RawJson| async { "12:00" })
    };
    let view = View::new("ui://clock/face", HTML)
        .with_permissions(Permissions::new().with_camera())
        .with_border(true);
    Server::new("clock", "1")
        .tool(tool("clock").with_view(view))
        .tool(tool("plain"))
        .tool(tool("broken").with_view("ui://broken"))
        .resource(toolwire::ResourceHandler::new(
            "ui://broken",
            "broken",
            |_: RequestContext, _: String| async { "no view" },
        ))
}

/// Sends a request and returns the head and the body of the response.
async fn send(url: &str, method: &str, headers: &str, body: &str) -> (String, String) {
    let rest = url.strip_prefix("http://").expect("an http URL");
    let (authority, path) = rest.split_once('/').expect("a path");
    let host = if headers.contains("Host:") {
        String::new()
    } else {
        format!("Host: {authority}\r\n")
    };
    let request = format!(
        "{method} /{path} HTTP/1.1\r\n{host}{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = within(TcpStream::connect(authority))
        .await
        .expect("a connection");
    within(stream.write_all(request.as_bytes()))
        .await
        .expect("the request is sent");
    let mut response = String::new();
    within(stream.read_to_string(&mut response))
        .await
        .expect("a response");
    let (head, body) = response
        .split_once("\r\n\r\n")
        .expect("a complete response");
    (head.to_ascii_lowercase(), body.to_owned())
}

async fn get(url: &str) -> (String, String) {
    send(url, "GET", "", "").await
}

/// Returns the value of an attribute in a page.
fn attribute(page: &str, name: &str) -> String {
    let start = format!("{name}=\"");
    let (_, rest) = page.split_once(&start).expect("the attribute");
    rest.split('"').next().expect("a value").to_owned()
}

#[tokio::test]
async fn pages_have_strict_policies_on_two_origins() {
    let server = SmallServer::start(clock()).await;
    let command = ViewCommand::start(server.url(), &["clock"]).await;
    let (head, host) = get(&command.url).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(attribute(&host, "allow"), "camera *");
    let proxy_url = attribute(&host, "data-src");
    let origin = |url: &str| url.split('/').take(3).collect::<Vec<_>>().join("/");
    let (host_origin, frame_origin) = (origin(&command.url), origin(&proxy_url));
    assert_ne!(host_origin, frame_origin);
    let policy =
        format!("script-src 'self'; style-src 'self'; connect-src 'self'; frame-src {proxy_url};");
    assert!(head.contains(&policy.to_ascii_lowercase()), "{head}");

    let (head, proxy) = get(&proxy_url).await;
    let view_url = attribute(&proxy, "data-src");
    assert_eq!(attribute(&proxy, "sandbox"), "allow-scripts");
    assert_eq!(attribute(&proxy, "data-host"), host_origin);
    let policy = format!("frame-src {view_url}; frame-ancestors {host_origin};");
    assert!(head.contains(&policy.to_ascii_lowercase()), "{head}");

    let (head, view) = get(&view_url).await;
    assert_eq!(view, HTML);
    for part in [
        "default-src 'none'",
        "connect-src 'none'",
        "sandbox allow-scripts",
    ] {
        assert!(head.contains(part), "{head}");
    }
    for url in [&command.url, &proxy_url, &view_url] {
        let (head, _) = send(url, "GET", "Host: attacker.example\r\n", "").await;
        assert!(head.starts_with("http/1.1 404"), "{head}");
        let guessed = format!("{}/", origin(url));
        assert!(get(&guessed).await.0.starts_with("http/1.1 404"));
    }
}

#[tokio::test]
async fn only_the_host_page_can_send_messages() {
    let server = SmallServer::start(clock()).await;
    let command = ViewCommand::start(server.url(), &["clock"]).await;
    let origin = command.url.split('/').take(3).collect::<Vec<_>>().join("/");
    let own = format!("Origin: {origin}\r\nContent-Type: application/json\r\n");
    let load = format!("{}load", command.url);
    for headers in [
        String::new(),
        own.replace("Origin", "X-Origin"),
        own.replace(&origin, "null"),
        own.replace("application/json", "text/plain"),
    ] {
        let (head, _) = send(&load, "POST", &headers, "{}").await;
        assert!(head.starts_with("http/1.1 403"), "{headers}: {head}");
    }
    let post = async |path: &str, body: &Value| {
        let url = format!("{}{path}", command.url);
        send(&url, "POST", &own, &body.to_string()).await
    };
    let (_, loaded) = post("load", &json!({"theme": "dark", "locale": "x".repeat(65)})).await;
    assert_eq!(loaded, r#"{"load":1,"border":true}"#);
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "ui/initialize",
        "params": {"appInfo": {"name": "a", "version": "1"}, "appCapabilities": {}, "protocolVersion": "2026-01-26"}});
    let (head, _) = post("message?load=1", &initialize).await;
    assert!(head.starts_with("http/1.1 204"), "{head}");
    let (_, items) = get(&format!("{}next?load=1", command.url)).await;
    let items: Value = serde_json::from_str(&items).expect("JSON");
    let context = &items[0]["message"]["result"]["hostContext"];
    assert_eq!(context["theme"], "dark");
    assert_eq!(context.get("locale"), None);
    // Another page replaces the first one.
    post("load", &json!({})).await;
    for (method, path) in [("POST", "message?load=1"), ("GET", "next?load=1")] {
        let url = format!("{}{path}", command.url);
        let (head, _) = send(&url, method, &own, &initialize.to_string()).await;
        assert!(head.starts_with("http/1.1 410"), "{path}: {head}");
    }
    let large = json!("a".repeat(5 * 1024 * 1024));
    let (head, _) = post("message?load=2", &large).await;
    assert!(head.starts_with("http/1.1 413"), "{head}");
}

#[tokio::test]
async fn tools_without_a_view_are_named() {
    let server = SmallServer::start(clock()).await;
    let shown = run(&["tools", server.url(), "clock"]).await.ok();
    assert!(shown.contains("view: ui://clock/face"), "{shown}");
    let check = async |tool: &str, expected: &str| {
        let stderr = run(&["view", "open", server.url(), tool]).await.failed(4);
        assert!(stderr.contains(expected), "{stderr}");
    };
    check("plain", "tool `plain` has no view").await;
    check("broken", "the MIME type of `ui://broken` is absent").await;
    check("clokc", "has no tool `clokc`").await;
}
