//! The id of the trace in the data of errors.

use serde_json::Value;
use toolwire::relay::Upstream;
use toolwire::{Client, Era, Error, ErrorObject, RequestContext};

use super::*;

fn data(failed: &Error) -> Option<String> {
    let data = failed.rpc().and_then(|error| error.data.as_ref());
    data.map(|data| data.get().to_owned())
}

#[tokio::test]
async fn internal_error_has_the_trace_id_on_request() {
    for is_asked in [false, true] {
        let traced = Traced::new();
        let mut telemetry = traced.telemetry.clone();
        if is_asked {
            telemetry = telemetry.with_trace_ids_in_errors();
        }
        let server = server().with_middleware(telemetry).method(
            "acme/method",
            |_: RequestContext, _: Value| async {
                Err::<Value, _>(ErrorObject::internal("broken"))
            },
        );
        let client = connect(Client::builder("agent", "1.0.0"), &server, Era::Modern).await;
        let failed = client.request("acme/method", json!({})).await;
        let failed = failed.expect_err("an error");
        let span = traced.one("acme/method");
        let id = span.span_context.trace_id().to_string();
        let expected = is_asked.then(|| format!(r#"{{"traceId":"{id}"}}"#));
        assert_eq!(data(&failed), expected);
        // Other errors tell the client what it did wrong.
        let missing = client.call_tool("missing", json!({})).await;
        let missing = missing.expect_err("an error");
        assert!(!data(&missing).is_some_and(|data| data.contains("traceId")));
    }
}

#[tokio::test]
async fn error_of_an_unreachable_server_has_the_trace_id() {
    let traced = Traced::new();
    let upstream = Upstream::new(|builder| async move {
        let command = toolwire::ServerCommand::new("no-such-program-anywhere");
        builder.spawn(command).await
    });
    let relay = upstream.relay();
    let telemetry = traced.telemetry.clone().with_trace_ids_in_errors();
    let server = relay.server().clone().with_middleware(telemetry);
    let builder = Client::builder("agent", "1.0.0").with_era(Era::Legacy);
    let failed = builder.in_process(&server).await.expect_err("an error");
    let span = traced.one("initialize");
    let id = span.span_context.trace_id();
    let expected =
        format!(r#"{{"reason":"upstream_unreachable","upstream":"upstream","traceId":"{id}"}}"#);
    assert_eq!(data(&failed), Some(expected), "{failed:?}");
    relay.close().await;
}
