//! Warnings of a server about deprecated features. They have their own test program, because a process warns once per
//! feature. The tests of this file must not share a feature.

#![expect(deprecated, reason = "deprecated features are tested, too")]

use serde_json::{Value, json};
use toolwire::transport::http::{HttpOptions, HttpService};
use toolwire::types::{CreateMessageRequestParams, IncludeContext, SamplingMessage};
use toolwire::{Error, LoggingLevel, RequestContext};
use toolwire_tests::peer::{Peer, legacy, modern_with, plain, result_response, server, text};
use toolwire_tests::traces::Traces;

/// Expects one warning that names the feature and its replacement.
#[track_caller]
fn expect_one_warning(traces: &Traces, feature: &str, proposal: &str, replacement: &str) {
    let text = traces.text();
    let warning = format!("{feature}: deprecated since MCP ");
    assert_eq!(text.matches(&warning).count(), 1, "{text}");
    let (_, rest) = text.split_once(&warning).expect("one warning");
    assert!(rest.contains(proposal), "{rest}");
    assert!(rest.contains(replacement), "{rest}");
}

fn call(id: i64, capabilities: Value) -> Value {
    modern_with(id, "tools/call", json!({"name": "use"}), capabilities)
}

#[tokio::test]
async fn sampling_warns_once_and_only_in_the_revision_that_deprecates_it() {
    let (traces, _guard) = Traces::record();
    let tool = plain("use", |ctx: RequestContext| async move {
        let request = CreateMessageRequestParams::new([SamplingMessage::user("hi")], 5);
        let message = ctx.ask_model("model", request).await?;
        Ok::<_, Error>(message.content.text())
    });
    let server = server().tool(tool);

    let mut old = Peer::connect(&server);
    old.initialize_with("2025-11-25", json!({"sampling": {}}))
        .await;
    old.send(legacy("c", "tools/call", json!({"name": "use"})))
        .await;
    assert_eq!(old.receive().await["method"], "sampling/createMessage");
    let content = json!({"type": "text", "text": "well"});
    let response = json!({"role": "assistant", "model": "m", "content": content});
    old.send(result_response(1, response)).await;
    old.expect(result_response("c", text("well"))).await;
    assert!(!traces.text().contains("deprecated"), "{}", traces.text());

    let mut peer = Peer::connect(&server);
    for id in 1..=2 {
        let result = peer.result_of(call(id, json!({"sampling": {}}))).await;
        assert_eq!(result["resultType"], "input_required");
        expect_one_warning(&traces, "sampling", "SEP-2577", "model provider");
    }
}

#[tokio::test]
async fn roots_warn_once() {
    let (traces, _guard) = Traces::record();
    let tool = plain("use", |ctx: RequestContext| async move {
        let roots = ctx.ask_roots("roots").await?;
        Ok::<_, Error>(roots.len().to_string())
    });
    let mut peer = Peer::connect(&server().tool(tool));
    for id in 1..=2 {
        let result = peer.result_of(call(id, json!({"roots": {}}))).await;
        assert_eq!(result["resultType"], "input_required");
        expect_one_warning(&traces, "roots", "2027-07-28", "tool arguments");
    }
}

#[tokio::test]
async fn logging_warns_once_and_only_if_a_message_is_sent() {
    let (traces, _guard) = Traces::record();
    let tool = plain("use", |ctx: RequestContext| async move {
        ctx.log(LoggingLevel::Info, "hello");
        "done"
    });
    let mut peer = Peer::connect(&server().with_logging().tool(tool));
    peer.result_of(call(1, json!({}))).await;
    assert!(!traces.text().contains("deprecated"), "{}", traces.text());
    for id in 2..=3 {
        let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
        let params = json!({"name": "use", "_meta": meta});
        peer.send(modern_with(id, "tools/call", params, json!({})))
            .await;
        assert_eq!(peer.receive().await["method"], "notifications/message");
        assert_eq!(peer.receive().await["id"], id);
        expect_one_warning(&traces, "logging", "SEP-2577", "OpenTelemetry");
    }
}

#[tokio::test]
async fn include_context_warns_once() {
    let (traces, _guard) = Traces::record();
    let tool = plain("use", |ctx: RequestContext| async move {
        let request = CreateMessageRequestParams::new([SamplingMessage::user("hi")], 5)
            .with_include_context(IncludeContext::ThisServer);
        let message = ctx.ask_model("model", request).await?;
        Ok::<_, Error>(message.content.text())
    });
    let server = server().tool(tool);
    for _ in 0..2 {
        // The revision before the one that deprecates sampling itself.
        let mut peer = Peer::connect(&server);
        peer.initialize_with("2025-11-25", json!({"sampling": {"context": {}}}))
            .await;
        peer.send(legacy("c", "tools/call", json!({"name": "use"})))
            .await;
        let request = peer.receive().await;
        assert_eq!(request["params"]["includeContext"], "thisServer");
        expect_one_warning(&traces, "`allServers`", "SEP-2596", "`none`");
    }
}

#[tokio::test]
async fn http_with_sse_warns_once_if_it_is_enabled() {
    let (traces, _guard) = Traces::record();
    drop(HttpService::new(server(), HttpOptions::new()));
    assert!(!traces.text().contains("deprecated"), "{}", traces.text());
    for _ in 0..2 {
        let options = HttpOptions::new().with_http_sse();
        drop(HttpService::new(server(), options));
        let transport = "the HTTP+SSE transport";
        expect_one_warning(&traces, transport, "SEP-2596", "Streamable HTTP");
    }
}
