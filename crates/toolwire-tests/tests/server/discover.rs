//! `server/discover`, and the validation of a 2026-07-28 request before its handler runs.

use serde_json::{Value, json};
use toolwire::types::Meta;
use toolwire::{CallToolResult, Server, ToolError};
use toolwire_tests::peer::{
    Peer, call, complete, legacy, modern, modern_meta, plain, result_response, server, text,
};

const VERSIONS: [&str; 5] = [
    "2026-07-28",
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];

#[tokio::test]
async fn discover_returns_server_info_capabilities_and_versions() {
    let server = Server::new("wire", "1.0.0")
        .with_title("Wire")
        .with_instructions("Ask nicely.")
        .with_extension("com.example/extra", json!({"level": 2}))
        .with_logging()
        .tool(plain("idle", |_| async { "idle" }));
    let mut peer = Peer::connect(&server);
    peer.send(modern(1, "server/discover", json!({}))).await;
    peer.expect(result_response(
        1,
        json!({
            "resultType": "complete",
            "supportedVersions": VERSIONS,
            "capabilities": {
                "tools": {"listChanged": true},
                "logging": {},
                "extensions": {"com.example/extra": {"level": 2}},
            },
            "instructions": "Ask nicely.",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {
                "io.modelcontextprotocol/serverInfo":
                    {"name": "wire", "title": "Wire", "version": "1.0.0"},
            },
        }),
    ))
    .await;
}

#[tokio::test]
async fn discover_works_on_an_empty_server() {
    let mut peer = Peer::connect(&server());
    let result = peer
        .result_of(modern(1, "server/discover", json!({})))
        .await;
    assert_eq!(result["capabilities"], json!({}));
    assert_eq!(result.get("instructions"), None);
}

#[tokio::test]
async fn only_served_versions_are_listed() {
    let modern_only = server().with_versions([toolwire::ProtocolVersion::V2026_07_28]);
    let mut peer = Peer::connect(&modern_only);
    let result = peer
        .result_of(modern(1, "server/discover", json!({})))
        .await;
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"}});
    let error = peer.error_of(legacy(2, "initialize", params), -32022).await;
    assert_eq!(
        error["data"],
        json!({"supported": ["2026-07-28"], "requested": "2025-11-25"})
    );
}

#[tokio::test]
async fn invalid_meta_is_rejected() {
    let mut peer = Peer::connect(&server().tool(plain("idle", |_| async { "idle" })));
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let cases = [
        // `_meta`, the error code, and a word that the message must contain.
        (json!({}), -32602, version),
        (json!({version: "2026-07-28"}), -32602, capabilities),
        (
            json!({version: "2026-07-28", capabilities: null}),
            -32602,
            capabilities,
        ),
        (
            json!({version: "2026-07-28", capabilities: []}),
            -32602,
            capabilities,
        ),
        (
            json!({version: 20260728, capabilities: {}}),
            -32602,
            version,
        ),
        // `_meta` is validated before the version.
        (json!({version: "2099-01-01"}), -32602, capabilities),
        (
            json!({version: "2026-07-28", capabilities: {},
                "io.modelcontextprotocol/clientInfo": "me"}),
            -32602,
            "clientInfo",
        ),
        (
            json!({version: "2026-07-28", capabilities: {},
                "io.modelcontextprotocol/logLevel": "loud"}),
            -32602,
            "logLevel",
        ),
        (
            json!({version: "2026-07-28", capabilities: {}, "progressToken": 1.5}),
            -32602,
            "progressToken",
        ),
        (
            json!({version: "2026-07-28", capabilities: {"roots": 1}}),
            -32602,
            "capabilities",
        ),
    ];
    for (meta, code, word) in cases {
        let request = legacy(1, "tools/list", json!({"_meta": meta}));
        let error = peer.error_of(request.clone(), code).await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(word), "{request}: {message}");
    }
}

#[tokio::test]
async fn request_without_client_info_is_accepted() {
    let mut peer = Peer::connect(&server().tool(plain("idle", |_| async { "idle" })));
    let mut request = call(1, "idle", json!({}));
    request["params"]["_meta"]
        .as_object_mut()
        .and_then(|meta| meta.remove("io.modelcontextprotocol/clientInfo"))
        .expect("`call` adds the client info");
    peer.send(request).await;
    peer.expect(complete(1, text("idle"))).await;
}

#[tokio::test]
async fn unsupported_version_is_rejected_with_the_supported_ones() {
    let mut peer = Peer::connect(&server());
    for version in ["2099-01-01", "2025-11-25", "2024-11-05", "draft", ""] {
        let mut request = modern(7, "server/discover", json!({}));
        request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
        let error = peer.error_of(request, -32022).await;
        assert_eq!(
            error["data"],
            json!({"supported": VERSIONS, "requested": version})
        );
    }
}

#[tokio::test]
async fn removed_methods_are_unknown() {
    let server = server()
        .with_logging()
        .with_resource_subscriptions()
        .resource(toolwire::ResourceHandler::new("a:b", "b", |_, _| async {
            "text"
        }));
    let mut peer = Peer::connect(&server);
    let check = async |peer: &mut Peer, method: &str, params: Value| {
        peer.error_of(modern(1, method, params), -32601).await
    };
    let params = json!({"protocolVersion": "2026-07-28", "capabilities": {},
        "clientInfo": {"name": "peer", "version": "1"}});
    let error = check(&mut peer, "initialize", params).await;
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("2026-07-28"), "{message}");
    check(&mut peer, "ping", json!({})).await;
    check(&mut peer, "logging/setLevel", json!({"level": "info"})).await;
    check(&mut peer, "resources/subscribe", json!({"uri": "a:b"})).await;
    check(&mut peer, "resources/unsubscribe", json!({"uri": "a:b"})).await;
    check(&mut peer, "tasks/list", json!({})).await;
    // Methods that only servers send, a notification, and a method that never existed.
    check(&mut peer, "roots/list", json!({})).await;
    check(&mut peer, "sampling/createMessage", json!({})).await;
    check(&mut peer, "notifications/cancelled", json!({})).await;
    check(&mut peer, "no/such/method", json!({})).await;
    // Methods that this server does not offer.
    check(&mut peer, "tools/list", json!({})).await;
    check(&mut peer, "prompts/get", json!({"name": "x"})).await;
    check(&mut peer, "tasks/get", json!({"taskId": "x"})).await;
}

#[tokio::test]
async fn results_carry_server_info_unless_disabled() {
    let own_meta = || {
        plain("own", |_| async {
            CallToolResult::text("own").with_meta(Meta::new().with("com.example/k", json!(1)))
        })
    };
    let info = json!({"name": "wire", "version": "1.0.0"});

    let mut peer = Peer::connect(&Server::new("wire", "1.0.0").tool(own_meta()));
    let result = peer.result_of(call(1, "own", json!({}))).await;
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["_meta"],
        json!({"com.example/k": 1, "io.modelcontextprotocol/serverInfo": info})
    );

    let mut peer = Peer::connect(&server().tool(own_meta()));
    let result = peer.result_of(call(1, "own", json!({}))).await;
    assert_eq!(result["_meta"], json!({"com.example/k": 1}));
}

#[tokio::test]
async fn legacy_results_carry_no_modern_members() {
    let named = Server::new("wire", "1.0.0").tool(plain("idle", |_| async { "idle" }));
    let mut peer = Peer::connect(&named);
    peer.initialize("2025-11-25").await;
    let params = json!({"name": "idle", "arguments": {}});
    peer.send(legacy(1, "tools/call", params)).await;
    peer.expect(result_response(1, text("idle"))).await;
    peer.send(legacy(2, "tools/list", json!({}))).await;
    peer.expect(result_response(
        2,
        json!({"tools": [{"name": "idle", "inputSchema": {"type": "object"}}]}),
    ))
    .await;
}

#[tokio::test]
async fn errors_carry_no_server_info() {
    let failing = plain("fail", |_| async {
        let error = toolwire::ErrorObject::new(7, "own code").with_data(json!({"a": 1}));
        Err::<String, _>(ToolError::rpc(error))
    });
    let mut peer = Peer::connect(&Server::new("wire", "1.0.0").tool(failing));
    peer.send(call(1, "fail", json!({}))).await;
    peer.expect(json!({
        "jsonrpc": "2.0", "id": 1,
        "error": {"code": 7, "message": "own code", "data": {"a": 1}},
    }))
    .await;
}

#[tokio::test]
async fn response_id_has_the_json_type_of_the_request_id() {
    let mut peer = Peer::connect(&server().tool(plain("idle", |_| async { "idle" })));
    for id in [
        json!(0),
        json!(-1),
        json!("1"),
        json!(""),
        json!("ä\"\\"),
        json!(9_007_199_254_740_991_i64),
    ] {
        peer.send(call(id.clone(), "idle", json!({}))).await;
        peer.expect(complete(id, text("idle"))).await;
    }
}

#[test]
fn test_helper_adds_the_required_meta() {
    let request = modern(1, "x", json!({"_meta": {"progressToken": 3}}));
    let mut expected = modern_meta(json!({}));
    expected.insert("progressToken".to_owned(), json!(3));
    assert_eq!(request["params"]["_meta"], Value::Object(expected));
}
