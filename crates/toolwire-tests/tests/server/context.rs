//! Accessors of `RequestContext`, except those for rounds, progress and logging.

use serde_json::{Value, json};
use toolwire::types::RawJson;
use toolwire::{
    NullContext, OutgoingNotification, RequestContext, TokenInfo, ToolHandler, TransportContext,
};
use toolwire_tests::peer::{Peer, complete, legacy, modern, modern_with, plain, server, text};

/// Returns a tool whose result is the value that `see` reads from the context.
fn inspect(see: fn(&RequestContext) -> Value) -> ToolHandler {
    plain("inspect", move |ctx: RequestContext| async move {
        see(&ctx).to_string()
    })
}

async fn seen(see: fn(&RequestContext) -> Value, request: Value) -> Value {
    let mut peer = Peer::connect(&server().tool(inspect(see)));
    let result = peer.result_of(request).await;
    let seen = result["content"][0]["text"].as_str().expect("a text");
    serde_json::from_str(seen).expect("the tool writes JSON")
}

fn request(id: impl Into<Value>) -> Value {
    modern(id, "tools/call", json!({"name": "inspect"}))
}

#[tokio::test]
async fn request_id_has_its_json_type() {
    let see = |ctx: &RequestContext| json!(ctx.request_id().to_string());
    assert_eq!(seen(see, request(7)).await, "7");
    assert_eq!(seen(see, request("7")).await, "\"7\"");
}

#[tokio::test]
async fn server_can_be_changed_through_the_context() {
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
async fn meta_returns_the_request_s_metadata() {
    let see = |ctx: &RequestContext| {
        let trace = ctx.meta().get("traceparent").map(RawJson::get);
        json!([trace, ctx.meta().contains_key("com.example/absent")])
    };
    let params = json!({"name": "inspect", "_meta": {"traceparent": "00-1-2-01"}});
    let seen = seen(see, modern(1, "tools/call", params)).await;
    assert_eq!(seen, json!(["\"00-1-2-01\"", false]));
}

#[tokio::test]
async fn client_info_is_optional_and_not_validated() {
    let see = |ctx: &RequestContext| json!(ctx.client_info().map(|info| &info.name));
    assert_eq!(seen(see, request(1)).await, "peer");
    // The client info is for display only, so an invalid value does not fail the request.
    let mut invalid = request(1);
    invalid["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": 7});
    assert_eq!(seen(see, invalid).await, Value::Null);
}

#[tokio::test]
async fn client_capabilities_are_those_of_the_request() {
    let see = |ctx: &RequestContext| {
        let capabilities = ctx.client_capabilities();
        json!([
            capabilities.roots.is_some(),
            capabilities.extension("com.example/x").is_some()
        ])
    };
    let params = json!({"name": "inspect"});
    let capabilities = json!({"roots": {}, "extensions": {"com.example/x": {}}});
    let declared = modern_with(1, "tools/call", params, capabilities);
    assert_eq!(seen(see, declared).await, json!([true, true]));
    assert_eq!(seen(see, request(1)).await, json!([false, false]));
}

#[tokio::test]
async fn in_process_request_has_no_valid_token() {
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
fn has_scope_requires_a_valid_token() {
    let mut token = TokenInfo::default();
    token.subject = Some("ada".to_owned());
    token.scopes = vec!["read".to_owned()];
    assert!(!token.has_scope("read"));
    token.valid = true;
    assert!(token.has_scope("read"));
    assert!(!token.has_scope("write"));
}

#[tokio::test]
async fn connection_state_reflects_the_handshake_and_subscriptions() {
    let see = |ctx: &RequestContext| {
        let state = ctx
            .connection_state()
            .expect("a byte stream has a connection state");
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
        .tool(inspect(see));
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
async fn request_on_a_null_context_fails() {
    let context = NullContext::new();
    assert!(!context.can_request());
    assert!(!context.is_cancelled());
    assert!(!context.auth().valid);
    assert!(context.connection_state().is_none());
    let error = context
        .request("roots/list", RawJson::empty_object())
        .await
        .expect_err("a null context has no client");
    assert_eq!(error.rpc().map(|error| error.code), Some(-32600));
    context.notify(OutgoingNotification::new(
        "notifications/message",
        RawJson::empty_object(),
        toolwire::transport::OutgoingKind::Log,
    ));
}
