//! The store of sessions.

use std::sync::Arc;
use std::time::Duration;

use redis::AsyncCommands as _;
use tokio::time::{Instant, timeout};
use toolwire::store::{
    Bus as _, BusDelivery, BusMessage, BusPayload, LoadedSession, MemoryBus, SessionRecord,
    SessionStore as _, StoreError, contract,
};
use toolwire::types::{LoggingLevel, ProtocolVersion};
use toolwire::{Change, KeyRing, Principal, StateKey};
use toolwire_redis::{Redis, RedisOptions};
use toolwire_tests::relay::{Link, Relay};

use crate::engine::Engine;

/// The time to live of sessions whose end tests wait for.
const TTL: Duration = Duration::from_millis(600);

#[tokio::test]
async fn contract_holds() {
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
    let connect = async || Arc::new(engine.connect().await.sessions());
    contract::session_store(connect, TTL).await;
    let limited = RedisOptions::new("limited").with_sessions_per_principal(3);
    let sessions = engine.connect_with(limited).await.sessions();
    contract::session_store_bound(&sessions, 3, TTL).await;
    let (here, there) = (engine.connect().await, engine.connect().await);
    contract::session_store_with_bus(&here.sessions(), &here.bus(), &there.bus()).await;
}

fn record() -> SessionRecord {
    SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None)
}

/// Returns the number of requests for sessions that have succeeded.
fn requests(redis: &Redis) -> u64 {
    let counters = redis.counters();
    let mut calls = counters.calls.iter();
    let calls = calls.find(|calls| calls.store == "sessions");
    calls.map_or(0, |calls| calls.succeeded)
}

#[tokio::test]
async fn session_is_created_with_two_requests() {
    let engine = Engine::start();
    let redis = engine.connect().await;
    let owner = Principal::from_stored(Some("ann"));
    let created = redis.sessions().create("a", &owner, record(), TTL).await;
    created.unwrap();
    // One script adds it to the sessions of its principal, which have one key.
    assert_eq!(requests(&redis), 2);
}

#[tokio::test]
async fn session_is_initialized_with_one_request() {
    let engine = Engine::start();
    let sealing = KeyRing::new(StateKey::new([1; 32]));
    let (owner, minute) = (Principal::anonymous(), Duration::from_secs(60));
    for options in [
        RedisOptions::new("open"),
        RedisOptions::new("sealed").with_sealing(sealing),
    ] {
        let here = engine.connect_with(options.clone()).await.sessions();
        let there = engine.connect_with(options).await;
        here.create("a", &owner, record(), TTL).await.unwrap();
        let loaded = there
            .sessions()
            .load_initialized("a", &owner, minute)
            .await
            .unwrap();
        assert_eq!(requests(&there), 1);
        let Some(LoadedSession::Newer(session)) = &loaded else {
            panic!("the record is new: {loaded:?}");
        };
        assert!(session.record.initialized);
        tokio::time::sleep(TTL).await;
        let stored = here.load("a", &owner, minute, None).await.unwrap();
        assert_eq!(stored, loaded, "the session lives longer");
    }
}

#[tokio::test]
async fn record_is_replaced_and_published_with_one_request() {
    let engine = Engine::start();
    let (here, there) = (engine.connect().await, engine.connect().await);
    let (sessions, bus, owner) = (here.sessions(), here.bus(), Principal::anonymous());
    let mut received = there.bus().subscribe().await.unwrap();
    let minute = Duration::from_secs(60);
    let created = sessions.create("a", &owner, record(), minute).await;
    let revision = created.unwrap().revision;
    let mut changed = record();
    changed.log_level = Some(LoggingLevel::Error);
    let before = requests(&here);
    let mut late = record();
    late.log_level = Some(LoggingLevel::Debug);
    for (record, expected) in [(&changed, Some(revision + 1)), (&late, None)] {
        let replacing = sessions.replace_and_publish("a", &owner, revision, record, &bus, "node");
        let replaced = replacing.expect("the bus of the engine").await.unwrap();
        assert_eq!(replaced, expected);
    }
    assert_eq!(requests(&here), before + 2);
    let next = BusMessage::new("node", BusPayload::Everything);
    bus.publish_all(std::slice::from_ref(&next)).await.unwrap();
    // The second replacement has published nothing, and no message is missing.
    for expected in [
        BusMessage::session_updated("node", "a", changed.clone(), revision + 1),
        next,
    ] {
        let delivery = timeout(minute, received.next()).await.unwrap();
        assert_eq!(delivery, Some(BusDelivery::Message(expected)));
    }
    assert_eq!(here.counters().bus_sent, 2);
    for other in [
        &there.bus() as &dyn toolwire::store::Bus,
        &MemoryBus::default(),
    ] {
        let replacing =
            sessions.replace_and_publish("a", &owner, revision, &changed, other, "node");
        assert!(replacing.is_none(), "{other:?}");
    }
}

#[tokio::test]
async fn rejected_replacement_is_not_missed_by_other_nodes() {
    let engine = Engine::start();
    let (here, there) = (engine.connect().await, engine.connect().await);
    let (sessions, bus, owner) = (here.sessions(), here.bus(), Principal::anonymous());
    let minute = Duration::from_secs(60);
    let created = sessions.create("a", &owner, record(), minute).await;
    let revision = created.unwrap().revision;
    let mut received = there.bus().subscribe().await.unwrap();
    let messages = [1, 2].map(|number: u32| {
        let change = Change::ResourceUpdated(number.to_string());
        BusMessage::new("node", BusPayload::Change(change))
    });
    bus.publish_all(&messages[..1]).await.unwrap();
    let mut commands = engine.commands().await;
    let mut limit = redis::cmd("CONFIG");
    limit.arg("SET").arg("maxmemory").arg("1");
    limit.exec_async(&mut commands).await.unwrap();
    let record = record();
    let replacing = sessions.replace_and_publish("a", &owner, revision, &record, &bus, "node");
    let rejected = replacing.expect("the bus of the engine").await;
    assert!(matches!(rejected, Err(StoreError::Full)), "{rejected:?}");
    bus.publish_all(&messages[1..]).await.unwrap();
    for expected in messages {
        let delivery = timeout(minute, received.next()).await.unwrap();
        assert_eq!(delivery, Some(BusDelivery::Message(expected)));
    }
}

#[tokio::test]
async fn session_of_a_principal_needs_one_round_trip() {
    let engine = Engine::start();
    let relay = Relay::start(engine.socket()).unwrap();
    let url = format!("redis://stores:secret@{}", relay.address());
    let minute = Duration::from_secs(60);
    let options = RedisOptions::new("test").with_response_timeout(minute);
    let redis = Redis::connect(&url, options).await.unwrap();
    let (sessions, owner) = (redis.sessions(), Principal::from_stored(Some("ann")));
    let create = async |id: &str| {
        let created = sessions.create(id, &owner, record(), minute).await;
        created.unwrap();
    };
    // The first call loads a script.
    create("a").await;
    relay.set_link(Link::Slow(Duration::from_millis(100)));
    let one = redis.round_trip().await.unwrap();
    let start = Instant::now();
    create("b").await;
    let creation = start.elapsed();
    assert!(creation < one * 7 / 4, "{creation:?} {one:?}");
    let start = Instant::now();
    assert!(sessions.delete("b", &owner).await.unwrap());
    let deletion = start.elapsed();
    assert!(deletion < one * 7 / 4, "{deletion:?} {one:?}");
}

#[tokio::test]
async fn everything_expires() {
    let engine = Engine::start();
    let sessions = engine.connect().await.sessions();
    let owner = Principal::from_stored(Some("ann"));
    let created = sessions.create("a", &owner, record(), TTL).await;
    created.unwrap();
    let mut commands = engine.commands().await;
    let keys: Vec<String> = commands.keys("*{*").await.unwrap();
    assert_eq!(keys.len(), 2, "{keys:?}");
    for key in keys {
        let ttl: i64 = commands.pttl(&key).await.unwrap();
        assert!(ttl > 0, "{key} never expires");
    }
}

#[tokio::test]
async fn session_of_a_newer_version_is_an_error() {
    let engine = Engine::start();
    let sessions = engine.connect().await.sessions();
    let owner = Principal::anonymous();
    let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
    let created = sessions.create("a", &owner, record, TTL * 100).await;
    created.unwrap();
    let mut commands = engine.commands().await;
    let key = "tw:test:{s:a}:s:-";
    let mut value: Vec<u8> = commands.get(key).await.unwrap();
    value[8] += 1;
    let _: () = commands.set(key, value).await.unwrap();
    let error = sessions.load("a", &owner, TTL, None).await.unwrap_err();
    assert!(matches!(error, StoreError::UnsupportedFormat), "{error:?}");
}

#[tokio::test]
async fn all_ended_sessions_make_room_for_new_ones() {
    const LIMIT: usize = 600;
    let engine = Engine::start();
    let options = RedisOptions::new("test").with_sessions_per_principal(LIMIT);
    let sessions = engine.connect_with(options).await.sessions();
    let owner = Principal::from_stored(Some("ann"));
    let create = async |id: String| {
        let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
        sessions.create(&id, &owner, record, TTL * 1000).await
    };
    for number in 0..LIMIT {
        create(format!("{number:03}")).await.unwrap();
    }
    let rejected = create("rejected".to_owned()).await;
    assert!(matches!(rejected, Err(StoreError::Full)), "{rejected:?}");
    // The newest session ends as if it had expired.
    let mut commands = engine.commands().await;
    let ended: Vec<String> = commands.keys("tw:test:{s:599}:s:*").await.unwrap();
    let removed: usize = commands.del(&ended).await.unwrap();
    assert_eq!(removed, 1);
    create("new".to_owned()).await.unwrap();
    let rejected = create("rejected".to_owned()).await;
    assert!(matches!(rejected, Err(StoreError::Full)), "{rejected:?}");
}
