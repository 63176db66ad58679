//! The headers of modern requests, which repeat parts of the body.

use serde_json::{Value, json};
use toolwire::{Client, ProtocolVersion};
use toolwire_tests::peer::within;

use super::double::Double;
use super::fake::{Fake, builder};
use super::script::{RecordedRequest, Reply, modern};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

fn check_common(request: &RecordedRequest) {
    assert_eq!(
        request.header("mcp-protocol-version"),
        Some("2026-07-28"),
        "{request:?}"
    );
    assert_eq!(
        request.header("accept"),
        Some("application/json, text/event-stream")
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("mcp-session-id"), None);
}

#[tokio::test]
async fn every_request_has_version_and_method_headers() {
    let server = Fake::start(modern).await;
    let client = server.connect().await.unwrap();
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    within(client.list_tools().into_future()).await.unwrap();
    let all = server.record.all();
    assert_eq!(all.len(), 3);
    for request in &all {
        check_common(request);
        assert_eq!(request.header("mcp-method"), Some(request.method()));
        let meta = &request.body["params"]["_meta"];
        assert_eq!(meta[VERSION], "2026-07-28");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "test");
    }
}

#[tokio::test]
async fn notification_has_a_version_header() {
    let server = Double::new(modern);
    let client = server.connect().await.unwrap();
    client.notify("notifications/acme", None).await.unwrap();
    let sent = server.record.nth("POST", "notifications/acme", 0).await;
    assert_eq!(sent.header("mcp-protocol-version"), Some("2026-07-28"));
}

#[tokio::test]
async fn name_header_encodes_any_text() {
    let server = Double::new(|request| match request.method() {
        "resources/read" => request.respond(json!({"resultType": "complete", "contents": []})),
        "prompts/get" => request.respond(json!({"resultType": "complete", "messages": []})),
        _ => modern(request),
    });
    let client = server.connect().await.unwrap();
    let check = async |name: &str, expected: &str| {
        client.call_tool(name, json!({})).await.unwrap();
        client.read_resource(name).await.unwrap();
        client.get_prompt(name, [("a", "b")]).await.unwrap();
        for method in ["tools/call", "resources/read", "prompts/get"] {
            let request = server.record.of("POST", method).pop().unwrap();
            assert_eq!(
                request.header("mcp-name"),
                Some(expected),
                "{method} {name:?}"
            );
        }
    };
    check("act", "act").await;
    check("file:///a b", "file:///a b").await;
    check("Grüße", "=?base64?R3LDvMOfZQ==?=").await;
    check("a\r\nx-evil: 1", "=?base64?YQ0KeC1ldmlsOiAx?=").await;
    check(" padded ", "=?base64?IHBhZGRlZCA=?=").await;
    check("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?=").await;
    client.list_tools().await.unwrap();
    assert_eq!(
        server.record.of("POST", "tools/list")[0].header("mcp-name"),
        None
    );
}

/// A server with one tool whose arguments are mirrored.
fn mirroring(request: &RecordedRequest) -> Reply {
    match request.method() {
        "tools/list" => request.respond(json!({"resultType": "complete", "ttlMs": 0, "tools": [{
            "name": "act",
            "inputSchema": {"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "count": {"type": "integer", "x-mcp-header": "Count"},
                "dry": {"type": "boolean", "x-mcp-header": "Dry"},
                "other": {"type": "string"},
            }},
        }]})),
        _ => modern(request),
    }
}

async fn params_of(client: &Client, server: &Double, arguments: Value) -> Vec<(String, String)> {
    client.call_tool("act", arguments).await.unwrap();
    let request = server.record.of("POST", "tools/call").pop().unwrap();
    let mut params: Vec<_> = request.headers.into_iter().collect();
    params.retain(|(name, _)| name.starts_with("mcp-param-"));
    params.sort();
    params
}

#[tokio::test]
async fn annotated_arguments_are_mirrored() {
    let server = Double::new(mirroring);
    let client = server.connect().await.unwrap();
    client.list_tools().await.unwrap();
    let check = async |arguments: Value, expected: &[(&str, &str)]| {
        let params = params_of(&client, &server, arguments).await;
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, value)| (format!("mcp-param-{name}"), (*value).to_owned()))
            .collect();
        assert_eq!(params, expected);
    };
    check(
        json!({"region": "eu", "count": 3, "dry": false, "other": "x"}),
        &[("count", "3"), ("dry", "false"), ("region", "eu")],
    )
    .await;
    check(json!({"region": null}), &[]).await;
    check(json!({}), &[]).await;
    check(
        json!({"region": "Süd"}),
        &[("region", "=?base64?U8O8ZA==?=")],
    )
    .await;
}

#[tokio::test]
async fn header_mismatch_reloads_the_tool_list_and_repeats_the_call_once() {
    let server = Double::new(|request| match request.method() {
        "tools/call" if request.header("mcp-param-region") != Some("eu") => request.reject(
            400,
            json!({"code": -32020, "message": "Mcp-Param-Region is missing"}),
        ),
        _ => mirroring(request),
    });
    let client = server.connect().await.unwrap();
    client
        .call_tool("act", json!({"region": "eu"}))
        .await
        .unwrap();
    assert_eq!(server.record.of("POST", "tools/call").len(), 2);
    assert_eq!(server.record.of("POST", "tools/list").len(), 1);
    let ids = server.record.of("POST", "tools/call");
    assert_ne!(ids[0].body["id"], ids[1].body["id"]);

    let error = client
        .call_tool("act", json!({"region": "us"}))
        .await
        .unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32020);
    // The reloaded list is the same, so the same request would be rejected again.
    assert_eq!(server.record.of("POST", "tools/list").len(), 2);
    assert_eq!(server.record.of("POST", "tools/call").len(), 3);
}

#[tokio::test]
async fn user_headers_do_not_replace_protocol_headers() {
    let server = Double::new(modern);
    let mut builder = builder();
    for (name, value) in [
        ("Mcp-Protocol-Version", "1999-01-01"),
        ("mcp-method", "evil"),
        ("accept", "text/html"),
        ("content-type", "text/plain"),
        ("X-Own", "mine"),
    ] {
        builder = builder.with_header(name, value).unwrap();
    }
    let client = server.connect_with(builder).await.unwrap();
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(client.version(), ProtocolVersion::LATEST);
    for request in server.record.all() {
        check_common(&request);
        assert_eq!(request.header("mcp-method"), Some(request.method()));
        assert_eq!(request.header("x-own"), Some("mine"));
    }
}
