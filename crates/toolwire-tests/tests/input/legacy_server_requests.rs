//! Handlers that send requests to the client while they run: the requests, and the responses that they receive.

use serde_json::{Value, json};
use toolwire::{RequestContext, Server, ToolError, tool};
use toolwire_tests::legacy_server::LEGACY;
use toolwire_tests::peer::{Peer, failed, legacy, result_response, text};
use toolwire_tests::server_requests::{
    all_capabilities, asking_server, call, error_response, name_form, outcome_text,
};

/// Calls a tool, expects its request to the client, sends the response, and expects the result of the tool.
async fn check_server_request(
    version: &str,
    tool: &str,
    server_request: Value,
    response: Value,
    expected: &str,
) {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with(version, all_capabilities()).await;
    peer.send(call("c", tool)).await;
    peer.expect(server_request).await;
    peer.send(result_response(1, response)).await;
    peer.expect(result_response("c", text(expected))).await;
}

#[tokio::test]
async fn form_elicitation_returns_the_user_s_response() {
    let mut schema = name_form();
    let server_request = |schema: &Value| {
        let params = json!({"message": "Who?", "requestedSchema": schema});
        legacy(1, "elicitation/create", params)
    };
    let accepted = json!({"action": "accept", "content": {"name": "Grace"}});
    let expected = r#"{"action":"accept","content":{"name":"Grace"}}"#;
    check_server_request(
        "2025-11-25",
        "form",
        server_request(&schema),
        accepted.clone(),
        expected,
    )
    .await;
    // In 2025-06-18 only boolean fields have defaults.
    schema["properties"]["name"]
        .as_object_mut()
        .unwrap()
        .remove("default");
    check_server_request(
        "2025-06-18",
        "form",
        server_request(&schema),
        accepted,
        expected,
    )
    .await;
    for action in ["decline", "cancel"] {
        check_server_request(
            "2025-06-18",
            "form",
            server_request(&schema),
            json!({"action": action}),
            &format!(r#"{{"action":"{action}"}}"#),
        )
        .await;
    }
}

#[tokio::test]
async fn derived_form_uses_the_schema_of_the_revision() {
    let server_request = |size: Value, extras: Value, required: Value| {
        let params = json!({
            "message": "What?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "count": {"type": "integer", "description": "How many?", "minimum": 0, "maximum": 255},
                    "size": size,
                    "extras": extras,
                    "gift": {"type": "boolean"},
                },
                "required": required,
            },
        });
        legacy(1, "elicitation/create", params)
    };
    let declined = json!({"action": "decline"});
    let expected = r#"{"action":"decline"}"#;
    let rich = server_request(
        json!({
            "type": "string",
            "oneOf": [
                {"const": "Small", "title": "Small one"}, {"const": "Large", "title": "Large one"},
            ],
            "default": "Large",
        }),
        json!({"type": "array", "items": {"type": "string", "enum": ["Milk", "Sugar"]}}),
        json!(["count", "size", "extras"]),
    );
    check_server_request("2025-11-25", "order", rich, declined.clone(), expected).await;
    let plain = server_request(
        json!({
            "type": "string",
            "enum": ["Small", "Large"],
            "enumNames": ["Small one", "Large one"],
        }),
        json!({"type": "string", "enum": ["Milk", "Sugar"]}),
        // Choosing an extra is optional.
        json!(["count", "size"]),
    );
    check_server_request("2025-06-18", "order", plain, declined, expected).await;
}

#[tokio::test]
async fn url_elicitation_has_an_id_in_2025_11_25() {
    let server_request = legacy(
        1,
        "elicitation/create",
        json!({
            "mode": "url",
            "message": "Sign in",
            "url": "https://example.test/sign-in",
            "elicitationId": "visit-1",
        }),
    );
    let accepted = json!({"action": "accept"});
    check_server_request(
        "2025-11-25",
        "visit",
        server_request,
        accepted,
        r#"{"action":"accept"}"#,
    )
    .await;
}

#[tokio::test]
async fn sampling_request_has_the_content_of_the_revision() {
    let one = |content: Value| json!({"role": "user", "content": content});
    let sound = || json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
    let words = |text: &str| json!({"type": "text", "text": text});
    let response = json!({
        "model": "m", "role": "assistant", "content": words("Hi"), "stopReason": "endTurn",
    });
    let check = async |version: &str, tool: &str, messages: Value| {
        let params = json!({"messages": messages, "systemPrompt": "Be kind", "maxTokens": 10});
        let server_request = legacy(1, "sampling/createMessage", params);
        let mut peer = Peer::connect(&asking_server());
        peer.initialize_with(version, all_capabilities()).await;
        peer.send(call("c", tool)).await;
        peer.expect(server_request).await;
        peer.send(result_response(1, response.clone())).await;
        let result = peer.receive().await;
        let received = result["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(received).unwrap(), response);
    };
    let split = |block: Value| json!([one(words("Hello")), one(words("And this")), one(block)]);
    let whole = |block: Value| json!([one(words("Hello")), one(json!([words("And this"), block]))]);
    // 2024-11-05 has no audio content, so a request with audio fails and is not sent without it.
    check("2024-11-05", "ask_model", split(words("Again"))).await;
    check_not_sent(
        "2024-11-05",
        all_capabilities(),
        "ask_model_about_audio",
        -32600,
    )
    .await;
    for version in ["2025-03-26", "2025-06-18"] {
        check(version, "ask_model", split(words("Again"))).await;
        check(version, "ask_model_about_audio", split(sound())).await;
    }
    check("2025-11-25", "ask_model", whole(words("Again"))).await;
    check("2025-11-25", "ask_model_about_audio", whole(sound())).await;
}

#[tokio::test]
async fn sampling_with_tools_is_sent_in_2025_11_25_only() {
    let server_request = legacy(
        1,
        "sampling/createMessage",
        json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": "When?"}}],
            "maxTokens": 5,
            "tools": [{"name": "clock", "inputSchema": {"type": "object"}}],
        }),
    );
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.send(call("c", "ask_model_with_tools")).await;
    peer.expect(server_request).await;
    // A capability that the client's revision does not define has no effect.
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        check_not_sent(version, all_capabilities(), "ask_model_with_tools", -32600).await;
    }
}

#[tokio::test]
async fn roots_list_is_sent_in_every_revision() {
    for version in LEGACY {
        check_server_request(
            version,
            "roots",
            legacy(1, "roots/list", json!({})),
            json!({"roots": [{"uri": "file:///home", "name": "home"}]}),
            r#"{"roots":[{"uri":"file:///home","name":"home"}]}"#,
        )
        .await;
    }
}

#[tokio::test]
async fn client_error_reaches_the_handler() {
    for version in LEGACY {
        let mut peer = Peer::connect(&asking_server());
        peer.initialize_with(version, all_capabilities()).await;
        peer.send(call("c", "ask_model")).await;
        assert_eq!(peer.receive().await["method"], "sampling/createMessage");
        peer.send(error_response(1, -1, "the user said no")).await;
        peer.expect(result_response("c", text("error -1"))).await;
    }
}

#[tokio::test]
async fn handler_may_return_the_client_s_error() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-06-18", all_capabilities()).await;
    peer.send(call("c", "roots_or_fail")).await;
    peer.receive().await;
    peer.send(error_response(1, -32601, "no roots here")).await;
    peer.expect(error_response("c", -32601, "no roots here"))
        .await;
}

#[tokio::test]
async fn invalid_client_response_is_an_error_for_the_handler() {
    for response in [
        json!({}),
        json!({"roots": 7}),
        json!({"roots": [{"name": "no uri"}]}),
    ] {
        let mut peer = Peer::connect(&asking_server());
        peer.initialize_with("2025-06-18", all_capabilities()).await;
        peer.send(call("c", "roots")).await;
        peer.receive().await;
        peer.send(result_response(1, response)).await;
        let received = peer.receive().await;
        let text = received["result"]["content"][0]["text"].as_str().unwrap();
        let unusable = "unreadable: the response to \"roots/list\" is invalid: ";
        assert!(text.starts_with(unusable), "{text}");
        peer.expect_silence().await;
    }
}

/// Calls a tool whose request to the client must not be sent, and expects that the handler receives an error.
async fn check_not_sent(version: &str, capabilities: Value, tool: &str, code: i64) {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with(version, capabilities.clone()).await;
    peer.send(call("c", tool)).await;
    let received = peer.receive().await;
    let expected = result_response("c", text(&format!("error {code}")));
    assert_eq!(received, expected, "{version} {tool} {capabilities}");
}

#[tokio::test]
async fn server_request_without_the_client_capability_is_not_sent() {
    for version in LEGACY {
        for tool in ["ask_model", "roots", "form", "order", "visit"] {
            check_not_sent(version, json!({}), tool, -32021).await;
        }
    }
    let form_only = || json!({"elicitation": {}});
    check_not_sent("2025-11-25", form_only(), "visit", -32021).await;
    check_not_sent(
        "2025-11-25",
        json!({"elicitation": {"url": {}}}),
        "form",
        -32021,
    )
    .await;
    check_not_sent(
        "2025-11-25",
        json!({"sampling": {}}),
        "ask_model_with_tools",
        -32021,
    )
    .await;
    check_server_request(
        "2025-11-25",
        "form",
        legacy(
            1,
            "elicitation/create",
            json!({"message": "Who?", "requestedSchema": name_form()}),
        ),
        json!({"action": "cancel"}),
        r#"{"action":"cancel"}"#,
    )
    .await;
}

#[tokio::test]
async fn server_request_that_the_revision_does_not_define_is_not_sent() {
    for version in ["2024-11-05", "2025-03-26"] {
        for tool in ["form", "order", "visit"] {
            check_not_sent(version, all_capabilities(), tool, -32600).await;
        }
    }
    check_not_sent("2025-06-18", all_capabilities(), "visit", -32600).await;
}

#[tokio::test]
async fn missing_capability_error_has_no_modern_code_in_legacy_revisions() {
    for version in LEGACY {
        let mut peer = Peer::connect(&asking_server());
        peer.initialize(version).await;
        let error = peer.error_of(call("c", "roots_or_fail"), -32600).await;
        assert_eq!(
            error["data"],
            json!({"requiredCapabilities": {"roots": {}}})
        );
    }
}

#[tokio::test]
async fn invalid_elicitation_is_not_sent() {
    /// Sends invalid elicitations.
    #[tool]
    async fn invalid(ctx: &RequestContext) -> Vec<String> {
        vec![
            outcome_text(ctx.elicit("Who?", json!("not a schema")).await),
            outcome_text(ctx.elicit_url("Go", "javascript:alert(1)", "id").await),
            outcome_text(ctx.elicit_url("Go", "https://example.test", "").await),
            outcome_text(
                ctx.elicit_url("Go", "https://example.test", "x".repeat(1025))
                    .await,
            ),
        ]
    }

    let mut peer = Peer::connect(&Server::new("s", "1").tool(invalid));
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    let result = peer.result_of(call("c", "invalid")).await;
    assert_eq!(
        result["content"][0]["text"],
        r#"["error -32602","error -32602","error -32602","error -32602"]"#
    );
}

#[tokio::test]
async fn tool_can_require_a_client_capability() {
    /// Needs roots.
    #[tool(requires("roots"))]
    async fn requires_roots(ctx: &RequestContext) -> String {
        outcome_text(ctx.list_roots().await)
    }

    for version in LEGACY {
        let mut peer = Peer::connect(&Server::new("s", "1").tool(requires_roots));
        peer.initialize(version).await;
        peer.error_of(call(1, "requires_roots"), -32600).await;
        let mut peer = Peer::connect(&Server::new("s", "1").tool(requires_roots));
        peer.initialize_with(version, all_capabilities()).await;
        peer.send(call("c", "requires_roots")).await;
        peer.expect(legacy(1, "roots/list", json!({}))).await;
        peer.send(error_response(1, -32603, "broken")).await;
        peer.expect(result_response("c", text("error -32603")))
            .await;
    }
}

#[tokio::test]
async fn tool_error_is_returned_as_a_result() {
    /// Fails.
    #[tool]
    async fn fails() -> Result<String, ToolError> {
        Err(ToolError::failed("no luck"))
    }

    for version in LEGACY {
        let mut peer = Peer::connect(&Server::new("s", "1").tool(fails));
        peer.initialize(version).await;
        peer.send(call(1, "fails")).await;
        peer.expect(result_response(1, failed("no luck"))).await;
    }
}
