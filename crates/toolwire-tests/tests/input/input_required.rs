//! Requests that need input: the result is `input_required`, and the client sends the request again (2026-07-28).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, InputRequest, InputRequests, ListRootsResult,
    SamplingMessage,
};
use toolwire::{
    CallToolResult, PromptHandler, PromptResponse, RequestContext, ResourceHandler,
    ResourceResponse, Server, ToolError, ToolHandler, ToolResponse,
};
use toolwire_tests::peer::{
    Peer, complete, modern, modern_with, plain, result_response, server, text,
};

fn form() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    })
}

/// Returns the input request that all handlers here return first.
fn name_request() -> InputRequests {
    InputRequests::new().with("who", ElicitRequestFormParams::new("Who are you?", form()))
}

/// Returns `name_request()` as it is sent on the wire.
fn name_request_json() -> Value {
    json!({"who": {
        "method": "elicitation/create",
        "params": {"message": "Who are you?", "requestedSchema": form()},
    }})
}

fn name_of(ctx: &RequestContext) -> Result<Option<String>, ToolError> {
    let Some(response) = ctx.input_response_as::<ElicitResult>("who")? else {
        return Ok(None);
    };
    let content = response.content.unwrap_or_default();
    let name = content.get("name").and_then(Value::as_str);
    Ok(Some(name.unwrap_or("unknown").to_owned()))
}

fn greeting_server() -> Server {
    let tool = plain("greet", |ctx: RequestContext| async move {
        Ok::<_, ToolError>(match name_of(&ctx)? {
            None => ToolResponse::input_required(name_request(), Some("tool".to_owned())),
            Some(name) => CallToolResult::text(format!("{name} {}", ctx.request_state())).into(),
        })
    });
    let prompt = PromptHandler::new("greet", |ctx: RequestContext, _| async move {
        let Some(name) = name_of(&ctx)? else {
            return Ok(PromptResponse::input_required(
                name_request(),
                Some("prompt".to_owned()),
            ));
        };
        let message = toolwire::PromptMessage::user(format!("{name} {}", ctx.request_state()));
        Ok::<_, ToolError>(PromptResponse::Complete(toolwire::GetPromptResult::new(
            vec![message],
        )))
    });
    let resource = ResourceHandler::new("a:b", "b", |ctx: RequestContext, _| async move {
        let Some(name) = name_of(&ctx)? else {
            return Ok(ResourceResponse::input_required(
                name_request(),
                Some("resource".to_owned()),
            ));
        };
        let text = format!("{name} {}", ctx.request_state());
        Ok::<_, ToolError>(ResourceResponse::Contents(toolwire::ResourceData::Text(
            text,
        )))
    });
    server().tool(tool).prompt(prompt).resource(resource)
}

fn request_with_elicitation(method: &str, params: Value) -> Value {
    modern_with(1, method, params, json!({"elicitation": {}}))
}

fn accept(name: &str) -> Value {
    json!({"who": {"action": "accept", "content": {"name": name}}})
}

#[tokio::test]
async fn tools_prompts_and_resources_receive_the_input_response() {
    let mut peer = Peer::connect(&greeting_server());
    for (method, params, expected) in [
        ("tools/call", json!({"name": "greet"}), "Ada tool"),
        ("prompts/get", json!({"name": "greet"}), "Ada prompt"),
        ("resources/read", json!({"uri": "a:b"}), "Ada resource"),
    ] {
        let input_required = peer
            .result_of(request_with_elicitation(method, params.clone()))
            .await;
        assert_eq!(input_required["resultType"], "input_required");
        assert_eq!(input_required["inputRequests"], name_request_json());
        let state = input_required["requestState"].as_str().expect("a state");
        assert!(!state.contains("tool") && !state.contains("prompt"));

        let mut retry = params;
        retry["inputResponses"] = accept("Ada");
        retry["requestState"] = json!(state);
        let result = peer
            .result_of(request_with_elicitation(method, retry))
            .await;
        assert_eq!(result["resultType"], "complete", "{result}");
        let received = match method {
            "tools/call" => &result["content"][0]["text"],
            "prompts/get" => &result["messages"][0]["content"]["text"],
            _ => &result["contents"][0]["text"],
        };
        assert_eq!(received, expected);
    }
}

#[tokio::test]
async fn resubmit_without_the_input_response_returns_input_required() {
    let mut peer = Peer::connect(&greeting_server());
    for responses in [
        json!({}),
        json!({"other": {"action": "accept"}}),
        Value::Null,
    ] {
        let params = json!({"name": "greet", "inputResponses": responses});
        let input_required = peer
            .result_of(request_with_elicitation("tools/call", params))
            .await;
        assert_eq!(input_required["resultType"], "input_required");
    }
}

#[tokio::test]
async fn invalid_input_responses_are_rejected() {
    let mut peer = Peer::connect(&greeting_server());
    for responses in [
        json!([]),
        json!("x"),
        json!({"who": 7}),
        json!({"who": {"action": "accept", "content": 1}}),
    ] {
        let params = json!({"name": "greet", "inputResponses": responses});
        peer.error_of(request_with_elicitation("tools/call", params), -32602)
            .await;
    }
    let params = json!({"name": "greet", "requestState": 7});
    peer.error_of(request_with_elicitation("tools/call", params), -32602)
        .await;
}

#[tokio::test]
async fn input_request_without_the_client_capability_is_an_error() {
    let ask = |name: &str, request: fn() -> InputRequest| {
        plain(name, move |_| async move {
            ToolResponse::input_required(InputRequests::new().with("q", request()), None)
        })
    };
    let server = server()
        .tool(ask("form", || {
            ElicitRequestFormParams::new("?", form()).into()
        }))
        .tool(ask("url", || {
            ElicitRequestURLParams::new("?", "https://example.test").into()
        }))
        .tool(ask("sample", || {
            CreateMessageRequestParams::new([SamplingMessage::user("?")], 10).into()
        }))
        .tool(ask("roots", InputRequest::roots));
    let mut peer = Peer::connect(&server);
    for (tool, declared, missing) in [
        (
            "form",
            json!({"elicitation": {}}),
            json!({"elicitation": {"form": {}}}),
        ),
        (
            "url",
            json!({"elicitation": {"url": {}}}),
            json!({"elicitation": {"url": {}}}),
        ),
        ("sample", json!({"sampling": {}}), json!({"sampling": {}})),
        ("roots", json!({"roots": {}}), json!({"roots": {}})),
    ] {
        let params = json!({"name": tool});
        let error = peer
            .error_of(modern(1, "tools/call", params.clone()), -32021)
            .await;
        assert_eq!(error["data"], json!({"requiredCapabilities": missing}));
        let request = modern_with(2, "tools/call", params, declared);
        let input_required = peer.result_of(request).await;
        assert_eq!(input_required["resultType"], "input_required", "{tool}");
    }
}

#[tokio::test]
async fn input_responses_are_read_by_type() {
    let tool = plain("all", |ctx: RequestContext| async move {
        if !ctx.is_resubmit() {
            let requests = name_request()
                .with(
                    "model",
                    CreateMessageRequestParams::new([SamplingMessage::user("?")], 9),
                )
                .with("roots", InputRequest::roots());
            return Ok(ToolResponse::input_required(requests, None));
        }
        let who: Option<ElicitResult> = ctx.input_response_as("who")?;
        let model: Option<CreateMessageResult> = ctx.input_response_as("model")?;
        let roots: Option<ListRootsResult> = ctx.input_response_as("roots")?;
        let absent: Option<ElicitResult> = ctx.input_response_as("absent")?;
        let seen = (
            who.map(|who| who.action == toolwire::types::ElicitAction::Accept),
            model.map(|response| response.model),
            roots.map(|roots| roots.roots.len()),
            absent.is_none(),
            ctx.has_input_response("who"),
            ctx.has_input_response("absent"),
        );
        Ok::<_, ToolError>(CallToolResult::text(format!("{seen:?}")).into())
    });
    let mut peer = Peer::connect(&server().tool(tool));
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let request = |params| modern_with(1, "tools/call", params, capabilities.clone());
    let input_required = peer.result_of(request(json!({"name": "all"}))).await;
    let keys: Vec<_> = input_required["inputRequests"]
        .as_object()
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(keys.len(), 3);
    assert_eq!(
        input_required["inputRequests"]["roots"],
        json!({"method": "roots/list"})
    );
    assert_eq!(input_required.get("requestState"), None);

    let responses = json!({
        "who": {"action": "accept", "content": {"name": "Ada"}},
        "model": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "!"}},
        "roots": {"roots": [{"uri": "file:///a"}]},
    });
    let params = json!({"name": "all", "inputResponses": responses});
    peer.send(request(params)).await;
    let seen = r#"(Some(true), Some("m"), Some(1), true, true, false)"#;
    peer.expect(complete(1, text(seen))).await;
}

/// Returns a tool that describes the input responses and the request state of its request.
fn describe() -> ToolHandler {
    plain("describe", |ctx: RequestContext| async move {
        let keys: Vec<_> = ctx.input_responses().iter().map(|(key, _)| key).collect();
        format!(
            "{keys:?} {} {} {:?}",
            ctx.is_resubmit(),
            ctx.has_request_state(),
            ctx.request_state()
        )
    })
}

#[tokio::test]
async fn handler_sees_input_responses_and_request_state() {
    let server = server().without_sealed_request_state().tool(describe());
    let mut peer = Peer::connect(&server);
    let mut check = async |mut params: Value, expected: &str| {
        params["name"] = json!("describe");
        peer.send(modern(1, "tools/call", params)).await;
        peer.expect(complete(1, text(expected))).await;
    };
    check(json!({}), r#"[] false false """#).await;
    check(json!({"requestState": "s"}), r#"[] false true "s""#).await;
    check(json!({"requestState": ""}), r#"[] false true """#).await;
    check(
        json!({"inputResponses": {"b": {}, "a": {}}, "requestState": "s"}),
        r#"["b", "a"] true true "s""#,
    )
    .await;
}

#[tokio::test]
async fn input_responses_of_a_legacy_request_are_ignored() {
    let server = server().without_sealed_request_state().tool(describe());
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let params = json!({"name": "describe", "inputResponses": {"a": {}}, "requestState": "s"});
    peer.send(toolwire_tests::peer::legacy(1, "tools/call", params))
        .await;
    peer.expect(result_response(1, text(r#"[] false false """#)))
        .await;
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Steps {
    done: u32,
}

/// Returns a tool that needs three rounds and counts them in its request state.
fn stepping() -> ToolHandler {
    plain("step", |ctx: RequestContext| async move {
        let mut steps: Steps = ctx.request_state_as()?;
        if steps.done == 3 {
            return Ok(CallToolResult::text("three rounds").into());
        }
        steps.done += 1;
        ToolResponse::input_required_with(InputRequests::new(), &steps)
    })
}

#[tokio::test]
async fn typed_state_is_passed_between_rounds() {
    let server = server().without_sealed_request_state().tool(stepping());
    let mut peer = Peer::connect(&server);
    let mut params = json!({"name": "step"});
    for round in 1..=3 {
        let input_required = peer
            .result_of(modern(1, "tools/call", params.clone()))
            .await;
        // The unsealed state is the JSON text of the value.
        assert_eq!(
            input_required,
            json!({"resultType": "input_required", "requestState": format!("{{\"done\":{round}}}")})
        );
        params["requestState"] = input_required["requestState"].clone();
    }
    peer.send(modern(1, "tools/call", params)).await;
    peer.expect(complete(1, text("three rounds"))).await;
}

#[tokio::test]
async fn empty_state_differs_from_no_state() {
    let tool = plain("tool", |ctx: RequestContext| async move {
        if ctx.has_request_state() {
            CallToolResult::text("back again").into()
        } else {
            ToolResponse::input_required(InputRequests::new(), Some(String::new()))
        }
    });
    let mut peer = Peer::connect(&server().tool(tool));
    let input_required = peer
        .result_of(modern(1, "tools/call", json!({"name": "tool"})))
        .await;
    let params = json!({"name": "tool", "requestState": input_required["requestState"]});
    peer.send(modern(2, "tools/call", params)).await;
    peer.expect(complete(2, text("back again"))).await;
}

#[tokio::test]
async fn state_of_another_type_is_rejected() {
    let server = server().without_sealed_request_state().tool(stepping());
    let mut peer = Peer::connect(&server);
    for state in ["{", "7", "{\"done\":\"x\"}", "null"] {
        let params = json!({"name": "step", "requestState": state});
        peer.error_of(modern(1, "tools/call", params), -32602).await;
    }
}

#[tokio::test]
async fn missing_input_response_can_be_read_as_empty() {
    #[derive(Deserialize)]
    struct Choice {
        #[serde(default)]
        size: u8,
    }
    let tool = plain("choose", |ctx: RequestContext| async move {
        let choice: Choice = ctx.input_response_or_empty("choice")?;
        Ok::<_, ToolError>(format!("size {}", choice.size))
    });
    let mut peer = Peer::connect(&server().tool(tool));
    peer.send(modern(1, "tools/call", json!({"name": "choose"})))
        .await;
    peer.expect(complete(1, text("size 0"))).await;
    let params = json!({"name": "choose", "inputResponses": {"choice": {"size": 3}}});
    peer.send(modern(2, "tools/call", params)).await;
    peer.expect(complete(2, text("size 3"))).await;
}
