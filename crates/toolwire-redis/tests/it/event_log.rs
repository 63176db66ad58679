//! The log of resumable streams.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::AsyncCommands as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use toolwire::Principal;
use toolwire::store::{EventLog as _, LogEntry, Replay, StreamKey, contract};
use toolwire_redis::RedisOptions;

use crate::engine::Engine;

/// The timeout of what takes a few seconds at most.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn contract_holds() {
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
    let connect = async || Arc::new(engine.connect().await.event_log());
    contract::event_log(connect).await;
    let limited = RedisOptions::new("limited").with_events_per_stream(4);
    let log = Arc::new(engine.connect_with(limited).await.event_log());
    contract::event_log_bound(log, 5).await;
    let limited = RedisOptions::new("small").with_bytes_per_stream(500);
    let log = Arc::new(engine.connect_with(limited).await.event_log());
    contract::event_log_bound(log, 20).await;
}

#[tokio::test]
async fn unused_streams_leave_nothing_behind() {
    let engine = Engine::start();
    let retention = Duration::from_millis(100);
    let options = RedisOptions::new("test").with_stream_retention(retention);
    let log = engine.connect_with(options).await.event_log();
    let (owner, key) = (Principal::anonymous(), StreamKey::new("session", "stream"));
    let writer = log.open(&owner, &key, 1, None).await.unwrap();
    let entry = LogEntry::Message(Bytes::from_static(b"{}"));
    log.append(&owner, &key, writer, &[entry]).await.unwrap();
    tokio::time::sleep(retention * 2).await;
    let read = log.read_after(&owner, &key, 0, Duration::ZERO).await;
    assert_eq!(read.unwrap(), Replay::Unknown);
    let mut commands = engine.commands().await;
    let keys: Vec<String> = commands.keys("*{*").await.unwrap();
    assert_eq!(keys, [""; 0]);
}

#[tokio::test]
async fn large_streams_are_read_in_parts() {
    let engine = Engine::start();
    let log = engine.connect().await.event_log();
    let (owner, key) = (Principal::anonymous(), StreamKey::new("session", "stream"));
    let mut writer = log.open(&owner, &key, 1, None).await.unwrap();
    let entry = |number: u64| LogEntry::Message(Bytes::from(vec![number as u8; 1500]));
    for first in (1..=600).step_by(100) {
        let entries: Vec<_> = (first..first + 100).map(entry).collect();
        log.append(&owner, &key, writer, &entries).await.unwrap();
        writer.next += 100;
    }
    let mut read = Vec::new();
    let mut parts = 0;
    while read.len() < 600 {
        let after = read.len() as u64;
        let replay = log.read_after(&owner, &key, after, Duration::ZERO).await;
        let Replay::Entries(entries) = replay.unwrap() else {
            panic!("the stream has more entries");
        };
        assert!(!entries.is_empty());
        read.extend(entries);
        parts += 1;
    }
    let expected = (1..=600).map(|number| (number, entry(number)));
    assert!(read.into_iter().eq(expected));
    assert!(parts > 2, "{parts}");
}

#[tokio::test]
async fn session_with_many_streams_is_removed() {
    const STREAMS: usize = 5000;
    let engine = Engine::start();
    let options = RedisOptions::new("test").with_response_timeout(Duration::from_secs(10));
    let log = engine.connect_with(options).await.event_log();
    let owner = Principal::anonymous();
    let mut opening = JoinSet::new();
    for number in 0..STREAMS {
        let (log, owner) = (log.clone(), owner.clone());
        opening.spawn(async move {
            let key = StreamKey::new("session", number.to_string());
            log.open(&owner, &key, 1, None).await.unwrap();
        });
    }
    opening.join_all().await;
    let first = StreamKey::new("session", "0");
    let waiting = tokio::spawn({
        let (log, owner, first) = (log.clone(), owner.clone(), first.clone());
        async move { log.read_after(&owner, &first, 0, LONG).await }
    });
    let mut commands = engine.commands().await;
    let waits = async {
        let key = "tw:test:{s:session}:m:-:0";
        while !commands
            .hexists::<_, _, bool>(key, "read_until")
            .await
            .unwrap()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        commands
    };
    let mut commands = timeout(LONG, waits).await.expect("a reader waits");
    log.remove_session(&owner, "session").await.unwrap();
    let keys: Vec<String> = commands.keys("*{*").await.unwrap();
    assert_eq!(keys, [""; 0]);
    let read = timeout(LONG, waiting).await.expect("the reader is woken");
    assert_eq!(read.unwrap().unwrap(), Replay::Unknown);
}

#[tokio::test]
async fn expired_streams_of_a_used_session_are_not_listed() {
    let engine = Engine::start();
    let retention = Duration::from_millis(200);
    let options = RedisOptions::new("test").with_stream_retention(retention);
    let log = engine.connect_with(options).await.event_log();
    let owner = Principal::anonymous();
    let key = |name: &str| StreamKey::new("session", name);
    let used = log.open(&owner, &key("used"), 1, None).await.unwrap();
    for name in ["a", "b", "c"] {
        log.open(&owner, &key(name), 1, None).await.unwrap();
    }
    let start = Instant::now();
    while start.elapsed() < retention * 2 {
        log.append(&owner, &key("used"), used, &[]).await.unwrap();
        tokio::time::sleep(retention / 10).await;
    }
    log.open(&owner, &key("d"), 1, None).await.unwrap();
    let mut commands = engine.commands().await;
    let listed: Vec<String> = commands
        .zrange("tw:test:{s:session}:x:-", 0, -1)
        .await
        .unwrap();
    assert_eq!(listed, ["used", "d"]);
}
