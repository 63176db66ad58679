//! The log of resumable streams.

use std::fmt;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::StoreFuture;

/// The key of a stream. The same stream name under another session is another stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct StreamKey {
    /// The session that the stream belongs to.
    pub session: String,
    /// The stream name. It is unguessable and used once.
    pub stream: String,
}

impl StreamKey {
    /// Creates the key of a stream.
    #[must_use]
    pub fn new(session: impl Into<String>, stream: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            stream: stream.into(),
        }
    }
}

/// An entry of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogEntry {
    /// One encoded JSON-RPC message.
    Message(bytes::Bytes),
    /// The last JSON-RPC message of the stream, encoded.
    Last(bytes::Bytes),
    /// The end of the stream without a further message.
    End,
}

impl LogEntry {
    /// Returns `true` if no entry can follow this one.
    #[must_use]
    pub fn ends_stream(&self) -> bool {
        match self {
            Self::Message(_) => false,
            Self::Last(_) | Self::End => true,
        }
    }
}

/// The writer of a stream. Only one writer at a time can append entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogWriter {
    /// A number that is higher than that of all earlier writers of the stream.
    pub fence: u64,
    /// The number of the next entry. The writer increments it with each entry that is stored.
    pub next: u64,
}

impl LogWriter {
    /// Creates a writer.
    #[must_use]
    pub fn new(fence: u64, next: u64) -> Self {
        Self { fence, next }
    }
}

/// The lease of a writer whose stream has to end, also if the node of the writer stops.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterLease {
    /// How long the lease lasts after each call of the writer.
    pub ttl: Duration,
    /// The entry that ends the stream if the lease expires.
    pub last: LogEntry,
}

impl WriterLease {
    /// Creates a lease.
    #[must_use]
    pub fn new(ttl: Duration, last: LogEntry) -> Self {
        Self { ttl, last }
    }
}

/// The result of appending entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Appended {
    /// All entries are stored, now or by an earlier call with the same numbers.
    Stored,
    /// The stream has a later writer, or ended because the lease of this writer expired. Nothing was stored.
    Fenced,
    /// The stream has ended. Nothing was stored.
    Ended,
    /// The log does not have all entries that the writer has stored before. Nothing was stored.
    Lost {
        /// The number of the newest entry in the log, or 0 if the stream does not exist.
        last: u64,
    },
}

/// The result of reading a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replay {
    /// The entries after the given number, with their numbers, in order. Empty if no entry arrived in time.
    Entries(Vec<(u64, LogEntry)>),
    /// Some of the entries after the given number have been evicted.
    Gap {
        /// The number of the oldest stored entry.
        oldest: u64,
    },
    /// The given entry was the last. No entry can follow.
    Ended,
    /// The stream does not exist, or does not have the given entry: it was never opened, has expired, has lost entries, or
    /// belongs to another principal.
    Unknown,
}

/// A log that stores the messages of streams as long as clients may request them.
///
/// An entry is stored before it is sent to the client. The log is limited: if a stream grows too large, its oldest
/// entries are evicted, but never the newest one. A stream without reads and writes is removed after a retention time.
///
/// A stream has one writer, which numbers its entries. So a call whose reply was lost can be repeated, a number never
/// names two entries, and a log that has lost entries cannot hide it.
pub trait EventLog: Send + Sync + fmt::Debug {
    /// Makes the caller the writer of a stream, and creates the stream if it does not exist.
    ///
    /// The next entry of the stream has the number `first`, or the number after its newest entry if that is higher. If
    /// `first` is higher, the entries before it count as evicted. Earlier writers are fenced off. With a lease, the
    /// stream ends with the last entry of the lease if its writer does not append anything for the time of the lease.
    fn open<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        first: u64,
        lease: Option<WriterLease>,
    ) -> StoreFuture<'a, LogWriter>;

    /// Appends entries, which have the numbers from `writer.next` on, and renews the lease of the writer. Without
    /// entries, it only renews the lease.
    ///
    /// Entries whose numbers are stored already are skipped, so that a call can be repeated. An error does not tell
    /// whether some of the entries were stored.
    fn append<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        writer: LogWriter,
        entries: &'a [LogEntry],
    ) -> StoreFuture<'a, Appended>;

    /// Returns the entries after number `after`. If no entry exists yet, it waits for the first, at most for `wait`. It
    /// may wait for a shorter time and return no entries, because the caller reads again.
    ///
    /// If the lease of the writer has expired, the stream has ended with the last entry of the lease.
    ///
    /// If `after` is beyond the newest entry, the client has invented it, or the log has lost entries. The result is
    /// [`Replay::Unknown`]. An expired lease does not change that: the stream does not end before the check, because its
    /// last entry would have the number of an entry that the client has. If `after` is the number of a
    /// [`LogEntry::Last`] or [`LogEntry::End`], the result is [`Replay::Ended`] without a wait.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing. The next call returns the same entries.
    fn read_after<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        after: u64,
        wait: Duration,
    ) -> StoreFuture<'a, Replay>;

    /// Removes all streams of a session. Waiting readers get [`Replay::Unknown`].
    fn remove_session<'a>(
        &'a self,
        principal: &'a Principal,
        session: &'a str,
    ) -> StoreFuture<'a, ()>;

    /// Checks that the log can be used now. The default implementation returns `Ok`, for logs in memory.
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
