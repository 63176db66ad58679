//! Responses and streams that are larger than the buffers.

use serde_json::{Value, json};
use toolwire::transport::http::HttpLimits;
use toolwire::{RequestContext, Server};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::Events;
use toolwire_tests::http::fixture::with_token;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{REVISIONS, Session, tool_call_with_token};
use toolwire_tests::peer::{plain, server};

const LARGE: usize = 3 * 1024 * 1024;

/// Returns a server with two tools: `large` returns a large result, `much` sends many notifications.
fn verbose() -> Server {
    let large = plain("large", |ctx: RequestContext| async move {
        ctx.report_progress(1.0, None, None);
        "x".repeat(LARGE)
    });
    let much = plain("much", |ctx: RequestContext| async move {
        let message = "x".repeat(1000);
        for step in 1..=3000_i32 {
            ctx.report_progress(f64::from(step), None, Some(&message));
            tokio::task::yield_now().await;
        }
        "done"
    });
    server().tool(large).tool(much)
}

fn response_text(message: &Value) -> Option<&str> {
    message["result"]["content"][0]["text"].as_str()
}

/// Reads to the end and returns the text of the response. Checks that progress increases.
async fn read(mut events: Events) -> String {
    let mut progress = 0.0;
    while let Ok(event) = events.next().await {
        if event.data.is_empty() {
            continue;
        }
        let message: Value = serde_json::from_str(&event.data).unwrap();
        if let Some(text) = response_text(&message) {
            let text = text.to_owned();
            events.expect_end().await;
            return text;
        }
        let now = message["params"]["progress"].as_f64().expect("progress");
        assert!(now > progress, "{now} after {progress}");
        progress = now;
    }
    panic!("the response was lost after progress {progress}");
}

#[tokio::test]
async fn large_response_on_a_stream_is_complete() {
    let endpoint = Endpoint::serve(&verbose()).await;
    let events = endpoint
        .open(&Request::modern(&with_token(1, "large", "t")))
        .await;
    assert_eq!(read(events).await.len(), LARGE);
    for version in REVISIONS {
        let session = Session::open(&endpoint, version).await;
        let request = tool_call_with_token(1, "large", "t");
        let events = session.stream(&request).await;
        assert_eq!(read(events).await.len(), LARGE, "{version}");
    }
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn response_after_many_notifications_is_not_lost() {
    let endpoint = Endpoint::serve(&verbose()).await;
    let request = Request::modern(&with_token(1, "much", "t"));
    assert_eq!(read(endpoint.open(&request).await).await, "done");
    let session = Session::open(&endpoint, "2025-11-25").await;
    let request = tool_call_with_token(1, "much", "t");
    assert_eq!(read(session.stream(&request).await).await, "done");
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn slow_reader_gets_the_response() {
    let mut limits = HttpLimits::default();
    limits.queued_messages = 4;
    let endpoint = Endpoint::serve_within(&verbose(), limits).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let events = session.stream(&tool_call_with_token(1, "much", "t")).await;
    // The handler ends although nothing is read.
    endpoint.wait_for_requests(0).await;
    assert_eq!(read(events).await, "done");
    session
        .call(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}))
        .await;
    endpoint.wait_until_idle().await;
}
