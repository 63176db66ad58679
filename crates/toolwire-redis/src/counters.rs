//! What the stores have done, for metrics.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use toolwire::store::StoreError;

/// The stores whose calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountedStore {
    Sessions,
    EventLog,
    Bus,
    Mailboxes,
    Nonces,
    Tasks,
    #[cfg(feature = "auth")]
    Proxy,
    #[cfg(feature = "auth")]
    Tokens,
    #[cfg(feature = "client")]
    ClientCache,
    #[cfg(feature = "events")]
    Subscriptions,
    /// The start and [`Redis`](crate::Redis) itself.
    Other,
}

impl CountedStore {
    const ALL: &[Self] = &[
        Self::Sessions,
        Self::EventLog,
        Self::Bus,
        Self::Mailboxes,
        Self::Nonces,
        Self::Tasks,
        #[cfg(feature = "auth")]
        Self::Proxy,
        #[cfg(feature = "auth")]
        Self::Tokens,
        #[cfg(feature = "client")]
        Self::ClientCache,
        #[cfg(feature = "events")]
        Self::Subscriptions,
        Self::Other,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::EventLog => "event_log",
            Self::Bus => "bus",
            Self::Mailboxes => "mailboxes",
            Self::Nonces => "nonces",
            Self::Tasks => "tasks",
            #[cfg(feature = "auth")]
            Self::Proxy => "proxy",
            #[cfg(feature = "auth")]
            Self::Tokens => "tokens",
            #[cfg(feature = "client")]
            Self::ClientCache => "client_cache",
            #[cfg(feature = "events")]
            Self::Subscriptions => "subscriptions",
            Self::Other => "other",
        }
    }
}

/// What happened to records, beside the requests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CountedEvent {
    SessionCreated,
    SessionDeleted,
    SessionUnknown,
    StreamGap,
    StreamUnknown,
    EntriesLost,
    MailboxLost,
    MailboxFull,
    MailboxAbsent,
}

impl CountedEvent {
    const COUNT: usize = Self::MailboxAbsent as usize + 1;
}

/// The running counts of one connection.
#[derive(Debug, Default)]
pub(crate) struct LiveCounters {
    /// In the order of [`CountedStore::ALL`].
    stores: [LiveCalls; CountedStore::ALL.len()],
    /// In the order of [`CountedEvent`].
    events: [AtomicU64; CountedEvent::COUNT],
    pub(crate) lost_connections: AtomicU64,
    pub(crate) reconnects: AtomicU64,
    /// The messages that waited for this node when it last used its mailbox.
    pub(crate) mailbox_depth: AtomicUsize,
}

#[derive(Debug, Default)]
struct LiveCalls {
    succeeded: AtomicU64,
    rejected: AtomicU64,
    unavailable: AtomicU64,
    unknown: AtomicU64,
    micros: AtomicU64,
}

impl LiveCounters {
    /// Counts a request of a store.
    pub(crate) fn count<T>(
        &self,
        store: CountedStore,
        outcome: &Result<T, StoreError>,
        time: Duration,
    ) {
        let position = CountedStore::ALL.iter().position(|other| *other == store);
        let Some(calls) = position.and_then(|position| self.stores.get(position)) else {
            return;
        };
        let counter = match outcome {
            Ok(_) => &calls.succeeded,
            Err(StoreError::Unknown(_)) => &calls.unknown,
            Err(StoreError::Unavailable(_)) => &calls.unavailable,
            Err(_) => &calls.rejected,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        calls.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn count_event(&self, event: CountedEvent) {
        if let Some(count) = self.events.get(event as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn events(&self, event: CountedEvent) -> u64 {
        let count = self.events.get(event as usize);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    pub(crate) fn calls(&self) -> Vec<StoreCalls> {
        let stores = CountedStore::ALL.iter().zip(&self.stores);
        let calls = stores.map(|(store, calls)| StoreCalls {
            store: store.name(),
            succeeded: calls.succeeded.load(Ordering::Relaxed),
            rejected: calls.rejected.load(Ordering::Relaxed),
            unavailable: calls.unavailable.load(Ordering::Relaxed),
            unknown: calls.unknown.load(Ordering::Relaxed),
            time: Duration::from_micros(calls.micros.load(Ordering::Relaxed)),
        });
        calls.collect()
    }
}

/// What a [`Redis`](crate::Redis) has done since it was created ([`Redis::counters`](crate::Redis::counters)). Counters only
/// grow, so a metrics exporter can read them at any interval. `is_connected`, `in_flight`, `bus_delay` and `mailbox_depth`
/// describe the present.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisCounters {
    /// The requests of each store.
    pub calls: Vec<StoreCalls>,
    /// Whether the engine is connected. While it is not, calls fail at once.
    pub is_connected: bool,
    /// The requests that wait for a response now.
    pub in_flight: usize,
    /// How often the connection for commands was lost.
    pub lost_connections: u64,
    /// How often a lost connection was replaced.
    pub reconnects: u64,
    /// The bus messages that this node has published.
    pub bus_sent: u64,
    /// The bus messages that this node has received, with its own.
    pub bus_received: u64,
    /// How often bus messages may have been lost, so that the listeners of this node are synchronized again.
    pub bus_lagged: u64,
    /// How long a message of this node took to this node. It is measured when the node connects, and each second while
    /// something uses the bus. It grows while a message is missing.
    pub bus_delay: Duration,
    /// The sessions that this node has created.
    pub sessions_created: u64,
    /// The sessions that this node has deleted before their end.
    pub sessions_deleted: u64,
    /// How often this node did not find a session: it has expired, was deleted, belongs to another principal, or never existed.
    pub sessions_unknown: u64,
    /// How often the next entries of a stream had been evicted when a client resumed it, or when a connection read on.
    pub stream_gaps: u64,
    /// How often a client resumed a stream that does not exist, or with a number that the stream does not have.
    pub streams_unknown: u64,
    /// How often the engine had lost entries of a stream that this node writes, for example in a failover.
    pub entries_lost: u64,
    /// The messages in the mailbox of this node that it has not taken yet. At most 100 of those count that have arrived since
    /// it last read its mailbox.
    pub mailbox_depth: usize,
    /// How often this node lost its mailbox: it did not read it for too long, or the engine has lost messages.
    pub mailboxes_lost: u64,
    /// How often a message was rejected because the mailbox of its node was full.
    pub mailboxes_full: u64,
    /// How often a message was for a node that has no mailbox any more.
    pub mailboxes_absent: u64,
    /// How often a value did not open with the keys of [`with_sealing`](crate::RedisOptions::with_sealing).
    pub unopened_values: u64,
}

/// The requests of one store to the engine. One call of a store is one request, or a few.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCalls {
    /// The store: `sessions`, `event_log`, `bus`, `mailboxes`, `nonces`, `tasks`, `proxy`, `tokens`, `client_cache`,
    /// `subscriptions`, or `other`.
    pub store: &'static str,
    /// Requests that the engine has executed, also those that a limit of a store rejects.
    pub succeeded: u64,
    /// Requests that the engine rejected because its memory is used up.
    pub rejected: u64,
    /// Requests that failed before they were executed, because the engine is away or rejects them.
    pub unavailable: u64,
    /// Requests that may have been executed, because no response arrived.
    pub unknown: u64,
    /// The time of all requests together.
    pub time: Duration,
}
