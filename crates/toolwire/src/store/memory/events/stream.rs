//! One stream of the log.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio::time::Instant;

use crate::engine::Principal;
use crate::engine::deadline_after;
use crate::store::{Appended, LogEntry, LogWriter, Replay, StreamKey, WriterLease};

/// The bytes of an entry besides its message: its element in the queue, and the reference count of the message's
/// buffer.
const ENTRY_OVERHEAD: usize = 64;

/// The last use of a stream. Numbers of uses are unique and increase.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastUse {
    pub(super) number: u64,
    pub(super) at: Instant,
}

/// The eviction class of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvictionClass {
    /// The stream has ended and was read to its end.
    Ended,
    /// The stream has no entries, but may get some.
    Empty,
    /// The stream has entries and may get more, or its last entry has not been read.
    Live,
}

/// The result of reading a stream.
#[derive(Debug)]
pub(super) enum ReadResult {
    Replay(Replay),
    /// There is no entry after the given one.
    NothingYet {
        /// Completes when there may be one.
        changed: OwnedNotified,
        /// When the lease of the writer expires.
        lease_end: Option<Instant>,
    },
}

#[derive(Debug)]
pub(super) struct StoredStream {
    pub(super) principal: Principal,
    pub(super) key: StreamKey,
    entries: VecDeque<LogEntry>,
    /// The number of the first of `entries`, or of the next entry if the stream is empty.
    first: u64,
    bytes: usize,
    ended: bool,
    /// The fence of the writer.
    fence: u64,
    /// The lease of the writer, and when it expires.
    lease: Option<(WriterLease, Instant)>,
    /// Whether the last entry of an ended stream was read.
    read: bool,
    /// Notifies waiting readers, each of which holds a clone.
    changed: Arc<Notify>,
    pub(super) used: LastUse,
    /// The class and the use under which the table lists the stream.
    pub(super) listed: (EvictionClass, LastUse),
}

impl StoredStream {
    /// Creates a stream whose first entry will have the number `first`.
    pub(super) fn new(principal: &Principal, key: &StreamKey, first: u64, used: LastUse) -> Self {
        Self {
            principal: principal.clone(),
            key: key.clone(),
            entries: VecDeque::new(),
            first,
            bytes: 0,
            ended: false,
            fence: 0,
            lease: None,
            read: false,
            changed: Arc::default(),
            used,
            listed: (EvictionClass::Empty, used),
        }
    }

    pub(super) fn class(&self) -> EvictionClass {
        match (self.entries.is_empty(), self.ended) {
            (true, false) => EvictionClass::Empty,
            (true, true) => EvictionClass::Ended,
            (false, true) if self.read => EvictionClass::Ended,
            (false, _) => EvictionClass::Live,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn has_waiting_reader(&self) -> bool {
        Arc::strong_count(&self.changed) > 1
    }

    /// Returns the number of the newest entry, including evicted ones.
    pub(super) fn last(&self) -> u64 {
        self.first + self.entries.len() as u64 - 1
    }

    /// Changes the writer. The next number is at least `first`.
    pub(super) fn set_writer(
        &mut self,
        fence: u64,
        first: u64,
        lease: Option<WriterLease>,
        now: Instant,
    ) -> LogWriter {
        if first > self.last() + 1 && !self.ended {
            self.entries.clear();
            self.bytes = 0;
            self.first = first;
        }
        self.fence = fence;
        self.lease = lease.map(|lease| {
            let end = deadline_after(now, lease.ttl);
            (lease, end)
        });
        LogWriter::new(fence, self.last() + 1)
    }

    /// Appends the entries of a writer that are not stored yet.
    pub(super) fn append(
        &mut self,
        writer: LogWriter,
        entries: &[LogEntry],
        now: Instant,
    ) -> Appended {
        if writer.fence < self.fence {
            return Appended::Fenced;
        }
        let last = self.last();
        if writer.next > last + 1 {
            return Appended::Lost { last };
        }
        let stored = usize::try_from(last + 1 - writer.next).unwrap_or(usize::MAX);
        let new = entries.get(stored..).unwrap_or_default();
        if self.ended && !new.is_empty() {
            return Appended::Ended;
        }
        self.fence = writer.fence;
        if let Some((lease, end)) = &mut self.lease {
            *end = deadline_after(now, lease.ttl);
        }
        for entry in new {
            self.push(entry.clone());
            if self.ended {
                break;
            }
        }
        Appended::Stored
    }

    /// Ends the stream if the lease of its writer has expired. Returns `true` if it did.
    pub(super) fn end_if_abandoned(&mut self, fence: u64, now: Instant) -> bool {
        if self.ended || self.lease.as_ref().is_none_or(|(_, end)| *end > now) {
            return false;
        }
        let lease = self.lease.take();
        if let Some((lease, _)) = lease {
            self.push(lease.last);
        }
        self.fence = fence;
        true
    }

    fn push(&mut self, entry: LogEntry) {
        self.bytes += entry_bytes(&entry);
        self.ended = entry.ends_stream();
        self.entries.push_back(entry);
        self.changed.notify_waiters();
    }

    /// Evicts the oldest entry.
    pub(super) fn drop_oldest(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.bytes -= entry_bytes(&entry);
            self.first += 1;
        }
    }

    /// Returns the entries after a number, which is at most that of the newest entry.
    pub(super) fn read_after(&mut self, number: u64) -> ReadResult {
        let last = self.last();
        if self.ended && number == last {
            return ReadResult::Replay(Replay::Ended);
        }
        if number + 1 < self.first {
            return ReadResult::Replay(Replay::Gap { oldest: self.first });
        }
        if number == last {
            return ReadResult::NothingYet {
                changed: Arc::clone(&self.changed).notified_owned(),
                lease_end: self.lease.as_ref().map(|(_, end)| *end),
            };
        }
        let entries = (number + 1..)
            .zip(self.entries.iter().skip((number + 1 - self.first) as usize))
            .map(|(number, entry)| (number, entry.clone()))
            .collect();
        self.read = self.ended;
        ReadResult::Replay(Replay::Entries(entries))
    }

    /// Wakes waiting readers, which then find that the stream is removed.
    pub(super) fn close(&self) {
        self.changed.notify_waiters();
    }
}

fn entry_bytes(entry: &LogEntry) -> usize {
    let message = match entry {
        LogEntry::Message(message) | LogEntry::Last(message) => message.len(),
        LogEntry::End => 0,
    };
    message + ENTRY_OVERHEAD
}
