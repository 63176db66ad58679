//! The entries of a resumable stream that its reader gets without reading the event log.
//!
//! Most streams are read on the node where they are written. Their entries are stored first, and then passed on in memory.
//! A reader reads the log only for entries from before its attachment, and for entries that did not fit into the memory for
//! queued messages.
//!
//! Change notifications are passed on only here. They are not stored, because a client that resumes a stream is notified of
//! everything that may have changed.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::store::LogEntry;
use crate::transport::http::byte_budget::Reservation;
use crate::transport::http::session::writer_state::message_bytes;

/// The memory of a queued entry without its message.
const ENTRY_OVERHEAD: usize = 64;

/// The stored entries that a reader has not read yet.
#[derive(Debug)]
pub(crate) struct LocalEvents {
    /// Entries with consecutive numbers.
    queue: VecDeque<LogEntry>,
    /// The number of the first entry of the queue. Entries before it are read from the log.
    first: u64,
    /// Change notifications, which have no numbers.
    changes: Vec<Bytes>,
    /// The memory of the queue and the changes.
    reservation: Reservation,
}

/// The entries for a reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LocalRead {
    /// The next entries with their numbers, and change notifications.
    Next(Vec<(u64, LogEntry)>, Vec<Bytes>),
    /// No entry was written since.
    Nothing,
    /// The next entries, up to this number, are in the log.
    Log {
        /// The number of the first entry that is not read from the log.
        before: u64,
    },
}

impl LocalEvents {
    /// Creates an empty queue whose first entry will have the number `next`.
    pub(crate) fn new(next: u64, reservation: Reservation) -> Self {
        Self {
            queue: VecDeque::new(),
            first: next,
            changes: Vec::new(),
            reservation,
        }
    }

    /// Adds an entry. If there is not enough memory, or if an entry before it is missing, the reader reads this entry and
    /// those before it from the log.
    pub(crate) fn push(&mut self, number: u64, entry: &LogEntry) {
        let is_next = number == self.first + self.queue.len() as u64;
        let bytes = message_bytes(entry) + ENTRY_OVERHEAD;
        if is_next && self.reservation.try_grow(bytes) {
            self.queue.push_back(entry.clone());
        } else {
            self.queue.clear();
            self.reservation.clear();
            let changes = self
                .changes
                .iter()
                .map(|change| change.len() + ENTRY_OVERHEAD);
            self.reservation.grow(changes.sum());
            self.first = number + 1;
        }
    }

    /// Adds a change notification.
    pub(crate) fn push_change(&mut self, notification: Bytes) {
        self.reservation.grow(notification.len() + ENTRY_OVERHEAD);
        self.changes.push(notification);
    }

    /// Takes the entries after number `after`.
    pub(crate) fn take(&mut self, after: u64) -> LocalRead {
        if after + 1 < self.first {
            return LocalRead::Log { before: self.first };
        }
        let first = self.first;
        self.first += self.queue.len() as u64;
        self.reservation.clear();
        let entries = (first..).zip(self.queue.drain(..));
        let entries: Vec<_> = entries.filter(|(number, _)| *number > after).collect();
        let changes = std::mem::take(&mut self.changes);
        if entries.is_empty() && changes.is_empty() {
            return LocalRead::Nothing;
        }
        LocalRead::Next(entries, changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::byte_budget::ByteBudget;

    #[test]
    fn entries_beyond_the_memory_are_read_from_the_log() {
        let budget = ByteBudget::new(1024, 512);
        let mut local = LocalEvents::new(1, budget.reservation());
        let entry = LogEntry::Message(Bytes::from(vec![b' '; 400]));
        local.push(1, &entry);
        local.push(2, &entry);
        assert_eq!(budget.used(), 2 * (400 + ENTRY_OVERHEAD));
        local.push(3, &entry);
        assert_eq!(budget.used(), 0);
        local.push(4, &entry);
        assert_eq!(local.take(0), LocalRead::Log { before: 4 });
        let last = vec![(4, entry)];
        assert_eq!(local.take(3), LocalRead::Next(last, Vec::new()));
        assert_eq!(budget.used(), 0);
        assert_eq!(local.take(4), LocalRead::Nothing);
    }

    #[test]
    fn changes_are_retained_although_the_memory_is_used_up() {
        let budget = ByteBudget::new(1024, 512);
        let mut local = LocalEvents::new(1, budget.reservation());
        let change = Bytes::from(vec![b' '; 100]);
        local.push_change(change.clone());
        local.push(1, &LogEntry::Message(Bytes::from(vec![b' '; 2000])));
        assert_eq!(budget.used(), 100 + ENTRY_OVERHEAD);
        assert_eq!(local.take(0), LocalRead::Log { before: 2 });
        assert_eq!(local.take(1), LocalRead::Next(Vec::new(), vec![change]));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn entries_after_a_missing_one_are_read_from_the_log() {
        let budget = ByteBudget::new(1024, 512);
        let mut local = LocalEvents::new(1, budget.reservation());
        local.push(1, &LogEntry::End);
        local.push(3, &LogEntry::End);
        assert_eq!(local.take(0), LocalRead::Log { before: 4 });
        assert_eq!(local.take(3), LocalRead::Nothing);
    }
}
