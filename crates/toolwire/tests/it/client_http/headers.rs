//! The headers of the modern era: they repeat what the body says.

use serde_json::{Value, json};
use toolwire::{Client, ProtocolVersion};

use super::double::Double;
use super::fake::{Fake, builder};
use super::script::{Reply, Seen, modern};
use crate::peer::within;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

fn check_common(seen: &Seen) {
    assert_eq!(
        seen.header("mcp-protocol-version"),
        Some("2026-07-28"),
        "{seen:?}"
    );
    assert_eq!(
        seen.header("accept"),
        Some("application/json, text/event-stream")
    );
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("mcp-session-id"), None);
}

#[tokio::test]
async fn every_request_names_its_version_and_method() {
    let server = Fake::start(modern).await;
    let client = server.connect().await.unwrap();
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    within(client.list_tools().into_future()).await.unwrap();
    let all = server.record.all();
    assert_eq!(all.len(), 3);
    for seen in &all {
        check_common(seen);
        assert_eq!(seen.header("mcp-method"), Some(seen.method()));
        let meta = &seen.body["params"]["_meta"];
        assert_eq!(meta[VERSION], "2026-07-28");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "test");
    }
}

#[tokio::test]
async fn notifications_name_their_version_too() {
    let server = Double::new(modern);
    let client = server.connect().await.unwrap();
    client.notify("notifications/acme", None).await.unwrap();
    let sent = server.record.nth("POST", "notifications/acme", 0).await;
    assert_eq!(sent.header("mcp-protocol-version"), Some("2026-07-28"));
}

#[tokio::test]
async fn names_go_into_a_header_that_can_carry_anything() {
    let server = Double::new(|seen| match seen.method() {
        "resources/read" => seen.answer(json!({"resultType": "complete", "contents": []})),
        "prompts/get" => seen.answer(json!({"resultType": "complete", "messages": []})),
        _ => modern(seen),
    });
    let client = server.connect().await.unwrap();
    let check = async |name: &str, expected: &str| {
        client.call_tool(name, json!({})).await.unwrap();
        client.read_resource(name).await.unwrap();
        client.get_prompt(name, [("a", "b")]).await.unwrap();
        for method in ["tools/call", "resources/read", "prompts/get"] {
            let seen = server.record.of("POST", method).pop().unwrap();
            assert_eq!(seen.header("mcp-name"), Some(expected), "{method} {name:?}");
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
fn mirroring(seen: &Seen) -> Reply {
    match seen.method() {
        "tools/list" => seen.answer(json!({"resultType": "complete", "ttlMs": 0, "tools": [{
            "name": "act",
            "inputSchema": {"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "count": {"type": "integer", "x-mcp-header": "Count"},
                "dry": {"type": "boolean", "x-mcp-header": "Dry"},
                "other": {"type": "string"},
            }},
        }]})),
        _ => modern(seen),
    }
}

async fn params_of(client: &Client, server: &Double, arguments: Value) -> Vec<(String, String)> {
    client.call_tool("act", arguments).await.unwrap();
    let seen = server.record.of("POST", "tools/call").pop().unwrap();
    let mut params: Vec<_> = seen.headers.into_iter().collect();
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
async fn a_mismatch_is_met_with_a_fresh_list_and_one_more_attempt() {
    let server = Double::new(|seen| match seen.method() {
        "tools/call" if seen.header("mcp-param-region") != Some("eu") => seen.refuse(
            400,
            json!({"code": -32020, "message": "Mcp-Param-Region is missing"}),
        ),
        _ => mirroring(seen),
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
    // The list was read anew and says nothing else, so the same request would meet the same refusal.
    assert_eq!(server.record.of("POST", "tools/list").len(), 2);
    assert_eq!(server.record.of("POST", "tools/call").len(), 3);
}

#[tokio::test]
async fn headers_of_the_user_never_replace_those_of_the_protocol() {
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
    for seen in server.record.all() {
        check_common(&seen);
        assert_eq!(seen.header("mcp-method"), Some(seen.method()));
        assert_eq!(seen.header("x-own"), Some("mine"));
    }
}
