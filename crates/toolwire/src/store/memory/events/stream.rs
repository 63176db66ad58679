//! One stream.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio::time::Instant;

use crate::engine::Principal;
use crate::store::{LogEntry, Replay, StreamKey};

/// What an entry takes besides its message: its place in the queue and the part of the message's buffer that counts
/// its owners.
const ENTRY_OVERHEAD: usize = 64;

/// When a stream was used. No two uses have the same number, and a later one has a higher one.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastUse {
    pub(super) number: u64,
    pub(super) at: Instant,
}

/// What a stream can lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvictionClass {
    /// Nothing will follow, and somebody has read it to its end.
    Ended,
    /// It has no entries, but it may get some.
    Bare,
    /// It has entries and may get more, or nobody has read its last one yet.
    Live,
}

/// What a look into a stream gives.
#[derive(Debug)]
pub(super) enum ReadResult {
    Replay(Replay),
    /// There is nothing after the entry asked for; the future ends when there may be.
    NothingYet(OwnedNotified),
}

#[derive(Debug)]
pub(super) struct StoredStream {
    pub(super) principal: Principal,
    pub(super) key: StreamKey,
    entries: VecDeque<LogEntry>,
    /// The number of the first of `entries`, or of the next one when there are none.
    first: u64,
    bytes: usize,
    ended: bool,
    /// Somebody was given the last entry of a stream that has ended.
    read: bool,
    /// Whoever waits holds a share of this.
    changed: Arc<Notify>,
    pub(super) used: LastUse,
    /// The use and the class under which the shelf has listed it.
    pub(super) listed: (EvictionClass, LastUse),
}

impl StoredStream {
    /// A stream whose first entry will have the number `first`.
    pub(super) fn new(principal: &Principal, key: &StreamKey, first: u64, used: LastUse) -> Self {
        Self {
            principal: principal.clone(),
            key: key.clone(),
            entries: VecDeque::new(),
            first,
            bytes: 0,
            ended: false,
            read: false,
            changed: Arc::default(),
            used,
            listed: (EvictionClass::Bare, used),
        }
    }

    pub(super) fn class(&self) -> EvictionClass {
        match (self.entries.is_empty(), self.ended) {
            (true, false) => EvictionClass::Bare,
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

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn is_awaited(&self) -> bool {
        Arc::strong_count(&self.changed) > 1
    }

    /// The number of the newest entry, or of the last one there was.
    pub(super) fn last(&self) -> u64 {
        self.first + self.entries.len() as u64 - 1
    }

    pub(super) fn push(&mut self, entry: LogEntry) -> u64 {
        self.bytes += cost(&entry);
        self.ended = entry.ends_stream();
        self.entries.push_back(entry);
        self.changed.notify_waiters();
        self.last()
    }

    /// Gives up the oldest entry.
    pub(super) fn drop_oldest(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.bytes -= cost(&entry);
            self.first += 1;
        }
    }

    pub(super) fn after(&mut self, number: u64) -> ReadResult {
        let last = self.last();
        if number > last {
            return ReadResult::Replay(Replay::Unknown);
        }
        if self.ended && number == last {
            return ReadResult::Replay(Replay::Ended);
        }
        if number + 1 < self.first {
            return ReadResult::Replay(Replay::Gap { oldest: self.first });
        }
        if number == last {
            return ReadResult::NothingYet(Arc::clone(&self.changed).notified_owned());
        }
        let entries = (number + 1..)
            .zip(self.entries.iter().skip((number + 1 - self.first) as usize))
            .map(|(number, entry)| (number, entry.clone()))
            .collect();
        self.read = self.ended;
        ReadResult::Replay(Replay::Entries(entries))
    }

    /// Wakes whoever waits, to find that the stream is gone.
    pub(super) fn close(&self) {
        self.changed.notify_waiters();
    }
}

fn cost(entry: &LogEntry) -> usize {
    let message = match entry {
        LogEntry::Message(message) | LogEntry::Last(message) => message.len(),
        LogEntry::End => 0,
    };
    message + ENTRY_OVERHEAD
}
