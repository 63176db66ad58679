//! A cluster of three primaries.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, cmd};
use tokio::time::{sleep, timeout};
use toolwire::Principal;
use toolwire::store::{
    Mailboxes as _, NodeMessage, NonceStore as _, SessionRecord, SessionStore as _, StoreError,
    contract,
};
use toolwire::types::{ProtocolVersion, RawJson};
use toolwire_redis::{Redis, RedisOptions};
use toolwire_tests::relay::{Link, Relay};

use crate::engine::{Engine, free_port};

/// The time to live of records whose end tests wait for.
const TTL: Duration = Duration::from_millis(600);

/// The timeout of what takes a few seconds at most.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The slots of each primary.
const SLOTS: [(u16, u16); 3] = [(0, 5000), (5001, 10_000), (10_001, 16_383)];

struct Cluster {
    engines: Vec<Engine>,
    url: String,
}

impl Cluster {
    async fn start() -> Self {
        let mut engines = Vec::new();
        let mut ports = Vec::new();
        for _ in SLOTS {
            let (port, bus_port) = (free_port().to_string(), free_port().to_string());
            engines.push(Engine::start_with(&[
                "--cluster-enabled",
                "yes",
                "--port",
                &port,
                "--cluster-port",
                &bus_port,
                "--save",
                "",
            ]));
            ports.push((port, bus_port));
        }
        for (engine, (first, last)) in engines.iter().zip(SLOTS) {
            let mut add = cmd("CLUSTER");
            add.arg("ADDSLOTSRANGE").arg(first).arg(last);
            run(engine, &add).await;
        }
        for (port, bus_port) in &ports[1..] {
            let mut meet = cmd("CLUSTER");
            meet.arg("MEET").arg("127.0.0.1").arg(port).arg(bus_port);
            run(&engines[0], &meet).await;
        }
        let cluster = Self {
            url: format!(
                "redis+cluster://127.0.0.1:{},127.0.0.1:{}",
                ports[0].0, ports[1].0
            ),
            engines,
        };
        let joined = timeout(TIMEOUT, cluster.wait_until_joined()).await;
        joined.expect("the nodes of the cluster join");
        cluster
    }

    async fn wait_until_joined(&self) {
        for engine in &self.engines {
            let mut commands = engine.commands().await;
            loop {
                let mut ask = cmd("CLUSTER");
                let info: String = ask.arg("INFO").query_async(&mut commands).await.unwrap();
                let is_joined = ["state:ok", "known_nodes:3", "slots_ok:16384"];
                if is_joined.iter().all(|part| info.contains(part)) {
                    break;
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
    }

    async fn connect(&self) -> Redis {
        self.connect_with(RedisOptions::new("test")).await
    }

    async fn connect_with(&self, options: RedisOptions) -> Redis {
        // Three engines and the test share the processors of the machine.
        let options = options
            .with_response_timeout(Duration::from_secs(5))
            .with_connect_timeout(Duration::from_secs(5));
        let connected = Redis::connect(&self.url, options).await;
        connected.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the slot of the nonces of the anonymous principal, and the positions of its primary and of the next one.
    async fn slot_of_nonces(&self) -> (u16, usize, usize) {
        let mut commands = self.engines[0].commands().await;
        let mut ask = cmd("CLUSTER");
        ask.arg("KEYSLOT").arg("tw:test:{n:-}:i");
        let slot: u16 = ask.query_async(&mut commands).await.unwrap();
        let has_slot = |(first, last): &(u16, u16)| (*first..=*last).contains(&slot);
        let from = SLOTS.iter().position(has_slot).unwrap();
        (slot, from, (from + 1) % SLOTS.len())
    }

    /// Returns the name of a primary in its cluster.
    async fn id(&self, primary: usize) -> String {
        let mut commands = self.engines[primary].commands().await;
        let mut ask = cmd("CLUSTER");
        ask.arg("MYID").query_async(&mut commands).await.unwrap()
    }

    /// Returns the number of keys of each primary.
    async fn key_counts(&self) -> Vec<usize> {
        let mut counts = Vec::new();
        for engine in &self.engines {
            let mut commands = engine.commands().await;
            counts.push(cmd("DBSIZE").query_async(&mut commands).await.unwrap());
        }
        counts
    }
}

async fn run(engine: &Engine, command: &Cmd) {
    let mut commands = engine.commands().await;
    command.exec_async(&mut commands).await.unwrap();
}

#[tokio::test]
async fn contracts_hold_on_a_cluster() {
    let cluster = Cluster::start().await;
    contract::session_store(async || Arc::new(cluster.connect().await.sessions()), TTL).await;
    contract::nonce_store(async || Arc::new(cluster.connect().await.nonces())).await;
    contract::event_log(async || Arc::new(cluster.connect().await.event_log())).await;
    contract::task_store(async || Arc::new(cluster.connect().await.tasks())).await;
    contract::bus(async || Arc::new(cluster.connect().await.bus())).await;
    contract::mailboxes(async || Arc::new(cluster.connect().await.mailboxes())).await;
    let limited = RedisOptions::new("limited").with_nonces_per_owner(5);
    let connect = async || Arc::new(cluster.connect_with(limited.clone()).await.nonces());
    contract::nonce_store_owner_bound(connect, 5).await;
}

#[tokio::test]
async fn node_starts_while_the_first_server_of_the_url_is_down() {
    let mut cluster = Cluster::start().await;
    cluster.url = cluster.url.replace("://", "://127.0.0.1:1,");
    let redis = cluster.connect().await;
    redis.check_bus().await.expect("messages arrive");
}

#[cfg(all(feature = "auth", feature = "client"))]
#[tokio::test]
async fn contracts_of_authorization_hold_on_a_cluster() {
    use toolwire::{KeyRing, StateKey};

    let cluster = Cluster::start().await;
    let connect = async || Arc::new(cluster.connect().await.proxy_store());
    toolwire_auth::proxy::store::contract::proxy_store(connect, TTL).await;
    let keys = KeyRing::new(StateKey::new([1; 32]));
    let connect = async || Arc::new(cluster.connect().await.token_store("ann", keys.clone()));
    toolwire_auth::client::contract::token_store(connect).await;
    let connect = async || Arc::new(cluster.connect().await.client_cache());
    toolwire::cache::contract::cache_store(connect).await;
}

#[tokio::test]
async fn records_are_on_all_primaries() {
    let cluster = Cluster::start().await;
    let redis = cluster.connect().await;
    let (sessions, owner) = (redis.sessions(), Principal::anonymous());
    // More than are sent at the same time.
    let ids: Vec<_> = (0..300).map(|number: u32| number.to_string()).collect();
    for id in ids.iter().step_by(3) {
        let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
        let created = sessions.create(id, &owner, record, TTL * 100).await;
        created.unwrap();
    }
    let counts = cluster.key_counts().await;
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let all: Vec<_> = ids.into_iter().map(|id| (id, owner.clone())).collect();
    let renewed = sessions.touch_many(&all, TTL * 100).await.unwrap();
    let expected: Vec<_> = (0..300).map(|number| number % 3 == 0).collect();
    assert_eq!(renewed, expected);
    // A script that publishes would run on another primary than the other messages of this node, which could overtake them.
    let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
    let bus = redis.bus();
    let replacing = sessions.replace_and_publish("0", &owner, 1, &record, &bus, "node");
    assert!(replacing.is_none());
    let key = redis.shared_key().await.unwrap();
    assert_eq!(redis.shared_key().await.unwrap(), key);
}

#[tokio::test]
async fn moved_slots_are_followed() {
    let cluster = Cluster::start().await;
    let nonces = cluster.connect().await.nonces();
    let mark = async |number: u8| {
        let lifetime = Duration::from_secs(60);
        nonces
            .mark_used(&Principal::anonymous(), &[number; 32], lifetime)
            .await
    };
    assert!(mark(1).await.unwrap());
    // All nonces of the anonymous principal are in one slot. It moves with its keys to the next primary.
    let (slot, from, to) = cluster.slot_of_nonces().await;
    let id = cluster.id(to).await;
    let mut flush = cmd("FLUSHALL");
    run(&cluster.engines[from], flush.arg("SYNC")).await;
    for engine in [&cluster.engines[to], &cluster.engines[from]] {
        let mut set = cmd("CLUSTER");
        set.arg("SETSLOT").arg(slot).arg("NODE").arg(&id);
        run(engine, &set).await;
    }
    let followed = async {
        while mark(2).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, followed).await.expect("the slot is found");
    let counts = cluster.key_counts().await;
    assert!(counts[to] > 0 && counts[from] == 0, "{counts:?}");
}

#[tokio::test]
async fn keys_of_a_slot_that_is_moving_are_found() {
    let cluster = Cluster::start().await;
    let nonces = cluster.connect().await.nonces();
    let (slot, from, to) = cluster.slot_of_nonces().await;
    for (engine, state, other) in [(to, "IMPORTING", from), (from, "MIGRATING", to)] {
        let id = cluster.id(other).await;
        let mut set = cmd("CLUSTER");
        set.arg("SETSLOT").arg(slot).arg(state).arg(id);
        run(&cluster.engines[engine], &set).await;
    }
    let (owner, lifetime) = (Principal::anonymous(), Duration::from_secs(60));
    assert!(nonces.mark_used(&owner, &[1; 32], lifetime).await.unwrap());
    assert!(!nonces.mark_used(&owner, &[1; 32], lifetime).await.unwrap());
    let counts = cluster.key_counts().await;
    assert!(counts[to] > 0, "new keys are on the new primary");
}

#[tokio::test]
async fn message_that_may_have_been_sent_is_not_sent_again() {
    // A cluster with one primary, whose connections can fail.
    let (port, bus_port) = (free_port().to_string(), free_port().to_string());
    let arguments = "--cluster-enabled yes --cluster-announce-ip 127.0.0.1 --save";
    let mut arguments: Vec<_> = arguments.split(' ').collect();
    arguments.extend(["", "--port", &port, "--cluster-port", &bus_port]);
    let engine = Engine::start_with(&arguments);
    let relay = Relay::start(engine.socket()).unwrap();
    let mut announce = cmd("CONFIG");
    announce.arg("SET").arg("cluster-announce-port");
    run(&engine, announce.arg(relay.address().port())).await;
    let mut add = cmd("CLUSTER");
    run(&engine, add.arg("ADDSLOTSRANGE").arg(0).arg(16_383)).await;
    let mut commands = engine.commands().await;
    let mut ask = cmd("CLUSTER");
    ask.arg("INFO");
    let joined = async {
        while !ask
            .query_async::<String>(&mut commands)
            .await
            .unwrap()
            .contains("state:ok")
        {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, joined).await.expect("the primary starts");
    let url = format!("redis+cluster://{}", relay.address());
    let options = RedisOptions::new("test").with_response_timeout(Duration::from_secs(30));
    let redis = Redis::connect(&url, options).await.unwrap();

    let mailboxes = redis.mailboxes();
    let mailbox = mailboxes.open().await.unwrap();
    let node = mailbox.node();
    let message = NodeMessage::StreamMessage {
        session: "session".to_owned(),
        message: RawJson::from(serde_json::json!({})),
        token: Arc::default(),
    };
    // The engine knows the script afterwards.
    assert!(mailboxes.send(node, &message).await.unwrap());
    let mut count = cmd("LLEN");
    count.arg(format!("tw:test:{{m:{node}}}:l"));
    // The engine executes the script, and the connection ends before the response.
    relay.set_link(Link::OneWay);
    let sending = mailboxes.send(node, &message);
    let failing = async {
        while count.query_async::<u32>(&mut commands).await.unwrap() < 2 {
            sleep(Duration::from_millis(5)).await;
        }
        relay.set_link(Link::Up);
    };
    let (sent, ()) = timeout(TIMEOUT, async { tokio::join!(sending, failing) })
        .await
        .expect("the message arrives");
    assert!(matches!(sent, Err(StoreError::Unknown(_))), "{sent:?}");
    assert_eq!(count.query_async::<u32>(&mut commands).await.unwrap(), 2);
}
