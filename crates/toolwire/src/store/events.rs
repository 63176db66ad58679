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
    /// The stream does not exist: it was never opened, has expired, or belongs to another principal.
    Unknown,
}

/// A log that stores the messages of streams as long as clients may request them.
///
/// An entry is stored before it is sent to the client. The log is limited: if a stream grows too large, its oldest
/// entries are evicted, but never the newest one. A stream without reads and writes is removed after a retention time.
pub trait EventLog: Send + Sync + fmt::Debug {
    /// Creates a stream without entries. An existing stream stays unchanged.
    fn open<'a>(&'a self, principal: &'a Principal, key: &'a StreamKey) -> StoreFuture<'a, ()>;

    /// Appends an entry and returns its number: 1 for the first, then one more each time. Appending to a removed or
    /// unopened stream creates it. Its first number is above all its earlier numbers, as far as the log knows them, or
    /// 1.
    ///
    /// # Errors
    /// Returns [`StoreError::Unavailable`](crate::store::StoreError::Unavailable) if the stream has ended.
    fn append<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        entry: LogEntry,
    ) -> StoreFuture<'a, u64>;

    /// Returns the entries after number `after`. If no entry exists yet, it waits for the first, at most for `wait`.
    ///
    /// If `after` is beyond the newest entry, the client has invented it, and the result is [`Replay::Unknown`]. If
    /// `after` is the number of a [`LogEntry::Last`] or [`LogEntry::End`], the result is [`Replay::Ended`] without a
    /// wait.
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
}
