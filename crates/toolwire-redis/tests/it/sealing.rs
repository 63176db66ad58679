//! Sealed records.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::AsyncCommands as _;
use serde_json::json;
use toolwire::store::{
    EventLog as _, LogEntry, Mailboxes as _, NodeMessage, Replay, SessionRecord, SessionStore as _,
    StreamKey, contract,
};
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::transport::http::HttpOptions;
use toolwire::types::{ProtocolVersion, RawJson};
use toolwire::{KeyRing, Principal, RequestContext, StateKey};
use toolwire_redis::{Redis, RedisOptions};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::named_users::NamedUsers;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{modern_with, plain};

use crate::engine::Engine;

/// The time to live of records whose end tests wait for.
const TTL: Duration = Duration::from_millis(600);

fn options(key: u8) -> RedisOptions {
    RedisOptions::new("test").with_sealing(KeyRing::new(StateKey::new([key; 32])))
}

#[tokio::test]
async fn contracts_hold_with_sealing() {
    let engine = Engine::start();
    let connect = async || engine.connect_with(options(1)).await;
    contract::session_store(async || Arc::new(connect().await.sessions()), TTL).await;
    contract::event_log(async || Arc::new(connect().await.event_log())).await;
    contract::bus(async || Arc::new(connect().await.bus())).await;
    contract::mailboxes(async || Arc::new(connect().await.mailboxes())).await;
}

/// Returns whether a connection finds the session and its stream.
async fn is_found(other: &Redis) -> (bool, bool) {
    let owner = Principal::from_stored(Some("ann"));
    let key = StreamKey::new("a", "b");
    let minute = Duration::from_secs(60);
    let session = other.sessions().load("a", &owner, minute, None).await;
    let log = other.event_log();
    let replay = log.read_after(&owner, &key, 0, Duration::ZERO);
    let expected = LogEntry::Last(Bytes::from_static(b"visible"));
    let replay = match replay.await.unwrap() {
        Replay::Entries(entries) => {
            assert_eq!(entries, [(1, expected)]);
            true
        }
        replay => {
            assert!(matches!(replay, Replay::Unknown), "{replay:?}");
            false
        }
    };
    (session.unwrap().is_some(), replay)
}

#[tokio::test]
async fn records_are_readable_with_their_keys_only() {
    let engine = Engine::start();
    let redis = engine.connect_with(options(1)).await;
    let owner = Principal::from_stored(Some("ann"));
    let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
    let sessions = redis.sessions();
    let created = sessions.create("a", &owner, record, TTL * 100);
    created.await.unwrap();
    let (log, key) = (redis.event_log(), StreamKey::new("a", "b"));
    let writer = log.open(&owner, &key, 1, None).await.unwrap();
    let entries = [LogEntry::Last(Bytes::from_static(b"visible"))];
    log.append(&owner, &key, writer, &entries).await.unwrap();

    let mut commands = engine.commands().await;
    let keys: Vec<String> = commands.keys("*:l:*").await.unwrap();
    let stored: Vec<Vec<u8>> = commands.lrange(&keys[0], 0, -1).await.unwrap();
    assert!(!String::from_utf8_lossy(&stored[0]).contains("visible"));
    let mailboxes = redis.mailboxes();
    let mailbox = mailboxes.open().await.unwrap();
    let message = NodeMessage::Response {
        session: "visible".to_owned(),
        id: 1.into(),
        outcome: Ok(RawJson::empty_object()),
    };
    assert!(mailboxes.send(mailbox.node(), &message).await.unwrap());
    let list = format!("tw:test:{{m:{}}}:l", mailbox.node());
    let stored: Vec<Vec<u8>> = commands.lrange(&list, 0, -1).await.unwrap();
    assert!(!String::from_utf8_lossy(&stored[0]).contains("visible"));
    let keys: Vec<String> = commands.keys("*:s:*").await.unwrap();
    let stored: Vec<u8> = commands.get(&keys[0]).await.unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains("2025-11-25"));

    let same = engine.connect_with(options(1)).await;
    assert_eq!(is_found(&same).await, (true, true));
    assert_eq!(same.warnings().len(), 1, "only that of the persistence");
    let other = engine.connect_with(options(2)).await;
    assert_eq!(is_found(&other).await, (false, false));
    let texts: Vec<_> = other.warnings().iter().map(ToString::to_string).collect();
    assert!(texts[1].contains("seals with another key"), "{texts:?}");
    let unsealed = engine.connect().await;
    assert_eq!(unsealed.warnings().len(), 2, "{:?}", unsealed.warnings());
}

#[tokio::test]
async fn stored_task_does_not_contain_the_name_of_its_caller() {
    let engine = Engine::start();
    let redis = engine.connect().await;
    let tool = plain("report", |_: RequestContext| async { "reported" });
    let server = toolwire_tests::peer::server()
        .with_request_state_keys(KeyRing::new(StateKey::new([1; 32])))
        .with_tasks(Tasks::new(redis.tasks()))
        .tool(tool.with_task(TaskOptions::new().required()));
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    let endpoint = Endpoint::serve_with(&server, options).await;
    let params = json!({"name": "report", "arguments": {}});
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let call = modern_with("call", "tools/call", params, capabilities);
    let request = Request::modern(&call).with("Authorization", "Bearer planted-name");
    let created = endpoint.request(&request).await.message();
    assert_eq!(created["result"]["resultType"], "task", "{created}");

    let mut commands = engine.commands().await;
    let mut keys: Vec<String> = commands.keys("*{tasks}*").await.unwrap();
    keys.sort_unstable();
    let mut stored = keys.concat().into_bytes();
    for key in &keys {
        if key.contains(":t:") {
            let fields: Vec<(Vec<u8>, Vec<u8>)> = commands.hgetall(key).await.unwrap();
            stored.extend(
                fields
                    .into_iter()
                    .flat_map(|(name, value)| [name, value].concat()),
            );
        } else {
            let members: Vec<Vec<u8>> = commands.zrange(key, 0, -1).await.unwrap();
            stored.extend(members.concat());
        }
    }
    let stored = String::from_utf8_lossy(&stored);
    assert!(stored.contains("report"), "{stored}");
    assert!(!stored.contains("planted-name"), "{stored}");
}
