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
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"clock","description":"Returns a time that is not that of the record.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));
    let cursor_1 = result["nextCursor"].clone();

    // tools/list
    let mut params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    params["cursor"] = cursor_1.clone();
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"bake","description":"Becomes a task.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
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
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"clock","description":"Returns a time that is not that of the record.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/list
    let mut params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    params["cursor"] = cursor_1.clone();
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"bake","description":"Becomes a task.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/call confirm
    let params = recorded_json(r#"{"name":"confirm","arguments":{},"_meta":{"progressToken":2,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""input_required""#));
    assert_eq!(result["inputRequests"], recorded_json(r#"{"confirmation":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{"confirmed":{"type":"boolean"}},"required":["confirmed"]}}}}"#));
    let state_2 = result["requestState"].clone();

    // tools/call confirm
    let mut params = recorded_json(r#"{"name":"confirm","arguments":{},"inputResponses":{"confirmation":{"action":"accept","content":{"confirmed":true}}},"_meta":{"progressToken":3,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    params["requestState"] = state_2.clone();
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["content"], recorded_json(r#"[{"type":"text","text":"done"}]"#));

    // tools/list
    let params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"clock","description":"Returns a time that is not that of the record.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/list
    let mut params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    params["cursor"] = cursor_1.clone();
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"bake","description":"Becomes a task.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/call clock
    let params = recorded_json(r#"{"name":"clock","arguments":{},"_meta":{"progressToken":4,"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
    assert_eq!(result["content"][0]["type"], recorded_json(r#""text""#));
    assert_eq!(result["structuredContent"]["zone"], recorded_json(r#""UTC""#));

    // tools/list
    let params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"clock","description":"Returns a time that is not that of the record.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/list
    let mut params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    params["cursor"] = cursor_1.clone();
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"bake","description":"Becomes a task.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/call bake
    let params = recorded_json(r#"{"name":"bake","arguments":{},"_meta":{"progressToken":5,"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""task""#));
    assert_eq!(result["status"], recorded_json(r#""working""#));
    assert_eq!(result["ttlMs"], recorded_json(r#"3600000"#));
    assert_eq!(result["pollIntervalMs"], recorded_json(r#"50"#));
    // subscriptions/listen is left out, because it has no response.

    // tools/list
    let params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"clock","description":"Returns a time that is not that of the record.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/list
    let mut params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    params["cursor"] = cursor_1.clone();
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"bake","description":"Becomes a task.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    assert_eq!(result["ttlMs"], recorded_json(r#"0"#));
    assert_eq!(result["cacheScope"], recorded_json(r#""private""#));

    // tools/call bake
    let params = recorded_json(r#"{"name":"bake","arguments":{},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""task""#));
    assert_eq!(result["status"], recorded_json(r#""working""#));
    assert_eq!(result["ttlMs"], recorded_json(r#"3600000"#));
    assert_eq!(result["pollIntervalMs"], recorded_json(r#"50"#));
    let task_id_3 = result["taskId"].clone();

    // tasks/get
    let mut params = recorded_json(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#);
    params["taskId"] = task_id_3.clone();
    let outcome = loop {
        let id = client.request("tasks/get", params.clone()).await;
        let outcome = client.expect_response(id).await;
        if !matches!(&outcome, Ok(result) if result["status"] == "working") {
            break outcome;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["resultType"], recorded_json(r#""complete""#));
    assert_eq!(result["status"], recorded_json(r#""completed""#));
    assert_eq!(result["ttlMs"], recorded_json(r#"3600000"#));
    assert_eq!(result["pollIntervalMs"], recorded_json(r#"50"#));
    assert_eq!(result["result"], recorded_json(r#"{"resultType":"complete","content":[{"type":"text","text":"a cake"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"recorded","version":"1.0.0"}}}"#));
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
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"clock","description":"Returns a time that is not that of the record.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    let cursor_1 = result["nextCursor"].clone();

    // tools/list
    let mut params = recorded_json(r#"{}"#);
    params["cursor"] = cursor_1.clone();
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"bake","description":"Becomes a task.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"execution":{"taskSupport":"optional"}}]"#));

    // tools/call add
    let params = recorded_json(r#"{"name":"add","arguments":{"a":1,"b":2},"_meta":{"progressToken":4}}"#);
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
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"clock","description":"Returns a time that is not that of the record.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    let cursor_1 = result["nextCursor"].clone();

    // tools/list
    let mut params = recorded_json(r#"{}"#);
    params["cursor"] = cursor_1.clone();
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"bake","description":"Becomes a task.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"execution":{"taskSupport":"optional"}}]"#));

    // tools/call confirm
    let params = recorded_json(r#"{"name":"confirm","arguments":{},"_meta":{"progressToken":4}}"#);
    let id = client.request("tools/call", params).await;
    let asked = client.expect("elicitation/create").await;
    client.respond(&asked, recorded_json(r#"{"action":"accept","content":{"confirmed":true}}"#)).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["content"], recorded_json(r#"[{"type":"text","text":"done"}]"#));
}

#[tokio::test]
async fn recorded_connection_4() {
    let version = toolwire::ProtocolVersion::V2025_11_25;
    let capabilities = recorded_json(r#"{}"#);
    let mut client =
        toolwire::testing::ScriptedClient::with_version(&server(), version, capabilities).await;

    // tools/list
    let params = recorded_json(r#"{}"#);
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"clock","description":"Returns a time that is not that of the record.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    let cursor_1 = result["nextCursor"].clone();

    // tools/list
    let mut params = recorded_json(r#"{}"#);
    params["cursor"] = cursor_1.clone();
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"bake","description":"Becomes a task.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"execution":{"taskSupport":"optional"}}]"#));

    // tools/call clock
    let params = recorded_json(r#"{"name":"clock","arguments":{},"_meta":{"progressToken":4}}"#);
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
    assert_eq!(result["content"][0]["type"], recorded_json(r#""text""#));
    assert_eq!(result["structuredContent"]["zone"], recorded_json(r#""UTC""#));
}

#[tokio::test]
async fn recorded_connection_5() {
    let version = toolwire::ProtocolVersion::V2025_11_25;
    let capabilities = recorded_json(r#"{}"#);
    let mut client =
        toolwire::testing::ScriptedClient::with_version(&server(), version, capabilities).await;

    // tools/list
    let params = recorded_json(r#"{}"#);
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"add","description":"Adds two integers.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}},{"name":"confirm","description":"Asks before it does something.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}},{"name":"clock","description":"Returns a time that is not that of the record.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]"#));
    let cursor_1 = result["nextCursor"].clone();

    // tools/list
    let mut params = recorded_json(r#"{}"#);
    params["cursor"] = cursor_1.clone();
    let id = client.request("tools/list", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["tools"], recorded_json(r#"[{"name":"bake","description":"Becomes a task.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"execution":{"taskSupport":"optional"}}]"#));

    // tools/call bake
    let params = recorded_json(r#"{"name":"bake","arguments":{},"_meta":{"progressToken":4}}"#);
    let id = client.request("tools/call", params).await;
    let outcome = client.expect_response(id).await;
    let result = outcome.expect("the request succeeds");
    assert_eq!(result["content"], recorded_json(r#"[{"type":"text","text":"a cake"}]"#));
}
