//! An event log in memory.
//!
//! [`table`] decides which entries are retained. This module adds the lock, the clock and the wait.

mod directory;
mod stream;
mod table;

use std::fmt;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::engine::Principal;
use crate::engine::deadline_after;
use crate::store::{
    Appended, EventLog, LogEntry, LogWriter, Replay, StoreFuture, StreamKey, WriterLease,
};
use crate::sync::lock;

use stream::ReadResult;
use table::StreamTable;

/// The limits of a [`MemoryEventLog`].
///
/// An entry counts with the bytes of its message plus 64 bytes of overhead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryEventLogLimits {
    /// The maximum number of entries of one stream. Default: 1000, at least 1.
    pub events_per_stream: usize,
    /// The maximum number of bytes of one stream. Default: 1 MiB. The newest entry is stored even if it is larger.
    pub bytes_per_stream: usize,
    /// The maximum number of bytes of all streams. Default: 64 MiB.
    pub total_bytes: usize,
    /// How long a stream without reads and writes is retained. Default: 10 min.
    pub retention: Duration,
    /// The maximum number of streams, including empty ones. Default: 100 000.
    pub streams: usize,
}

impl Default for MemoryEventLogLimits {
    fn default() -> Self {
        Self {
            events_per_stream: 1000,
            bytes_per_stream: 1024 * 1024,
            total_bytes: 64 * 1024 * 1024,
            retention: Duration::from_secs(10 * 60),
            streams: 100_000,
        }
    }
}

impl MemoryEventLogLimits {
    /// Sets the maximum number of entries of one stream.
    #[must_use]
    pub fn with_events_per_stream(mut self, events: usize) -> Self {
        self.events_per_stream = events;
        self
    }

    /// Sets the maximum number of bytes of one stream.
    #[must_use]
    pub fn with_bytes_per_stream(mut self, bytes: usize) -> Self {
        self.bytes_per_stream = bytes;
        self
    }

    /// Sets the maximum number of bytes of all streams.
    #[must_use]
    pub fn with_total_bytes(mut self, bytes: usize) -> Self {
        self.total_bytes = bytes;
        self
    }

    /// Sets how long a stream without reads and writes is retained.
    #[must_use]
    pub fn with_retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets the maximum number of streams.
    #[must_use]
    pub fn with_streams(mut self, streams: usize) -> Self {
        self.streams = streams;
        self
    }
}

/// An event log in the memory of this process.
///
/// If all streams together are too large, the least recently used streams lose their entries first. Streams that were
/// read to their end lose them before all others. If there are too many streams, they are removed in the same order,
/// except streams with a waiting reader.
///
/// The writer of a removed stream learns of the removal, and continues with a number above all its earlier numbers. So a
/// reader with an old number never misses entries silently.
pub struct MemoryEventLog {
    table: Mutex<StreamTable>,
}

impl Default for MemoryEventLog {
    fn default() -> Self {
        Self::new(MemoryEventLogLimits::default())
    }
}

impl MemoryEventLog {
    /// Creates an empty log.
    #[must_use]
    pub fn new(limits: MemoryEventLogLimits) -> Self {
        Self {
            table: Mutex::new(StreamTable::new(limits)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamTable> {
        lock(&self.table)
    }
}

impl fmt::Debug for MemoryEventLog {
    /// Omits messages, which are confidential, and stream names, which grant access to a stream.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEventLog").finish_non_exhaustive()
    }
}

impl EventLog for MemoryEventLog {
    fn open<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        first: u64,
        lease: Option<WriterLease>,
    ) -> StoreFuture<'a, LogWriter> {
        Box::pin(async move {
            self.lock()
                .open(principal, key, first, lease, Instant::now())
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
            let now = Instant::now();
            Ok(self.lock().append(principal, key, writer, entries, now))
        })
    }

    fn read_after<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        after_number: u64,
        wait: Duration,
    ) -> StoreFuture<'a, Replay> {
        Box::pin(async move {
            let deadline = deadline_after(Instant::now(), wait);
            loop {
                let now = Instant::now();
                let result = self.lock().read_after(principal, key, after_number, now);
                match result {
                    ReadResult::Replay(replay) => return Ok(replay),
                    ReadResult::NothingYet { .. } if now >= deadline => {
                        return Ok(Replay::Entries(Vec::new()));
                    }
                    ReadResult::NothingYet { changed, lease_end } => {
                        let until = lease_end.map_or(deadline, |end| end.min(deadline));
                        // After a timeout, the lease has expired, or the wait is over.
                        let _ = timeout_at(until, changed).await;
                    }
                }
            }
        })
    }

    fn remove_session<'a>(
        &'a self,
        principal: &'a Principal,
        session: &'a str,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.lock().remove_session(principal, session);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
