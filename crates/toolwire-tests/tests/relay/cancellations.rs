//! Cancelled requests: their late messages, and the upstream servers that learn of them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire_tests::peer::{Peer, call, cancel, legacy, notification, result_response};

use crate::raw_upstream::RawConnection;
use crate::same_era::legacy_pair;
use crate::source::several::with_other;
use crate::source::{UpstreamEra, mounted};

/// Longer than a cancellation may take on its way through a relay. The clock of the test is paused, so that only timers
/// count.
const FORWARDING: Duration = Duration::from_millis(50);

/// Sends a call with a progress token, and returns the request that the server got.
async fn start_call(client: &Peer, server: &mut RawConnection, id: i64, token: &Value) -> Value {
    let params = json!({"name": "slow", "_meta": {"progressToken": token}});
    client.send(legacy(id, "tools/call", params)).await;
    server.receive().await
}

fn progress(token: &Value) -> Value {
    let params = json!({"progressToken": token, "progress": 1});
    notification("notifications/progress", params)
}

#[tokio::test]
async fn late_progress_of_a_cancelled_request_is_dropped() {
    let (_relay, mut client, mut server) = legacy_pair("2025-11-25").await;
    let other = notification("com.example/event", json!({"n": 1}));
    for token in [json!("p"), json!(1)] {
        start_call(&client, &mut server, 5, &token).await;
        client.send(cancel(5)).await;
        assert_eq!(server.receive().await["method"], "notifications/cancelled");
        server.send(progress(&token)).await;
        server.send(&other).await;
        client.expect(other.clone()).await;
        // The token belongs to the next request that has it.
        let call = start_call(&client, &mut server, 6, &token).await;
        server.send(progress(&token)).await;
        client.expect(progress(&token)).await;
        server.respond(&call, "{}").await;
        client.expect(result_response(6, json!({}))).await;
    }
}

#[tokio::test]
async fn progress_of_a_task_reaches_the_client_after_the_response() {
    let (_relay, mut client, mut server) = legacy_pair("2025-11-25").await;
    let token = json!("t");
    let call = start_call(&client, &mut server, 5, &token).await;
    let task = json!({"task": {"taskId": "a", "status": "working"}});
    server.respond(&call, &task.to_string()).await;
    client.expect(result_response(5, task)).await;
    server.send(progress(&token)).await;
    client.expect(progress(&token)).await;
}

#[tokio::test(start_paused = true)]
async fn only_the_server_that_runs_a_request_receives_its_cancellation_at_once() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let (_source, _connections, mut other) = with_other(&mounted).await;
    let mut client = Peer::connect(&mounted.server);
    client.send(call(1, "up_greet", json!({}))).await;
    let cancelled = mounted.upstream.receive().await;
    client.send(call(2, "other_view", json!({}))).await;
    let running = other.receive().await;
    let sent = Instant::now();
    client.send(cancel(1)).await;
    let message = mounted.upstream.receive().await;
    assert!(sent.elapsed() < FORWARDING, "{:?}", sent.elapsed());
    assert_eq!(message["method"], "notifications/cancelled");
    assert_eq!(message["params"]["requestId"], cancelled["id"]);
    // Nothing precedes the next call at the other server, and the late result reaches no client.
    client.send(call(3, "other_view", json!({}))).await;
    let next = other.receive().await;
    assert_eq!(next["method"], "tools/call");
    let result = r#"{"resultType":"complete","content":[]}"#;
    mounted.upstream.respond(&cancelled, result).await;
    for (id, request) in [(2, running), (3, next)] {
        other.respond(&request, result).await;
        assert_eq!(client.receive().await["id"], id);
    }
}
