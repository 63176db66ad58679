//! Warnings of a client about deprecated features. They have their own test program, because a process warns once per
//! feature. The tests of this file must not share a feature.

#![expect(deprecated, reason = "deprecated features are tested, too")]

use serde_json::{Value, json};
use toolwire::testing::ScriptedServer;
use toolwire::types::{CreateMessageResult, Root, SamplingMessageContentBlock};
use toolwire::{
    Client, ClientBuilder, DetectedEra, LegacyTransport, LoggingLevel, ProtocolVersion,
};
use toolwire_tests::http_client_stack::raw::{RawServer, client};
use toolwire_tests::peer::within;
use toolwire_tests::traces::Traces;

/// Expects one warning about the feature.
#[track_caller]
fn expect_one_warning(traces: &Traces, feature: &str) {
    let text = traces.text();
    let warning = format!("{feature}: deprecated since MCP ");
    assert_eq!(text.matches(&warning).count(), 1, "{text}");
}

fn builder() -> ClientBuilder {
    Client::builder("test", "1.0.0")
}

/// Makes two calls to a tool of 2026-07-28 that asks for this input.
async fn respond_twice(traces: &Traces, builder: ClientBuilder, request: Value, feature: &str) {
    let version = ProtocolVersion::V2026_07_28;
    let (client, mut server) = ScriptedServer::connect(builder, version).await;
    for _ in 0..2 {
        let call = tokio::spawn(client.call_tool("use", json!({})).into_future());
        let first = server.expect("tools/call").await;
        let required = json!({"resultType": "input_required", "inputRequests": {"key": request}});
        server.respond(&first, required).await;
        let second = server.expect("tools/call").await;
        assert!(second.params["inputResponses"]["key"].is_object());
        server.respond(&second, json!({"content": []})).await;
        let outcome = call.await.expect("the call does not panic");
        outcome.expect("the call succeeds");
        expect_one_warning(traces, feature);
    }
}

#[tokio::test]
async fn sampling_warns_once() {
    let (traces, _guard) = Traces::record();
    let builder = builder().on_sampling(|_| async {
        let text = SamplingMessageContentBlock::text("well");
        Ok(CreateMessageResult::new("model", text))
    });
    let params = json!({"messages": [], "maxTokens": 1});
    let request = json!({"method": "sampling/createMessage", "params": params});
    respond_twice(&traces, builder, request, "sampling").await;
}

#[tokio::test]
async fn roots_warn_once() {
    let (traces, _guard) = Traces::record();
    let builder = builder().with_roots([Root::new("file:///project")]);
    respond_twice(&traces, builder, json!({"method": "roots/list"}), "roots").await;
}

#[tokio::test]
async fn log_level_of_a_call_warns_once() {
    let (traces, _guard) = Traces::record();
    let version = ProtocolVersion::V2026_07_28;
    let (client, mut server) = ScriptedServer::connect(builder(), version).await;
    for _ in 0..2 {
        let call = client
            .call_tool("use", json!({}))
            .with_log_level(LoggingLevel::Info);
        let call = tokio::spawn(call.into_future());
        let request = server.expect("tools/call").await;
        let level = &request.params["_meta"]["io.modelcontextprotocol/logLevel"];
        assert_eq!(level, "info");
        server.respond(&request, json!({"content": []})).await;
        call.await.unwrap().unwrap();
        expect_one_warning(&traces, "logging");
    }
}

#[tokio::test]
async fn http_with_sse_warns_once() {
    const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
                          event: endpoint\ndata: /messages\n\n";
    let era = DetectedEra::Legacy {
        version: ProtocolVersion::V2024_11_05,
        transport: LegacyTransport::HttpWithSse,
    };
    let (traces, _guard) = Traces::record();
    for _ in 0..2 {
        let server = RawServer::bind().await;
        let connecting = builder().with_detected_era(era).with_http_client(client());
        let connecting = tokio::spawn(connecting.connect(server.url("/sse")));
        let (request, stream) = server.respond_once(EVENTS).await;
        assert!(request.starts_with("GET /sse"), "{request}");
        // The client has received the event when it sends its first message.
        let post = server.accept().await;
        expect_one_warning(&traces, "the HTTP+SSE transport");
        drop((stream, post, server));
        within(connecting).await.unwrap().unwrap_err();
    }
}
