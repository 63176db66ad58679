//! Batches, which exactly one revision has.

use serde_json::{Value, json};
use toolwire::transport::http::{HttpLimits, HttpOptions, LegacyMode};

use crate::http::endpoint::Endpoint;
use crate::http::request::Request;
use crate::http::session::{Session, tool_call, tool_call_with_token};
use crate::http::stage::{Happening, Stage};
use crate::peer::{answer, legacy, notification, text};

fn sorted(array: Value) -> Vec<Value> {
    let Value::Array(mut answers) = array else {
        panic!("no batch: {array}");
    };
    answers.sort_by_key(|answer| answer["id"].to_string());
    answers
}

#[tokio::test]
async fn a_batch_is_answered_with_a_batch() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let session = Session::open(&endpoint, "2025-03-26").await;
    let answers = session
        .call(json!([
            legacy(1, "ping", json!({})),
            tool_call(2, "count", json!({"n": 1})),
            notification("notifications/unheard-of", json!({})),
            {"jsonrpc": "2.0", "id": 3},
            legacy(4, "initialize", json!({})),
        ]))
        .await;
    let answers = sorted(answers);
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert_eq!(answers[0], answer(1, json!({})));
    assert_eq!(answers[1], answer(2, text("counted")));
    assert_eq!(answers[2]["error"]["code"], -32600);
    assert_eq!(answers[3]["error"]["code"], -32600);
    assert_eq!(stage.runs(), 1);
    // Nothing to answer.
    session
        .tell(json!([notification("notifications/unheard-of", json!({}))]))
        .await;
    endpoint.idle().await;
}

#[tokio::test]
async fn notices_of_a_batch_come_before_its_answers() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
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
    let answers = sorted(events.message().await);
    assert_eq!(answers, [answer(1, text("stepped")), answer(2, json!({}))]);
    events.expect_end().await;
    endpoint.idle().await;
}

#[tokio::test]
async fn other_revisions_have_no_batches() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let session = Session::open(&endpoint, version).await;
        let refused = session
            .post(&json!([tool_call(1, "count", json!({"n": 1}))]))
            .await;
        assert_eq!(refused.status(), 400);
        assert_eq!(refused.message()["error"]["code"], -32600);
        assert_eq!(
            session.call(legacy(1, "ping", json!({}))).await,
            answer(1, json!({}))
        );
    }
    assert_eq!(stage.runs(), 0);
}

#[tokio::test]
async fn a_batch_needs_its_session() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let session = Session::open(&endpoint, "2025-03-26").await;
    session.end().await;
    let batch = json!([tool_call(1, "count", json!({"n": 1}))]);
    assert_eq!(session.post(&batch).await.status(), 404);
    assert_eq!(stage.runs(), 0);
}

#[tokio::test]
async fn requests_of_a_batch_are_counted_one_by_one() {
    let mut stage = Stage::new();
    let mut limits = HttpLimits::default();
    limits.requests_in_flight = 3;
    let options = HttpOptions::new()
        .with_limits(limits)
        .with_legacy(LegacyMode::Stateless);
    let endpoint = Endpoint::serve_with(&stage.server, options).await;
    let batch: Vec<Value> = (0..5).map(|id| tool_call(id, "wait", json!({}))).collect();
    let request = Request::post(&json!(batch)).with("MCP-Protocol-Version", "2025-03-26");
    let mut wire = endpoint.connect().await;
    wire.send(request.bytes()).await;
    for _ in 0..3 {
        stage.expect(Happening::Started).await;
    }
    stage.step();
    stage.step();
    let answers = sorted(wire.answer().await.message());
    let refused = answers
        .iter()
        .filter(|answer| answer["error"]["code"] == -32603);
    assert_eq!(refused.count(), 2, "{answers:?}");
}
