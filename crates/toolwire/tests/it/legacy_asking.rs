//! Handlers that ask the client while they run: what goes out, and what comes back to the handler.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolwire::types::{
    AudioContent, CreateMessageRequestParams, SamplingContent, SamplingMessage,
    SamplingMessageContentBlock,
};
use toolwire::{Elicit, Error, RequestContext, Server, Tool, ToolError, tool};

use crate::legacy_server::LEGACY;
use crate::peer::{Peer, answer, failed, legacy, text};

/// What a handler learned, as the text of its result.
pub(crate) fn told<T: Serialize>(outcome: Result<T, Error>) -> String {
    match outcome {
        Ok(value) => serde_json::to_string(&value).expect("answers are JSON"),
        Err(error) if error.is_timeout() => "timeout".to_owned(),
        Err(error) if error.is_closed() => "closed".to_owned(),
        Err(error) => match error.rpc() {
            Some(rpc) => format!("error {}", rpc.code),
            None => format!("unreadable: {error}"),
        },
    }
}

/// An answer the client refused to give.
pub(crate) fn refusal(id: impl Into<Value>, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "error": {"code": code, "message": message}})
}

fn name_form() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string", "title": "Name", "default": "Ada"}},
        "required": ["name"],
    })
}

/// Asks with a schema written by hand.
#[tool]
async fn form(ctx: &RequestContext) -> String {
    told(ctx.elicit("Who?", name_form()).await)
}

#[derive(Debug, Deserialize, Elicit)]
#[expect(dead_code, reason = "only its form is of interest")]
struct Order {
    /// How many?
    count: u8,
    #[elicit(default = "Large")]
    size: Size,
    extras: Vec<Extra>,
    gift: Option<bool>,
}

#[derive(Debug, Deserialize, Elicit)]
enum Size {
    #[elicit(title = "Small one")]
    Small,
    #[elicit(title = "Large one")]
    Large,
}

#[derive(Debug, Deserialize, Elicit)]
enum Extra {
    Milk,
    Sugar,
}

/// Asks with a derived schema.
#[tool]
async fn order(ctx: &RequestContext) -> String {
    told(ctx.elicit_as::<Order>("What?").await)
}

/// Sends the user to a page.
#[tool]
async fn visit(ctx: &RequestContext) -> String {
    told(
        ctx.elicit_url("Sign in", "https://example.test/sign-in", "visit-1")
            .await,
    )
}

fn question(block: impl Into<SamplingMessageContentBlock>) -> CreateMessageRequestParams {
    let several = SamplingContent::Many(vec![
        SamplingMessageContentBlock::text("And this"),
        block.into(),
    ]);
    CreateMessageRequestParams::new(
        [
            SamplingMessage::user("Hello"),
            SamplingMessage::user(several),
        ],
        10,
    )
    .with_system_prompt("Be kind")
}

/// Asks the client's model.
#[tool]
async fn think(ctx: &RequestContext) -> String {
    told(ctx.sample(question("Again")).await)
}

/// Asks the client's model about a sound.
#[tool]
async fn hear(ctx: &RequestContext) -> String {
    let sound = AudioContent::new("AAAA", "audio/wav");
    told(ctx.sample(question(sound)).await)
}

/// Asks the client's model, which may use a tool.
#[tool]
async fn think_with_tools(ctx: &RequestContext) -> String {
    let clock = Tool::new("clock", json!({"type": "object"}));
    let request =
        CreateMessageRequestParams::new([SamplingMessage::user("When?")], 5).with_tools([clock]);
    told(ctx.sample(request).await)
}

/// Asks for the roots.
#[tool]
async fn roots(ctx: &RequestContext) -> String {
    told(ctx.list_roots().await)
}

/// Asks for the roots and fails as they do.
#[tool]
async fn roots_or_fail(ctx: &RequestContext) -> Result<String, ToolError> {
    Ok(format!("{} roots", ctx.list_roots().await?.roots.len()))
}

/// A server of tools that ask.
pub(crate) fn asking_server() -> Server {
    Server::new("asking", "1")
        .tool(form)
        .tool(order)
        .tool(visit)
        .tool(think)
        .tool(hear)
        .tool(think_with_tools)
        .tool(roots)
        .tool(roots_or_fail)
}

/// Everything a client can declare.
pub(crate) fn able() -> Value {
    json!({
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}},
        "roots": {"listChanged": true},
    })
}

pub(crate) fn call(id: impl Into<Value>, tool: &str) -> Value {
    legacy(id, "tools/call", json!({"name": tool}))
}

/// Calls a tool, expects its question, gives the answer, and expects the handler to have read it.
async fn check_question(version: &str, tool: &str, question: Value, reply: Value, told: &str) {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with(version, able()).await;
    peer.send(call("c", tool)).await;
    peer.expect(question).await;
    peer.send(answer(1, reply)).await;
    peer.expect(answer("c", text(told))).await;
}

#[tokio::test]
async fn a_form_goes_to_the_user_and_the_answer_to_the_handler() {
    let mut schema = name_form();
    let question = |schema: &Value| {
        let params = json!({"message": "Who?", "requestedSchema": schema});
        legacy(1, "elicitation/create", params)
    };
    let accepted = json!({"action": "accept", "content": {"name": "Grace"}});
    let told = r#"{"action":"accept","content":{"name":"Grace"}}"#;
    check_question(
        "2025-11-25",
        "form",
        question(&schema),
        accepted.clone(),
        told,
    )
    .await;
    // Only yes-or-no fields had defaults then.
    schema["properties"]["name"]
        .as_object_mut()
        .unwrap()
        .remove("default");
    check_question("2025-06-18", "form", question(&schema), accepted, told).await;
    for action in ["decline", "cancel"] {
        check_question(
            "2025-06-18",
            "form",
            question(&schema),
            json!({"action": action}),
            &format!(r#"{{"action":"{action}"}}"#),
        )
        .await;
    }
}

#[tokio::test]
async fn a_derived_form_is_written_in_the_words_of_the_revision() {
    let question = |size: Value, extras: Value, required: Value| {
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
    let told = r#"{"action":"decline"}"#;
    let rich = question(
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
    check_question("2025-11-25", "order", rich, declined.clone(), told).await;
    let plain = question(
        json!({
            "type": "string",
            "enum": ["Small", "Large"],
            "enumNames": ["Small one", "Large one"],
        }),
        json!({"type": "string", "enum": ["Milk", "Sugar"]}),
        // Nobody has to choose an extra.
        json!(["count", "size"]),
    );
    check_question("2025-06-18", "order", plain, declined, told).await;
}

#[tokio::test]
async fn a_url_goes_to_the_user_with_its_id_in_2025_11_25() {
    let question = legacy(
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
    check_question(
        "2025-11-25",
        "visit",
        question,
        accepted,
        r#"{"action":"accept"}"#,
    )
    .await;
}

#[tokio::test]
async fn a_model_is_asked_with_what_the_revision_knows() {
    let one = |content: Value| json!({"role": "user", "content": content});
    let sound = || json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
    let words = |text: &str| json!({"type": "text", "text": text});
    let reply = json!({
        "model": "m", "role": "assistant", "content": words("Hi"), "stopReason": "endTurn",
    });
    let check = async |version: &str, tool: &str, messages: Value| {
        let params = json!({"messages": messages, "systemPrompt": "Be kind", "maxTokens": 10});
        let question = legacy(1, "sampling/createMessage", params);
        let mut peer = Peer::connect(&asking_server());
        peer.initialize_with(version, able()).await;
        peer.send(call("c", tool)).await;
        peer.expect(question).await;
        peer.send(answer(1, reply.clone())).await;
        let result = peer.receive().await;
        let told = result["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(told).unwrap(), reply);
    };
    let split = |block: Value| json!([one(words("Hello")), one(words("And this")), one(block)]);
    let whole = |block: Value| json!([one(words("Hello")), one(json!([words("And this"), block]))]);
    // There is no sound in 2024-11-05, and a model must not be asked about one it does not get.
    check("2024-11-05", "think", split(words("Again"))).await;
    check_not_asked("2024-11-05", able(), "hear", -32600).await;
    for version in ["2025-03-26", "2025-06-18"] {
        check(version, "think", split(words("Again"))).await;
        check(version, "hear", split(sound())).await;
    }
    check("2025-11-25", "think", whole(words("Again"))).await;
    check("2025-11-25", "hear", whole(sound())).await;
}

#[tokio::test]
async fn tools_for_the_model_are_offered_in_2025_11_25() {
    let question = legacy(
        1,
        "sampling/createMessage",
        json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": "When?"}}],
            "maxTokens": 5,
            "tools": [{"name": "clock", "inputSchema": {"type": "object"}}],
        }),
    );
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", able()).await;
    peer.send(call("c", "think_with_tools")).await;
    peer.expect(question).await;
    // What a client declares beyond its revision does not make it one that knows tools.
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        check_not_asked(version, able(), "think_with_tools", -32600).await;
    }
}

#[tokio::test]
async fn roots_are_asked_for_in_every_revision() {
    for version in LEGACY {
        check_question(
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
async fn an_error_of_the_client_reaches_the_handler() {
    for version in LEGACY {
        let mut peer = Peer::connect(&asking_server());
        peer.initialize_with(version, able()).await;
        peer.send(call("c", "think")).await;
        assert_eq!(peer.receive().await["method"], "sampling/createMessage");
        peer.send(refusal(1, -1, "the user said no")).await;
        peer.expect(answer("c", text("error -1"))).await;
    }
}

#[tokio::test]
async fn a_handler_may_fail_as_its_question_did() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-06-18", able()).await;
    peer.send(call("c", "roots_or_fail")).await;
    peer.receive().await;
    peer.send(refusal(1, -32601, "no roots here")).await;
    peer.expect(refusal("c", -32601, "no roots here")).await;
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_is_an_error_for_the_handler_only() {
    for reply in [
        json!({}),
        json!({"roots": 7}),
        json!({"roots": [{"name": "no uri"}]}),
    ] {
        let mut peer = Peer::connect(&asking_server());
        peer.initialize_with("2025-06-18", able()).await;
        peer.send(call("c", "roots")).await;
        peer.receive().await;
        peer.send(answer(1, reply)).await;
        let answer = peer.receive().await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let unusable = "unreadable: the response to \"roots/list\" is invalid: ";
        assert!(text.starts_with(unusable), "{text}");
        peer.expect_silence().await;
    }
}

/// Calls a tool whose question must not be sent, and expects the handler to be told so.
async fn check_not_asked(version: &str, capabilities: Value, tool: &str, code: i64) {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with(version, capabilities.clone()).await;
    peer.send(call("c", tool)).await;
    let received = peer.receive().await;
    let expected = answer("c", text(&format!("error {code}")));
    assert_eq!(received, expected, "{version} {tool} {capabilities}");
}

#[tokio::test]
async fn a_client_is_asked_only_what_it_declared() {
    for version in LEGACY {
        for tool in ["think", "roots", "form", "order", "visit"] {
            check_not_asked(version, json!({}), tool, -32021).await;
        }
    }
    let form_only = || json!({"elicitation": {}});
    check_not_asked("2025-11-25", form_only(), "visit", -32021).await;
    check_not_asked(
        "2025-11-25",
        json!({"elicitation": {"url": {}}}),
        "form",
        -32021,
    )
    .await;
    check_not_asked(
        "2025-11-25",
        json!({"sampling": {}}),
        "think_with_tools",
        -32021,
    )
    .await;
    check_question(
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
async fn a_client_is_asked_only_what_its_revision_has() {
    for version in ["2024-11-05", "2025-03-26"] {
        for tool in ["form", "order", "visit"] {
            check_not_asked(version, able(), tool, -32600).await;
        }
    }
    check_not_asked("2025-06-18", able(), "visit", -32600).await;
}

#[tokio::test]
async fn a_missing_capability_is_told_to_the_client_without_a_modern_code() {
    for version in LEGACY {
        let mut peer = Peer::connect(&asking_server());
        peer.initialize(version).await;
        let error = peer.refusal_of(call("c", "roots_or_fail"), -32600).await;
        assert_eq!(
            error["data"],
            json!({"requiredCapabilities": {"roots": {}}})
        );
    }
}

#[tokio::test]
async fn a_bad_question_is_never_sent() {
    /// Asks for nonsense.
    #[tool]
    async fn nonsense(ctx: &RequestContext) -> Vec<String> {
        vec![
            told(ctx.elicit("Who?", json!("not a schema")).await),
            told(ctx.elicit_url("Go", "javascript:alert(1)", "id").await),
            told(ctx.elicit_url("Go", "https://example.test", "").await),
        ]
    }

    let mut peer = Peer::connect(&Server::new("s", "1").tool(nonsense));
    peer.initialize_with("2025-11-25", able()).await;
    let result = peer.result_of(call("c", "nonsense")).await;
    assert_eq!(
        result["content"][0]["text"],
        r#"["error -32602","error -32602","error -32602"]"#
    );
}

#[tokio::test]
async fn a_tool_may_require_what_the_client_must_declare() {
    /// Needs roots.
    #[tool(requires("roots"))]
    async fn needy(ctx: &RequestContext) -> String {
        told(ctx.list_roots().await)
    }

    for version in LEGACY {
        let mut peer = Peer::connect(&Server::new("s", "1").tool(needy));
        peer.initialize(version).await;
        peer.refusal_of(call(1, "needy"), -32600).await;
        let mut peer = Peer::connect(&Server::new("s", "1").tool(needy));
        peer.initialize_with(version, able()).await;
        peer.send(call("c", "needy")).await;
        peer.expect(legacy(1, "roots/list", json!({}))).await;
        peer.send(refusal(1, -32603, "broken")).await;
        peer.expect(answer("c", text("error -32603"))).await;
    }
}

#[tokio::test]
async fn a_failed_tool_is_told_to_the_model() {
    /// Fails.
    #[tool]
    async fn fails() -> Result<String, ToolError> {
        Err(ToolError::failed("no luck"))
    }

    for version in LEGACY {
        let mut peer = Peer::connect(&Server::new("s", "1").tool(fails));
        peer.initialize(version).await;
        peer.send(call(1, "fails")).await;
        peer.expect(answer(1, failed("no luck"))).await;
    }
}
