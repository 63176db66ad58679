//! Metadata of requests: `_meta`, capabilities, log levels, traces.

use serde_json::{Value, json};
use toolwire::TraceContext;
use toolwire::testing::{ReceivedMessage, ScriptedServer, client_with_version};
use toolwire::types::{CompletionArgument, ElicitResult, PromptReference, Root};
use toolwire::{Client, ClientBuilder, LoggingLevel, ProtocolVersion, Server};
use toolwire_tests::peer::plain;

use super::{LEGACY, MODERN, builder, expect_call, legacy, modern, outcome_of, spawn_call, text};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

fn builder_with_all_handlers() -> ClientBuilder {
    builder()
        .on_elicitation(|_| async { Ok(ElicitResult::decline()) })
        .on_url_elicitation(|_| async { Ok(ElicitResult::decline()) })
        .on_sampling_with_tools(|_| async { Err(toolwire::ErrorObject::internal("no model")) })
        .with_roots([Root::new("file:///project")])
}

#[tokio::test]
async fn every_modern_request_has_version_client_info_and_capabilities() {
    let (client, mut server) = ScriptedServer::connect(builder_with_all_handlers(), MODERN).await;
    let calls: Vec<(&str, tokio::task::JoinHandle<()>)> = vec![
        ("tools/list", spawn(client.list_tools_page(None))),
        ("tools/call", spawn(client.call_tool("t", json!({})))),
        ("resources/list", spawn(client.list_resources_page(None))),
        (
            "resources/templates/list",
            spawn(client.list_resource_templates_page(None)),
        ),
        ("resources/read", spawn(client.read_resource("test://a"))),
        ("prompts/list", spawn(client.list_prompts_page(None))),
        ("prompts/get", spawn(client.get_prompt("p", [("a", "b")]))),
        (
            "completion/complete",
            spawn(client.complete(PromptReference::new("p"), CompletionArgument::new("a", "b"))),
        ),
        ("server/discover", spawn(client.discover())),
        ("server/discover", spawn(client.ping())),
        (
            "acme/method",
            spawn(client.request("acme/method", json!({"a": 1}))),
        ),
        ("acme/bare", spawn(client.request("acme/bare", Value::Null))),
    ];
    for (method, call) in calls {
        let request = server.expect(method).await;
        assert_eq!(request.meta(VERSION), "2026-07-28", "{request}");
        assert_eq!(
            request.meta(INFO),
            &json!({"name": "client", "version": "1.0.0"})
        );
        let capabilities = json!({
            "elicitation": {"form": {}, "url": {}},
            "roots": {},
            "sampling": {"tools": {}},
        });
        assert_eq!(request.meta(CAPABILITIES), &capabilities, "{request}");
        call.abort();
    }
}

fn spawn<T: Send + 'static>(call: toolwire::Call<T>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move { drop(call.await) })
}

#[tokio::test]
async fn capabilities_match_the_registered_handlers() {
    let check = async |builder: ClientBuilder, expected: Value| {
        let (client, mut server) = ScriptedServer::connect(builder, MODERN).await;
        let call = spawn_call(client.call_tool("t", json!({})));
        let request = expect_call(&mut server, "t").await;
        assert_eq!(request.meta(CAPABILITIES), &expected, "{request}");
        call.abort();
    };
    check(builder(), json!({})).await;
    let form = || builder().on_elicitation(|_| async { Ok(ElicitResult::decline()) });
    check(form(), json!({"elicitation": {"form": {}}})).await;
    let url = builder().on_url_elicitation(|_| async { Ok(ElicitResult::decline()) });
    check(url, json!({"elicitation": {"url": {}}})).await;
    let sampling = builder().on_sampling(|_| async { Err(toolwire::ErrorObject::internal("")) });
    check(sampling, json!({"sampling": {}})).await;
    let extension = builder().with_extension("com.example/x", json!({"a": 1}));
    check(
        extension,
        json!({"extensions": {"com.example/x": {"a": 1}}}),
    )
    .await;
}

#[tokio::test]
async fn initialize_has_the_capabilities_of_the_legacy_version() {
    let check = async |version: ProtocolVersion, expected: Value| {
        let builder = builder_with_all_handlers().with_versions([version]);
        let (mut server, connecting) = ScriptedServer::listening(builder);
        let connecting = tokio::spawn(connecting);
        server.accept().await;
        let request = server.expect("initialize").await;
        assert_eq!(request.params["protocolVersion"], json!(version));
        assert_eq!(request.params["clientInfo"]["name"], "client");
        assert_eq!(request.params["capabilities"], expected, "{version}");
        assert_eq!(request.params.get("_meta"), None, "{request}");
        connecting.abort();
    };
    let old = json!({"roots": {"listChanged": true}, "sampling": {}});
    check(ProtocolVersion::V2024_11_05, old.clone()).await;
    check(ProtocolVersion::V2025_03_26, old.clone()).await;
    let mut with_forms = old.clone();
    with_forms["elicitation"] = json!({});
    check(ProtocolVersion::V2025_06_18, with_forms).await;
    let newest = json!({
        "elicitation": {"form": {}, "url": {}},
        "roots": {"listChanged": true},
        "sampling": {"tools": {}},
    });
    check(ProtocolVersion::V2025_11_25, newest).await;
}

#[tokio::test]
async fn legacy_request_has_no_protocol_meta() {
    let (client, mut server) = legacy().await;
    let call = spawn_call(client.call_tool("t", json!({"a": 1})));
    let request = expect_call(&mut server, "t").await;
    assert_eq!(request.params, json!({"name": "t", "arguments": {"a": 1}}));
    call.abort();
}

#[tokio::test]
async fn caller_meta_does_not_replace_protocol_meta() {
    let (client, mut server) = modern().await;
    let call = client
        .call_tool("t", json!({}))
        .with_meta("com.example/tag", json!("x"))
        .with_meta(VERSION, json!("1999-12-31"));
    let call = spawn_call(call);
    let request = expect_call(&mut server, "t").await;
    assert_eq!(request.meta("com.example/tag"), "x");
    assert_eq!(request.meta(VERSION), "2026-07-28");
    call.abort();
}

#[tokio::test]
async fn call_with_a_forbidden_key_is_not_sent() {
    let (client, mut server) = modern().await;
    for (key, expected) in [
        (
            "io.modelcontextprotocol/colour",
            "reserved for the protocol",
        ),
        ("_colour", "malformed"),
    ] {
        let call = client.call_tool("t", json!({})).with_meta(key, json!(1));
        let error = call.with_meta("com.example/tag", json!(1)).await;
        let error = error.unwrap_err();
        assert!(error.is_invalid_request(), "{error:?}");
        let text = error.to_string();
        for part in ["tools/call", key, expected] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }
    // The first message that arrives is the one of a call without such a key.
    let call = client.call_tool("next", json!({}));
    let call = spawn_call(call.with_meta("com.example/tag", json!("x")));
    let request = expect_call(&mut server, "next").await;
    assert_eq!(request.meta("com.example/tag"), "x");
    call.abort();
}

#[tokio::test]
async fn without_info_omits_the_client_info() {
    let (client, mut server) = ScriptedServer::connect(builder().without_info(), MODERN).await;
    let call = spawn_call(client.call_tool("t", json!({})));
    let request = expect_call(&mut server, "t").await;
    assert!(request.meta(INFO).is_null(), "{request}");
    assert_eq!(request.meta(VERSION), "2026-07-28");
    call.abort();
}

async fn next_call(client: &Client, server: &mut ScriptedServer) -> ReceivedMessage {
    let call = spawn_call(client.call_tool("t", json!({})));
    let request = expect_call(server, "t").await;
    server.respond(&request, text("")).await;
    outcome_of(call).await.expect("a response");
    request
}

#[tokio::test]
async fn log_level_is_sent_with_every_modern_request() {
    let (client, mut server) = modern().await;
    assert!(
        next_call(&client, &mut server)
            .await
            .meta(LOG_LEVEL)
            .is_null()
    );
    client
        .set_log_level(Some(LoggingLevel::Warning))
        .await
        .expect("a log level");
    server.expect_silence().await;
    let request = next_call(&client, &mut server).await;
    assert_eq!(request.meta(LOG_LEVEL), "warning");
    let call = client
        .call_tool("t", json!({}))
        .with_log_level(LoggingLevel::Debug);
    let call = spawn_call(call);
    let request = expect_call(&mut server, "t").await;
    assert_eq!(request.meta(LOG_LEVEL), "debug");
    call.abort();
    server.expect_notification("notifications/cancelled").await;
    client.set_log_level(None).await.expect("a log level");
    assert!(
        next_call(&client, &mut server)
            .await
            .meta(LOG_LEVEL)
            .is_null()
    );
}

#[tokio::test]
async fn log_level_is_set_once_per_legacy_session() {
    let (client, mut server) = legacy().await;
    let setting = client.clone();
    let setting =
        tokio::spawn(async move { setting.set_log_level(Some(LoggingLevel::Error)).await });
    let request = server.expect("logging/setLevel").await;
    assert_eq!(request.params, json!({"level": "error"}));
    server.respond(&request, json!({})).await;
    setting.await.expect("no panic").expect("a log level");
    assert_eq!(
        next_call(&client, &mut server).await.params.get("_meta"),
        None
    );
}

#[tokio::test]
async fn log_messages_reach_the_handler_in_both_eras() {
    let tool = plain("talk", |ctx| async move {
        ctx.log(LoggingLevel::Debug, "too low");
        ctx.log(LoggingLevel::Warning, "careful");
        "done"
    });
    let server = Server::new("demo", "1.0.0").with_logging().tool(tool);
    for version in [MODERN, LEGACY] {
        let (sender, mut messages) = tokio::sync::mpsc::unbounded_channel();
        let builder = builder().with_versions([version]).on_log(move |message| {
            sender.send(message.data).expect("an open channel");
        });
        let client = builder.in_process(&server).await.expect("connected");
        client
            .set_log_level(Some(LoggingLevel::Info))
            .await
            .expect("a log level");
        client
            .call_tool("talk", json!({}))
            .await
            .expect("a response");
        let message = messages.try_recv().expect("a message");
        assert_eq!(message.to_value().expect("JSON"), "careful");
        assert!(messages.try_recv().is_err());
    }
}

fn trace(parent: &str) -> TraceContext {
    TraceContext::new(format!("00-0af7651916cd43dd8448eb211c80319c-{parent}-01"))
        .expect("a valid traceparent")
}

#[tokio::test]
async fn trace_context_is_sent_with_its_call() {
    for version in [MODERN, LEGACY] {
        let source = || Some(trace("00f067aa0ba902b7"));
        let builder = builder().with_trace_source(source);
        let (client, mut server) = ScriptedServer::connect(builder, version).await;
        let request = next_call(&client, &mut server).await;
        let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
        assert_eq!(request.meta("traceparent"), parent);
        let own = trace("b7ad6b7169203331")
            .with_tracestate("rojo=1")
            .expect("a valid state");
        let call = client.call_tool("t", json!({})).with_trace_context(own);
        let call = spawn_call(call);
        let request = expect_call(&mut server, "t").await;
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(request.meta("traceparent"), parent);
        assert_eq!(request.meta("tracestate"), "rojo=1");
        call.abort();
    }
}

#[tokio::test]
async fn handler_receives_the_trace_context() {
    let tool = plain("trace", |ctx| async move {
        let trace = TraceContext::from_meta(ctx.meta());
        trace.traceparent().unwrap_or_default().to_owned()
    });
    let server = Server::new("demo", "1.0.0").tool(tool);
    for version in [MODERN, LEGACY] {
        let client = client_with_version(&server, version).await;
        let call = client.call_tool("trace", json!({}));
        let result = call.with_trace_context(trace("00f067aa0ba902b7")).await;
        let result = result.expect("a response");
        let traceparent = result.content[0].as_text().expect("text");
        assert!(traceparent.contains("00f067aa0ba902b7"), "{traceparent}");
    }
}
