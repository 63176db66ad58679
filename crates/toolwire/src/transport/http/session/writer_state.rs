//! The state of the writer of a resumable stream.

use std::collections::VecDeque;

use crate::store::{LogEntry, LogWriter, WriterLease};

/// The maximum number of stored entries that a writer retains, to write them again if the log loses them.
const RECENT_ENTRIES: usize = 16;

/// The maximum size of these entries.
const RECENT_BYTES: usize = 8 * 1024;

/// The position of a writer in its stream, and the entries that it stored last.
#[derive(Debug)]
pub(crate) struct WriterState {
    pub(crate) writer: LogWriter,
    pub(crate) lease: Option<WriterLease>,
    /// Whether the log may have stored entries that this state does not contain.
    pub(crate) is_uncertain: bool,
    /// The entries before the next one.
    recent: VecDeque<LogEntry>,
    recent_bytes: usize,
}

impl WriterState {
    pub(crate) fn new(writer: LogWriter, lease: Option<WriterLease>) -> Self {
        Self {
            writer,
            lease,
            is_uncertain: false,
            recent: VecDeque::new(),
            recent_bytes: 0,
        }
    }

    /// Records an entry that was stored. Returns its number.
    pub(crate) fn record(&mut self, entry: &LogEntry) -> u64 {
        self.recent_bytes += message_bytes(entry);
        self.recent.push_back(entry.clone());
        while self.recent.len() > RECENT_ENTRIES || self.recent_bytes > RECENT_BYTES {
            if let Some(oldest) = self.recent.pop_front() {
                self.recent_bytes -= message_bytes(&oldest);
            }
        }
        let number = self.writer.next;
        self.writer.next += 1;
        number
    }

    /// Returns the stored entries after number `last`, and the number of the first. If not all of them are retained, it
    /// returns none, and the number of the next entry.
    pub(crate) fn entries_after(&self, last: u64) -> (u64, Vec<LogEntry>) {
        let oldest = self.writer.next - self.recent.len() as u64;
        let first = last + 1;
        let skipped = first.checked_sub(oldest).map(usize::try_from);
        match skipped {
            Some(Ok(skipped)) => (first, self.recent.iter().skip(skipped).cloned().collect()),
            _ => (self.writer.next, Vec::new()),
        }
    }
}

/// Returns the size of the message of an entry.
pub(crate) fn message_bytes(entry: &LogEntry) -> usize {
    match entry {
        LogEntry::Message(message) | LogEntry::Last(message) => message.len(),
        LogEntry::End => 0,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn entry(bytes: usize) -> LogEntry {
        LogEntry::Message(Bytes::from(vec![b' '; bytes]))
    }

    fn state(sizes: &[usize]) -> WriterState {
        let mut state = WriterState::new(LogWriter::new(1, 1), None);
        for (number, bytes) in (1..).zip(sizes) {
            assert_eq!(state.record(&entry(*bytes)), number);
        }
        state
    }

    #[test]
    fn recent_entries_can_be_written_again() {
        let state = state(&[1, 2, 3]);
        assert_eq!(
            state.entries_after(0),
            (1, vec![entry(1), entry(2), entry(3)])
        );
        assert_eq!(state.entries_after(2), (3, vec![entry(3)]));
        assert_eq!(state.entries_after(3), (4, vec![]));
    }

    #[test]
    fn recent_entries_are_limited_in_count_and_bytes() {
        let mut sizes = vec![0; RECENT_ENTRIES];
        assert_eq!(state(&sizes).entries_after(0).1.len(), RECENT_ENTRIES);
        sizes.push(0);
        let full = state(&sizes);
        let next = RECENT_ENTRIES as u64 + 2;
        assert_eq!(full.entries_after(0), (next, vec![]));
        assert_eq!(full.entries_after(1).1.len(), RECENT_ENTRIES);
        assert_eq!(state(&[1, RECENT_BYTES - 1]).entries_after(0).1.len(), 2);
        assert_eq!(state(&[2, RECENT_BYTES - 1]).entries_after(0), (3, vec![]));
        assert_eq!(state(&[RECENT_BYTES + 1]).entries_after(0), (2, vec![]));
    }
}
