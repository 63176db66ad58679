//! The messages of streams that can be resumed.

use std::fmt;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::StoreFuture;

/// Names a stream. The same stream name under another session is another stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct StreamKey {
    /// The session it belongs to.
    pub session: String,
    /// Unguessable, and used once.
    pub stream: String,
}

impl StreamKey {
    /// The key of a stream.
    #[must_use]
    pub fn new(session: impl Into<String>, stream: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            stream: stream.into(),
        }
    }
}

/// What is written into a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogEntry {
    /// One encoded JSON-RPC message.
    Message(bytes::Bytes),
    /// One encoded JSON-RPC message, the last.
    Last(bytes::Bytes),
    /// Nothing follows, and there is nothing more to say.
    End,
}

impl LogEntry {
    /// Whether nothing can follow the entry.
    #[must_use]
    pub fn ends_stream(&self) -> bool {
        match self {
            Self::Message(_) => false,
            Self::Last(_) | Self::End => true,
        }
    }
}

/// What a reader of a stream gets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replay {
    /// The entries after the one asked for, with their numbers, in order; none when none came in time.
    Entries(Vec<(u64, LogEntry)>),
    /// Some of the entries after the one asked for are not kept any more.
    Gap {
        /// The first entry that is still there.
        oldest: u64,
    },
    /// The entry asked for was the last: nothing can follow.
    Ended,
    /// There is no such stream: it never existed, is too old, or belongs to somebody else.
    Unknown,
}

/// Where the messages of streams are kept until nobody can ask for them again.
///
/// An entry is stored before it goes to the client. The log is bounded: of a stream that grows too large the oldest
/// entries go, but never the newest one, and a stream nobody writes to or reads is forgotten after a while.
pub trait EventLog: Send + Sync + fmt::Debug {
    /// Begins a stream without entries; one that is there already stays as it is.
    fn open<'a>(&'a self, principal: &'a Principal, key: &'a StreamKey) -> StoreFuture<'a, ()>;

    /// Adds an entry and returns its number: 1 for the first, then one more each time. Appending to a stream that was
    /// forgotten, or never opened, begins it with a number above every one it had, as far as the log can tell, or 1.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::store::StoreError::Unavailable) when the stream has ended.
    fn append<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        entry: LogEntry,
    ) -> StoreFuture<'a, u64>;

    /// The entries after number `after`. When there are none yet, waits for the first, but not longer than `wait`.
    ///
    /// An `after` that no entry has reached yet is a client's invention: the answer is [`Replay::Unknown`]. For the number
    /// of a [`LogEntry::Last`] or [`LogEntry::End`] it is [`Replay::Ended`], at once.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing; the next call returns the same entries.
    fn read_after<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        after: u64,
        wait: Duration,
    ) -> StoreFuture<'a, Replay>;

    /// Forgets all streams of a session; whoever waits for one gets [`Replay::Unknown`].
    fn remove_session<'a>(
        &'a self,
        principal: &'a Principal,
        session: &'a str,
    ) -> StoreFuture<'a, ()>;
}
