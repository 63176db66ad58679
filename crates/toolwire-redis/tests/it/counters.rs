//! The counters of a connection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;
use toolwire::Principal;
use toolwire::store::{
    Bus as _, BusMessage, BusPayload, EventLog as _, LogEntry, Mailboxes as _, NodeMessage,
    NonceStore as _, Replay, SessionRecord, SessionStore as _, StreamKey,
};
use toolwire::types::{ProtocolVersion, RawJson};
use toolwire::{KeyRing, StateKey};
use toolwire_redis::{Redis, RedisOptions};
use toolwire_tests::relay::{Link, Relay};

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
    let change = BusPayload::Change(toolwire::Change::ToolsListChanged);
    let message = BusMessage::new("node", change);
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

#[tokio::test]
async fn delay_of_the_bus_is_measured() {
    let engine = Engine::start();
    let relay = Relay::start(engine.socket()).unwrap();
    let url = format!("redis://stores:secret@{}", relay.address());
    let options = RedisOptions::new("test").with_response_timeout(TTL);
    let redis = Redis::connect(&url, options).await.unwrap();
    let delay = redis.counters().bus_delay;
    assert!(delay > Duration::ZERO, "measured when the node connects");
    assert_eq!(redis.counters().bus_delay, delay);
    let _subscription = redis.bus().subscribe().await.unwrap();
    relay.set_link(Link::Slow(Duration::from_millis(100)));
    let is_slow = async {
        while redis.counters().bus_delay < Duration::from_millis(200) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TTL, is_slow).await.expect("a heartbeat is slow");
}

#[tokio::test]
async fn messages_that_wait_for_a_node_are_counted() {
    let engine = Engine::start();
    let redis = engine.connect().await;
    let depth = || redis.counters().mailbox_depth;
    // Messages arrive from now on.
    let bus = redis.bus();
    let mut subscription = bus.subscribe().await.unwrap();
    let mailboxes = redis.mailboxes();
    let mut mailbox = mailboxes.open().await.unwrap();
    assert_eq!(depth(), 0);
    for number in 1..=103 {
        let message = NodeMessage::Response {
            session: "session".to_owned(),
            id: number.into(),
            outcome: Ok(RawJson::empty_object()),
        };
        assert!(mailboxes.send(mailbox.node(), &message).await.unwrap());
    }
    // A message of the bus arrives after those of mailboxes that were sent before it.
    let message = BusMessage::new("node", BusPayload::Everything);
    bus.publish_all(&[message]).await.unwrap();
    subscription.next().await.unwrap();
    // The node counts what has arrived. Then it reads how many messages wait.
    assert_eq!(depth(), 100);
    for left in (3..=102).rev() {
        assert!(mailbox.next().await.is_some());
        assert_eq!(depth(), left);
    }
    drop(mailbox);
    assert_eq!(depth(), 0);
}

fn requests(redis: &Redis, store: &str) -> u64 {
    let calls = redis.counters().calls;
    calls
        .iter()
        .find(|calls| calls.store == store)
        .unwrap()
        .succeeded
}

#[tokio::test]
async fn used_nonce_is_one_request() {
    let engine = Engine::start();
    let redis = engine.connect().await;
    let nonces = redis.nonces();
    // The first call of a principal loads the script.
    let ann = Principal::from_stored(Some("ann"));
    for owner in [Principal::anonymous(), ann] {
        assert!(nonces.mark_used(&owner, &[0; 32], TTL).await.unwrap());
        let before = requests(&redis, "nonces");
        for fingerprint in 1..=5 {
            assert!(
                nonces
                    .mark_used(&owner, &[fingerprint; 32], TTL)
                    .await
                    .unwrap()
            );
        }
        assert_eq!(requests(&redis, "nonces") - before, 5);
    }
}

#[cfg(feature = "auth")]
#[tokio::test]
async fn each_call_of_the_proxy_store_is_one_request() {
    use toolwire_auth::proxy::store::{NewProxyRecord, ProxyRecord, ProxyStore as _};

    let engine = Engine::start();
    let redis = engine.connect().await;
    let (store, kind, key) = (redis.proxy_store(), ProxyRecord::Grant, [1; 32]);
    let record = |text: &str| NewProxyRecord::new(text, TTL);
    // The first round loads the scripts.
    for _ in 0..2 {
        let before = requests(&redis, "proxy");
        store.put(kind, &key, record("a")).await.unwrap();
        assert!(store.replace(kind, &key, "a", record("b")).await.unwrap());
        assert_eq!(store.get(kind, &key).await.unwrap().unwrap(), "b");
        assert!(store.take(kind, &key).await.unwrap().is_some());
        assert_eq!(requests(&redis, "proxy") - before, 4);
    }
}

#[tokio::test]
async fn unusual_events_are_counted() {
    let engine = Engine::start();
    let options = |key: u8| {
        let keys = KeyRing::new(StateKey::new([key; 32]));
        RedisOptions::new("test")
            .with_sealing(keys)
            .with_events_per_stream(2)
            .with_messages_per_mailbox(1)
    };
    let redis = engine.connect_with(options(1)).await;
    let owner = Principal::anonymous();
    let sessions = redis.sessions();
    let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
    for id in ["a", "b"] {
        let created = sessions.create(id, &owner, record.clone(), TTL).await;
        created.unwrap();
    }
    assert!(sessions.delete("a", &owner).await.unwrap());
    assert!(
        sessions
            .load("a", &owner, TTL, None)
            .await
            .unwrap()
            .is_none()
    );

    let (log, key) = (redis.event_log(), StreamKey::new("b", "stream"));
    let read = log.read_after(&owner, &key, 0, Duration::ZERO).await;
    assert_eq!(read.unwrap(), Replay::Unknown);
    let mut writer = log.open(&owner, &key, 1, None).await.unwrap();
    let entries = ["1", "2", "3"].map(|text| LogEntry::Message(text.into()));
    log.append(&owner, &key, writer, &entries).await.unwrap();
    let read = log.read_after(&owner, &key, 0, Duration::ZERO).await;
    assert_eq!(read.unwrap(), Replay::Gap { oldest: 2 });
    writer.next = 9;
    log.append(&owner, &key, writer, &entries).await.unwrap();

    let mailboxes = redis.mailboxes();
    let mailbox = mailboxes.open().await.unwrap();
    let node = mailbox.node();
    let message = NodeMessage::Response {
        session: "b".to_owned(),
        id: 1.into(),
        outcome: Ok(RawJson::empty_object()),
    };
    assert!(mailboxes.send(node, &message).await.unwrap());
    assert!(mailboxes.send(node, &message).await.is_err());
    let absent = node.checked_add(1).unwrap_or(std::num::NonZeroU16::MIN);
    assert!(!mailboxes.send(absent, &message).await.unwrap());

    let counters = redis.counters();
    assert_eq!(
        (counters.sessions_created, counters.sessions_deleted),
        (2, 1)
    );
    assert_eq!(counters.sessions_unknown, 1);
    assert_eq!((counters.stream_gaps, counters.streams_unknown), (1, 1));
    assert_eq!(counters.entries_lost, 1);
    assert_eq!((counters.mailboxes_full, counters.mailboxes_absent), (1, 1));
    assert_eq!((counters.mailboxes_lost, counters.unopened_values), (0, 0));

    let other = engine.connect_with(options(2)).await;
    let before = other.counters().unopened_values;
    let found = other.sessions().load("b", &owner, TTL, None).await;
    assert!(found.unwrap().is_none());
    let counters = other.counters();
    assert_eq!(counters.unopened_values - before, 1);
    assert_eq!(counters.sessions_unknown, 1);
}
