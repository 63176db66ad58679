//! What a handler sees of its request besides rounds, progress and logging.

use serde_json::{Value, json};
use toolwire::types::RawJson;
use toolwire::{
    NullContext, OutgoingNotification, RequestContext, TokenInfo, ToolHandler, TransportContext,
};

use crate::peer::{Peer, complete, legacy, modern, modern_with, plain, server, text};

/// A tool that tells what one look at its context yields.
fn look(see: fn(&RequestContext) -> Value) -> ToolHandler {
    plain("look", move |ctx: RequestContext| async move {
        see(&ctx).to_string()
    })
}

async fn seen(see: fn(&RequestContext) -> Value, request: Value) -> Value {
    let mut peer = Peer::connect(&server().tool(look(see)));
    let result = peer.result_of(request).await;
    let seen = result["content"][0]["text"].as_str().expect("a text");
    serde_json::from_str(seen).expect("the tool writes JSON")
}

fn request(id: impl Into<Value>) -> Value {
    modern(id, "tools/call", json!({"name": "look"}))
}

#[tokio::test]
async fn the_request_s_id() {
    let see = |ctx: &RequestContext| json!(ctx.request_id().to_string());
    assert_eq!(seen(see, request(7)).await, "7");
    assert_eq!(seen(see, request("7")).await, "\"7\"");
}

#[tokio::test]
async fn the_server_that_serves_it() {
    let adds = plain("adds", |ctx: RequestContext| async move {
        let added = plain("added", |_| async { "new" });
        ctx.server().add_tool(added).expect("there is no such tool");
    });
    let server = server().tool(adds);
    let mut peer = Peer::connect(&server);
    let request = modern(1, "tools/call", json!({"name": "adds"}));
    peer.result_of(request).await;
    assert!(server.remove_tool("added"));
}

#[tokio::test]
async fn the_request_s_metadata() {
    let see = |ctx: &RequestContext| {
        let trace = ctx.meta().get("traceparent").map(RawJson::get);
        json!([trace, ctx.meta().contains_key("com.example/absent")])
    };
    let params = json!({"name": "look", "_meta": {"traceparent": "00-1-2-01"}});
    let seen = seen(see, modern(1, "tools/call", params)).await;
    assert_eq!(seen, json!(["\"00-1-2-01\"", false]));
}

#[tokio::test]
async fn who_the_client_says_it_is() {
    let see = |ctx: &RequestContext| json!(ctx.client_info().map(|info| &info.name));
    assert_eq!(seen(see, request(1)).await, "peer");
    // A strange identity is for display only, so it does not fail the request.
    let mut strange = request(1);
    strange["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": 7});
    assert_eq!(seen(see, strange).await, Value::Null);
}

#[tokio::test]
async fn what_the_client_can_do() {
    let see = |ctx: &RequestContext| {
        let capabilities = ctx.client_capabilities();
        json!([
            capabilities.roots.is_some(),
            capabilities.extension("com.example/x").is_some()
        ])
    };
    let params = json!({"name": "look"});
    let capabilities = json!({"roots": {}, "extensions": {"com.example/x": {}}});
    let declared = modern_with(1, "tools/call", params, capabilities);
    assert_eq!(seen(see, declared).await, json!([true, true]));
    assert_eq!(seen(see, request(1)).await, json!([false, false]));
}

#[tokio::test]
async fn nobody_is_authorized_in_process() {
    let see = |ctx: &RequestContext| {
        let auth = ctx.auth();
        json!([
            auth.valid,
            auth.subject,
            auth.scopes,
            auth.has_scope("read"),
            ctx.connection_token(),
        ])
    };
    let expected = json!([false, null, [], false, null]);
    assert_eq!(seen(see, request(1)).await, expected);
}

#[test]
fn scopes_count_only_on_verified_tokens() {
    let mut token = TokenInfo::default();
    token.subject = Some("ada".to_owned());
    token.scopes = vec!["read".to_owned()];
    assert!(!token.has_scope("read"));
    token.valid = true;
    assert!(token.has_scope("read"));
    assert!(!token.has_scope("write"));
}

#[tokio::test]
async fn the_state_of_the_connection() {
    let see = |ctx: &RequestContext| {
        let state = ctx.connection_state().expect("the pipe keeps one");
        json!([
            state.version().map(|version| version.as_str()),
            state.is_initialize_processed(),
            state.is_initialized(),
            state.minimum_log_level().is_some(),
            state.is_subscribed("a:b"),
        ])
    };
    let server = server()
        .with_logging()
        .with_resource_subscriptions()
        .resource(toolwire::ResourceHandler::new("a:b", "b", |_, _| async {
            "b"
        }))
        .tool(look(see));
    let mut peer = Peer::connect(&server);
    peer.send(request(1)).await;
    peer.expect(complete(1, text("[null,false,false,false,false]")))
        .await;
    peer.initialize("2025-11-25").await;
    let level = json!({"level": "error"});
    peer.result_of(legacy(2, "logging/setLevel", level)).await;
    let uri = json!({"uri": "a:b"});
    peer.result_of(legacy(3, "resources/subscribe", uri)).await;
    peer.send(request(4)).await;
    let seen = r#"["2025-11-25",true,true,true,true]"#;
    peer.expect(complete(4, text(seen))).await;
}

#[tokio::test]
async fn a_context_without_a_channel_fails_every_question() {
    let context = NullContext::new();
    assert!(!context.can_request());
    assert!(!context.is_cancelled());
    assert!(!context.auth().valid);
    assert!(context.connection_state().is_none());
    let error = context
        .request("roots/list", RawJson::empty_object())
        .await
        .expect_err("there is nobody to ask");
    assert_eq!(error.rpc().map(|error| error.code), Some(-32600));
    context.notify(OutgoingNotification::new(
        "notifications/message",
        RawJson::empty_object(),
        toolwire::proto::outbox::OutgoingKind::Log,
    ));
}
