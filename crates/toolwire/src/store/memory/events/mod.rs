//! Streams in memory.
//!
//! [`shelf`] decides what is kept; here is only the lock, the clock and the waiting.

mod directory;
mod stream;
mod table;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::engine::Principal;
use crate::engine::deadline_after;
use crate::store::{EventLog, LogEntry, Replay, StoreFuture, StreamKey};

use stream::ReadResult;
use table::StreamTable;

/// How much a [`MemoryEventLog`] holds.
///
/// An entry counts with the bytes of its message and 64 more, for what it takes to keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryEventLogLimits {
    /// Entries of one stream: 1000 by default. There is always room for one.
    pub events_per_stream: usize,
    /// Bytes of one stream: 1 MiB by default. The newest entry is kept even when it is larger.
    pub bytes_per_stream: usize,
    /// Bytes of all streams: 64 MiB by default.
    pub total_bytes: usize,
    /// How long a stream is kept that nobody writes to or reads: 10 minutes by default.
    pub retention: Duration,
    /// Streams, also empty ones: 100 000 by default.
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
    /// Bounds the entries of one stream.
    #[must_use]
    pub fn with_events_per_stream(mut self, events: usize) -> Self {
        self.events_per_stream = events;
        self
    }

    /// Bounds the bytes of one stream.
    #[must_use]
    pub fn with_bytes_per_stream(mut self, bytes: usize) -> Self {
        self.bytes_per_stream = bytes;
        self
    }

    /// Bounds the bytes of all streams together.
    #[must_use]
    pub fn with_total_bytes(mut self, bytes: usize) -> Self {
        self.total_bytes = bytes;
        self
    }

    /// Says how long a stream is kept that nobody writes to or reads.
    #[must_use]
    pub fn with_retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Bounds the number of streams.
    #[must_use]
    pub fn with_streams(mut self, streams: usize) -> Self {
        self.streams = streams;
        self
    }
}

/// Keeps streams in the memory of this process.
///
/// When all streams together are too large, those that were not written to or read for the longest time lose their
/// entries first: streams that were read to their end before all others. When there are too many streams, they are forgotten
/// in the same order, but none that somebody waits for.
///
/// A stream that is written to after it was forgotten goes on with a number above every one it had, so that nobody who
/// comes back with an old number misses entries without being told.
pub struct MemoryEventLog {
    shelf: Mutex<StreamTable>,
}

impl Default for MemoryEventLog {
    fn default() -> Self {
        Self::new(MemoryEventLogLimits::default())
    }
}

impl MemoryEventLog {
    /// A log without streams.
    #[must_use]
    pub fn new(limits: MemoryEventLogLimits) -> Self {
        Self {
            shelf: Mutex::new(StreamTable::new(limits)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamTable> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryEventLog {
    /// Messages are nobody's business but their readers', and the names of streams are handles.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEventLog").finish_non_exhaustive()
    }
}

impl EventLog for MemoryEventLog {
    fn open<'a>(&'a self, principal: &'a Principal, key: &'a StreamKey) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.lock().open(principal, key, Instant::now()) })
    }

    fn append<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        entry: LogEntry,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move { self.lock().append(principal, key, entry, Instant::now()) })
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
            let mut in_time = !wait.is_zero();
            loop {
                let now = Instant::now();
                let found = self.lock().read_after(principal, key, after_number, now);
                let changed = match found {
                    ReadResult::Replay(replay) => return Ok(replay),
                    ReadResult::NothingYet(_) if !in_time => {
                        return Ok(Replay::Entries(Vec::new()));
                    }
                    ReadResult::NothingYet(changed) => changed,
                };
                in_time = timeout_at(deadline, changed).await.is_ok();
            }
        })
    }

    fn remove_session<'a>(
        &'a self,
        principal: &'a Principal,
        session: &'a str,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.lock().forget_session(principal, session);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
