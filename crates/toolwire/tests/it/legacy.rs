//! The four revisions that open with `initialize`: the handshake, and which methods each of them has.

use serde_json::{Value, json};
use toolwire::{ProtocolVersion, RequestContext, Server, ToolHandler};

use crate::legacy_server::{LEGACY, rich_server};
use crate::peer::{Peer, answer, legacy, modern, notification};

/// The parameters of an `initialize` that asks for this version.
fn opening(version: &Value) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "peer", "version": "1"},
    })
}

async fn check_negotiation(server: &Server, asked: &str, expected: &str) {
    let mut peer = Peer::connect(server);
    let result = peer
        .result_of(legacy(1, "initialize", opening(&json!(asked))))
        .await;
    assert_eq!(result["protocolVersion"], expected, "asked for {asked}");
}

#[tokio::test]
async fn initialize_answers_with_the_version_asked_for_or_the_newest_legacy_one() {
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
async fn a_server_of_fewer_versions_offers_the_newest_legacy_one_it_has() {
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
async fn a_modern_server_refuses_initialize_and_names_its_versions() {
    let server = rich_server().with_versions([ProtocolVersion::V2026_07_28]);
    let mut peer = Peer::connect(&server);
    let error = peer
        .refusal_of(
            legacy(1, "initialize", opening(&json!("2025-11-25"))),
            -32022,
        )
        .await;
    assert_eq!(
        error["data"],
        json!({"supported": ["2026-07-28"], "requested": "2025-11-25"})
    );
}

#[tokio::test]
async fn the_result_of_initialize_says_what_the_revision_knows() {
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
async fn a_server_without_instructions_sends_none() {
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
async fn a_failed_initialize_leaves_nothing_behind() {
    let client = json!({"name": "peer", "version": "1"});
    for params in [
        json!({"capabilities": {}, "clientInfo": client}),
        opening(&json!(20250618)),
        opening(&json!(null)),
        opening(&json!("")),
        opening(&json!(["2025-06-18"])),
        json!({"protocolVersion": "2025-06-18", "capabilities": [], "clientInfo": client}),
        json!({"protocolVersion": "2025-06-18", "clientInfo": client}),
        json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": 1}}),
    ] {
        let mut peer = Peer::connect(&rich_server());
        peer.refusal_of(legacy(1, "initialize", params), -32602)
            .await;
        // No version was agreed on, so nothing but `ping` is understood yet...
        peer.send(notification("notifications/initialized", json!({})))
            .await;
        peer.refusal_of(legacy(2, "tools/list", json!({})), -32602)
            .await;
        peer.send(legacy(3, "ping", json!({}))).await;
        peer.expect(answer(3, json!({}))).await;
        // ... and another attempt may ask for another version.
        let result = peer.initialize("2024-11-05").await;
        assert_eq!(result["protocolVersion"], "2024-11-05");
    }
}

#[tokio::test]
async fn a_second_initialize_is_refused_and_changes_nothing() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        for other in ["2024-11-05", "2025-11-25", "2026-07-28"] {
            peer.refusal_of(legacy(7, "initialize", opening(&json!(other))), -32600)
                .await;
        }
        let tools = peer.result_of(legacy(8, "tools/list", json!({}))).await;
        let has_title = tools["tools"][0].get("title").is_some();
        assert_eq!(has_title, matches!(version, "2025-06-18" | "2025-11-25"));
    }
}

#[tokio::test]
async fn a_second_initialize_does_not_change_what_the_client_can_do() {
    let can_sample = ToolHandler::typed(
        "can_sample",
        async |ctx: RequestContext, _: serde_json::Map<String, Value>| {
            ctx.client_capabilities().sampling.is_some()
        },
    );
    let mut peer = Peer::connect(&Server::new("s", "1").tool(can_sample));
    peer.initialize_with("2025-06-18", json!({"sampling": {}}))
        .await;
    peer.refusal_of(
        legacy(1, "initialize", opening(&json!("2025-06-18"))),
        -32600,
    )
    .await;
    let result = peer
        .result_of(legacy(2, "tools/call", json!({"name": "can_sample"})))
        .await;
    assert_eq!(result["content"][0]["text"], "true");
}

#[tokio::test]
async fn ping_is_answered_before_during_and_after_the_handshake() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.send(legacy("before", "ping", json!({}))).await;
        peer.expect(answer("before", json!({}))).await;
        peer.result_of(legacy(1, "initialize", opening(&json!(version))))
            .await;
        peer.send(legacy("between", "ping", json!({}))).await;
        peer.expect(answer("between", json!({}))).await;
        peer.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        peer.send(r#"{"jsonrpc":"2.0","id":"after","method":"ping"}"#)
            .await;
        peer.expect(answer("after", json!({}))).await;
    }
}

#[tokio::test]
async fn requests_before_initialize_are_told_what_to_do() {
    let mut peer = Peer::connect(&rich_server());
    let error = peer
        .refusal_of(legacy(1, "tools/list", json!({})), -32602)
        .await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("initialize"), "{message}");
    assert!(message.contains("2025-11-25"), "{message}");
}

#[tokio::test]
async fn a_server_may_insist_on_the_initialized_notification() {
    let mut peer = Peer::connect(&rich_server().with_strict_initialization());
    peer.result_of(legacy(1, "initialize", opening(&json!("2025-06-18"))))
        .await;
    peer.refusal_of(legacy(2, "tools/list", json!({})), -32600)
        .await;
    peer.result_of(legacy(3, "ping", json!({}))).await;
    peer.send(notification("notifications/initialized", json!({})))
        .await;
    peer.result_of(legacy(4, "tools/list", json!({}))).await;
}

#[tokio::test]
async fn by_default_requests_are_served_before_the_initialized_notification() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.result_of(legacy(1, "initialize", opening(&json!(version))))
            .await;
        peer.result_of(legacy(2, "tools/list", json!({}))).await;
    }
}

/// A good request for every client request of the legacy revisions.
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
            // Servers ask these, clients do not.
            "sampling/createMessage",
            "elicitation/create",
            "roots/list",
            // Notifications are no requests.
            "notifications/initialized",
            "notifications/cancelled",
            // Nobody's.
            "tools/List",
            "tools",
            "",
        ] {
            peer.refusal_of(legacy(1, method, json!({"notifications": {}})), -32601)
                .await;
        }
    }
}

#[tokio::test]
async fn what_is_not_registered_is_not_offered() {
    for version in LEGACY {
        let mut peer = Peer::connect(&Server::new("bare", "1"));
        peer.initialize(version).await;
        for (method, params) in every_method() {
            let request = legacy(1, method, params);
            // 2024-11-05 has no capability for completion, so the method is there and the prompt is not.
            let code = match (method, version) {
                ("completion/complete", "2024-11-05") => -32602,
                _ => -32601,
            };
            match method {
                "ping" => peer.result_of(request).await,
                _ => peer.refusal_of(request, code).await,
            };
        }
    }
}

#[tokio::test]
async fn each_capability_stands_in_front_of_its_methods() {
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
            peer.refusal_of(legacy(1, absent, params), -32601).await;
        }
    }
}

#[tokio::test]
async fn missing_things_are_refused_with_the_codes_of_the_revisions() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        let check = async |peer: &mut Peer, method: &str, params: Value, code: i64| {
            peer.refusal_of(legacy(1, method, params), code).await
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
async fn a_modern_request_is_served_beside_a_legacy_handshake() {
    let mut peer = Peer::connect(&rich_server());
    peer.initialize("2024-11-05").await;
    let modern = peer.result_of(modern(1, "tools/list", json!({}))).await;
    assert_eq!(modern["resultType"], "complete");
    let legacy = peer.result_of(legacy(2, "tools/list", json!({}))).await;
    assert_eq!(legacy.get("resultType"), None);
    assert_eq!(legacy["tools"][0].get("title"), None);
}
