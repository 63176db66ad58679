//! The log of `toolwire inspect`: messages in both directions, HTTP headers, and standard error of the server.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::record::{RecordedEvent, RecordedKind};
use crate::sync::lock;

/// The limits of a log. The oldest entries are removed.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogLimits {
    /// The maximum number of entries.
    pub(super) entries: usize,
    /// The maximum size in bytes of all stored entries.
    pub(super) bytes: usize,
    /// The number of bytes of one entry that are stored. A longer entry is truncated.
    pub(super) entry_bytes: usize,
}

impl Default for LogLimits {
    /// Returns 100,000 entries, 64 MiB in total, and 4 MiB per entry.
    fn default() -> Self {
        Self {
            entries: 100_000,
            bytes: 64 * 1024 * 1024,
            entry_bytes: 4 * 1024 * 1024,
        }
    }
}

/// The maximum number of bytes of a method and of an id that are stored. Longer ones are truncated.
const NAME_BYTES: usize = 256;

/// The number of characters of an entry in lists of entries.
const SUMMARY_CHARS: usize = 300;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogKind {
    /// A message of the protocol.
    Message,
    /// The start of an HTTP request or response.
    Http,
    /// A line of the server's standard error.
    Stderr,
    /// An event of this command.
    Note,
    /// A report of the server about an exchange.
    Inside,
}

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    Out,
    In,
}

#[derive(Debug)]
struct LogEntry {
    number: u64,
    /// Microseconds since the start of the log.
    time: u64,
    kind: LogKind,
    direction: Option<Direction>,
    method: Option<String>,
    id: Option<String>,
    /// The size before truncation.
    bytes: usize,
    /// Shared with searches, so that they do not hold the lock.
    body: Arc<str>,
}

/// An entry with the beginning of its text.
#[derive(Debug, Serialize)]
pub(super) struct LogSummary {
    pub(super) seq: u64,
    t: u64,
    kind: LogKind,
    #[serde(rename = "dir", skip_serializing_if = "Option::is_none")]
    direction: Option<Direction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    bytes: usize,
    pub(super) text: String,
}

/// An entry with its whole stored text.
#[derive(Debug, Serialize)]
pub(super) struct LogDetails {
    seq: u64,
    pub(super) bytes: usize,
    pub(super) truncated: bool,
    pub(super) body: String,
}

/// The texts of some entries, with their numbers.
#[derive(Debug)]
pub(super) struct LogTexts {
    pub(super) texts: Vec<(u64, Arc<str>)>,
    /// The number of the last entry of this part, or of the log if this is its last part.
    pub(super) last: u64,
}

#[derive(Debug, Default)]
struct Entries {
    entries: VecDeque<LogEntry>,
    bytes: usize,
    last: u64,
}

/// A log of bounded size.
#[derive(Debug)]
pub(super) struct Log {
    limits: LogLimits,
    start: Instant,
    entries: Mutex<Entries>,
    /// The number of the newest entry.
    newest: watch::Sender<u64>,
}

impl Log {
    pub(super) fn new(limits: LogLimits) -> Self {
        Self {
            limits,
            start: Instant::now(),
            entries: Mutex::default(),
            newest: watch::Sender::new(0),
        }
    }

    /// Adds a message of the protocol. Received bytes are not always a valid message.
    pub(super) fn message(&self, direction: Direction, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        self.push(self.now(), LogKind::Message, Some(direction), &text);
    }

    /// Adds an event of a record, with its time.
    pub(super) fn recorded(&self, event: &RecordedEvent) {
        let kind = match event.kind {
            RecordedKind::Message => LogKind::Message,
            RecordedKind::Http => LogKind::Http,
            RecordedKind::Stderr => LogKind::Stderr,
            RecordedKind::Note => LogKind::Note,
        };
        let direction = event.is_sent.map(|is_sent| {
            if is_sent {
                Direction::Out
            } else {
                Direction::In
            }
        });
        self.push(event.time, kind, direction, &event.text);
    }

    /// Adds the start of an HTTP message.
    pub(super) fn http(&self, direction: Direction, text: &str) {
        self.push(self.now(), LogKind::Http, Some(direction), text);
    }

    /// Adds a line of the server's standard error.
    pub(super) fn stderr(&self, line: &str) {
        self.push(self.now(), LogKind::Stderr, None, line);
    }

    /// Adds a report of the server about an exchange, which is JSON with the method and the id of the request.
    pub(super) fn inside(&self, report: &str) {
        self.push(self.now(), LogKind::Inside, None, report);
    }

    /// Adds an event of this command.
    pub(super) fn note(&self, text: &str) {
        self.push(self.now(), LogKind::Note, None, text);
    }

    /// Returns the microseconds since the start of the log.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn push(&self, time: u64, kind: LogKind, direction: Option<Direction>, text: &str) {
        let head = match kind {
            LogKind::Message | LogKind::Inside => serde_json::from_str(text).unwrap_or_default(),
            LogKind::Http | LogKind::Stderr | LogKind::Note => MessageHead::default(),
        };
        let short = |text: &str| text[..boundary(text, NAME_BYTES)].to_owned();
        let method = head.method.map(|method| short(&method));
        let id = head.id.map(|id| short(id.get().trim_matches('"')));
        let end = boundary(text, self.limits.entry_bytes);
        let mut entries = self.lock();
        entries.last += 1;
        let number = entries.last;
        let entry = LogEntry {
            number,
            time,
            kind,
            direction,
            method,
            id,
            bytes: text.len(),
            body: text[..end].into(),
        };
        entries.bytes += entry.stored_bytes();
        entries.entries.push_back(entry);
        while entries.entries.len() > self.limits.entries || entries.bytes > self.limits.bytes {
            let Some(oldest) = entries.entries.pop_front() else {
                break;
            };
            entries.bytes -= oldest.stored_bytes();
        }
        // Inside of the lock, so that the numbers never decrease.
        self.newest.send_replace(number);
    }

    /// Returns at most `limit` entries after the one with this number.
    pub(super) fn after(&self, number: u64, limit: usize) -> Vec<LogSummary> {
        let entries = self.lock();
        let start = entries
            .entries
            .partition_point(|entry| entry.number <= number);
        let found = entries.entries.range(start..).take(limit);
        found.map(LogEntry::summary).collect()
    }

    /// Returns the numbers and texts of the entries after the one with this number: at most `limit` entries, and at most
    /// `bytes` of text unless the first entry is longer.
    pub(super) fn texts_after(&self, number: u64, limit: usize, bytes: usize) -> LogTexts {
        let entries = self.lock();
        let start = entries
            .entries
            .partition_point(|entry| entry.number <= number);
        let mut total = 0;
        let is_within = |entry: &&LogEntry| {
            total += entry.body.len();
            total <= bytes || total == entry.body.len()
        };
        let part = entries.entries.range(start..).take(limit);
        let texts: Vec<_> = part
            .take_while(is_within)
            .map(|entry| (entry.number, Arc::clone(&entry.body)))
            .collect();
        let is_complete = start + texts.len() == entries.entries.len();
        let last = match texts.last() {
            Some((last, _)) if !is_complete => *last,
            // Removed entries are not searched again.
            _ => entries.last,
        };
        LogTexts { texts, last }
    }

    /// Returns one entry, or `None` if it was removed.
    pub(super) fn entry(&self, number: u64) -> Option<LogDetails> {
        let entries = self.lock();
        let position = entries
            .entries
            .binary_search_by_key(&number, |entry| entry.number);
        let entry = &entries.entries[position.ok()?];
        Some(LogDetails {
            seq: entry.number,
            bytes: entry.bytes,
            truncated: entry.body.len() < entry.bytes,
            body: entry.body.as_ref().to_owned(),
        })
    }

    /// Removes all entries. Numbers are not used again.
    pub(super) fn clear(&self) {
        let mut entries = self.lock();
        entries.entries.clear();
        entries.bytes = 0;
    }

    /// Returns a receiver of the number of the newest entry.
    pub(super) fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        lock(&self.entries)
    }
}

/// Returns the last position of a character within the limit.
fn boundary(text: &str, limit: usize) -> usize {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// The members of a message that lists of entries show.
#[derive(Debug, Default, Deserialize)]
struct MessageHead<'m> {
    #[serde(borrow, default)]
    method: Option<Cow<'m, str>>,
    #[serde(borrow, default)]
    id: Option<&'m RawValue>,
}

impl LogEntry {
    fn stored_bytes(&self) -> usize {
        let names = [&self.method, &self.id].into_iter().flatten();
        self.body.len() + names.map(String::len).sum::<usize>()
    }

    fn summary(&self) -> LogSummary {
        LogSummary {
            seq: self.number,
            t: self.time,
            kind: self.kind,
            direction: self.direction,
            method: self.method.clone(),
            id: self.id.clone(),
            bytes: self.bytes,
            text: self.body.chars().take(SUMMARY_CHARS).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log(entries: usize, bytes: usize, entry_bytes: usize) -> Log {
        Log::new(LogLimits {
            entries,
            bytes,
            entry_bytes,
        })
    }

    fn texts(log: &Log) -> Vec<String> {
        let all = log.after(0, usize::MAX);
        all.into_iter().map(|entry| entry.text).collect()
    }

    #[test]
    fn number_of_entries_is_limited() {
        let log = log(2, 100, 100);
        log.stderr("a");
        log.stderr("b");
        assert_eq!(texts(&log), ["a", "b"]);
        log.stderr("c");
        assert_eq!(texts(&log), ["b", "c"]);
        assert!(log.entry(1).is_none());
        assert_eq!(log.entry(3).expect("the newest entry").body, "c");
    }

    #[test]
    fn bytes_of_all_entries_are_limited() {
        let log = log(10, 10, 10);
        log.stderr("12345");
        log.stderr("67890");
        assert_eq!(texts(&log).len(), 2);
        log.stderr("x");
        assert_eq!(texts(&log), ["67890", "x"]);
    }

    #[test]
    fn long_entry_is_truncated_at_a_character() {
        let log = log(10, 100, 4);
        log.stderr("abcd");
        let entry = log.entry(1).expect("an entry");
        assert_eq!((entry.body.as_str(), entry.truncated), ("abcd", false));
        log.stderr("abcé");
        let entry = log.entry(2).expect("an entry");
        assert_eq!((entry.body.as_str(), entry.bytes), ("abc", 5));
        assert!(entry.truncated);
    }

    #[test]
    fn methods_and_ids_are_limited_and_count() {
        let check = |length: usize, expected: usize| {
            // The limit permits exactly one entry.
            let id = json!("i".repeat(length));
            let message = json!({"id": id, "method": "m".repeat(length)}).to_string();
            let log = log(10, message.len() + 2 * expected, 10_000);
            log.message(Direction::Out, message.as_bytes());
            let entries = log.after(0, 10);
            assert_eq!(entries[0].method.as_ref().map(String::len), Some(expected));
            assert_eq!(entries[0].id.as_ref().map(String::len), Some(expected));
            log.stderr("");
            assert_eq!(log.after(0, 10).len(), 2);
            log.stderr("x");
            assert_eq!(texts(&log), ["", "x"]);
        };
        check(NAME_BYTES, NAME_BYTES);
        check(NAME_BYTES + 1, NAME_BYTES);
        check(10 * NAME_BYTES, NAME_BYTES);
    }

    #[test]
    fn default_limits_are_those_of_the_documentation() {
        let limits = LogLimits::default();
        assert_eq!((limits.entries, limits.bytes), (100_000, 67_108_864));
        assert_eq!(limits.entry_bytes, 4_194_304);
    }

    #[test]
    fn entries_are_read_in_parts() {
        let log = log(10, 100, 10);
        for text in ["a", "b", "c"] {
            log.note(text);
        }
        let part: Vec<u64> = log.after(1, 1).iter().map(|entry| entry.seq).collect();
        assert_eq!(part, [2]);
        log.clear();
        assert!(log.after(0, 10).is_empty());
        log.note("d");
        assert_eq!(log.after(0, 10)[0].seq, 4);
    }

    #[test]
    fn messages_have_a_method_and_an_id() {
        let log = log(10, 1000, 1000);
        log.message(
            Direction::Out,
            br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
        );
        log.message(Direction::In, b"no message");
        let entries = log.after(0, 10);
        assert_eq!(entries[0].method.as_deref(), Some("ping"));
        assert_eq!(entries[0].id.as_deref(), Some("a"));
        assert_eq!((&entries[1].method, &entries[1].id), (&None, &None));
    }
}
