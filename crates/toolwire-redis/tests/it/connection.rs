//! Unsuitable engines, and engines that go away.

use std::time::Duration;

use redis::AsyncCommands as _;
use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout};
use toolwire::Principal;
use toolwire::store::{NonceStore as _, StoreError};
use toolwire_redis::{ConnectError, Redis, RedisNonceStore, RedisOptions};
use toolwire_tests::traces::Traces;

use crate::engine::Engine;

const LIFETIME: Duration = Duration::from_secs(60);

/// The timeout of what takes a few seconds at most.
const TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn unsuitable_engine_is_rejected() {
    let engine = Engine::start_with(&["--maxmemory-policy", "allkeys-lru"]);
    let error = Redis::connect(&engine.url(), RedisOptions::new("test")).await;
    let error = error.unwrap_err();
    assert!(matches!(&error, ConnectError::EvictionPolicy { policy } if policy == "allkeys-lru"));

    let engine = Engine::start_with(&["--replicaof", "127.0.0.1 1"]);
    let error = Redis::connect(&engine.url(), RedisOptions::new("test")).await;
    assert!(matches!(error.unwrap_err(), ConnectError::Replica));

    let engine = Engine::start_with(&["--requirepass", "secret"]);
    let url = engine.url_without_user();
    let error = Redis::connect(&url, RedisOptions::new("test")).await;
    assert!(matches!(error.unwrap_err(), ConnectError::Unavailable(_)));
    let url = format!("{url}?pass=secret");
    let connected = Redis::connect(&url, RedisOptions::new("test")).await;
    assert!(connected.is_ok(), "{connected:?}");
}

#[tokio::test]
async fn user_without_channels_is_rejected_with_the_remedy() {
    let user = "--user mute on >secret ~tw:* resetchannels +@all";
    let engine = Engine::start_with(&Vec::from_iter(user.split(' ')));
    let url = format!("{}?user=mute&pass=secret", engine.url_without_user());
    let error = Redis::connect(&url, RedisOptions::new("test")).await;
    let error = error.unwrap_err();
    assert!(matches!(&error, ConnectError::NoMessages(_)), "{error:?}");
    // Redis and Valkey begin the reason differently.
    let text = error.to_string().to_lowercase();
    assert!(text.contains("no permissions"), "{text}");
    assert!(text.contains("`&tw:<service>:*`"), "{text}");
}

#[tokio::test]
async fn fault_of_the_configuration_is_reported_once() {
    let (traces, _recording) = Traces::record();
    let reported = || {
        let text = traces.text();
        text.matches("the engine rejects the user of the stores")
            .count()
    };
    let engine = Engine::start();
    let nonces = engine.connect().await.nonces();
    let mut commands = engine.commands().await;
    set_user(&mut commands, &["resetkeys"]).await;
    for number in 0..3 {
        let rejected = mark(&nonces, number).await;
        assert!(matches!(rejected, Err(StoreError::Unavailable(_))));
    }
    assert_eq!(reported(), 1);
    // The connection that is opened next can have another fault.
    set_user(&mut commands, &["~tw:*"]).await;
    close_connections(&mut commands).await;
    assert!(until_available(&nonces, 4).await);
    set_user(&mut commands, &["resetpass", ">other"]).await;
    close_connections(&mut commands).await;
    let attempts = || {
        traces
            .text()
            .matches("the engine cannot be used yet")
            .count()
    };
    let several = async {
        while attempts() < 3 {
            let _ = mark(&nonces, 5).await;
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, several).await.expect("several attempts");
    assert_eq!(reported(), 2);
    set_user(&mut commands, &["resetpass", ">secret"]).await;
    assert!(until_available(&nonces, 6).await);
}

/// Changes the user of the stores.
async fn set_user(commands: &mut redis::aio::MultiplexedConnection, rules: &[&str]) {
    let mut set = redis::cmd("ACL");
    set.arg("SETUSER").arg("stores").arg(rules);
    set.exec_async(commands).await.unwrap();
}

/// Closes the connections of all commands, except this one.
async fn close_connections(commands: &mut redis::aio::MultiplexedConnection) {
    let mut kill = redis::cmd("CLIENT");
    kill.arg("KILL").arg("TYPE").arg("normal");
    kill.arg("SKIPME").arg("yes");
    let _: u32 = kill.query_async(commands).await.unwrap();
}

#[tokio::test]
async fn demoted_primary_is_not_used() {
    let engine = Engine::start();
    let redis = engine.connect().await;
    let nonces = redis.nonces();
    assert!(mark(&nonces, 1).await.unwrap());
    let mut commands = engine.commands().await;
    let set_primary =
        async |host: &str, port: &str, commands: &mut redis::aio::MultiplexedConnection| {
            let mut set = redis::cmd("REPLICAOF");
            set.arg(host).arg(port);
            set.exec_async(commands).await.unwrap();
        };
    set_primary("127.0.0.1", "1", &mut commands).await;
    for number in 2..20 {
        assert!(mark(&nonces, number).await.is_err());
    }
    let counters = redis.counters();
    assert_eq!((counters.lost_connections, counters.reconnects), (1, 0));
    set_primary("NO", "ONE", &mut commands).await;
    assert!(until_available(&nonces, 20).await);
}

#[tokio::test]
async fn absent_engine_and_invalid_names_are_rejected() {
    let connect = async |url: &str, service: &str| {
        let connected = Redis::connect(url, RedisOptions::new(service)).await;
        connected.unwrap_err()
    };
    let absent = "redis+unix:///nonexistent/socket";
    assert!(matches!(
        connect(absent, "test").await,
        ConnectError::Unavailable(_)
    ));
    assert!(matches!(
        connect("http://localhost", "test").await,
        ConnectError::InvalidUrl(_)
    ));
    assert!(matches!(
        connect(absent, "two words").await,
        ConnectError::InvalidService(_)
    ));
}

#[tokio::test]
async fn one_closed_connection_fails_no_command() {
    let engine = Engine::start();
    let nonces = engine.connect().await.nonces();
    let mut commands = engine.commands().await;
    for number in 0..10 {
        close_connections(&mut commands).await;
        let unused = mark(&nonces, number).await;
        assert!(unused.unwrap(), "a repeated command has one effect");
        assert!(!mark(&nonces, number).await.unwrap());
    }
}

#[tokio::test]
async fn forgotten_scripts_are_loaded_again() {
    let engine = Engine::start();
    let nonces = engine.connect().await.nonces();
    let mut commands = engine.commands().await;
    for number in 0..2 {
        let mut flush = redis::cmd("SCRIPT");
        flush.arg("FLUSH").exec_async(&mut commands).await.unwrap();
        assert!(mark(&nonces, number).await.unwrap());
    }
}

#[tokio::test]
async fn restarted_engine_is_used_again() {
    let mut engine = Engine::start_persistent();
    let nonces = engine.connect().await.nonces();
    assert!(mark(&nonces, 1).await.unwrap());
    engine.kill();
    // The command may have been sent before the engine was killed.
    let rejected = mark(&nonces, 2).await;
    assert!(matches!(
        rejected,
        Err(StoreError::Unavailable(_) | StoreError::Unknown(_))
    ));
    engine.restart();
    assert!(until_available(&nonces, 2).await);
    assert!(!mark(&nonces, 1).await.unwrap(), "no nonce is lost");
}

#[tokio::test]
async fn calls_fail_at_once_while_the_engine_does_not_respond() {
    let engine = Engine::start();
    let options = RedisOptions::new("test").with_response_timeout(Duration::from_millis(100));
    let nonces = engine.connect_with(options).await.nonces();
    assert!(mark(&nonces, 1).await.unwrap());
    engine.signal(Signal::STOP);
    // Each call waits for its response until enough of them did.
    let fails_at_once = async {
        loop {
            let start = Instant::now();
            let outcome = mark(&nonces, 2).await;
            assert!(outcome.is_err());
            if start.elapsed() < Duration::from_millis(20) {
                return;
            }
        }
    };
    let failed = timeout(TIMEOUT, fails_at_once).await;
    assert!(failed.is_ok(), "calls wait for an engine that is away");
    engine.signal(Signal::CONT);
    // The nonce was used if the engine executed a command whose response came too late.
    until_available(&nonces, 3).await;
}

#[tokio::test]
async fn full_engine_rejects_new_records() {
    let engine = Engine::start();
    let nonces = engine.connect().await.nonces();
    assert!(mark(&nonces, 1).await.unwrap());
    let mut commands = engine.commands().await;
    let set_limit = async |limit: &str, commands: &mut redis::aio::MultiplexedConnection| {
        let mut set = redis::cmd("CONFIG");
        set.arg("SET").arg("maxmemory").arg(limit);
        set.exec_async(commands).await.unwrap();
    };
    set_limit("1", &mut commands).await;
    let rejected = mark(&nonces, 2).await;
    assert!(matches!(rejected, Err(StoreError::Full)), "{rejected:?}");
    set_limit("0", &mut commands).await;
    assert!(mark(&nonces, 2).await.unwrap());
    assert!(!mark(&nonces, 1).await.unwrap(), "no nonce was evicted");
}

#[tokio::test]
async fn commands_in_flight_are_limited() {
    let engine = Engine::start();
    let options = RedisOptions::new("test").with_commands_in_flight(2);
    let nonces = engine.connect_with(options).await.nonces();
    engine.signal(Signal::STOP);
    let (one, two, three) = tokio::join!(mark(&nonces, 1), mark(&nonces, 2), async {
        // The other two were sent before.
        tokio::task::yield_now().await;
        mark(&nonces, 3).await
    });
    engine.signal(Signal::CONT);
    assert!(one.is_err() && two.is_err());
    let error = three.unwrap_err();
    let StoreError::Unavailable(source) = &error else {
        panic!("{error:?}");
    };
    assert!(source.to_string().contains("too many commands"), "{source}");
}

#[tokio::test]
async fn other_key_layout_is_reported() {
    let engine = Engine::start_persistent();
    assert_eq!(engine.connect().await.warnings(), []);
    let mut commands = engine.commands().await;
    let _: () = commands.hset("tw:test:nodes", "format", "0").await.unwrap();
    let redis = engine.connect().await;
    let texts: Vec<_> = redis.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].contains("another version of toolwire-redis"),
        "{texts:?}"
    );
}

/// Marks a nonce of a principal as used.
async fn mark(nonces: &RedisNonceStore, number: u8) -> Result<bool, StoreError> {
    let owner = Principal::from_stored(Some("ann"));
    nonces.mark_used(&owner, &[number; 32], LIFETIME).await
}

/// Marks a nonce as used, and repeats it while the engine is away.
async fn until_available(nonces: &RedisNonceStore, number: u8) -> bool {
    let available = async {
        loop {
            match mark(nonces, number).await {
                Ok(unused) => return unused,
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let available = timeout(TIMEOUT, available).await;
    available.expect("the engine is used again")
}
