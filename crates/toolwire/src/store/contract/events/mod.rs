//! Contract tests for event logs.

mod waiting;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::engine::Principal;
use crate::store::contract::{in_time, ok, unique_name, user};
use crate::store::{EventLog, LogEntry, Replay, StreamKey};

/// The wait of a read that is expected to be woken. It is longer than the timeout of the contract, so that a log that
/// only polls at the end of the wait fails.
const LONG_WAIT: Duration = Duration::from_secs(60);

/// Checks an [`EventLog`].
///
/// # Panics
/// Panics if the log violates a rule. The message names the rule.
pub async fn event_log<L: EventLog + 'static>(make: impl AsyncFn() -> Arc<L>) {
    entries_are_numbered_and_stored(&Case::new(make().await)).await;
    replay_is_the_rest_of_the_stream(&Case::new(make().await)).await;
    open_stream_is_empty_but_known(&Case::new(make().await)).await;
    unopened_stream_begins_with_its_first_entry(&Case::new(make().await)).await;
    stream_of_other_principal_is_unknown(&Case::new(make().await)).await;
    streams_with_one_name_are_separate(&Case::new(make().await)).await;
    number_beyond_the_newest_is_unknown(&Case::new(make().await)).await;
    no_entry_follows_the_end(&Case::new(make().await)).await;
    waiting::waiting_reader_is_woken(&Case::new(make().await)).await;
    waiting::waiting_reader_gets_the_end(&Case::new(make().await)).await;
    waiting::read_returns_after_its_wait(&Case::new(make().await)).await;
    waiting::dropped_read_loses_nothing(&Case::new(make().await)).await;
    waiting::concurrent_entries_have_distinct_numbers(&Case::new(make().await)).await;
    waiting::following_reader_gets_every_entry(&Case::new(make().await)).await;
    removed_session_has_no_streams(&Case::new(make().await)).await;
    waiting::removal_wakes_waiting_readers(&Case::new(make().await)).await;
    removal_does_not_affect_others(&Case::new(make().await)).await;
    removed_stream_does_not_repeat_numbers(&Case::new(make().await)).await;
}

/// Checks the behaviour of an [`EventLog`] that has evicted entries. `too_many` small entries in one stream exceed its
/// limit.
///
/// # Panics
/// Panics if the log violates a rule. The message names the rule.
pub async fn event_log_bound(log: Arc<dyn EventLog>, too_many: u64) {
    let case = Case::new(log);
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
    owner: Principal,
    key: StreamKey,
}

impl Case {
    fn new(log: Arc<dyn EventLog>) -> Self {
        Self {
            log,
            owner: user("alice"),
            key: StreamKey::new(unique_name("session"), unique_name("stream")),
        }
    }

    /// Returns the same log with another stream of the same session.
    fn sibling(&self) -> Self {
        Self {
            log: Arc::clone(&self.log),
            owner: self.owner.clone(),
            key: StreamKey::new(self.key.session.clone(), unique_name("stream")),
        }
    }

    /// Returns the same log and stream under another key or principal.
    fn with_owner_and_key(&self, owner: Principal, key: StreamKey) -> Self {
        Self {
            log: Arc::clone(&self.log),
            owner,
            key,
        }
    }

    async fn open(&self) {
        ok("open", self.log.open(&self.owner, &self.key).await);
    }

    async fn append(&self, entry: LogEntry) -> u64 {
        let appended = self.log.append(&self.owner, &self.key, entry);
        ok("append", appended.await)
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
        let read = self.log.read_after(&self.owner, &self.key, after, wait);
        ok("read_after", read.await)
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

async fn unopened_stream_begins_with_its_first_entry(case: &Case) {
    let number = case.append(message(1)).await;
    assert!(number >= 1, "numbers start with 1");
    assert_eq!(
        case.read(number - 1).await,
        Replay::Entries(vec![(number, message(1))]),
        "appending to a stream that was not opened creates it"
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
        let _ = other_case
            .log
            .open(&other_case.owner, &other_case.key)
            .await;
        let appended = other_case
            .log
            .append(&other_case.owner, &other_case.key, message(9));
        let _ = appended.await;
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
        let appended = case.log.append(&case.owner, &case.key, message(3)).await;
        assert!(appended.is_err(), "appending to an ended stream fails");
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
    case.remove_session().await;
    let number = case.append(message(4)).await;
    assert!(
        number == 1 || number > 3,
        "a removed stream starts with 1 or above all its numbers: {number}"
    );
    assert_eq!(
        case.append(message(5)).await,
        number + 1,
        "numbers are consecutive in a stream that started again"
    );
}
