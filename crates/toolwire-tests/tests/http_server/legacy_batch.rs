//! Batches over HTTP, which only 2025-03-26 permits.

use std::sync::Arc;

use serde_json::{Value, json};
use toolwire::store::contract::{Fault, Faulty};
use toolwire::store::{MemoryBus, MemorySessionStore, SessionStore};
use toolwire::transport::http::{HttpLimits, HttpOptions, LegacyMode};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{Session, tool_call, tool_call_with_token};
use toolwire_tests::peer::{cancel, legacy, notification, result_response, text};

fn sorted(array: Value) -> Vec<Value> {
    let Value::Array(mut responses) = array else {
        panic!("no batch: {array}");
    };
    responses.sort_by_key(|response| response["id"].to_string());
    responses
}

#[tokio::test]
async fn batch_gets_an_array_of_responses() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-03-26").await;
    let responses = session
        .call(json!([
            legacy(1, "ping", json!({})),
            tool_call(2, "count", json!({"n": 1})),
            notification("notifications/unknown", json!({})),
            {"jsonrpc": "2.0", "id": 3},
            legacy(4, "initialize", json!({})),
        ]))
        .await;
    let responses = sorted(responses);
    assert_eq!(responses.len(), 4, "{responses:?}");
    assert_eq!(responses[0], result_response(1, json!({})));
    assert_eq!(responses[1], result_response(2, text("counted")));
    assert_eq!(responses[2]["error"]["code"], -32600);
    assert_eq!(responses[3]["error"]["code"], -32600);
    assert_eq!(fixture.runs(), 1);
    // A batch without requests gets no response.
    session
        .send(json!([notification("notifications/unknown", json!({}))]))
        .await;
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn notifications_of_a_batch_precede_its_responses() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-03-26").await;
    let batch = json!([
        tool_call_with_token(1, "steps", "t"),
        legacy(2, "ping", json!({})),
    ]);
    let mut events = session.stream(&batch).await;
    for progress in [1, 2] {
        let message = events.message().await;
        assert_eq!(message["params"]["progress"], progress, "{message}");
        assert_eq!(message["params"]["progressToken"], "t");
    }
    let responses = sorted(events.message().await);
    assert_eq!(
        responses,
        [
            result_response(1, text("stepped")),
            result_response(2, json!({}))
        ]
    );
    events.expect_end().await;
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn batches_are_rejected_in_other_revisions() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let session = Session::open(&endpoint, version).await;
        let rejected = session
            .post(&json!([tool_call(1, "count", json!({"n": 1}))]))
            .await;
        assert_eq!(rejected.status(), 400);
        assert_eq!(rejected.message()["error"]["code"], -32600);
        assert_eq!(
            session.call(legacy(1, "ping", json!({}))).await,
            result_response(1, json!({}))
        );
    }
    assert_eq!(fixture.runs(), 0);
}

#[tokio::test]
async fn batch_in_an_ended_session_is_rejected_with_404() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-03-26").await;
    session.end().await;
    let batch = json!([tool_call(1, "count", json!({"n": 1}))]);
    assert_eq!(session.post(&batch).await.status(), 404);
    assert_eq!(fixture.runs(), 0);
}

#[tokio::test]
async fn each_request_of_a_batch_needs_a_permit() {
    let mut fixture = Fixture::new();
    let mut limits = HttpLimits::default();
    limits.requests_in_flight = 3;
    let options = HttpOptions::new()
        .with_limits(limits)
        .with_legacy(LegacyMode::Stateless);
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    let batch: Vec<Value> = (0..5).map(|id| tool_call(id, "wait", json!({}))).collect();
    let request = Request::post(&json!(batch)).with("MCP-Protocol-Version", "2025-03-26");
    let mut connection = endpoint.connect().await;
    connection.send(request.bytes()).await;
    for _ in 0..3 {
        fixture.expect(HandlerEvent::Started).await;
    }
    fixture.step();
    fixture.step();
    let responses = sorted(connection.response().await.message());
    let rejected = responses
        .iter()
        .filter(|response| response["error"]["code"] == -32603);
    assert_eq!(rejected.count(), 2, "{responses:?}");
}

#[tokio::test]
async fn responses_of_a_batch_have_a_limit_in_bytes() {
    let fixture = Fixture::new();
    let list = |id: usize| legacy(id, "tools/list", json!({}));
    let batch = json!((1..=5).map(list).collect::<Vec<_>>());
    let post = |message: &Value| Request::post(message).with("MCP-Protocol-Version", "2025-03-26");
    let stateless = || HttpOptions::new().with_legacy(LegacyMode::Stateless);
    let endpoint = Endpoint::serve_with(&fixture.server, stateless()).await;
    let length = endpoint.request(&post(&list(1))).await.text().len();

    let mut limits = HttpLimits::default();
    // Three responses fit beside the batch. With such large bodies, one message may use all free bytes.
    limits.bytes_in_flight = 3 * length + batch.to_string().len();
    limits.body_bytes = limits.bytes_in_flight / 2;
    let options = stateless().with_limits(limits);
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    for _ in 0..3 {
        let responses = sorted(endpoint.request(&post(&batch)).await.message());
        let ids: Vec<&Value> = responses.iter().map(|response| &response["id"]).collect();
        assert_eq!(json!(ids), json!([1, 2, 3, 4, 5]));
        for response in &responses[..3] {
            assert!(response["result"].is_object(), "{response}");
        }
        for response in &responses[3..] {
            assert_eq!(response["error"]["code"], -32603, "{response}");
            assert_eq!(response["error"]["data"]["reason"], "overloaded");
        }
        // The bytes of a batch are free after its response.
        endpoint.wait_until_idle().await;
    }
}

#[tokio::test]
async fn notification_that_cannot_be_processed_does_not_affect_the_requests_of_its_batch() {
    let fixture = Fixture::new();
    let bus = Arc::new(Faulty::new(Arc::<MemoryBus>::default()));
    let options = HttpOptions::new().with_bus(bus.clone());
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    let session = Session::open(&endpoint, "2025-03-26").await;
    // The second cancellation could be published, but is not processed after the first one.
    bus.inject("publish_all", Fault::Error, 1);
    let before = bus.calls("publish_all");
    let batch = json!([
        tool_call(1, "count", json!({"n": 1})),
        cancel(7),
        cancel(8),
        tool_call(2, "count", json!({"n": 1})),
    ]);
    let responses = sorted(session.call(batch).await);
    assert_eq!(bus.calls("publish_all"), before + 1);
    assert_eq!(fixture.runs(), 2);
    assert_eq!(responses.len(), 3, "{responses:?}");
    assert_eq!(responses[0], result_response(1, text("counted")));
    assert_eq!(responses[1], result_response(2, text("counted")));
    assert_eq!(responses[2]["id"], Value::Null);
    assert_eq!(responses[2]["error"]["data"]["reason"], "overloaded");
    // A batch without requests has nothing else to report.
    bus.inject("publish_all", Fault::Error, 1);
    let rejected = session.post(&json!([cancel(7)])).await;
    assert_eq!(rejected.status(), 503);
    assert!(rejected.header("retry-after").is_some());
}

#[tokio::test]
async fn requests_of_a_batch_whose_changes_cannot_be_stored_fail_alone() {
    let fixture = Fixture::new();
    let sessions = Arc::new(Faulty::new(Arc::<MemorySessionStore>::default()));
    let options =
        HttpOptions::new().with_session_store(Arc::clone(&sessions) as Arc<dyn SessionStore>);
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    let session = Session::open(&endpoint, "2025-03-26").await;
    let batch = json!([
        legacy(1, "logging/setLevel", json!({"level": "error"})),
        tool_call(2, "count", json!({"n": 1})),
        legacy(3, "ping", json!({})),
    ]);
    sessions.inject("replace", Fault::Error, 1);
    let responses = sorted(session.call(batch.clone()).await);
    assert_eq!(responses.len(), 3, "{responses:?}");
    assert_eq!(responses[0]["id"], 1);
    assert_eq!(responses[0]["error"]["data"]["reason"], "overloaded");
    assert_eq!(responses[1], result_response(2, text("counted")));
    assert_eq!(responses[2], result_response(3, json!({})));
    let repeated = sorted(session.call(batch).await);
    assert_eq!(repeated[0], result_response(1, json!({})));
}
