//! Random calls of the stores have the same responses as those of the stores in memory. The calls alternate between two
//! connections, as if two nodes made them.
//!
//! The store of tasks has such a test of its own, in `tasks.rs`.

mod bus;
#[cfg(feature = "client")]
mod client_cache;
#[cfg(feature = "auth")]
mod proxy;
#[cfg(feature = "auth")]
mod tokens;

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;
use tokio::time::timeout;
use toolwire::Principal;
use toolwire::store::{
    Appended, EventLog, LoadedSession, LogEntry, LogWriter, Mailbox, Mailboxes, MemoryEventLog,
    MemoryEventLogLimits, MemoryMailboxes, MemoryNonceStore, MemorySessionLimits,
    MemorySessionStore, NodeMessage, NonceStore, SessionRecord, SessionStore, StreamKey,
    WriterLease,
};
use toolwire::types::{LoggingLevel, ProtocolVersion, RawJson};
use toolwire_redis::{Redis, RedisOptions};

use crate::engine::Engine;

/// The lifetime of what should not expire during a test.
const HOUR: Duration = Duration::from_secs(3600);

/// The sequences of operations of one store. Each is at most as long as `LONGEST`.
const CASES: u32 = 16;
const LONGEST: usize = 40;

/// A store, with what its operations need of earlier ones.
trait Operated<O> {
    /// Runs an operation and returns its response as text.
    async fn run(&mut self, operation: &O, number: usize) -> String;
}

/// Returns a store in memory twice, as if it had two connections.
fn both<S>(store: S) -> [Arc<S>; 2] {
    let store = Arc::new(store);
    [Arc::clone(&store), store]
}

/// Compares the responses of the stores that `shared` and `memory` create, for random operations. `shared` gets two
/// connections to one engine.
fn compare<O: Debug, S: Operated<O>, M: Operated<O>>(
    options: &RedisOptions,
    operation: impl Strategy<Value = O>,
    shared: impl AsyncFn([Redis; 2]) -> S,
    memory: impl AsyncFn() -> M,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let engine = Engine::start();
    let config = ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let redis = runtime.block_on(async {
        let connect = || engine.connect_with(options.clone());
        [connect().await, connect().await]
    });
    let cases = AtomicU32::new(0);
    let checked = TestRunner::new(config).run(
        &proptest::collection::vec(operation, 1..LONGEST),
        |operations| {
            cases.fetch_add(1, Ordering::Relaxed);
            runtime.block_on(async {
                let mut commands = engine.commands().await;
                redis::cmd("FLUSHDB")
                    .exec_async(&mut commands)
                    .await
                    .unwrap();
                let (mut shared, mut memory) = (shared(redis.clone()).await, memory().await);
                for (number, operation) in operations.iter().enumerate() {
                    let expected = memory.run(operation, number).await;
                    let response = shared.run(operation, number).await;
                    prop_assert_eq!(response, expected, "operation {}: {:?}", number, operation);
                }
                Ok(())
            })
        },
    );
    checked.unwrap();
    assert!(cases.into_inner() >= CASES);
}

fn options() -> RedisOptions {
    RedisOptions::new("test").with_response_timeout(Duration::from_secs(10))
}

fn principal(number: usize) -> Principal {
    match number {
        0 => Principal::anonymous(),
        other => Principal::from_stored(Some(&format!("user {other}"))),
    }
}

/// The text of a response. Errors have no details, because these differ.
fn text<T: Debug>(response: Result<T, toolwire::store::StoreError>) -> String {
    format!("{:?}", response.map_err(|error| error.to_string()))
}

#[derive(Debug, Clone)]
enum SessionOperation {
    Create {
        initialized: bool,
    },
    Load {
        is_known: bool,
    },
    LoadInitialized,
    Touch,
    /// Touches all sessions of the principal.
    TouchMany,
    Replace {
        is_stale: bool,
    },
    Delete,
}

/// The operation, the session and the principal.
type OfSession = (SessionOperation, usize, usize);

struct Sessions<S> {
    stores: [Arc<S>; 2],
    /// The last revision of each session, which differ between stores.
    revisions: [[u64; 3]; 4],
}

impl<S> Sessions<S> {
    fn new(stores: [Arc<S>; 2]) -> Self {
        let revisions = Default::default();
        Self { stores, revisions }
    }
}

impl<S: SessionStore> Operated<OfSession> for Sessions<S> {
    async fn run(&mut self, (operation, session, owner): &OfSession, number: usize) -> String {
        let revision = &mut self.revisions[*session][*owner];
        // Sessions of two principals have different ids, which are random.
        let id_of = |session: usize| format!("{owner} {session}");
        let id = id_of(*session);
        let (store, owner) = (&self.stores[number % 2], principal(*owner));
        let mut record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
        match operation {
            SessionOperation::Create { initialized } => {
                record.initialized = *initialized;
                let created = store.create(&id, &owner, record, HOUR).await;
                text(created.map(|created| {
                    *revision = created.revision;
                    created.record
                }))
            }
            SessionOperation::Load { is_known } => {
                let known = is_known.then_some(*revision);
                let loaded = store.load(&id, &owner, HOUR, known).await.unwrap();
                match loaded {
                    Some(LoadedSession::Newer(session)) => {
                        *revision = session.revision;
                        format!("{:?}", session.record)
                    }
                    other => format!("{other:?}"),
                }
            }
            SessionOperation::LoadInitialized => {
                let loaded = store.load_initialized(&id, &owner, HOUR).await.unwrap();
                let Some(LoadedSession::Newer(session)) = loaded else {
                    return format!("{loaded:?}");
                };
                *revision = session.revision;
                record = (*session.record).clone();
                // As the server does, because a store need not change the record itself.
                if !record.initialized {
                    record.initialized = true;
                    let replacing = store.replace(&id, &owner, *revision, record.clone());
                    *revision = replacing.await.unwrap().unwrap();
                }
                format!("{record:?}")
            }
            SessionOperation::TouchMany => {
                let all = (0..4).map(|session| (id_of(session), owner.clone()));
                let all: Vec<_> = all.collect();
                text(store.touch_many(&all, HOUR).await)
            }
            SessionOperation::Touch => text(store.touch(&id, &owner, HOUR).await),
            SessionOperation::Replace { is_stale } => {
                record.log_level = Some(LoggingLevel::Error);
                record.subscriptions.insert(number.to_string());
                let expected = *revision + u64::from(*is_stale);
                let replaced = store.replace(&id, &owner, expected, record).await;
                text(replaced.map(|replaced| match replaced {
                    Some(new) => {
                        let grew = new > *revision;
                        *revision = new;
                        grew
                    }
                    None => false,
                }))
            }
            SessionOperation::Delete => text(store.delete(&id, &owner).await),
        }
    }
}

#[test]
fn sessions_are_those_of_memory() {
    let operation = prop_oneof![
        3 => any::<bool>().prop_map(|initialized| SessionOperation::Create { initialized }),
        2 => any::<bool>().prop_map(|is_known| SessionOperation::Load { is_known }),
        2 => Just(SessionOperation::LoadInitialized),
        1 => Just(SessionOperation::Touch),
        1 => Just(SessionOperation::TouchMany),
        3 => any::<bool>().prop_map(|is_stale| SessionOperation::Replace { is_stale }),
        1 => Just(SessionOperation::Delete),
    ];
    compare(
        &options().with_sessions_per_principal(2),
        (operation, 0..4_usize, 0..3_usize),
        async |redis| Sessions::new(redis.map(|redis| Arc::new(redis.sessions()))),
        async || {
            let limits = MemorySessionLimits::default().with_sessions_per_principal(2);
            Sessions::new(both(MemorySessionStore::new(limits)))
        },
    );
}

#[derive(Debug, Clone)]
enum LogOperation {
    Open {
        first: u64,
        has_lease: bool,
    },
    /// The writer is the last one or the one before it, and starts this far from its next number.
    Append {
        is_old: bool,
        offset: i64,
        entries: usize,
        ends: bool,
    },
    Read {
        after: u64,
    },
    RemoveSession,
}

/// The operation, the stream and the principal.
type OfStream = (LogOperation, usize, usize);

struct Log<L> {
    logs: [Arc<L>; 2],
    /// The last two writers of each stream. Their fences differ between logs.
    writers: [[[Option<LogWriter>; 2]; 2]; 3],
}

impl<L> Log<L> {
    fn new(logs: [Arc<L>; 2]) -> Self {
        let writers = Default::default();
        Self { logs, writers }
    }
}

impl<L: EventLog> Operated<OfStream> for Log<L> {
    async fn run(&mut self, (operation, stream, owner): &OfStream, number: usize) -> String {
        let writers = &mut self.writers[*stream][*owner];
        // Two streams share a session.
        let key = StreamKey::new((stream / 2).to_string(), stream.to_string());
        let (log, owner) = (&self.logs[number % 2], principal(*owner));
        match operation {
            LogOperation::Open { first, has_lease } => {
                let lease = has_lease.then(|| WriterLease::new(HOUR, LogEntry::End));
                let writer = log.open(&owner, &key, *first, lease).await.unwrap();
                writers[0] = writers[1].replace(writer);
                writer.next.to_string()
            }
            LogOperation::Append {
                is_old,
                offset,
                entries,
                ends,
            } => {
                let Some(writer) = &mut writers[usize::from(!*is_old)] else {
                    return "no writer".to_owned();
                };
                let mut starting = *writer;
                starting.next = writer.next.saturating_add_signed(*offset).max(1);
                let entry = |index: usize| Bytes::from(format!("{number} {index}"));
                let mut entries: Vec<_> = (0..*entries)
                    .map(|index| LogEntry::Message(entry(index)))
                    .collect();
                if *ends {
                    entries.push(LogEntry::Last(entry(entries.len())));
                }
                let appended = log.append(&owner, &key, starting, &entries).await.unwrap();
                if appended == Appended::Stored {
                    let next = starting.next + entries.len() as u64;
                    writer.next = writer.next.max(next);
                }
                format!("{appended:?}")
            }
            LogOperation::Read { after } => {
                text(log.read_after(&owner, &key, *after, Duration::ZERO).await)
            }
            LogOperation::RemoveSession => text(log.remove_session(&owner, &key.session).await),
        }
    }
}

#[test]
fn event_log_is_that_of_memory() {
    let append = (any::<bool>(), -2..=2_i64, 0..4_usize, any::<bool>());
    let operation = prop_oneof![
        3 => (1..6_u64, any::<bool>())
            .prop_map(|(first, has_lease)| LogOperation::Open { first, has_lease }),
        // Few appends have an old writer, repeat entries, leave a gap or end the stream.
        6 => append.prop_map(|(is_old, offset, entries, ends)| LogOperation::Append {
            is_old: is_old && offset > 0,
            offset: if is_old { offset } else { 0 },
            entries,
            ends: ends && entries == 0,
        }),
        4 => (0..12_u64).prop_map(|after| LogOperation::Read { after }),
        1 => Just(LogOperation::RemoveSession),
    ];
    compare(
        &options().with_events_per_stream(4),
        (operation, 0..3_usize, 0..2_usize),
        async |redis| Log::new(redis.map(|redis| Arc::new(redis.event_log()))),
        async || {
            let limits = MemoryEventLogLimits::default().with_events_per_stream(4);
            Log::new(both(MemoryEventLog::new(limits)))
        },
    );
}

struct Nonces<N>([Arc<N>; 2]);

impl<N: NonceStore> Operated<(usize, u8)> for Nonces<N> {
    async fn run(&mut self, (owner, nonce): &(usize, u8), number: usize) -> String {
        let (store, owner) = (&self.0[number % 2], principal(*owner));
        text(store.mark_used(&owner, &[*nonce; 32], HOUR).await)
    }
}

#[test]
fn nonces_are_those_of_memory() {
    compare(
        &options().with_nonces_per_owner(4),
        (0..3_usize, 0..8_u8),
        async |redis| Nonces(redis.map(|redis| Arc::new(redis.nonces()))),
        async || Nonces(both(MemoryNonceStore::new(1000).with_owner_limit(4))),
    );
}

#[derive(Debug, Clone)]
enum MailboxOperation {
    /// A response with a text of this length.
    Send {
        length: usize,
    },
    Next,
}

struct Boxes<B> {
    mailboxes: [Arc<B>; 2],
    /// The mailboxes of two nodes, and the number of messages in each.
    opened: Vec<(Box<dyn Mailbox>, usize)>,
}

impl<B: Mailboxes> Boxes<B> {
    async fn open(mailboxes: [Arc<B>; 2]) -> Self {
        let mut opened = Vec::new();
        for of_node in &mailboxes {
            opened.push((of_node.open().await.unwrap(), 0));
        }
        Self { mailboxes, opened }
    }
}

impl<B: Mailboxes> Operated<(MailboxOperation, usize)> for Boxes<B> {
    async fn run(
        &mut self,
        (operation, mailbox): &(MailboxOperation, usize),
        number: usize,
    ) -> String {
        let (mailbox, waiting) = &mut self.opened[*mailbox];
        match operation {
            MailboxOperation::Send { length } => {
                *waiting += 1;
                let message = NodeMessage::Response {
                    session: "session".to_owned(),
                    id: (number as i64).into(),
                    outcome: Ok(RawJson::from(json!({"text": "x".repeat(*length)}))),
                };
                let mailboxes = &self.mailboxes[number % 2];
                text(mailboxes.send(mailbox.node(), &message).await)
            }
            MailboxOperation::Next if *waiting == 0 => "empty".to_owned(),
            MailboxOperation::Next => {
                *waiting -= 1;
                let next = timeout(HOUR, mailbox.next()).await;
                format!("{:?}", next.unwrap())
            }
        }
    }
}

#[test]
fn mailboxes_are_those_of_memory() {
    // Only messages below 16 KiB are part of their wake-up.
    let length = prop_oneof![0..100_usize, 17_000..18_000_usize];
    let operation = prop_oneof![
        length.prop_map(|length| MailboxOperation::Send { length }),
        Just(MailboxOperation::Next),
    ];
    compare(
        &options(),
        (operation, 0..2_usize),
        async |redis| Boxes::open(redis.map(|redis| Arc::new(redis.mailboxes()))).await,
        async || Boxes::open(both(MemoryMailboxes::default())).await,
    );
}
