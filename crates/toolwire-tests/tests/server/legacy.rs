//! The four revisions with an `initialize` handshake: the handshake, and the methods of each revision.

use serde_json::{Value, json};
use toolwire::{ProtocolVersion, RequestContext, Server, ToolHandler};
use toolwire_tests::legacy_server::{LEGACY, rich_server};
use toolwire_tests::peer::{Peer, legacy, modern, notification, result_response};

/// Returns the parameters of an `initialize` request for this version.
fn initialize_params(version: &Value) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "peer", "version": "1"},
    })
}

async fn check_negotiation(server: &Server, requested: &str, expected: &str) {
    let mut peer = Peer::connect(server);
    let result = peer
        .result_of(legacy(
            1,
            "initialize",
            initialize_params(&json!(requested)),
        ))
        .await;
    assert_eq!(result["protocolVersion"], expected, "requested {requested}");
}

#[tokio::test]
async fn initialize_negotiates_the_requested_or_the_newest_legacy_version() {
    let server = rich_server();
    for version in LEGACY {
        check_negotiation(&server, version, version).await;
    }
    for unknown in [
        "2026-07-28",
        "1900-01-01",
        "2099-12-31",
        "x",
        "2025-11-25 ",
        "DRAFT-2026",
    ] {
        check_negotiation(&server, unknown, "2025-11-25").await;
    }
}

#[tokio::test]
async fn server_with_fewer_versions_negotiates_its_newest_legacy_version() {
    let server = rich_server().with_versions([
        ProtocolVersion::V2024_11_05,
        ProtocolVersion::V2025_06_18,
        ProtocolVersion::V2026_07_28,
    ]);
    check_negotiation(&server, "2024-11-05", "2024-11-05").await;
    check_negotiation(&server, "2025-03-26", "2025-06-18").await;
    check_negotiation(&server, "2025-11-25", "2025-06-18").await;
    check_negotiation(&server, "2026-07-28", "2025-06-18").await;
}

#[tokio::test]
async fn modern_server_rejects_initialize_and_lists_its_versions() {
    let server = rich_server().with_versions([ProtocolVersion::V2026_07_28]);
    let mut peer = Peer::connect(&server);
    let error = peer
        .error_of(
            legacy(1, "initialize", initialize_params(&json!("2025-11-25"))),
            -32022,
        )
        .await;
    assert_eq!(
        error["data"],
        json!({"supported": ["2026-07-28"], "requested": "2025-11-25"})
    );
}

#[tokio::test]
async fn initialize_result_has_the_members_of_the_revision() {
    let check = async |version: &str, server_info: Value, completions: bool| {
        let mut capabilities = json!({
            "logging": {},
            "prompts": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "tools": {"listChanged": true},
        });
        if completions {
            capabilities["completions"] = json!({});
        }
        let mut peer = Peer::connect(&rich_server());
        let result = peer.initialize(version).await;
        let expected = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": server_info,
            "instructions": "Use it well.",
        });
        assert_eq!(result, expected);
    };
    let plain = json!({"name": "rich", "version": "1.2.3"});
    check("2024-11-05", plain.clone(), false).await;
    check("2025-03-26", plain, true).await;
    check(
        "2025-06-18",
        json!({"name": "rich", "title": "Rich", "version": "1.2.3"}),
        true,
    )
    .await;
    check(
        "2025-11-25",
        json!({
            "name": "rich",
            "title": "Rich",
            "version": "1.2.3",
            "description": "Has everything.",
            "icons": [{"src": "https://example.test/i.png", "mimeType": "image/png"}],
            "websiteUrl": "https://example.test",
        }),
        true,
    )
    .await;
}

#[tokio::test]
async fn empty_server_sends_no_instructions_or_capabilities() {
    for version in LEGACY {
        let mut peer = Peer::connect(&Server::new("bare", "1"));
        let result = peer.initialize(version).await;
        let expected = json!({
            "protocolVersion": version,
            "capabilities": {},
            "serverInfo": {"name": "bare", "version": "1"},
        });
        assert_eq!(result, expected);
    }
}

#[tokio::test]
async fn failed_initialize_can_be_repeated() {
    let client = json!({"name": "peer", "version": "1"});
    for params in [
        json!({"capabilities": {}, "clientInfo": client}),
        initialize_params(&json!(20250618)),
        initialize_params(&json!(null)),
        initialize_params(&json!("")),
        initialize_params(&json!(["2025-06-18"])),
        json!({"protocolVersion": "2025-06-18", "capabilities": [], "clientInfo": client}),
        json!({"protocolVersion": "2025-06-18", "clientInfo": client}),
        json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": 1}}),
    ] {
        let mut peer = Peer::connect(&rich_server());
        peer.error_of(legacy(1, "initialize", params), -32602).await;
        // No version is negotiated, so only `ping` is served...
        peer.send(notification("notifications/initialized", json!({})))
            .await;
        peer.error_of(legacy(2, "tools/list", json!({})), -32602)
            .await;
        peer.send(legacy(3, "ping", json!({}))).await;
        peer.expect(result_response(3, json!({}))).await;
        // ... and another attempt may request another version.
        let result = peer.initialize("2024-11-05").await;
        assert_eq!(result["protocolVersion"], "2024-11-05");
    }
}

#[tokio::test]
async fn second_initialize_gets_the_first_result_and_does_not_change_the_version() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        let first = peer.initialize(version).await;
        for other in ["2024-11-05", "2025-11-25", "2026-07-28"] {
            let again = legacy(7, "initialize", initialize_params(&json!(other)));
            assert_eq!(peer.result_of(again).await, first);
            peer.send(notification("notifications/initialized", json!({})))
                .await;
        }
        let tools = peer.result_of(legacy(8, "tools/list", json!({}))).await;
        let has_title = tools["tools"][0].get("title").is_some();
        assert_eq!(has_title, matches!(version, "2025-06-18" | "2025-11-25"));
    }
}

#[tokio::test]
async fn second_initialize_does_not_change_the_client_capabilities() {
    let can_sample = ToolHandler::typed(
        "can_sample",
        async |ctx: RequestContext, _: serde_json::Map<String, Value>| {
            ctx.client_capabilities().sampling.is_some()
        },
    );
    let mut peer = Peer::connect(&Server::new("s", "1").tool(can_sample));
    peer.initialize_with("2025-06-18", json!({"sampling": {}}))
        .await;
    peer.result_of(legacy(
        1,
        "initialize",
        initialize_params(&json!("2025-06-18")),
    ))
    .await;
    let result = peer
        .result_of(legacy(2, "tools/call", json!({"name": "can_sample"})))
        .await;
    assert_eq!(result["content"][0]["text"], "true");
}

#[tokio::test]
async fn ping_is_served_before_during_and_after_the_handshake() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.send(legacy("before", "ping", json!({}))).await;
        peer.expect(result_response("before", json!({}))).await;
        peer.result_of(legacy(1, "initialize", initialize_params(&json!(version))))
            .await;
        peer.send(legacy("between", "ping", json!({}))).await;
        peer.expect(result_response("between", json!({}))).await;
        peer.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        peer.send(r#"{"jsonrpc":"2.0","id":"after","method":"ping"}"#)
            .await;
        peer.expect(result_response("after", json!({}))).await;
    }
}

#[tokio::test]
async fn error_before_initialize_names_initialize() {
    let mut peer = Peer::connect(&rich_server());
    let error = peer
        .error_of(legacy(1, "tools/list", json!({})), -32602)
        .await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("initialize"), "{message}");
    assert!(message.contains("2025-11-25"), "{message}");
}

#[tokio::test]
async fn strict_initialization_requires_the_initialized_notification() {
    let mut peer = Peer::connect(&rich_server().with_strict_initialization());
    peer.result_of(legacy(
        1,
        "initialize",
        initialize_params(&json!("2025-06-18")),
    ))
    .await;
    peer.error_of(legacy(2, "tools/list", json!({})), -32600)
        .await;
    peer.result_of(legacy(3, "ping", json!({}))).await;
    peer.send(notification("notifications/initialized", json!({})))
        .await;
    peer.result_of(legacy(4, "tools/list", json!({}))).await;
}

#[tokio::test]
async fn requests_before_initialized_are_served_by_default() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.result_of(legacy(1, "initialize", initialize_params(&json!(version))))
            .await;
        peer.result_of(legacy(2, "tools/list", json!({}))).await;
    }
}

/// Returns a valid request for every client method of the legacy revisions.
fn every_method() -> Vec<(&'static str, Value)> {
    let completion = json!({
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "name", "value": "a"},
    });
    vec![
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "numbers"})),
        ("prompts/list", json!({})),
        (
            "prompts/get",
            json!({"name": "greet", "arguments": {"name": "x"}}),
        ),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "notes://one"})),
        ("resources/subscribe", json!({"uri": "notes://one"})),
        ("resources/unsubscribe", json!({"uri": "notes://one"})),
        ("completion/complete", completion),
        ("logging/setLevel", json!({"level": "error"})),
    ]
}

#[tokio::test]
async fn every_method_of_the_revisions_is_served() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        for (method, params) in every_method() {
            let result = peer.result_of(legacy(method, method, params)).await;
            for modern_only in ["resultType", "ttlMs", "cacheScope", "_meta"] {
                assert_eq!(
                    result.get(modern_only),
                    None,
                    "{version} {method}: {modern_only}"
                );
            }
        }
    }
}

#[tokio::test]
async fn lists_need_no_params() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        for list in [
            "tools/list",
            "prompts/list",
            "resources/list",
            "resources/templates/list",
        ] {
            peer.result_of(json!({"jsonrpc": "2.0", "id": 1, "method": list}))
                .await;
        }
    }
}

#[tokio::test]
async fn methods_of_other_revisions_are_unknown() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        for method in [
            // 2026-07-28.
            "server/discover",
            "subscriptions/listen",
            "tasks/update",
            // 2025-11-25, but this server has no tasks.
            "tasks/get",
            "tasks/list",
            "tasks/cancel",
            "tasks/result",
            // Sent by servers only.
            "sampling/createMessage",
            "elicitation/create",
            "roots/list",
            // Notifications, sent as requests.
            "notifications/initialized",
            "notifications/cancelled",
            // Not defined in any revision.
            "tools/List",
            "tools",
            "",
        ] {
            peer.error_of(legacy(1, method, json!({"notifications": {}})), -32601)
                .await;
        }
    }
}

#[tokio::test]
async fn methods_of_features_that_are_not_registered_are_unknown() {
    for version in LEGACY {
        let mut peer = Peer::connect(&Server::new("bare", "1"));
        peer.initialize(version).await;
        for (method, params) in every_method() {
            let request = legacy(1, method, params);
            // 2024-11-05 has no capability for completion: the method is always served, but the prompt is unknown.
            let code = match (method, version) {
                ("completion/complete", "2024-11-05") => -32602,
                _ => -32601,
            };
            match method {
                "ping" => peer.result_of(request).await,
                _ => peer.error_of(request, code).await,
            };
        }
    }
}

#[tokio::test]
async fn methods_without_their_capability_are_unknown() {
    let quiet = ToolHandler::typed(
        "quiet",
        async |_: RequestContext, _: serde_json::Map<String, Value>| "quiet",
    );
    let note = toolwire::ResourceHandler::new(
        "notes://one",
        "one",
        async |_: RequestContext, _: String| "1",
    );
    // Tools and resources, but neither prompts, logging, subscriptions nor completions.
    let server = Server::new("some", "1").tool(quiet).resource(note);
    for version in LEGACY {
        let mut peer = Peer::connect(&server);
        let result = peer.initialize(version).await;
        assert_eq!(
            result["capabilities"],
            json!({"tools": {"listChanged": true}, "resources": {"listChanged": true}})
        );
        for offered in ["tools/list", "resources/list", "resources/templates/list"] {
            peer.result_of(legacy(1, offered, json!({}))).await;
        }
        for absent in [
            "prompts/list",
            "prompts/get",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
        ] {
            let params = json!({"uri": "notes://one", "level": "info", "name": "x"});
            peer.error_of(legacy(1, absent, params), -32601).await;
        }
    }
}

#[tokio::test]
async fn unknown_names_are_rejected_with_the_codes_of_the_revision() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        let check = async |peer: &mut Peer, method: &str, params: Value, code: i64| {
            peer.error_of(legacy(1, method, params), code).await
        };
        let missing = json!({"uri": "notes://missing"});
        let error = check(&mut peer, "resources/read", missing.clone(), -32002).await;
        assert_eq!(error["data"], missing);
        check(&mut peer, "resources/subscribe", missing, -32002).await;
        check(&mut peer, "tools/call", json!({"name": "missing"}), -32602).await;
        check(&mut peer, "prompts/get", json!({"name": "missing"}), -32602).await;
        check(&mut peer, "prompts/get", json!({"name": "greet"}), -32602).await;
        check(&mut peer, "tools/list", json!({"cursor": "forged"}), -32602).await;
        check(
            &mut peer,
            "logging/setLevel",
            json!({"level": "loud"}),
            -32602,
        )
        .await;
        check(&mut peer, "resources/read", json!({}), -32602).await;
        check(&mut peer, "resources/subscribe", json!({}), -32602).await;
        check(&mut peer, "tools/call", json!({}), -32602).await;
        check(&mut peer, "prompts/get", json!({}), -32602).await;
    }
}

#[tokio::test]
async fn modern_request_is_served_after_a_legacy_handshake() {
    let mut peer = Peer::connect(&rich_server());
    peer.initialize("2024-11-05").await;
    let modern = peer.result_of(modern(1, "tools/list", json!({}))).await;
    assert_eq!(modern["resultType"], "complete");
    let legacy = peer.result_of(legacy(2, "tools/list", json!({}))).await;
    assert_eq!(legacy.get("resultType"), None);
    assert_eq!(legacy["tools"][0].get("title"), None);
}
