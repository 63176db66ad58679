//! The entries of a resumable stream that its reader gets without reading the event log.
//!
//! Most streams are read on the node where they are written. Their entries are stored first, and then passed on in memory.
//! A reader reads the log only for entries from before its attachment, and for entries that did not fit into the memory for
//! queued messages.

use std::collections::VecDeque;

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
    /// The memory of the queue.
    reservation: Reservation,
}

/// The entries for a reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LocalRead {
    /// The next entries with their numbers. Empty if none was written since.
    Entries(Vec<(u64, LogEntry)>),
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
            self.first = number + 1;
        }
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
        LocalRead::Entries(entries.filter(|(number, _)| *number > after).collect())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

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
        assert_eq!(local.take(3), LocalRead::Entries(last));
        assert_eq!(budget.used(), 0);
        assert_eq!(local.take(4), LocalRead::Entries(Vec::new()));
    }

    #[test]
    fn entries_after_a_missing_one_are_read_from_the_log() {
        let budget = ByteBudget::new(1024, 512);
        let mut local = LocalEvents::new(1, budget.reservation());
        local.push(1, &LogEntry::End);
        local.push(3, &LogEntry::End);
        assert_eq!(local.take(0), LocalRead::Log { before: 4 });
        assert_eq!(local.take(3), LocalRead::Entries(Vec::new()));
    }
}
