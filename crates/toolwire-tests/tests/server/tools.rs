//! `tools/list` and `tools/call`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::types::{ElicitationCapability, RootsCapability, SamplingCapability};
use toolwire::{
    CallToolResult, ClientCapabilities, JsonSchema, RawJson, RequestContext, Server, Tool,
    ToolError, ToolHandler,
};
use toolwire_tests::peer::{
    Peer, call, complete, failed, legacy, modern, modern_with, plain, server, text,
};

use std::sync::Arc;

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn add() -> ToolHandler {
    ToolHandler::typed("add", |_: RequestContext, numbers: Numbers| async move {
        Sum {
            sum: numbers.a + numbers.b,
        }
    })
    .with_description("Adds two integers.")
}

#[tokio::test]
async fn tools_are_listed_with_their_schemas() {
    let mut peer = Peer::connect(&server().tool(add()));
    peer.send(modern(1, "tools/list", json!({}))).await;
    peer.expect(complete(
        1,
        json!({
            "tools": [{
                "name": "add",
                "description": "Adds two integers.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                    "required": ["a", "b"],
                },
                "outputSchema": {
                    "type": "object",
                    "properties": {"sum": {"type": "integer"}},
                    "required": ["sum"],
                },
            }],
            "ttlMs": 0,
            "cacheScope": "private",
        }),
    ))
    .await;
}

#[tokio::test]
async fn structured_content_is_repeated_as_text() {
    let mut peer = Peer::connect(&server().tool(add()));
    peer.send(call(1, "add", json!({"a": 40, "b": 2}))).await;
    peer.expect(complete(
        1,
        json!({
            "content": [{"type": "text", "text": "{\"sum\":42}"}],
            "structuredContent": {"sum": 42},
        }),
    ))
    .await;
}

#[tokio::test]
async fn tool_failure_is_an_error_result() {
    let fail = plain("fail", |_| async {
        Err::<String, _>(ToolError::failed("the disk is full"))
    });
    let mut peer = Peer::connect(&server().tool(fail));
    peer.send(call(1, "fail", json!({}))).await;
    peer.expect(complete(1, failed("the disk is full"))).await;
}

#[tokio::test]
async fn invalid_calls_are_rejected() {
    let mut peer = Peer::connect(&server().tool(add()));
    let check = async |peer: &mut Peer, params: Value| {
        peer.error_of(modern(1, "tools/call", params), -32602).await
    };
    let error = check(&mut peer, json!({"name": "nope"})).await;
    assert_eq!(error["message"], "unknown tool `nope`");
    check(&mut peer, json!({})).await;
    check(&mut peer, json!({"name": 1})).await;
    check(&mut peer, json!({"name": null})).await;
    check(&mut peer, json!({"name": "add", "arguments": [1, 2]})).await;
    check(&mut peer, json!({"name": "add", "arguments": "a"})).await;
}

#[tokio::test]
async fn arguments_are_optional() {
    let echo = ToolHandler::raw(
        Tool::new("echo", json!({"type": "object"})),
        |_, arguments: RawJson| async move { arguments.get().to_owned() },
    );
    let mut peer = Peer::connect(&server().tool(echo));
    for params in [
        json!({"name": "echo"}),
        json!({"name": "echo", "arguments": null}),
        json!({"name": "echo", "arguments": {}}),
    ] {
        peer.send(modern(1, "tools/call", params)).await;
        peer.expect(complete(1, text("{}"))).await;
    }
}

#[tokio::test]
async fn invalid_arguments_are_a_tool_error_with_the_path() {
    let bounded = ToolHandler::raw(
        Tool::new(
            "bounded",
            json!({
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "maximum": 10},
                    "items": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["size"],
                "additionalProperties": false,
            }),
        ),
        |_, _| async { "not called with invalid arguments" },
    );
    let mut peer = Peer::connect(&server().tool(add()).tool(bounded));
    let check = async |peer: &mut Peer, tool: &str, arguments: Value, path: &str| {
        let result = peer.result_of(call(1, tool, arguments)).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(result["resultType"], "complete");
        let message = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(message.contains(path), "{message} should name {path}");
        assert!(message.contains(tool), "{message} should name the tool");
    };
    // Rejected by serde, which deserializes the arguments of a typed tool.
    check(&mut peer, "add", json!({"a": "x", "b": 1}), "arguments.a").await;
    check(&mut peer, "add", json!({"a": 1}), "`b`").await;
    check(&mut peer, "add", json!({"a": 1, "b": 2.5}), "arguments.b").await;
    // Rejected by the schema.
    check(&mut peer, "bounded", json!({"size": 11}), "arguments.size").await;
    check(&mut peer, "bounded", json!({}), "size").await;
    check(
        &mut peer,
        "bounded",
        json!({"size": 1, "items": ["a", 2]}),
        "arguments.items[1]",
    )
    .await;
    check(&mut peer, "bounded", json!({"size": 1, "x": 1}), "x").await;
}

#[tokio::test]
async fn argument_check_can_be_disabled() {
    let open = ToolHandler::raw(
        Tool::new("open", json!({"type": "object", "required": ["x"]})),
        |_, arguments: RawJson| async move { arguments.get().to_owned() },
    )
    .without_argument_check();
    let mut peer = Peer::connect(&server().tool(open));
    peer.send(call(1, "open", json!({"y": 1}))).await;
    peer.expect(complete(1, text("{\"y\":1}"))).await;
}

#[tokio::test]
async fn panic_fails_only_its_own_request() {
    let gate = Arc::new(Notify::new());
    let waiting = {
        let gate = Arc::clone(&gate);
        plain("waiting", move |_| {
            let gate = Arc::clone(&gate);
            async move {
                gate.notified().await;
                "waiting"
            }
        })
    };
    let panicking = plain("panicking", |_| async {
        if true {
            panic!("a secret path");
        }
        "unreachable"
    });
    let blocking = ToolHandler::blocking("blocking", |_: RequestContext, _: Nothing| -> String {
        panic!("a secret path")
    });
    let mut peer = Peer::connect(&server().tool(waiting).tool(panicking).tool(blocking));
    peer.send(call(1, "waiting", json!({}))).await;
    for (id, tool) in [(2, "panicking"), (3, "blocking")] {
        peer.send(call(id, tool, json!({}))).await;
        let error = peer.expect_error(id, -32603).await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(!message.contains("secret"), "{message}");
        assert_eq!(error.get("data"), None);
    }
    gate.notify_one();
    peer.expect(complete(1, text("waiting"))).await;
}

#[tokio::test]
async fn panic_before_the_first_await_is_caught() {
    let eager = ToolHandler::raw(
        Tool::new("eager", json!({"type": "object"})),
        |_, _| -> std::future::Ready<String> { panic!("before the first await") },
    );
    let mut peer = Peer::connect(&server().tool(eager).tool(add()));
    peer.error_of(call(1, "eager", json!({})), -32603).await;
    peer.result_of(call(2, "add", json!({"a": 1, "b": 1})))
        .await;
}

#[tokio::test]
async fn tools_can_require_capabilities_of_the_client() {
    let url = ClientCapabilities::new()
        .with_elicitation(ElicitationCapability::new().with_url())
        .with_roots(RootsCapability::new());
    let tools = ClientCapabilities::new().with_sampling(SamplingCapability::new().with_tools());
    let server = server()
        .tool(plain("url", |_| async { "ran" }).requires(url))
        .tool(plain("tools", |_| async { "ran" }).requires(tools));
    let mut peer = Peer::connect(&server);
    let request = |tool: &str, capabilities: Value| {
        modern_with(1, "tools/call", json!({"name": tool}), capabilities)
    };
    let mut missing = async |tool: &str, capabilities: Value, expected: Value| {
        let error = peer.error_of(request(tool, capabilities), -32021).await;
        assert_eq!(error["data"], json!({"requiredCapabilities": expected}));
    };
    let url = json!({"elicitation": {"url": {}}});
    missing(
        "url",
        json!({}),
        json!({"elicitation": {"url": {}}, "roots": {}}),
    )
    .await;
    missing("url", json!({"roots": {}}), url.clone()).await;
    // An empty `elicitation` means forms only.
    missing("url", json!({"roots": {}, "elicitation": {}}), url).await;
    let tools = json!({"sampling": {"tools": {}}});
    missing("tools", json!({"sampling": {}}), tools).await;

    let everything = json!({"roots": {}, "elicitation": {"url": {}}, "sampling": {"tools": {}}});
    for tool in ["url", "tools"] {
        peer.send(request(tool, everything.clone())).await;
        peer.expect(complete(1, text("ran"))).await;
    }
}

#[tokio::test]
async fn required_capability_is_that_of_the_handshake_on_legacy_connections() {
    let roots = ClientCapabilities::new().with_roots(RootsCapability::new());
    let server = server().tool(plain("roots", |_| async { "ran" }).requires(roots));
    let request = || legacy(1, "tools/call", json!({"name": "roots"}));

    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    // The code −32021 is not defined in 2025-11-25.
    let error = peer.error_of(request(), -32600).await;
    assert_eq!(
        error["data"],
        json!({"requiredCapabilities": {"roots": {}}})
    );

    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", json!({"roots": {}}))
        .await;
    peer.result_of(request()).await;
}

fn with_integer_output(result: fn() -> CallToolResult) -> ToolHandler {
    plain("with_integer_output", move |_| async move { result() }).with_output_schema(json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    }))
}

#[tokio::test]
async fn output_is_validated_only_when_enabled() {
    let valid = || CallToolResult::text("").with_structured_content(json!({"n": 1}));
    let invalid = || CallToolResult::text("").with_structured_content(json!({"n": "one"}));
    let absent = || CallToolResult::text("no data");
    let failed = || CallToolResult::error("could not");
    let check = async |server: Server, result: fn() -> CallToolResult, passes: bool| {
        let mut peer = Peer::connect(&server.tool(with_integer_output(result)));
        let response = peer.call(call(1, "with_integer_output", json!({}))).await;
        assert_eq!(response.get("result").is_some(), passes, "{response}");
        if !passes {
            assert_eq!(response["error"]["code"], -32603);
        }
    };
    for result in [valid, invalid, absent, failed] {
        check(server(), result, true).await;
    }
    for (result, passes) in [
        (valid as fn() -> CallToolResult, true),
        (invalid, false),
        (absent, false),
        // An error result is never validated.
        (failed, true),
    ] {
        check(server().with_output_validation(), result, passes).await;
    }
}

#[test]
#[should_panic(expected = "add")]
fn two_tools_with_the_same_name_panic() {
    let _ = server().tool(add()).tool(add());
}
