// Written by `toolwire replay --test`. Define `fn server() -> toolwire::Server` in this module.

fn recorded_json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("the record has valid JSON")
}

#[tokio::test]
async fn recorded_connection_1() {
    let version = toolwire::ProtocolVersion::V2026_07_28;
    let capabilities = recorded_json(r#"{}"#);
    let mut client =
        toolwire::testing::ScriptedClient::with_version(&server(), version, capabilities).await;

    // tools/list
    let params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/call add
    let params = recorded_json(r#"{"name":"add","arguments":{"a":1,"b":2},"_meta":{"progressToken":1,"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["content"], recorded_json(r#"[{"type":"text","text":"3"}]"#));

    // tools/list
    let params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/call confirm
    let params = recorded_json(r#"{"name":"confirm","arguments":{},"_meta":{"progressToken":2,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""input_required""#));
    assert_eq!(result["inputRequests"], recorded_json(r#"{"confirmation":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{"confirmed":{"type":"boolean"}},"required":["confirmed"]}}}}"#));

    // tools/call confirm
    let mut params = recorded_json(r#"{"name":"confirm","arguments":{},"inputResponses":{"confirmation":{"action":"accept","content":{"confirmed":true}}},"_meta":{"progressToken":3,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    params["requestState"] = result["requestState"].clone();
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["content"], recorded_json(r#"[{"type":"text","text":"done"}]"#));
}

#[tokio::test]
async fn recorded_connection_2() {
    let version = toolwire::ProtocolVersion::V2025_11_25;
    let capabilities = recorded_json(r#"{}"#);
    let mut client =
        toolwire::testing::ScriptedClient::with_version(&server(), version, capabilities).await;

    // tools/list
    let params = recorded_json(r#"{}"#);
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));

    // tools/call add
    let params = recorded_json(r#"{"name":"add","arguments":{"a":1,"b":2},"_meta":{"progressToken":3}}"#);
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["content"], recorded_json(r#"[{"type":"text","text":"3"}]"#));
}

#[tokio::test]
async fn recorded_connection_3() {
    let version = toolwire::ProtocolVersion::V2025_11_25;
    let capabilities = recorded_json(r#"{"elicitation":{"form":{}}}"#);
    let mut client =
        toolwire::testing::ScriptedClient::with_version(&server(), version, capabilities).await;

    // tools/list
    let params = recorded_json(r#"{}"#);
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));

    // tools/call confirm
    let params = recorded_json(r#"{"name":"confirm","arguments":{},"_meta":{"progressToken":3}}"#);
    let id = client.request("tools/call", params).await;
    let asked = client.expect("elicitation/create").await;
    client.respond(&asked, recorded_json(r#"{"action":"accept","content":{"confirmed":true}}"#)).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["content"], recorded_json(r#"[{"type":"text","text":"done"}]"#));
}
