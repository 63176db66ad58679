//! Connections of a relay that no request uses.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::connections::{connect, users};
use crate::modern_client::{accept_askable, ask, pair_of};
use crate::raw_upstream::raw_upstream;

/// The time between two searches for idle connections, and some more.
const SEARCH: Duration = Duration::from_secs(3);

#[tokio::test(start_paused = true)]
async fn idle_connection_of_a_principal_is_closed_after_the_timeout_of_the_upstream() {
    for timeout in [Duration::from_secs(20), Duration::from_secs(900)] {
        let (upstream, mut connections) = raw_upstream();
        let [ann, _bob] = users(upstream.with_idle_timeout(timeout));
        let mut server = connect(&ann, &mut connections).await;
        let used = Instant::now();
        while server.next().await.is_some() {}
        let idle = used.elapsed();
        assert!(timeout <= idle && idle < timeout + SEARCH, "{idle:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn idle_session_of_a_call_is_closed_after_the_timeout_of_the_upstream() {
    let timeout = Duration::from_secs(20);
    let (upstream, connections) = raw_upstream();
    let upstream = upstream.with_idle_timeout(timeout);
    let (_relay, mut client, mut connections, _shared) = pair_of(upstream, connections).await;
    client.send(ask(2, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    session.respond(&call, r#"{"content":[]}"#).await;
    client.receive().await;
    let used = Instant::now();
    while session.next().await.is_some() {}
    let idle = used.elapsed();
    assert!(timeout <= idle && idle < timeout + SEARCH, "{idle:?}");
}

#[tokio::test]
async fn idle_sessions_beyond_the_limit_are_closed() {
    let (upstream, connections) = raw_upstream();
    let upstream = upstream.with_max_idle_sessions(1);
    let (_relay, mut client, mut connections, _shared) = pair_of(upstream, connections).await;
    let mut sessions = Vec::new();
    for id in [2, 3] {
        client.send(ask(id, json!({}))).await;
        let mut session = accept_askable(&mut connections).await;
        let call = session.receive().await;
        sessions.push((session, call));
    }
    for (session, call) in &sessions {
        session.respond(call, r#"{"content":[]}"#).await;
        client.receive().await;
    }
    let (mut second, _) = sessions.remove(1);
    second.expect_end().await;
    // The next call uses the other session.
    client.send(ask(4, json!({}))).await;
    assert_eq!(sessions[0].0.receive().await["method"], "tools/call");
}
