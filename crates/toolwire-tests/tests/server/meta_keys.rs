//! `_meta` keys that authors set: reserved and malformed keys are rejected in descriptors and removed from results.

use serde_json::{Value, json};
use toolwire::types::{
    Meta, PromptArgument, ReadResourceResult, TextContent, TextResourceContents,
};
use toolwire::{
    CallToolResult, GetPromptResult, PromptHandler, PromptMessage, ResourceHandler,
    ResourceTemplateHandler, ToolError,
};
use toolwire_tests::peer::{Peer, call, modern, plain, server};
use toolwire_tests::traces::Traces;

fn meta(key: &str) -> Meta {
    Meta::new().with(key, json!(1))
}

#[test]
fn descriptor_with_a_forbidden_key_is_not_registered() {
    let check = |key: &str, expected: Option<&str>| {
        let server = server();
        let prompt = PromptHandler::new("p", |_, _| async { "hi" })
            .with_argument(PromptArgument::new("a"))
            .with_meta(meta(key));
        let resource = ResourceHandler::new("a:b", "r", |_, _| async { "" });
        let template = ResourceTemplateHandler::new("a:{b}", "t", |_, _, _| async { "" });
        let outcomes = [
            (
                "tool `idle`",
                server.add_tool(plain("idle", |_| async { "idle" }).with_meta(meta(key))),
            ),
            ("prompt `p`", server.add_prompt(prompt)),
            (
                "resource `a:b`",
                server.add_resource(resource.with_meta(meta(key))),
            ),
            (
                "resource template `a:{b}`",
                server.add_resource_template(template.with_meta(meta(key))),
            ),
        ];
        for (what, outcome) in outcomes {
            let text = outcome.err().map(|error| error.to_string());
            let text = text.unwrap_or_default();
            match expected {
                None => assert_eq!(text, "", "{key}"),
                Some(expected) => {
                    assert!(text.starts_with(what), "{text}");
                    assert!(text.contains(expected) && text.contains(key), "{text}");
                }
            }
        }
    };
    check("com.example/colour", None);
    check("colour", None);
    check("com.example.mcp/colour", None);
    // The protocol defines this key itself.
    check("io.modelcontextprotocol/related-task", None);
    check("io.modelcontextprotocol/colour", Some("reserved"));
    check("com.mcp.tools/colour", Some("reserved"));
    check("_colour", Some("malformed"));
    check("9lives/colour", Some("malformed"));
}

#[tokio::test]
async fn forbidden_keys_are_removed_from_results_and_reported_once() {
    const FORBIDDEN: &str = "io.modelcontextprotocol/colour";
    let both = || meta(FORBIDDEN).with("com.example/colour", json!(2));
    let tool = plain("idle", move |_| async move {
        let mut result = CallToolResult::default().with_meta(both());
        let content = TextContent::new("idle").with_meta(meta(FORBIDDEN));
        result.content.push(content.into());
        result
    });
    let prompt = PromptHandler::new("p", move |_, _| async move {
        let content = TextContent::new("hi").with_meta(both());
        GetPromptResult::new(vec![PromptMessage::user(content)]).with_meta(meta(FORBIDDEN))
    });
    let resource = ResourceHandler::new("a:b", "r", move |_, _| async move {
        let mut contents = TextResourceContents::new("a:b", "text");
        contents.meta = Some(both());
        ReadResourceResult::new(vec![contents.into()])
    });
    let server = server().tool(tool).prompt(prompt).resource(resource);
    let (traces, _guard) = Traces::record();
    let mut peer = Peer::connect(&server);
    let kept = json!({"com.example/colour": 2});
    for id in 1..=2 {
        let result = peer.result_of(call(id, "idle", json!({}))).await;
        assert_eq!(result["_meta"], kept);
        assert_eq!(result["content"][0].get("_meta"), None);
        let result = peer
            .result_of(modern(id, "prompts/get", json!({"name": "p"})))
            .await;
        assert_eq!(result.get("_meta"), None);
        assert_eq!(result["messages"][0]["content"]["_meta"], kept);
        let result = peer
            .result_of(modern(id, "resources/read", json!({"uri": "a:b"})))
            .await;
        assert_eq!(result["contents"][0]["_meta"], kept);
    }
    let text = traces.text();
    assert_eq!(text.matches(FORBIDDEN).count(), 1, "{text}");
    assert!(text.contains("reserved for the protocol"), "{text}");
}

#[tokio::test]
async fn forbidden_keys_are_removed_from_results_of_custom_methods() {
    const FORBIDDEN: &str = "com.mcp/shape";
    let server = server().method("com.example/draw", |_, _: Value| async {
        let meta = json!({FORBIDDEN: 1, "com.example/colour": 2});
        Ok::<_, ToolError>(json!({"drawn": true, "_meta": meta}))
    });
    let (traces, _guard) = Traces::record();
    let mut peer = Peer::connect(&server);
    for id in 1..=2 {
        let result = peer
            .result_of(modern(id, "com.example/draw", json!({})))
            .await;
        assert_eq!(result["drawn"], true);
        assert_eq!(result["_meta"]["com.example/colour"], 2);
        assert_eq!(result["_meta"].get(FORBIDDEN), None);
    }
    let text = traces.text();
    assert_eq!(text.matches(FORBIDDEN).count(), 1, "{text}");
    assert!(text.contains("com.example/draw"), "{text}");
}

#[tokio::test]
async fn key_of_the_protocol_is_forwarded() {
    let info = || json!({"name": "upstream", "version": "2"});
    let tool = plain("forward", move |_| async move {
        let key = "io.modelcontextprotocol/serverInfo";
        CallToolResult::text("forwarded").with_meta(Meta::new().with(key, info()))
    });
    let mut peer = Peer::connect(&server().tool(tool));
    let result = peer.result_of(call(1, "forward", json!({}))).await;
    let key: &Value = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(*key, info());
}
