//! The mailboxes of nodes.

use std::sync::Arc;
use std::time::Duration;

use redis::AsyncCommands as _;
use serde_json::json;
use tokio::time::timeout;
use toolwire::store::{Bus as _, Mailbox, Mailboxes as _, NodeMessage, StoreError, contract};
use toolwire::types::RawJson;
use toolwire_redis::{RedisMailboxes, RedisOptions};

use crate::engine::Engine;

/// The timeout of what takes a few seconds at most.
const LONG: Duration = Duration::from_secs(60);

fn message(number: i64) -> NodeMessage {
    NodeMessage::Response {
        session: "session".to_owned(),
        id: number.into(),
        outcome: Ok(RawJson::from(json!({}))),
    }
}

async fn next(mailbox: &mut dyn Mailbox) -> Option<NodeMessage> {
    timeout(LONG, mailbox.next()).await.expect("a message")
}

/// Sends a message until it succeeds.
async fn send(mailboxes: &RedisMailboxes, mailbox: &dyn Mailbox, number: i64) {
    let sent = async {
        while !matches!(
            mailboxes.send(mailbox.node(), &message(number)).await,
            Ok(true)
        ) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, sent).await.expect("the engine is used again");
}

#[tokio::test]
async fn contract_holds() {
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
    let connect = async || Arc::new(engine.connect().await.mailboxes());
    contract::mailboxes(connect).await;
    let limited = RedisOptions::new("limited").with_messages_per_mailbox(3);
    let mailboxes = engine.connect_with(limited).await.mailboxes();
    contract::mailboxes_bound(&mailboxes, 3).await;
    // Each message is stored with an id.
    let size = serde_json::to_vec(&message(1)).unwrap().len() + 16;
    let limited = RedisOptions::new("small").with_bytes_per_mailbox(3 * size - 1);
    let mailboxes = engine.connect_with(limited).await.mailboxes();
    contract::mailboxes_bound(&mailboxes, 2).await;
}

#[tokio::test]
async fn node_whose_lease_has_ended_learns_of_it() {
    let engine = Engine::start();
    let mailboxes = engine.connect().await.mailboxes();
    let mut mailbox = mailboxes.open().await.unwrap();
    let lease = format!("tw:test:{{m:{}}}:o", mailbox.node());
    let mut commands = engine.commands().await;
    let ttl: i64 = commands.pttl(&lease).await.unwrap();
    assert!((1..=15_000).contains(&ttl), "{ttl}");
    let _: () = commands.del(&lease).await.unwrap();
    let sent = mailboxes.send(mailbox.node(), &message(1)).await;
    assert!(!sent.unwrap(), "no node has the number");
    assert_eq!(next(&mut *mailbox).await, None);
    // Another node that has the number now is not affected by the end of the mailbox.
    let _: () = commands.hset(&lease, "owner", "other").await.unwrap();
    assert_eq!(next(&mut *mailbox).await, None);
    drop(mailbox);
    let mut other = mailboxes.open().await.unwrap();
    send(&mailboxes, &*other, 2).await;
    assert_eq!(next(&mut *other).await, Some(message(2)));
    assert!(commands.exists::<_, bool>(&lease).await.unwrap());
}

#[tokio::test]
async fn messages_that_a_failover_lost_are_detected() {
    let engine = Engine::start();
    let mailboxes = engine.connect().await.mailboxes();
    let mut commands = engine.commands().await;
    // What the new primary has of three messages that the node has read, and how many others were sent to it since.
    for (kept, newer) in [(2, 0), (0, 0), (2, 1), (0, 4)] {
        let mut mailbox = mailboxes.open().await.unwrap();
        for number in 1..=3 {
            send(&mailboxes, &*mailbox, number).await;
        }
        for number in 1..=3 {
            assert_eq!(next(&mut *mailbox).await, Some(message(number)));
        }
        let messages = format!("tw:test:{{m:{}}}:l", mailbox.node());
        let mut trim = redis::cmd("LTRIM");
        trim.arg(&messages).arg(0).arg(kept - 1);
        if kept == 0 {
            trim = redis::cmd("DEL");
            trim.arg(&messages);
        }
        trim.exec_async(&mut commands).await.unwrap();
        for number in 0..newer {
            send(&mailboxes, &*mailbox, 10 + number).await;
        }
        assert_eq!(next(&mut *mailbox).await, None, "{kept} {newer}");
    }
}

#[tokio::test]
async fn message_with_the_number_of_a_lost_one_is_detected() {
    let engine = Engine::start();
    let node = engine.connect().await;
    let mailboxes = node.mailboxes();
    // A new connection for wake-ups would cause a read.
    let _connected = node.bus().subscribe().await.unwrap();
    let mut mailbox = mailboxes.open().await.unwrap();
    for number in 1..=3 {
        send(&mailboxes, &*mailbox, number).await;
        assert_eq!(next(&mut *mailbox).await, Some(message(number)));
    }
    let mut commands = engine.commands().await;
    let [lease, list] = ["o", "l"].map(|name| format!("tw:test:{{m:{}}}:{name}", mailbox.node()));
    // A failover has lost the third message. Another one gets its number, and the wake-up of that one is lost, too.
    let _: () = commands.del(&list).await.unwrap();
    let lost = [("next", "3"), ("last_id", "the second one's")];
    let _: () = commands.hset_multiple(&lease, &lost).await.unwrap();
    let channel: String = commands.hget(&lease, "channel").await.unwrap();
    let _: () = commands.hset(&lease, "channel", "tw:none").await.unwrap();
    send(&mailboxes, &*mailbox, 10).await;
    let _: () = commands.hset(&lease, "channel", channel).await.unwrap();
    // This message has the number that the node expects.
    send(&mailboxes, &*mailbox, 11).await;
    assert_eq!(next(&mut *mailbox).await, None);
}

#[tokio::test]
async fn messages_survive_a_lost_connection_and_a_restart() {
    let mut engine = Engine::start_persistent();
    let (node, other) = (engine.connect().await, engine.connect().await);
    let (node, other) = (node.mailboxes(), other.mailboxes());
    let mut mailbox = node.open().await.unwrap();
    for number in 1..=3 {
        send(&other, &*mailbox, number).await;
    }
    assert_eq!(next(&mut *mailbox).await, Some(message(1)));
    engine.kill();
    let rejected = other.send(mailbox.node(), &message(4)).await;
    assert!(
        matches!(
            rejected,
            Err(StoreError::Unavailable(_) | StoreError::Unknown(_))
        ),
        "{rejected:?}"
    );
    engine.restart();
    send(&other, &*mailbox, 5).await;
    for number in [2, 3, 5] {
        assert_eq!(next(&mut *mailbox).await, Some(message(number)));
    }
}

#[tokio::test]
async fn closed_mailboxes_leave_nothing_behind() {
    let engine = Engine::start();
    let mailboxes = engine.connect().await.mailboxes();
    let mailbox = mailboxes.open().await.unwrap();
    send(&mailboxes, &*mailbox, 1).await;
    let mut commands = engine.commands().await;
    let keys: Vec<String> = commands.keys("*{*").await.unwrap();
    assert_eq!(keys.len(), 2, "{keys:?}");
    for key in keys {
        let ttl: i64 = commands.pttl(&key).await.unwrap();
        assert!(ttl > 0, "{key} never expires");
    }
    drop(mailbox);
    let removed = async {
        while !commands
            .keys::<_, Vec<String>>("*{*")
            .await
            .unwrap()
            .is_empty()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, removed)
        .await
        .expect("the number is given back");
}

/// Returns a message that takes this many bytes in the engine.
fn message_of(bytes: usize) -> NodeMessage {
    let with_text = |length: usize| NodeMessage::Response {
        session: "session".to_owned(),
        id: 1.into(),
        outcome: Ok(RawJson::from(json!({"text": "x".repeat(length)}))),
    };
    // Each message is stored with an id.
    let empty = serde_json::to_vec(&with_text(0)).unwrap().len() + 16;
    with_text(bytes - empty)
}

#[tokio::test]
async fn small_messages_are_received_without_a_read() {
    let engine = Engine::start();
    let (node, sender) = (engine.connect().await, engine.connect().await);
    let (mailboxes, sender) = (node.mailboxes(), sender.mailboxes());
    let requests = || {
        let counters = node.counters();
        let mut calls = counters.calls.iter();
        let calls = calls.find(|calls| calls.store == "mailboxes");
        calls.map_or(0, |calls| calls.succeeded)
    };
    // A new connection for wake-ups would cause a read.
    let _connected = node.bus().subscribe().await.unwrap();
    let mut commands = engine.commands().await;
    // A mailbox that is dropped gives its number back, which would count as a request.
    let mut opened = Vec::new();
    for (message, takes_wake_ups, reads) in [
        (message(1), true, 0),
        (message_of(16 * 1024), true, 0),
        (message_of(16 * 1024 + 1), true, 1),
        (message(1), false, 1),
    ] {
        let mut mailbox = mailboxes.open().await.unwrap();
        if !takes_wake_ups {
            // The node has an older version.
            let lease = format!("tw:test:{{m:{}}}:o", mailbox.node());
            let _: () = commands.hdel(&lease, "wake_up_bytes").await.unwrap();
        }
        // The first read finds nothing.
        let start = requests();
        while requests() == start {
            let waiting = timeout(Duration::from_millis(200), mailbox.next()).await;
            assert!(waiting.is_err());
        }
        let before = requests();
        assert!(sender.send(mailbox.node(), &message).await.unwrap());
        assert_eq!(next(&mut *mailbox).await, Some(message));
        assert_eq!(requests(), before + reads);
        opened.push(mailbox);
    }
}

#[tokio::test]
async fn messages_of_wake_ups_are_removed_and_do_not_arrive_again() {
    let engine = Engine::start();
    let mailboxes = engine.connect().await.mailboxes();
    let mut mailbox = mailboxes.open().await.unwrap();
    let list = format!("tw:test:{{m:{}}}:l", mailbox.node());
    let mut commands = engine.commands().await;
    for number in 1..=350 {
        send(&mailboxes, &*mailbox, number).await;
        assert_eq!(next(&mut *mailbox).await, Some(message(number)));
        let stored: usize = commands.llen(&list).await.unwrap();
        // The 100 messages that cause a read, and the one that was sent before it.
        assert!(stored <= 101, "{stored} messages");
    }
    // More messages than may wait in memory.
    for number in 1..=350 {
        send(&mailboxes, &*mailbox, number).await;
    }
    for number in 1..=350 {
        assert_eq!(next(&mut *mailbox).await, Some(message(number)));
    }
    send(&mailboxes, &*mailbox, 351).await;
    assert_eq!(next(&mut *mailbox).await, Some(message(351)));
}

#[tokio::test]
async fn read_of_large_messages_takes_little_memory_of_the_engine() {
    const MIB: usize = 1024 * 1024;
    let engine = Engine::start();
    let mailboxes = engine.connect().await.mailboxes();
    let mut mailbox = mailboxes.open().await.unwrap();
    let large = NodeMessage::Response {
        session: "session".to_owned(),
        id: 1.into(),
        outcome: Ok(RawJson::from(json!({"text": "x".repeat(MIB)}))),
    };
    for _ in 0..24 {
        assert!(mailboxes.send(mailbox.node(), &large).await.unwrap());
    }
    let before = engine.peak_memory().await;
    assert_eq!(next(&mut *mailbox).await, Some(large));
    let grown = engine.peak_memory().await - before;
    assert!(grown < 8 * MIB, "{grown} bytes");
}
