//! The log of `toolwire inspect`: messages in both directions, HTTP headers, and standard error of the server.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use serde::Serialize;
use tokio::sync::watch;

use crate::inspect::log_head::{EntryHead, boundary};
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
    /// The number of the connection. Events of this command have none.
    connection: Option<u64>,
    head: EntryHead,
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
    #[serde(rename = "conn", skip_serializing_if = "Option::is_none")]
    connection: Option<u64>,
    #[serde(flatten)]
    head: EntryHead,
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
    /// The number of connections that began.
    connections: AtomicU64,
    /// The number of the newest entry.
    newest: watch::Sender<u64>,
}

impl Log {
    pub(super) fn new(limits: LogLimits) -> Self {
        Self {
            limits,
            start: Instant::now(),
            entries: Mutex::default(),
            connections: AtomicU64::new(0),
            newest: watch::Sender::new(0),
        }
    }

    /// Begins another connection. Ids of requests are unique only within one.
    pub(super) fn begin_connection(self: &Arc<Self>) -> ConnectionLog {
        ConnectionLog {
            log: Arc::clone(self),
            number: self.connections.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }

    /// Adds an event of a record, with its time.
    pub(super) fn recorded(&self, event: &RecordedEvent) {
        let text = &event.text;
        let (kind, head) = match event.kind {
            RecordedKind::Message => (LogKind::Message, EntryHead::of_message(text)),
            RecordedKind::Http => {
                let is_sent = event.is_sent == Some(true);
                (LogKind::Http, EntryHead::of_http(text, is_sent, None))
            }
            RecordedKind::Stderr => (LogKind::Stderr, EntryHead::default()),
            RecordedKind::Note => (LogKind::Note, EntryHead::default()),
        };
        let direction = event.is_sent.map(|is_sent| {
            if is_sent {
                Direction::Out
            } else {
                Direction::In
            }
        });
        let origin = Origin {
            time: event.time,
            direction,
            connection: Some(event.connection),
        };
        self.push(origin, kind, head, text);
    }

    /// Adds a line of standard error of a server that this command started for all connections.
    pub(super) fn stderr(&self, line: &str) {
        self.push(self.now(), LogKind::Stderr, EntryHead::default(), line);
    }

    /// Adds a report of the server about an exchange, which is JSON with the method and the id of the request.
    pub(super) fn inside(&self, report: &str) {
        let head = EntryHead::of_report(report);
        self.push(self.now(), LogKind::Inside, head, report);
    }

    /// Adds an event of this command.
    pub(super) fn note(&self, text: &str) {
        self.push(self.now(), LogKind::Note, EntryHead::default(), text);
    }

    /// Returns now, without a connection.
    fn now(&self) -> Origin {
        Origin {
            time: u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX),
            direction: None,
            connection: None,
        }
    }

    fn push(&self, origin: Origin, kind: LogKind, head: EntryHead, text: &str) {
        let end = boundary(text, self.limits.entry_bytes);
        let mut entries = self.lock();
        entries.last += 1;
        let number = entries.last;
        let entry = LogEntry {
            number,
            time: origin.time,
            kind,
            direction: origin.direction,
            connection: origin.connection,
            head,
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

/// When and where something was logged.
#[derive(Debug, Clone, Copy)]
struct Origin {
    /// Microseconds since the start of the log.
    time: u64,
    direction: Option<Direction>,
    connection: Option<u64>,
}

/// The log of one connection to the server. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct ConnectionLog {
    log: Arc<Log>,
    number: u64,
}

impl ConnectionLog {
    /// Adds a message of the protocol. Received bytes are not always a valid message.
    pub(super) fn message(&self, direction: Direction, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let head = EntryHead::of_message(&text);
        self.push(Some(direction), LogKind::Message, head, &text);
    }

    /// Adds the start of an HTTP message. `id` is that of the request in the body.
    pub(super) fn http(&self, direction: Direction, text: &str, id: Option<&str>) {
        let is_sent = direction == Direction::Out;
        let head = EntryHead::of_http(text, is_sent, id.map(str::to_owned));
        self.push(Some(direction), LogKind::Http, head, text);
    }

    /// Adds why an HTTP request has no response. `id` is that of the request in its body.
    pub(super) fn http_failed(&self, reason: &str, id: Option<String>) {
        let head = EntryHead {
            id,
            failed: true,
            ..EntryHead::default()
        };
        self.push(None, LogKind::Note, head, reason);
    }

    /// Adds a line of the server's standard error.
    pub(super) fn stderr(&self, line: &str) {
        self.push(None, LogKind::Stderr, EntryHead::default(), line);
    }

    fn push(&self, direction: Option<Direction>, kind: LogKind, head: EntryHead, text: &str) {
        let origin = Origin {
            direction,
            connection: Some(self.number),
            ..self.log.now()
        };
        self.log.push(origin, kind, head, text);
    }
}

impl LogEntry {
    fn stored_bytes(&self) -> usize {
        self.body.len() + self.head.stored_bytes()
    }

    fn summary(&self) -> LogSummary {
        LogSummary {
            seq: self.number,
            t: self.time,
            kind: self.kind,
            direction: self.direction,
            connection: self.connection,
            head: self.head.clone(),
            bytes: self.bytes,
            text: self.body.chars().take(SUMMARY_CHARS).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log(entries: usize, bytes: usize, entry_bytes: usize) -> Arc<Log> {
        Arc::new(Log::new(LogLimits {
            entries,
            bytes,
            entry_bytes,
        }))
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
    fn stored_names_count() {
        let message = json!({"id": "i", "method": "m", "params": {"name": "n"}}).to_string();
        // The limit permits exactly one entry.
        let log = log(10, message.len() + 3, 10_000);
        let connection = log.begin_connection();
        connection.message(Direction::Out, message.as_bytes());
        connection.stderr("");
        assert_eq!(texts(&log), [message.as_str(), ""]);
        connection.stderr("x");
        assert_eq!(texts(&log), ["", "x"]);
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
    fn entries_have_the_head_of_their_kind() {
        let log = log(10, 1000, 1000);
        let connection = log.begin_connection();
        let call = br#"{"id":"a","method":"tools/call","params":{"name":"add"}}"#;
        connection.message(Direction::Out, call);
        connection.http(Direction::In, "503 Service Unavailable", Some("a"));
        connection.http_failed("no connection", Some("a".to_owned()));
        log.inside(r#"{"id":"a","method":"tools/call","name":"add"}"#);
        // Text of the server is not read as a message.
        connection.stderr(r#"{"id":"a","method":"tools/call"}"#);
        let heads = log.after(0, 10).into_iter().map(|entry| entry.head);
        let head = |is_call: bool, failed: bool| EntryHead {
            id: Some("a".to_owned()),
            method: is_call.then(|| "tools/call".to_owned()),
            name: is_call.then(|| "add".to_owned()),
            failed,
            error: None,
        };
        let expected = [
            head(true, false),
            head(false, true),
            head(false, true),
            head(true, false),
            EntryHead::default(),
        ];
        assert_eq!(heads.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn entries_have_the_number_of_their_connection() {
        let log = log(10, 1000, 1000);
        let (first, second) = (log.begin_connection(), log.begin_connection());
        second.message(Direction::Out, b"{}");
        first.stderr("a");
        log.note("b");
        log.recorded(&RecordedEvent {
            time: 1,
            connection: 7,
            kind: RecordedKind::Http,
            is_sent: Some(false),
            text: "500".to_owned(),
        });
        let entries = log.after(0, 10);
        let connections: Vec<_> = entries.iter().map(|entry| entry.connection).collect();
        assert_eq!(connections, [Some(2), Some(1), None, Some(7)]);
        assert!(entries[3].head.failed);
    }
}
