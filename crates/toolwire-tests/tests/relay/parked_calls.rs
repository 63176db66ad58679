//! Calls of a modern client that wait for input, and what ends them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolwire_proto::relay::parked::{OUTCOME_RETENTION, PARKED_TIMEOUT};
use toolwire_proto::request_state::expiry;
use toolwire_tests::peer::{Peer, cancel, modern, result_response, within};

use crate::modern_client::{accept_askable, ask, details, elicitation, pair, send_request};
use crate::raw_upstream::{RawConnection, RawUpstream};

/// Starts a call that asks for input. Returns its session, its request and the state of the next round.
async fn park(
    client: &mut Peer,
    connections: &mut RawUpstream,
    id: i64,
) -> (RawConnection, Value, Value) {
    client.send(ask(id, json!({}))).await;
    let mut session = accept_askable(connections).await;
    let call = session.receive().await;
    let state = ask_in(client, &session).await;
    (session, call, state)
}

/// Asks the client, and returns the state of the next round.
async fn ask_in(client: &mut Peer, session: &RawConnection) -> Value {
    send_request(session, "s1", "elicitation/create", &elicitation("Who?")).await;
    client.receive().await["result"]["requestState"].clone()
}

fn declined() -> Value {
    json!({"action": "decline"})
}

fn retry(id: i64, state: &Value, key: &str) -> Value {
    ask(
        id,
        json!({"requestState": state, "inputResponses": {key: declined()}}),
    )
}

#[tokio::test]
async fn parked_call_survives_the_end_of_the_shared_session() {
    let (_relay, mut client, mut connections, shared) = pair().await;
    let (mut session, call, state) = park(&mut client, &mut connections, 2).await;
    drop(shared);
    client.send(modern(3, "tools/list", json!({}))).await;
    // Only the shared session is opened again.
    let mut shared = connections.accept().await;
    let discover = shared.receive().await;
    let error = r#"{"code":-32601,"message":"unknown method"}"#;
    shared.reject(&discover, error).await;
    let initialize = shared.receive().await;
    shared.respond(&initialize, &details()).await;
    shared.receive().await;
    let list = shared.receive().await;
    shared.respond(&list, r#"{"tools":[]}"#).await;
    assert_eq!(client.receive().await["id"], 3);
    client.send(retry(4, &state, "q1")).await;
    assert_eq!(session.receive().await, result_response("s1", declined()));
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["result"]["resultType"], "complete");
}

#[tokio::test]
async fn other_requests_of_the_server_are_unknown_methods() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    client.send(ask(2, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    for method in ["com.example/odd", "tasks/get", "tools/list"] {
        send_request(&session, "s1", method, &json!({})).await;
        let rejected = session.receive().await;
        assert_eq!(rejected["error"]["code"], -32601, "{method}: {rejected}");
    }
    send_request(&session, "s2", "ping", &json!({})).await;
    assert_eq!(session.receive().await, result_response("s2", json!({})));
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 2);
}

#[tokio::test]
async fn input_request_with_too_many_bytes_is_rejected_and_the_call_goes_on() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    client.send(ask(2, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    let large = elicitation(&"x".repeat(4 * 1024 * 1024));
    send_request(&session, "s1", "elicitation/create", &large).await;
    let rejected = session.receive().await;
    assert_eq!(rejected["error"]["code"], -32603, "{rejected}");
    let state = ask_in(&mut client, &session).await;
    client.send(retry(3, &state, "q1")).await;
    assert_eq!(session.receive().await, result_response("s1", declined()));
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 3);
}

#[tokio::test]
async fn repeated_round_that_runs_gets_the_same_outcome() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    let (mut session, call, state) = park(&mut client, &mut connections, 2).await;
    client.send(retry(3, &state, "q1")).await;
    assert_eq!(session.receive().await, result_response("s1", declined()));
    // The client repeats the round before it has ended.
    client.send(retry(4, &state, "q1")).await;
    let next = ask_in(&mut client, &session).await;
    let again = client.receive().await;
    assert_eq!(again["result"]["requestState"], next, "{again}");
    client.send(retry(5, &next, "q2")).await;
    assert_eq!(session.receive().await, result_response("s1", declined()));
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 5);
}

#[tokio::test]
async fn cancelled_round_cancels_the_call() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    let (mut session, call, state) = park(&mut client, &mut connections, 2).await;
    client.send(retry(3, &state, "q1")).await;
    assert_eq!(session.receive().await, result_response("s1", declined()));
    client.send(cancel(3)).await;
    let cancelled = session.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
    client.send(retry(4, &state, "q1")).await;
    let lost = client.receive().await;
    assert_eq!(lost["result"]["isError"], true, "{lost}");
}

#[tokio::test]
async fn closing_the_relay_cancels_parked_calls() {
    let (relay, mut client, mut connections, _shared) = pair().await;
    let (mut session, call, state) = park(&mut client, &mut connections, 2).await;
    within(relay.close()).await;
    let cancelled = session.receive().await;
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
    session.expect_end().await;
    client.send(retry(3, &state, "q1")).await;
    client.expect_error(3, -32603).await;
    assert!(connections.is_quiet());
}

#[tokio::test(start_paused = true)]
async fn idle_session_of_a_call_ends_after_five_minutes() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    client.send(ask(2, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 2);
    let ended = tokio::time::timeout(Duration::from_secs(310), async {
        while session.next().await.is_some() {}
    });
    assert!(ended.await.is_ok());
}

/// Returns the text of the tool error for a call that is not parked any more.
async fn lost(client: &mut Peer, retry: Value) -> String {
    client.send(retry).await;
    let lost = client.receive().await;
    assert_eq!(lost["result"]["isError"], true, "{lost}");
    let text = lost["result"]["content"][0]["text"].as_str();
    text.unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn call_is_parked_until_its_deadline() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    let (mut session, call, state) = park(&mut client, &mut connections, 2).await;
    tokio::time::advance(PARKED_TIMEOUT - Duration::from_millis(1)).await;
    client.send(retry(3, &state, "q1")).await;
    assert_eq!(session.receive().await, result_response("s1", declined()));
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["result"]["resultType"], "complete");
    // The client repeats its round after the outcome was removed.
    tokio::time::advance(OUTCOME_RETENTION).await;
    let text = lost(&mut client, retry(4, &state, "q1")).await;
    assert!(text.contains("The tool ran to its end"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn late_response_to_a_parked_call_gets_the_error_of_a_lost_call() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    let (mut session, call, state) = park(&mut client, &mut connections, 2).await;
    tokio::time::advance(PARKED_TIMEOUT).await;
    for id in [3, 4] {
        let text = lost(&mut client, retry(id, &state, "q1")).await;
        assert!(text.contains("cancelled before its end"), "{text}");
    }
    let cancelled = session.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
    // The expiry of the state is a time of the system clock, which a test cannot set.
    let state = state.as_str().expect("the state is a text");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let lifetime = expiry(state).expect("it is sealed").saturating_sub(now);
    assert!(lifetime > 100 * PARKED_TIMEOUT, "{lifetime:?}");
}
