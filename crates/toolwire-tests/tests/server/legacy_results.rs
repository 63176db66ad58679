//! Descriptors and results of one server in each of the four legacy revisions.

use serde_json::{Value, json};
use toolwire_tests::legacy_server::rich_server;
use toolwire_tests::peer::{Peer, legacy, notification, result_response};

/// Sends one request in one revision and compares the complete result.
async fn check(version: &str, method: &str, params: &Value, expected: Value) {
    let mut peer = Peer::connect(&rich_server());
    peer.initialize(version).await;
    let result = peer.result_of(legacy(1, method, params.clone())).await;
    assert_eq!(result, expected, "{method} in {version}");
}

/// Returns the descriptor of a tool without arguments.
fn plain_tool(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    json!({"name": name, "inputSchema": schema})
}

#[tokio::test]
async fn tool_descriptors_have_the_members_of_the_revision() {
    let check_tools = async |version: &str, everything: Value| {
        // An array schema is not a valid output schema before 2026-07-28.
        let numbers = json!({"name": "numbers", "inputSchema": {"type": "object"}});
        let tools = json!([
            everything,
            numbers,
            plain_tool("steps"),
            plain_tool("chatter")
        ]);
        check(version, "tools/list", &json!({}), json!({"tools": tools})).await;
    };
    check_tools(
        "2024-11-05",
        json!({
            "name": "everything",
            "description": "Returns everything.",
            "inputSchema": {"type": "object"},
        }),
    )
    .await;
    check_tools(
        "2025-03-26",
        json!({
            "name": "everything",
            "description": "Returns everything.",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true},
        }),
    )
    .await;
    check_tools(
        "2025-06-18",
        json!({
            "name": "everything",
            "title": "Everything",
            "description": "Returns everything.",
            "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}},
            "annotations": {"readOnlyHint": true},
            "_meta": {"example.test/colour": "red"},
        }),
    )
    .await;
    check_tools(
        "2025-11-25",
        json!({
            "name": "everything",
            "title": "Everything",
            "description": "Returns everything.",
            "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}},
            "annotations": {"readOnlyHint": true},
            "execution": {"taskSupport": "forbidden"},
            "icons": [{"src": "https://example.test/i.png", "mimeType": "image/png"}],
            "_meta": {"example.test/colour": "red"},
        }),
    )
    .await;
}

#[tokio::test]
async fn tool_results_have_the_content_of_the_revision() {
    let image = || json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let audio = || json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
    let bare_text = || {
        json!({
            "type": "text", "text": "hello",
            "annotations": {"audience": ["user"], "priority": 0.5},
        })
    };
    let full_text = || {
        json!({
            "type": "text", "text": "hello",
            "annotations": {
                "audience": ["user"], "priority": 0.5, "lastModified": "2025-01-01T00:00:00Z",
            },
            "_meta": {"example.test/colour": "red"},
        })
    };
    let link_as_text = || json!({"type": "text", "text": "[resource: One, notes://one] the first"});
    let bare_resource =
        || json!({"type": "resource", "resource": {"uri": "notes://one", "text": "1"}});
    let full_resource = || {
        json!({
            "type": "resource",
            "resource": {
                "uri": "notes://one", "text": "1", "_meta": {"example.test/colour": "red"},
            },
        })
    };
    // Results have `_meta` in every revision, their parts only since 2025-06-18.
    let meta = json!({"example.test/trace": 7});
    let call = json!({"name": "everything"});

    check(
        "2024-11-05",
        "tools/call",
        &call,
        json!({
            "content": [
                bare_text(),
                image(),
                {"type": "text", "text": "[audio omitted: audio/wav]"},
                link_as_text(),
                bare_resource(),
            ],
            "_meta": meta,
        }),
    )
    .await;
    check(
        "2025-03-26",
        "tools/call",
        &call,
        json!({
            "content": [bare_text(), image(), audio(), link_as_text(), bare_resource()],
            "_meta": meta,
        }),
    )
    .await;
    let mut link = json!({
        "type": "resource_link", "uri": "notes://one", "name": "one", "title": "One",
        "description": "the first",
    });
    check(
        "2025-06-18",
        "tools/call",
        &call,
        json!({
            "content": [full_text(), image(), audio(), link, full_resource()],
            "structuredContent": {"sum": 3},
            "_meta": meta,
        }),
    )
    .await;
    link["icons"] = json!([{"src": "https://example.test/i.png"}]);
    check(
        "2025-11-25",
        "tools/call",
        &call,
        json!({
            "content": [full_text(), image(), audio(), link, full_resource()],
            "structuredContent": {"sum": 3},
            "_meta": meta,
        }),
    )
    .await;
}

#[tokio::test]
async fn structured_content_that_is_not_an_object_is_sent_as_text() {
    for version in toolwire_tests::legacy_server::LEGACY {
        let text = json!({"content": [{"type": "text", "text": "[1,2]"}]});
        check(version, "tools/call", &json!({"name": "numbers"}), text).await;
    }
}

#[tokio::test]
async fn prompt_descriptors_have_the_members_of_the_revision() {
    let bare = json!({"prompts": [{
        "name": "greet",
        "description": "Greets a person.",
        "arguments": [{"name": "name", "required": true}],
    }]});
    check("2024-11-05", "prompts/list", &json!({}), bare.clone()).await;
    check("2025-03-26", "prompts/list", &json!({}), bare).await;
    let mut prompt = json!({
        "name": "greet",
        "title": "Greet",
        "description": "Greets a person.",
        "arguments": [{"name": "name", "title": "Name", "required": true}],
        "_meta": {"example.test/colour": "red"},
    });
    check(
        "2025-06-18",
        "prompts/list",
        &json!({}),
        json!({"prompts": [prompt]}),
    )
    .await;
    prompt["icons"] = json!([{"src": "https://example.test/i.png", "mimeType": "image/png"}]);
    check(
        "2025-11-25",
        "prompts/list",
        &json!({}),
        json!({"prompts": [prompt]}),
    )
    .await;
}

#[tokio::test]
async fn prompt_messages_have_the_content_of_the_revision() {
    let get = json!({"name": "greet", "arguments": {"name": "x"}});
    let prompt = |text: Value, link: Value, audio: Value| {
        json!({
            "description": "A greeting",
            "messages": [
                {"role": "user", "content": text},
                {"role": "assistant", "content": link},
                {"role": "user", "content": audio},
            ],
        })
    };
    let bare_text = || json!({"type": "text", "text": "Greet me"});
    let full_text = || json!({"type": "text", "text": "Greet me", "_meta": {"a": 1}});
    let link = || json!({"type": "resource_link", "uri": "notes://one", "name": "one"});
    let link_as_text = || json!({"type": "text", "text": "[resource: one, notes://one]"});
    let audio = || json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
    let audio_as_text = || json!({"type": "text", "text": "[audio omitted: audio/wav]"});
    for (version, expected) in [
        (
            "2024-11-05",
            prompt(bare_text(), link_as_text(), audio_as_text()),
        ),
        ("2025-03-26", prompt(bare_text(), link_as_text(), audio())),
        ("2025-06-18", prompt(full_text(), link(), audio())),
        ("2025-11-25", prompt(full_text(), link(), audio())),
    ] {
        check(version, "prompts/get", &get, expected).await;
    }
}

#[tokio::test]
async fn resource_descriptors_have_the_members_of_the_revision() {
    let list = |resource: &Value| json!({"resources": [resource]});
    let bare = json!({
        "uri": "notes://one",
        "name": "one",
        "description": "The first note.",
        "mimeType": "text/plain",
        "size": 1,
        "annotations": {"audience": ["user"]},
    });
    check("2024-11-05", "resources/list", &json!({}), list(&bare)).await;
    check("2025-03-26", "resources/list", &json!({}), list(&bare)).await;
    let mut full = json!({
        "uri": "notes://one",
        "name": "one",
        "title": "One",
        "description": "The first note.",
        "mimeType": "text/plain",
        "size": 1,
        "annotations": {"audience": ["user"], "lastModified": "2025-01-01T00:00:00Z"},
        "_meta": {"example.test/colour": "red"},
    });
    check("2025-06-18", "resources/list", &json!({}), list(&full)).await;
    full["icons"] = json!([{"src": "https://example.test/i.png", "mimeType": "image/png"}]);
    check("2025-11-25", "resources/list", &json!({}), list(&full)).await;
}

#[tokio::test]
async fn resource_template_descriptors_have_the_members_of_the_revision() {
    let list = |template: &Value| json!({"resourceTemplates": [template]});
    let method = "resources/templates/list";
    let bare = json!({"uriTemplate": "notes://by-name/{name}", "name": "by-name"});
    check("2024-11-05", method, &json!({}), list(&bare)).await;
    check("2025-03-26", method, &json!({}), list(&bare)).await;
    let mut full = json!({
        "uriTemplate": "notes://by-name/{name}",
        "name": "by-name",
        "title": "By name",
        "_meta": {"example.test/colour": "red"},
    });
    check("2025-06-18", method, &json!({}), list(&full)).await;
    full["icons"] = json!([{"src": "https://example.test/i.png", "mimeType": "image/png"}]);
    check("2025-11-25", method, &json!({}), list(&full)).await;
}

#[tokio::test]
async fn resource_contents_have_meta_since_2025_06_18() {
    let read = json!({"uri": "notes://one"});
    let bare = json!({"uri": "notes://one", "mimeType": "text/plain", "text": "1"});
    let mut full = bare.clone();
    full["_meta"] = json!({"a": 1});
    for (version, contents) in [
        ("2024-11-05", &bare),
        ("2025-03-26", &bare),
        ("2025-06-18", &full),
        ("2025-11-25", &full),
    ] {
        check(
            version,
            "resources/read",
            &read,
            json!({"contents": [contents]}),
        )
        .await;
        // The contents of a template get the requested URI.
        let other = "notes://by-name/two";
        check(
            version,
            "resources/read",
            &json!({"uri": other}),
            json!({"contents": [{"uri": other, "text": other}]}),
        )
        .await;
    }
}

#[tokio::test]
async fn completions_are_the_same_in_every_revision() {
    let prompt = |value: &str| {
        json!({
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "name", "value": value},
        })
    };
    let template = json!({
        "ref": {"type": "ref/resource", "uri": "notes://by-name/{name}"},
        "argument": {"name": "name", "value": ""},
    });
    let completion = |values: Value| json!({"completion": {"values": values, "hasMore": false}});
    for version in toolwire_tests::legacy_server::LEGACY {
        let method = "completion/complete";
        check(version, method, &prompt("a"), completion(json!(["Ada"]))).await;
        check(version, method, &prompt("zz"), completion(json!([]))).await;
        check(
            version,
            method,
            &template,
            completion(json!(["one", "two"])),
        )
        .await;
        let mut with_context = prompt("a");
        with_context["context"] = json!({"arguments": {"last": " Lovelace"}});
        check(
            version,
            method,
            &with_context,
            completion(json!(["Ada Lovelace"])),
        )
        .await;
    }
}

#[tokio::test]
async fn progress_has_a_message_since_2025_03_26() {
    for version in toolwire_tests::legacy_server::LEGACY {
        let mut first = json!({"progressToken": "t", "progress": 1, "total": 2});
        if version != "2024-11-05" {
            first["message"] = json!("half");
        }
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        let params = json!({"name": "steps", "_meta": {"progressToken": "t"}});
        peer.send(legacy(1, "tools/call", params)).await;
        peer.expect(notification("notifications/progress", first))
            .await;
        peer.expect(notification(
            "notifications/progress",
            json!({"progressToken": "t", "progress": 2}),
        ))
        .await;
        peer.expect(result_response(1, toolwire_tests::peer::text("done")))
            .await;
        // Without a progress token no progress is sent.
        peer.send(legacy(2, "tools/call", json!({"name": "steps"})))
            .await;
        peer.expect(result_response(2, toolwire_tests::peer::text("done")))
            .await;
    }
}
