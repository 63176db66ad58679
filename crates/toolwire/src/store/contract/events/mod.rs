//! Contract tests for event logs.

mod contents;
mod waiting;
mod writers;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use crate::engine::Principal;
use crate::store::contract::{in_time, ok, unique_name, user};
use crate::store::{Appended, EventLog, LogEntry, LogWriter, Replay, StreamKey, WriterLease};
use crate::sync::lock;

/// The wait of a read that is expected to be woken. It is longer than the timeout of the contract, so that a log that
/// only polls at the end of the wait fails.
const LONG_WAIT: Duration = Duration::from_secs(60);

/// Checks an [`EventLog`]. Each call of `connect` returns a connection to the same log, as each node has one. Entries are
/// written on one connection and read on another.
///
/// # Panics
/// Panics if the log violates a rule. The message names the rule.
pub async fn event_log<L: EventLog + 'static>(connect: impl AsyncFn() -> Arc<L>) {
    let log: Arc<dyn EventLog> = connect().await;
    let reader: Arc<dyn EventLog> = connect().await;
    let case = || Case::new(&log, &reader);
    entries_are_numbered_and_stored(&case()).await;
    contents::entries_are_stored_byte_for_byte(&case()).await;
    contents::unusual_names_are_separate(&case()).await;
    replay_is_the_rest_of_the_stream(&case()).await;
    open_stream_is_empty_but_known(&case()).await;
    stream_of_other_principal_is_unknown(&case()).await;
    streams_with_one_name_are_separate(&case()).await;
    number_beyond_the_newest_is_unknown(&case()).await;
    no_entry_follows_the_end(&case()).await;
    waiting::waiting_reader_is_woken(&case()).await;
    waiting::waiting_reader_gets_the_end(&case()).await;
    waiting::read_returns_after_its_wait(&case()).await;
    waiting::dropped_read_loses_nothing(&case()).await;
    waiting::following_reader_gets_every_entry(&case()).await;
    writers::several_entries_are_stored_in_order(&case()).await;
    writers::repeated_append_stores_entries_once(&case()).await;
    writers::concurrent_repetitions_store_entries_once(&case()).await;
    writers::later_writer_fences_off_the_earlier(&case()).await;
    writers::missing_entries_are_reported_to_the_writer(&case()).await;
    writers::stream_continues_with_the_demanded_number(&case()).await;
    writers::stream_ends_when_the_lease_of_its_writer_expires(&case()).await;
    writers::end_of_a_lease_has_no_number_that_a_reader_knows(&case()).await;
    writers::renewed_lease_does_not_expire(&case()).await;
    removed_session_has_no_streams(&case()).await;
    waiting::removal_wakes_waiting_readers(&case()).await;
    removal_does_not_affect_others(&case()).await;
    removed_stream_does_not_repeat_numbers(&case()).await;
}

/// Checks the behaviour of an [`EventLog`] that has evicted entries. `too_many` small entries in one stream exceed its
/// limit.
///
/// # Panics
/// Panics if the log violates a rule. The message names the rule.
pub async fn event_log_bound(log: Arc<dyn EventLog>, too_many: u64) {
    let case = Case::new(&log, &log);
    case.fill(too_many).await;
    let Replay::Gap { oldest } = case.read(0).await else {
        panic!("reading before the oldest entry of a stream with evicted entries returns a gap");
    };
    assert!(
        (2..=too_many).contains(&oldest),
        "the oldest entry follows the evicted ones and is not after the newest: {oldest} of {too_many}"
    );
    assert_eq!(
        case.read(oldest - 2).await,
        Replay::Gap { oldest },
        "one missing entry is a gap"
    );
    assert_eq!(
        case.read(oldest - 1).await,
        entries(oldest..=too_many),
        "the remaining entries are read without a gap"
    );
    assert_eq!(
        case.append(message(too_many + 1)).await,
        too_many + 1,
        "numbers continue after eviction"
    );
    assert_eq!(
        case.read(too_many).await,
        entries(too_many + 1..=too_many + 1),
        "the newest entry is never evicted"
    );
    case.remove_session().await;
}

/// A log with a stream of its own.
struct Case {
    log: Arc<dyn EventLog>,
    /// Another connection to the log, for reading.
    reader: Arc<dyn EventLog>,
    owner: Principal,
    key: StreamKey,
    writer: Mutex<Option<LogWriter>>,
}

impl Case {
    fn new(log: &Arc<dyn EventLog>, reader: &Arc<dyn EventLog>) -> Self {
        Self {
            log: Arc::clone(log),
            reader: Arc::clone(reader),
            owner: user("alice"),
            key: StreamKey::new(unique_name("session"), unique_name("stream")),
            writer: Mutex::default(),
        }
    }

    /// Returns the same log with another stream of the same session.
    fn sibling(&self) -> Self {
        let key = StreamKey::new(self.key.session.clone(), unique_name("stream"));
        self.with_owner_and_key(self.owner.clone(), key)
    }

    /// Returns the same log and stream under another key or principal, without a writer.
    fn with_owner_and_key(&self, owner: Principal, key: StreamKey) -> Self {
        Self {
            owner,
            key,
            ..Self::new(&self.log, &self.reader)
        }
    }

    /// Opens the stream as its next writer.
    async fn open(&self) {
        self.open_at(1, None).await;
    }

    async fn open_at(&self, first: u64, lease: Option<WriterLease>) -> LogWriter {
        let opened = self.log.open(&self.owner, &self.key, first, lease).await;
        let writer = ok("open", opened);
        *lock(&self.writer) = Some(writer);
        writer
    }

    fn writer(&self) -> LogWriter {
        lock(&self.writer).expect("the case has opened its stream")
    }

    /// Appends entries as a writer. Does not change the writer of the case.
    async fn append_as(&self, writer: LogWriter, entries: &[LogEntry]) -> Appended {
        let appended = self.log.append(&self.owner, &self.key, writer, entries);
        ok("append", appended.await)
    }

    /// Appends an entry, which has to be stored, and returns its number.
    async fn append(&self, entry: LogEntry) -> u64 {
        let mut writer = self.writer();
        let appended = self.append_as(writer, &[entry]).await;
        assert_eq!(
            appended,
            Appended::Stored,
            "the entry of the only writer is stored"
        );
        let number = writer.next;
        writer.next += 1;
        *lock(&self.writer) = Some(writer);
        number
    }

    /// Opens the stream and appends messages with the numbers from 1 on.
    async fn fill(&self, count: u64) {
        self.open().await;
        for number in 1..=count {
            assert_eq!(
                self.append(message(number)).await,
                number,
                "the first entry has number 1, and each further entry the next number"
            );
        }
    }

    async fn read(&self, after: u64) -> Replay {
        self.read_or_wait(after, Duration::ZERO).await
    }

    async fn read_or_wait(&self, after: u64, wait: Duration) -> Replay {
        let read = self.reader.read_after(&self.owner, &self.key, after, wait);
        ok("read_after", read.await)
    }

    /// Reads until the result is not empty. A log may return earlier than it is asked to.
    async fn wait_for_change(&self, after: u64) -> Replay {
        loop {
            match self.read_or_wait(after, LONG_WAIT).await {
                Replay::Entries(entries) if entries.is_empty() => tokio::task::yield_now().await,
                replay => return replay,
            }
        }
    }

    async fn remove_session(&self) {
        let removed = self.log.remove_session(&self.owner, &self.key.session);
        ok("remove_session", removed.await);
    }
}

fn message(number: u64) -> LogEntry {
    LogEntry::Message(Bytes::from(format!("{{\"number\":{number}}}")))
}

fn entries(numbers: impl IntoIterator<Item = u64>) -> Replay {
    let numbers = numbers.into_iter();
    Replay::Entries(numbers.map(|number| (number, message(number))).collect())
}

async fn entries_are_numbered_and_stored(case: &Case) {
    case.open().await;
    let texts = ["{}", "\"\\u0000 ä\u{2028}\"", "[1,\n2]", ""];
    for (number, text) in (1..).zip(texts) {
        assert_eq!(
            case.append(LogEntry::Message(Bytes::from(text))).await,
            number,
            "the first entry has number 1, and each further entry the next number"
        );
    }
    let expected = (1..).zip(texts.map(|text| LogEntry::Message(Bytes::from(text))));
    assert_eq!(
        case.read(0).await,
        Replay::Entries(expected.collect()),
        "entries are returned unchanged"
    );
}

async fn replay_is_the_rest_of_the_stream(case: &Case) {
    let last = 5;
    case.fill(last).await;
    case.sibling().fill(2).await;
    case.open().await;
    for after in 0..last {
        assert_eq!(
            case.read(after).await,
            entries(after + 1..=last),
            "a replay is all entries of the stream after the number, in order, without entries of other streams"
        );
    }
}

async fn open_stream_is_empty_but_known(case: &Case) {
    assert_eq!(
        case.read(0).await,
        Replay::Unknown,
        "a stream that was never opened is unknown"
    );
    case.open().await;
    assert_eq!(
        case.read(0).await,
        entries([]),
        "an opened stream is known and has no entries"
    );
}

async fn stream_of_other_principal_is_unknown(case: &Case) {
    case.fill(3).await;
    for other in [Principal::anonymous(), user("mallory")] {
        let other_case = case.with_owner_and_key(other, case.key.clone());
        for after in [0, 2, 3, 4] {
            let rule = "a stream of another principal is unknown, without a wait";
            let replay = in_time(rule, other_case.read_or_wait(after, LONG_WAIT)).await;
            assert_eq!(replay, Replay::Unknown, "{rule}");
        }
        // The log may create a stream of the other principal, as long as it stays invisible to others.
        let _ = other_case.append_as(case.writer(), &[message(8)]).await;
        let opened = other_case
            .log
            .open(&other_case.owner, &other_case.key, 1, None);
        if let Ok(writer) = opened.await {
            let _ = other_case.append_as(writer, &[message(9)]).await;
        }
    }
    assert_eq!(
        case.read(0).await,
        entries(1..=3),
        "calls of other principals do not change a stream"
    );
}

async fn streams_with_one_name_are_separate(case: &Case) {
    case.fill(2).await;
    let key = StreamKey::new(unique_name("session"), case.key.stream.clone());
    let other = case.with_owner_and_key(case.owner.clone(), key);
    assert_eq!(
        other.read(0).await,
        Replay::Unknown,
        "the same name under another session is another stream"
    );
    other.fill(1).await;
    assert_eq!(
        case.read(0).await,
        entries(1..=2),
        "the same name under another session is another stream"
    );
}

async fn number_beyond_the_newest_is_unknown(case: &Case) {
    case.fill(2).await;
    for after in [3, 4, u64::MAX] {
        let read = case.read_or_wait(after, LONG_WAIT);
        assert_eq!(
            in_time("a number beyond the newest entry is unknown", read).await,
            Replay::Unknown,
            "a number beyond the newest entry is unknown: {after}"
        );
    }
}

async fn no_entry_follows_the_end(case: &Case) {
    let ends = [
        (case.sibling(), LogEntry::End),
        (case.sibling(), LogEntry::Last(Bytes::from_static(b"{}"))),
    ];
    for (case, end) in ends {
        case.fill(1).await;
        assert_eq!(
            case.append(end.clone()).await,
            2,
            "the end of a stream has a number like any entry"
        );
        for _ in 0..2 {
            assert_eq!(
                case.read(0).await,
                Replay::Entries(vec![(1, message(1)), (2, end.clone())]),
                "an ended stream can be read repeatedly"
            );
        }
        let after_the_end = case.read_or_wait(2, LONG_WAIT);
        assert_eq!(
            in_time("a read after the end does not wait", after_the_end).await,
            Replay::Ended,
            "a read after the end returns `Ended`"
        );
        assert_eq!(
            case.append_as(case.writer(), &[message(3)]).await,
            Appended::Ended,
            "nothing is appended to an ended stream"
        );
        assert_eq!(
            case.read(1).await,
            Replay::Entries(vec![(2, end)]),
            "the end stays the newest entry"
        );
    }
}

async fn removed_session_has_no_streams(case: &Case) {
    let sibling = case.sibling();
    case.fill(2).await;
    sibling.fill(1).await;
    case.remove_session().await;
    for after in 0..=2 {
        assert_eq!(
            (case.read(after).await, sibling.read(after).await),
            (Replay::Unknown, Replay::Unknown),
            "all streams of a removed session are unknown"
        );
    }
    // Removing an absent session succeeds.
    case.remove_session().await;
}

async fn removal_does_not_affect_others(case: &Case) {
    case.fill(2).await;
    for other in [Principal::anonymous(), user("mallory")] {
        case.with_owner_and_key(other, case.key.clone())
            .remove_session()
            .await;
    }
    let key = StreamKey::new(unique_name("session"), case.key.stream.clone());
    case.with_owner_and_key(case.owner.clone(), key)
        .remove_session()
        .await;
    assert_eq!(
        case.read(0).await,
        entries(1..=2),
        "only the streams of the given session and principal are removed"
    );
}

async fn removed_stream_does_not_repeat_numbers(case: &Case) {
    case.fill(3).await;
    let writer = case.writer();
    case.remove_session().await;
    assert_eq!(
        case.append_as(writer, &[message(4)]).await,
        Appended::Lost { last: 0 },
        "nothing is appended to a removed stream, and its writer learns of the removal"
    );
    let writer = case.open_at(writer.next, None).await;
    assert_eq!(writer.next, 4, "a removed stream does not repeat numbers");
    assert_eq!(case.append(message(4)).await, 4);
    assert_eq!(
        (case.read(2).await, case.read(3).await),
        (Replay::Gap { oldest: 4 }, entries([4])),
        "the removed entries of a stream are a gap"
    );
}
