//! The faults of a store.

use tokio::time::Instant;
use toolwire_types::{ClientCapabilities, ProtocolVersion};

use super::*;
use crate::engine::Principal;
use crate::store::{
    Appended, Bus as _, BusDelivery, BusMessage, BusPayload, BusSubscription, EventLog as _,
    LogEntry, Mailboxes as _, MemoryBus, MemoryEventLog, MemoryMailboxes, MemoryNonceStore,
    MemorySessionStore, NodeMessage, NonceStore as _, Replay, SessionRecord, SessionStore as _,
    StreamKey,
};

const TTL: Duration = Duration::from_secs(60);

fn owner() -> Principal {
    Principal::anonymous()
}

fn record() -> SessionRecord {
    SessionRecord::new(ProtocolVersion::LATEST, ClientCapabilities::default(), None)
}

async fn is_known<S: crate::store::SessionStore>(store: &S, id: &str) -> bool {
    let loaded = store.load(id, &owner(), TTL, None).await;
    loaded.unwrap().is_some()
}

#[tokio::test]
async fn rewound_store_has_lost_its_last_writes() {
    let shared = Arc::new(Faulty::rewindable(MemorySessionStore::default));
    let node = Faulty::new(Arc::clone(&shared));
    for id in ["a", "b", "c"] {
        node.create(id, &owner(), record(), TTL).await.unwrap();
    }
    shared.rewind(1).await;
    assert!(is_known(&node, "b").await && !is_known(&node, "c").await);
    // A write after the failover is the last one.
    node.create("d", &owner(), record(), TTL).await.unwrap();
    shared.rewind(1).await;
    assert!(is_known(&node, "b").await && !is_known(&node, "d").await);
    shared.rewind(usize::MAX).await;
    assert!(!is_known(&node, "a").await);
}

#[tokio::test]
async fn failed_write_is_not_recorded_and_a_lost_reply_is() {
    let store = Faulty::rewindable(MemorySessionStore::default);
    let owner = owner();
    let create = |id: &'static str| store.create(id, &owner, record(), TTL);
    create("a").await.unwrap();
    store.inject("create", Fault::Error, 1);
    create("b").await.unwrap_err();
    store.inject("create", Fault::LostReply, 1);
    create("c").await.unwrap_err();
    assert!(is_known(&store, "c").await);
    store.rewind(1).await;
    assert!(is_known(&store, "a").await && !is_known(&store, "c").await);
}

#[tokio::test]
async fn rewound_log_reports_the_loss_to_its_writer() {
    let (log, owner) = (Faulty::rewindable(MemoryEventLog::default), owner());
    let key = StreamKey::new("session", "stream");
    let mut writer = log.open(&owner, &key, 1, None).await.unwrap();
    for _ in 0..3 {
        let entries = [LogEntry::Message("{}".into())];
        let appended = log.append(&owner, &key, writer, &entries).await;
        assert_eq!(appended.unwrap(), Appended::Stored);
        writer.next += 1;
    }
    log.inject("read_after", Fault::StaleRead(2), 1);
    let read = || log.read_after(&owner, &key, 0, Duration::ZERO);
    let count = |replay: Replay| match replay {
        Replay::Entries(entries) => entries.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(count(read().await.unwrap()), 1, "a replica is behind");
    assert_eq!(count(read().await.unwrap()), 3);
    log.rewind(2).await;
    let appended = log.append(&owner, &key, writer, &[LogEntry::End]).await;
    assert_eq!(appended.unwrap(), Appended::Lost { last: 1 });
}

#[tokio::test]
async fn rewound_nonce_can_be_used_again() {
    let (store, owner) = (Faulty::rewindable(MemoryNonceStore::default), owner());
    let mark = || store.mark_used(&owner, &[7; 32], TTL);
    assert!(mark().await.unwrap() && !mark().await.unwrap());
    store.inject("mark_used", Fault::Twice, 1);
    assert!(!mark().await.unwrap());
    store.rewind(usize::MAX).await;
    assert!(mark().await.unwrap());
}

#[tokio::test]
async fn rewound_mailboxes_are_empty_and_their_nodes_lose_their_numbers() {
    let shared = Arc::new(Faulty::rewindable(MemoryMailboxes::default));
    let node = Faulty::new(Arc::clone(&shared));
    let mut before = node.open().await.unwrap();
    let message = NodeMessage::Response {
        session: "session".to_owned(),
        id: 1.into(),
        outcome: Ok(toolwire_types::RawJson::empty_object()),
    };
    assert!(node.send(before.node(), &message).await.unwrap());
    shared.rewind(0).await;
    assert_eq!(before.next().await, None);
    assert!(!node.send(before.node(), &message).await.unwrap());
    let mut after = node.open().await.unwrap();
    node.inject("send", Fault::LostReply, 1);
    node.send(after.node(), &message).await.unwrap_err();
    assert_eq!(after.next().await, Some(message));
}

#[tokio::test]
async fn seed_selects_the_calls_that_fail() {
    let failing = async |seed: u64| {
        let store = Faulty::new(Arc::new(MemorySessionStore::default()));
        store.inject_random(seed, 4, &[Fault::Error, Fault::LostReply, Fault::Drop]);
        let mut failing = Vec::new();
        for call in 0..100 {
            if store.load("x", &owner(), TTL, None).await.is_err() {
                failing.push(call);
            }
        }
        store.heal();
        assert!(!is_known(&store, "x").await);
        failing
    };
    let first = failing(1).await;
    assert_eq!(first, failing(1).await);
    assert_ne!(first, failing(2).await);
    assert!((10..50).contains(&first.len()), "{first:?}");
}

/// Two nodes on a bus, and a subscriber whose messages have faults.
struct BusCase {
    bus: Arc<Faulty<MemoryBus>>,
    subscription: Box<dyn BusSubscription>,
}

impl BusCase {
    async fn new(fault: Fault) -> Self {
        let bus = Arc::new(Faulty::new(Arc::<MemoryBus>::default()));
        let subscription = bus.subscribe().await.unwrap();
        bus.inject("next", fault, 1);
        Self { bus, subscription }
    }

    async fn publish(&self, nodes: &[&str]) {
        for node in nodes {
            let message = BusMessage::new(*node, BusPayload::Everything);
            self.bus.publish_all(&[message]).await.unwrap();
        }
    }

    /// Expects messages of these nodes. The empty name is a loss.
    async fn expect(&mut self, nodes: &[&str]) {
        for node in nodes {
            let name = match self.subscription.next().await {
                Some(BusDelivery::Message(message)) => message.node,
                Some(BusDelivery::Lagged) => String::new(),
                None => panic!("the bus is open"),
            };
            assert_eq!(name, *node);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn message_is_lost_repeated_or_late() {
    let check = async |fault: Fault, published: &[&str], expected: &[&str]| {
        let mut case = BusCase::new(fault).await;
        case.publish(published).await;
        case.expect(expected).await;
        assert_eq!(case.bus.calls("publish_all"), published.len());
    };
    check(Fault::Drop, &["a", "b"], &["", "b"]).await;
    check(Fault::Duplicate, &["a", "b"], &["a", "a", "b"]).await;
    check(Fault::Reorder, &["a", "b", "c"], &["b", "a", "c"]).await;
    // Messages of one node stay in order.
    check(Fault::Reorder, &["a", "a", "b"], &["a", "a", "b"]).await;
    let before = Instant::now();
    check(Fault::Reorder, &["a"], &["a"]).await;
    assert!(before.elapsed() >= Duration::from_millis(100));
}
