//! The log of resumable streams.
//!
//! A stream is a hash with its numbers and its writer, and a list with its entries. Lists take less memory in the engine
//! than its own streams: a stream of the engine allocates 4 KiB for the first entry.

mod format;

use std::sync::Arc;
use std::time::Duration;

use redis::{Script, ScriptInvocation, cmd};
use tokio::time::{Instant, timeout};
use toolwire::Principal;
use toolwire::store::{
    Appended, EventLog, LogEntry, LogWriter, Replay, StoreError, StreamKey, WriterLease,
};

use crate::connection::{Connection, Repeat, milliseconds};
use crate::counters::CountedEvent;
use crate::keys::{self, Keys};
use crate::sealing::Sealing;
use crate::subscriber::Subscriber;
use crate::{RedisOptions, StoreFuture};
use format::{EntryFormat, Read, appended, read};

/// The maximum numbers of entries and bytes that one read returns. The next read returns more.
const READ_ENTRIES: usize = 256;
const READ_BYTES: usize = 256 * 1024;

/// The maximum number of streams that one script removes, so that no script is slow.
const REMOVED_AT_ONCE: usize = 500;

/// The longest wait for one notification. Then the stream is read again, in case the notification was lost.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

macro_rules! stream_script {
    ($first_line:literal, $name:literal) => {
        Script::new(concat!(
            $first_line,
            "\n",
            include_str!("../scripts/events/common.lua"),
            include_str!(concat!("../scripts/events/", $name, ".lua"))
        ))
    };
}

struct LogScripts {
    open: Script,
    append: Script,
    read: Script,
    remove: Script,
}

/// A log of resumable streams that all nodes share ([`Redis::event_log`](crate::Redis::event_log)).
///
/// A stream keeps its newest 1000 entries and 1 MiB, and is removed 10 minutes after its last use. So no stream exists
/// longer than its session, which may be idle for an hour. The engine limits the bytes of all streams (`maxmemory`).
#[derive(Clone)]
pub struct RedisEventLog {
    connection: Connection,
    subscriber: Subscriber,
    keys: Keys,
    retention: Duration,
    max_entries: usize,
    max_bytes: usize,
    sealing: Option<Sealing>,
    scripts: Arc<LogScripts>,
}

impl RedisEventLog {
    pub(crate) fn new(
        connection: Connection,
        subscriber: Subscriber,
        keys: Keys,
        options: &RedisOptions,
    ) -> Self {
        Self {
            connection,
            subscriber,
            keys,
            retention: options.stream_retention,
            max_entries: options.events_per_stream,
            max_bytes: options.bytes_per_stream,
            sealing: options.sealing.clone(),
            scripts: Arc::new(LogScripts {
                open: stream_script!("#!lua", "open"),
                append: stream_script!("#!lua", "append"),
                read: stream_script!("#!lua flags=allow-oom", "read"),
                remove: Script::new(include_str!("../scripts/events/remove.lua")),
            }),
        }
    }

    /// Adds the keys and the arguments that all scripts of one stream have.
    fn add_keys(
        &self,
        invocation: &mut ScriptInvocation<'_>,
        principal: &Principal,
        key: &StreamKey,
    ) {
        let owner = keys::owner(principal);
        invocation
            .key(self.keys.stream(key, &owner))
            .key(self.keys.entries(key, &owner))
            .key(self.keys.streams_of(&key.session, &owner))
            .arg(milliseconds(self.retention))
            .arg(&key.stream);
    }

    async fn read_once(
        &self,
        principal: &Principal,
        key: &StreamKey,
        after: u64,
        wait: Duration,
    ) -> Result<Read, StoreError> {
        let mut invocation = self.scripts.read.prepare_invoke();
        self.add_keys(&mut invocation, principal, key);
        invocation
            .arg(self.keys.wake_channel())
            .arg(after)
            .arg(wait_milliseconds(wait))
            .arg(self.max_entries)
            .arg(self.max_bytes)
            .arg(READ_ENTRIES)
            .arg(READ_BYTES);
        let repeat = Repeat::Harmless;
        let response: Vec<Vec<u8>> = self.connection.send(&invocation, repeat).await?;
        let stream = self.keys.stream(key, &keys::owner(principal));
        let read = read(response, after, &self.format(&stream))?;
        match &read {
            Read::Replay(Replay::Gap { .. }) => {
                self.connection.count_event(CountedEvent::StreamGap);
            }
            Read::Replay(Replay::Unknown) => {
                self.connection.count_event(CountedEvent::StreamUnknown);
            }
            _ => {}
        }
        Ok(read)
    }

    fn format<'a>(&'a self, stream: &'a str) -> EntryFormat<'a> {
        EntryFormat {
            stream,
            sealing: self.sealing.as_ref(),
        }
    }

    async fn read_or_wait(
        &self,
        principal: &Principal,
        key: &StreamKey,
        after: u64,
        wait: Duration,
    ) -> Result<Replay, StoreError> {
        if wait.is_zero() {
            return Ok(match self.read_once(principal, key, after, wait).await? {
                Read::Replay(replay) => replay,
                Read::Nothing { .. } => Replay::Entries(Vec::new()),
            });
        }
        let stream = self.keys.stream(key, &keys::owner(principal));
        let start = Instant::now();
        loop {
            let remaining = wait.saturating_sub(start.elapsed());
            // The notification of an entry that is appended after the read is not missed.
            let waiter = self.subscriber.wait_for(&stream);
            let lease_end = match self.read_once(principal, key, after, remaining).await? {
                Read::Replay(replay) => return Ok(replay),
                Read::Nothing { lease_end } => lease_end,
            };
            if remaining.is_zero() {
                return Ok(Replay::Entries(Vec::new()));
            }
            let longest = lease_end.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
            // Without a notification, the stream is read again.
            let _ = timeout(remaining.min(longest), waiter.notified()).await;
        }
    }
}

/// Returns how long a reader waits, in milliseconds. A reader that does not wait is not notified.
fn wait_milliseconds(wait: Duration) -> u64 {
    if wait.is_zero() {
        return 0;
    }
    milliseconds(wait)
}

impl std::fmt::Debug for RedisEventLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisEventLog")
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

impl EventLog for RedisEventLog {
    fn open<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        first: u64,
        lease: Option<WriterLease>,
    ) -> StoreFuture<'a, LogWriter> {
        Box::pin(async move {
            let stream = self.keys.stream(key, &keys::owner(principal));
            let (duration, entry) = match &lease {
                Some(lease) => {
                    let entry = self.format(&stream).encode(&lease.last)?;
                    (milliseconds(lease.ttl).to_string(), entry)
                }
                None => (String::new(), Vec::new()),
            };
            let mut invocation = self.scripts.open.prepare_invoke();
            self.add_keys(&mut invocation, principal, key);
            invocation.arg(first.max(1)).arg(duration).arg(entry);
            // A repetition fences off the first execution, whose response was lost.
            let repeat = Repeat::Harmless;
            let (fence, next): (u64, u64) = self.connection.send(&invocation, repeat).await?;
            Ok(LogWriter::new(fence, next))
        })
    }

    fn append<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        writer: LogWriter,
        entries: &'a [LogEntry],
    ) -> StoreFuture<'a, Appended> {
        Box::pin(async move {
            let mut invocation = self.scripts.append.prepare_invoke();
            self.add_keys(&mut invocation, principal, key);
            invocation
                .arg(self.keys.wake_channel())
                .arg(writer.fence)
                .arg(writer.next)
                .arg(self.max_entries)
                .arg(self.max_bytes);
            let stream = self.keys.stream(key, &keys::owner(principal));
            for entry in entries {
                invocation.arg(self.format(&stream).encode(entry)?);
            }
            let repeat = Repeat::Harmless;
            let appended = appended(self.connection.send(&invocation, repeat).await?)?;
            if matches!(appended, Appended::Lost { .. }) {
                self.connection.count_event(CountedEvent::EntriesLost);
            }
            Ok(appended)
        })
    }

    fn read_after<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        after: u64,
        wait: Duration,
    ) -> StoreFuture<'a, Replay> {
        Box::pin(self.read_or_wait(principal, key, after, wait))
    }

    fn remove_session<'a>(
        &'a self,
        principal: &'a Principal,
        session: &'a str,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let owner = keys::owner(principal);
            let streams = self.keys.streams_of(session, &owner);
            loop {
                let mut oldest = cmd("ZRANGE");
                oldest.arg(&streams).arg(0).arg(REMOVED_AT_ONCE - 1);
                let names: Vec<String> = self.connection.send(&oldest, Repeat::Harmless).await?;
                let are_all = names.len() < REMOVED_AT_ONCE;
                if names.is_empty() {
                    return Ok(());
                }
                let mut invocation = self.scripts.remove.prepare_invoke();
                invocation.key(&streams).arg(self.keys.wake_channel());
                for name in names {
                    let key = StreamKey::new(session, &name);
                    invocation
                        .key(self.keys.stream(&key, &owner))
                        .key(self.keys.entries(&key, &owner))
                        .arg(name);
                }
                let () = self.connection.send(&invocation, Repeat::Harmless).await?;
                if are_all {
                    return Ok(());
                }
            }
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.connection.check())
    }
}
