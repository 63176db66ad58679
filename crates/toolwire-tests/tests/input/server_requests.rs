//! Requests from a handler to the client while a request runs (up to 2025-11-25). On 2026-07-28 requests they fail.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::types::{CreateMessageRequestParams, InputRequests, SamplingMessage};
use toolwire::{
    CallToolResult, Elicit, Error, RawJson, RequestContext, Server, ToolError, ToolHandler,
    ToolResponse,
};
use toolwire_tests::peer::{Peer, legacy, modern_with, plain, result_response, server, text};

#[derive(Debug, Deserialize, Elicit)]
struct Person {
    /// What shall I call you?
    name: String,
    age: Option<u8>,
}

/// The tools that check the capabilities of the client.
const CHECKED: [&str; 6] = [
    "elicit",
    "elicit_as",
    "elicit_url",
    "sample",
    "sample_json",
    "list_roots",
];

fn sampling() -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::user("2+2?")], 5)
}

/// Returns a server with one tool for every method that sends a request to the client.
fn asking_server() -> Server {
    fn ask<Fut>(name: &str, ask: fn(RequestContext) -> Fut) -> ToolHandler
    where
        Fut: Future<Output = Result<String, Error>> + Send + 'static,
    {
        plain(name, move |ctx| async move {
            ask(ctx).await.map_err(ToolError::from)
        })
    }
    server()
        .tool(ask("elicit", |ctx| async move {
            let form = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
            let result = ctx.elicit("Sure?", form).await?;
            Ok(format!("{:?} {:?}", result.action, result.content))
        }))
        .tool(ask("elicit_as", |ctx| async move {
            let result = ctx.elicit_as::<Person>("Who?").await?;
            let person: Option<Person> = result.content_as().unwrap_or_default();
            Ok(format!(
                "{:?}",
                person.map(|person| (person.name, person.age))
            ))
        }))
        .tool(ask("elicit_url", |ctx| async move {
            let result = ctx
                .elicit_url("Log in", "https://example.test/login", "e-1")
                .await?;
            Ok(format!("{:?}", result.action))
        }))
        .tool(ask("sample", |ctx| async move {
            let result = ctx.sample(sampling()).await?;
            Ok(format!(
                "{} {}",
                result.model,
                result.content.blocks().len()
            ))
        }))
        .tool(ask("sample_json", |ctx| async move {
            let params = json!({"maxTokens": 5, "messages": [
                {"role": "user", "content": {"type": "text", "text": "2+2?"}},
            ]});
            Ok(ctx.sample_json(params).await?.get().to_owned())
        }))
        .tool(ask("list_roots", |ctx| async move {
            let roots = ctx.list_roots().await?.roots;
            Ok(roots.into_iter().map(|root| root.uri).collect())
        }))
        .tool(ask("bad_sampling", |ctx| async move {
            ctx.sample_json(json!({"messages": "none"})).await?;
            Ok(String::new())
        }))
        .tool(ask("bad_form", |ctx| async move {
            ctx.elicit("?", json!(["not", "an", "object"])).await?;
            Ok(String::new())
        }))
        .tool(ask("bad_url", |ctx| async move {
            ctx.elicit_url("?", "javascript:alert(1)", "e").await?;
            Ok(String::new())
        }))
        .tool(ask("bad_id", |ctx| async move {
            ctx.elicit_url("?", "https://example.test", "").await?;
            Ok(String::new())
        }))
        .tool(ask("sample_raw", |ctx| async move {
            let response = ctx.sample_raw(RawJson::from(json!({"any": 1}))).await?;
            Ok(response.get().to_owned())
        }))
        .tool(ask("elicit_raw", |ctx| async move {
            let response = ctx.elicit_raw(RawJson::from(json!({"any": 2}))).await?;
            Ok(response.get().to_owned())
        }))
        .tool(ask("list_roots_raw", |ctx| async move {
            Ok(ctx.list_roots_raw().await?.get().to_owned())
        }))
}

fn all_capabilities() -> Value {
    json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}})
}

fn call(tool: &str) -> Value {
    legacy("call", "tools/call", json!({"name": tool}))
}

#[tokio::test]
async fn handler_receives_the_client_s_response() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    let mut check =
        async |tool: &str, method: &str, params: Value, response: Value, expected: &str| {
            peer.send(call(tool)).await;
            let input_request = peer.receive().await;
            assert_eq!(input_request["method"], method);
            assert_eq!(input_request["params"], params, "{tool}");
            peer.send(result_response(input_request["id"].clone(), response))
                .await;
            peer.expect(result_response("call", text(expected))).await;
        };
    let form = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
    check(
        "elicit",
        "elicitation/create",
        json!({"message": "Sure?", "requestedSchema": form}),
        json!({"action": "decline"}),
        "Decline None",
    )
    .await;
    let form = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "What shall I call you?"},
            "age": {"type": "integer", "minimum": 0, "maximum": 255},
        },
        "required": ["name"],
    });
    check(
        "elicit_as",
        "elicitation/create",
        json!({"message": "Who?", "requestedSchema": form}),
        json!({"action": "accept", "content": {"name": "Ada", "age": 36}}),
        "Some((\"Ada\", Some(36)))",
    )
    .await;
    check(
        "elicit_url",
        "elicitation/create",
        json!({"mode": "url", "message": "Log in", "url": "https://example.test/login",
            "elicitationId": "e-1"}),
        json!({"action": "accept"}),
        "Accept",
    )
    .await;
    check(
        "sample",
        "sampling/createMessage",
        json!({"messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}],
            "maxTokens": 5}),
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "4"}}),
        "m 1",
    )
    .await;
    check(
        "sample_json",
        "sampling/createMessage",
        json!({"messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}],
            "maxTokens": 5}),
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "4"}}),
        r#"{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}"#,
    )
    .await;
    check(
        "list_roots",
        "roots/list",
        json!({}),
        json!({"roots": [{"uri": "file:///a", "name": "a"}]}),
        "file:///a",
    )
    .await;
    check(
        "sample_raw",
        "sampling/createMessage",
        json!({"any": 1}),
        json!({"raw": true}),
        "{\"raw\":true}",
    )
    .await;
    check(
        "elicit_raw",
        "elicitation/create",
        json!({"any": 2}),
        json!(7),
        "7",
    )
    .await;
    check("list_roots_raw", "roots/list", json!({}), json!({}), "{}").await;
}

#[tokio::test]
async fn server_request_without_the_client_capability_is_not_sent() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize("2025-11-25").await;
    for tool in CHECKED {
        peer.error_of(call(tool), -32600).await;
    }
    // An empty `elicitation` capability means forms only.
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", json!({"elicitation": {}}))
        .await;
    peer.error_of(call("elicit_url"), -32600).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn invalid_elicitation_is_not_sent() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    for tool in ["bad_form", "bad_url", "bad_id"] {
        peer.error_of(call(tool), -32602).await;
    }
    peer.expect_silence().await;
}

#[tokio::test]
async fn invalid_sampling_parameters_are_not_sent() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.error_of(call("bad_sampling"), -32603).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn elicitation_fails_in_revisions_without_it() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-06-18", all_capabilities()).await;
    peer.error_of(call("elicit_url"), -32600).await;
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-03-26", all_capabilities()).await;
    peer.error_of(call("elicit"), -32600).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn client_error_reaches_the_handler() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.send(call("sample")).await;
    let input_request = peer.receive().await;
    peer.send(json!({
        "jsonrpc": "2.0", "id": input_request["id"],
        "error": {"code": -1, "message": "the user said no"},
    }))
    .await;
    let error = peer.expect_error("call", -1).await;
    assert_eq!(error["message"], "the user said no");
}

#[tokio::test]
async fn invalid_client_response_fails_the_call() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.send(call("list_roots")).await;
    let input_request = peer.receive().await;
    peer.send(result_response(
        input_request["id"].clone(),
        json!({"roots": "none"}),
    ))
    .await;
    peer.expect_error("call", -32603).await;
}

#[tokio::test(start_paused = true)]
async fn server_request_is_cancelled_after_the_timeout() {
    let server = asking_server().with_client_response_timeout(std::time::Duration::from_secs(2));
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.send(call("sample")).await;
    let input_request = peer.receive().await;
    let cancellation = peer.receive().await;
    assert_eq!(cancellation["method"], "notifications/cancelled");
    assert_eq!(cancellation["params"]["requestId"], input_request["id"]);
    peer.expect_error("call", -32603).await;
    // A response after the cancellation is ignored.
    peer.send(result_response(input_request["id"].clone(), json!({})))
        .await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn server_request_during_a_stateless_request_fails_and_names_input_required() {
    let mut peer = Peer::connect(&asking_server());
    for tool in CHECKED {
        let params = json!({"name": tool});
        let request = modern_with(1, "tools/call", params, all_capabilities());
        let error = peer.error_of(request, -32603).await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("input_required"), "{tool}: {message}");
    }
    // The raw methods check no capabilities, but they fail with the same error.
    for tool in ["elicit_raw", "sample_raw", "list_roots_raw"] {
        let params = json!({"name": tool});
        let request = modern_with(1, "tools/call", params, all_capabilities());
        peer.error_of(request, -32603).await;
    }
    peer.expect_silence().await;
}

#[tokio::test]
async fn input_requests_are_sent_by_the_server_on_legacy_connections() {
    let both = plain("both", |ctx: RequestContext| async move {
        if !ctx.is_resubmit() {
            let requests = InputRequests::new()
                .with("model", sampling())
                .with("roots", toolwire::types::InputRequest::roots());
            return ToolResponse::input_required(requests, Some("state".to_owned()));
        }
        let model = ctx.has_input_response("model");
        let roots = ctx.has_input_response("roots");
        CallToolResult::text(format!("{model} {roots} {}", ctx.request_state())).into()
    });
    let mut peer = Peer::connect(&server().tool(both));
    peer.initialize_with("2025-06-18", all_capabilities()).await;
    peer.send(call("both")).await;
    for (method, response) in [
        (
            "sampling/createMessage",
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "4"}}),
        ),
        ("roots/list", json!({"roots": []})),
    ] {
        let input_request = peer.receive().await;
        assert_eq!(input_request["method"], method);
        peer.send(result_response(input_request["id"].clone(), response))
            .await;
    }
    peer.expect(result_response("call", text("true true state")))
        .await;
}
