//! Questions to the client while a request runs (up to 2025-11-25), and why they fail afterwards.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::types::{CreateMessageRequestParams, InputRequests, SamplingMessage};
use toolwire::{
    CallToolResult, Elicit, Error, RawJson, RequestContext, Server, ToolError, ToolHandler,
    ToolResponse,
};

use crate::peer::{Peer, answer, legacy, modern_with, plain, server, text};

#[derive(Debug, Deserialize, Elicit)]
struct Person {
    /// What shall I call you?
    name: String,
    age: Option<u8>,
}

fn sampling() -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::user("2+2?")], 5)
}

/// One tool for every way to ask.
fn asking() -> Server {
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
        .tool(ask("list_roots", |ctx| async move {
            let roots = ctx.list_roots().await?.roots;
            Ok(roots.into_iter().map(|root| root.uri).collect())
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
            let answer = ctx.sample_raw(RawJson::from(json!({"any": 1}))).await?;
            Ok(answer.get().to_owned())
        }))
        .tool(ask("elicit_raw", |ctx| async move {
            let answer = ctx.elicit_raw(RawJson::from(json!({"any": 2}))).await?;
            Ok(answer.get().to_owned())
        }))
        .tool(ask("list_roots_raw", |ctx| async move {
            Ok(ctx.list_roots_raw().await?.get().to_owned())
        }))
}

fn everything() -> Value {
    json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}})
}

fn call(tool: &str) -> Value {
    legacy("call", "tools/call", json!({"name": tool}))
}

#[tokio::test]
async fn a_handler_asks_and_goes_on_with_the_answer() {
    let mut peer = Peer::connect(&asking());
    peer.initialize_with("2025-11-25", everything()).await;
    let mut check = async |tool: &str, method: &str, params: Value, reply: Value, said: &str| {
        peer.send(call(tool)).await;
        let question = peer.receive().await;
        assert_eq!(question["method"], method);
        assert_eq!(question["params"], params, "{tool}");
        peer.send(answer(question["id"].clone(), reply)).await;
        peer.expect(answer("call", text(said))).await;
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
async fn nothing_is_asked_of_a_client_that_cannot_answer() {
    let mut peer = Peer::connect(&asking());
    peer.initialize("2025-11-25").await;
    for tool in ["elicit", "elicit_as", "elicit_url", "sample", "list_roots"] {
        peer.refusal_of(call(tool), -32600).await;
    }
    // `elicitation` without more means forms.
    let mut peer = Peer::connect(&asking());
    peer.initialize_with("2025-11-25", json!({"elicitation": {}}))
        .await;
    peer.refusal_of(call("elicit_url"), -32600).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn bad_questions_never_leave_the_server() {
    let mut peer = Peer::connect(&asking());
    peer.initialize_with("2025-11-25", everything()).await;
    for tool in ["bad_form", "bad_url", "bad_id"] {
        peer.refusal_of(call(tool), -32602).await;
    }
    peer.expect_silence().await;
}

#[tokio::test]
async fn url_elicitation_needs_a_revision_that_has_it() {
    let mut peer = Peer::connect(&asking());
    peer.initialize_with("2025-06-18", everything()).await;
    peer.refusal_of(call("elicit_url"), -32600).await;
    let mut peer = Peer::connect(&asking());
    peer.initialize_with("2025-03-26", everything()).await;
    peer.refusal_of(call("elicit"), -32600).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn the_client_s_error_reaches_the_handler() {
    let mut peer = Peer::connect(&asking());
    peer.initialize_with("2025-11-25", everything()).await;
    peer.send(call("sample")).await;
    let question = peer.receive().await;
    peer.send(json!({
        "jsonrpc": "2.0", "id": question["id"],
        "error": {"code": -1, "message": "the user said no"},
    }))
    .await;
    let error = peer.expect_error("call", -1).await;
    assert_eq!(error["message"], "the user said no");
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_fails_the_call_only() {
    let mut peer = Peer::connect(&asking());
    peer.initialize_with("2025-11-25", everything()).await;
    peer.send(call("list_roots")).await;
    let question = peer.receive().await;
    peer.send(answer(question["id"].clone(), json!({"roots": "none"})))
        .await;
    peer.expect_error("call", -32603).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_is_told_that_nobody_waits_any_more() {
    let server = asking().with_client_response_timeout(std::time::Duration::from_secs(2));
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", everything()).await;
    peer.send(call("sample")).await;
    let question = peer.receive().await;
    let withdrawal = peer.receive().await;
    assert_eq!(withdrawal["method"], "notifications/cancelled");
    assert_eq!(withdrawal["params"]["requestId"], question["id"]);
    peer.expect_error("call", -32603).await;
    // Too late now.
    peer.send(answer(question["id"].clone(), json!({}))).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn a_stateless_request_is_told_what_to_do_instead() {
    let mut peer = Peer::connect(&asking());
    for tool in ["elicit", "elicit_as", "elicit_url", "sample", "list_roots"] {
        let params = json!({"name": tool});
        let request = modern_with(1, "tools/call", params, everything());
        let error = peer.refusal_of(request, -32603).await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("input_required"), "{tool}: {message}");
    }
    // The raw forms check no capabilities, but they are refused in the same words.
    for tool in ["elicit_raw", "sample_raw", "list_roots_raw"] {
        let params = json!({"name": tool});
        let request = modern_with(1, "tools/call", params, everything());
        peer.refusal_of(request, -32603).await;
    }
    peer.expect_silence().await;
}

#[tokio::test]
async fn on_legacy_connections_a_wish_for_input_is_gathered_by_the_server() {
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
    peer.initialize_with("2025-06-18", everything()).await;
    peer.send(call("both")).await;
    for (method, reply) in [
        (
            "sampling/createMessage",
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "4"}}),
        ),
        ("roots/list", json!({"roots": []})),
    ] {
        let question = peer.receive().await;
        assert_eq!(question["method"], method);
        peer.send(answer(question["id"].clone(), reply)).await;
    }
    peer.expect(answer("call", text("true true state"))).await;
}
