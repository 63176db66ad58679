//! The counters of a connection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwire::Principal;
use toolwire::store::{Bus as _, SessionStore as _};
use toolwire_redis::RedisOptions;

use crate::engine::Engine;

const TTL: Duration = Duration::from_secs(60);

#[tokio::test]
async fn calls_and_messages_are_counted() {
    let mut engine = Engine::start();
    let redis = engine.connect().await;
    let owner = Principal::anonymous();
    let sessions = redis.sessions();
    let missing = sessions.load("a", &owner, TTL, None).await.unwrap();
    assert!(missing.is_none());
    let bus = redis.bus();
    let mut subscription = bus.subscribe().await.unwrap();
    let change = toolwire::store::BusPayload::Change(toolwire::Change::ToolsListChanged);
    let message = toolwire::store::BusMessage::new("node", change);
    bus.publish_all(&[message]).await.unwrap();
    subscription.next().await.unwrap();
    redis.check_bus().await.unwrap();
    assert!(redis.round_trip().await.unwrap() > Duration::ZERO);

    let counters = redis.counters();
    let calls = |store| counters.calls.iter().find(|calls| calls.store == store);
    let sessions_calls = calls("sessions").unwrap();
    assert_eq!(sessions_calls.succeeded, 1);
    assert!(sessions_calls.time > Duration::ZERO);
    assert_eq!(calls("tasks").unwrap().succeeded, 0);
    assert!(calls("bus").unwrap().succeeded > 0);
    assert_eq!((counters.bus_sent, counters.bus_received), (1, 1));
    assert!(counters.is_connected && counters.lost_connections == 0);
    assert_eq!(counters.in_flight, 0);

    engine.kill();
    assert!(sessions.load("a", &owner, TTL, None).await.is_err());
    let counters = redis.counters();
    assert_eq!(counters.lost_connections, 1);
    assert!(!counters.is_connected);
    let failed = counters
        .calls
        .iter()
        .find(|calls| calls.store == "sessions");
    let failed = failed.unwrap();
    assert_eq!(failed.unavailable + failed.unknown, 1, "{failed:?}");
}

#[tokio::test]
async fn observer_sees_each_request_and_its_outcome() {
    let mut engine = Engine::start();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let options = RedisOptions::new("test").with_call_observer(move |call| {
        let (sink, what) = (Arc::clone(&sink), (call.store, call.operation.to_owned()));
        Box::new(move |outcome| sink.lock().unwrap().push((what, outcome)))
    });
    let redis = engine.connect_with(options).await;
    seen.lock().unwrap().clear();
    let sessions = redis.sessions();
    let owner = Principal::anonymous();
    sessions.load("a", &owner, TTL, None).await.unwrap();
    engine.kill();
    assert!(sessions.load("a", &owner, TTL, None).await.is_err());
    let seen = seen.lock().unwrap();
    let stores: Vec<&str> = seen.iter().map(|((store, _), _)| *store).collect();
    assert_eq!(stores, ["sessions", "sessions"], "{seen:?}");
    assert_eq!(seen[0].1, "ok");
    assert!(["unavailable", "unknown"].contains(&seen[1].1), "{seen:?}");
    assert!(seen.iter().all(|((_, operation), _)| !operation.is_empty()));
}
