//! Tests of the limits and times of the event log in memory. Other rules are in the contract.

mod properties;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::time::advance;

use super::*;
use crate::store::{StoreError, contract};

/// The size of a ten-byte message with overhead.
const COST: usize = 10 + 64;

fn message(number: u64) -> LogEntry {
    LogEntry::Message(Bytes::from(format!("{number:010}")))
}

fn entries(numbers: impl IntoIterator<Item = u64>) -> Replay {
    let numbers = numbers.into_iter();
    Replay::Entries(numbers.map(|number| (number, message(number))).collect())
}

/// A log with short calls for tests. All streams belong to one session of the anonymous principal.
struct TestLog(MemoryEventLog, Mutex<HashMap<String, LogWriter>>);

impl TestLog {
    fn new(limits: MemoryEventLogLimits) -> Self {
        Self(MemoryEventLog::new(limits), Mutex::default())
    }

    fn key(stream: &str) -> StreamKey {
        StreamKey::new("session", stream)
    }

    async fn try_open(&self, stream: &str) -> Result<(), StoreError> {
        self.open_at(stream, 1).await
    }

    async fn open_at(&self, stream: &str, first: u64) -> Result<(), StoreError> {
        let (owner, key) = (Principal::anonymous(), Self::key(stream));
        let writer = self.0.open(&owner, &key, first, None).await?;
        lock(&self.1).insert(stream.to_owned(), writer);
        Ok(())
    }

    /// Appends an entry to a stream and opens it first if the test has not done it.
    async fn append(&self, stream: &str, entry: LogEntry) -> u64 {
        if !lock(&self.1).contains_key(stream) {
            self.try_open(stream).await.unwrap();
        }
        let mut writer = lock(&self.1)[stream];
        assert_eq!(self.try_append(stream, entry).await, Appended::Stored);
        writer.next += 1;
        lock(&self.1).insert(stream.to_owned(), writer);
        writer.next - 1
    }

    async fn try_append(&self, stream: &str, entry: LogEntry) -> Appended {
        let (owner, key) = (Principal::anonymous(), Self::key(stream));
        let writer = lock(&self.1)[stream];
        let appended = self.0.append(&owner, &key, writer, &[entry]).await;
        appended.unwrap()
    }

    /// Opens a stream and appends messages that contain their numbers.
    async fn fill(&self, stream: &str, count: u64) {
        self.try_open(stream).await.unwrap();
        for number in 1..=count {
            assert_eq!(self.append(stream, message(number)).await, number);
        }
    }

    async fn read(&self, stream: &str, after: u64) -> Replay {
        self.wait(stream, after, Duration::ZERO).await
    }

    async fn wait(&self, stream: &str, after: u64, wait: Duration) -> Replay {
        self.0
            .read_after(&Principal::anonymous(), &Self::key(stream), after, wait)
            .await
            .unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn log_meets_the_contract() {
    let log = Arc::new(MemoryEventLog::default());
    contract::event_log(async || log.clone()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn log_meets_the_contract_on_several_threads() {
    let log = Arc::new(MemoryEventLog::default());
    contract::event_log(async || log.clone()).await;
}

#[tokio::test(start_paused = true)]
async fn log_meets_the_contract_of_limits() {
    let limits = MemoryEventLogLimits::default();
    for limits in [
        limits.with_events_per_stream(9),
        limits.with_events_per_stream(1),
        limits.with_events_per_stream(0),
        limits.with_bytes_per_stream(9 * COST),
        limits.with_bytes_per_stream(0),
        limits.with_total_bytes(9 * COST),
        limits.with_total_bytes(0),
    ] {
        contract::event_log_bound(Arc::new(MemoryEventLog::new(limits)), 12).await;
    }
}

#[tokio::test(start_paused = true)]
async fn number_of_entries_of_a_stream_is_limited() {
    let limits = MemoryEventLogLimits::default();
    for limits in [
        limits.with_events_per_stream(4),
        limits.with_bytes_per_stream(4 * COST),
        limits.with_bytes_per_stream(5 * COST - 1),
        limits.with_total_bytes(4 * COST),
    ] {
        let log = TestLog::new(limits);
        log.fill("a", 3).await;
        assert_eq!(log.read("a", 0).await, entries(1..=3));
        log.append("a", message(4)).await;
        assert_eq!(log.read("a", 0).await, entries(1..=4));
        log.append("a", message(5)).await;
        assert_eq!(log.read("a", 0).await, Replay::Gap { oldest: 2 });
        assert_eq!(log.read("a", 1).await, entries(2..=5));
    }
}

#[tokio::test(start_paused = true)]
async fn newest_entry_is_stored_at_any_size() {
    let log = TestLog::new(MemoryEventLogLimits::default().with_bytes_per_stream(COST));
    log.fill("a", 1).await;
    let large = LogEntry::Message(Bytes::from(vec![b' '; 1000]));
    log.append("a", large.clone()).await;
    assert_eq!(
        log.read("a", 1).await,
        Replay::Entries(vec![(2, large.clone())])
    );
    assert_eq!(log.append("a", message(3)).await, 3);
    assert_eq!(log.read("a", 2).await, entries([3]));
    assert_eq!(log.read("a", 0).await, Replay::Gap { oldest: 3 });
}

#[tokio::test(start_paused = true)]
async fn messages_are_shared_not_copied() {
    let log = TestLog::new(MemoryEventLogLimits::default());
    let bytes = Bytes::from(vec![b'1'; 100]);
    log.append("a", LogEntry::Message(bytes.clone())).await;
    let Replay::Entries(read) = log.read("a", 0).await else {
        panic!("there is an entry");
    };
    assert!(matches!(&read[0].1, LogEntry::Message(read) if read.as_ptr() == bytes.as_ptr()));
}

#[tokio::test(start_paused = true)]
async fn ended_streams_are_evicted_before_live_ones() {
    let log = TestLog::new(MemoryEventLogLimits::default().with_total_bytes(4 * COST + 64));
    log.fill("live", 2).await;
    log.fill("ended", 1).await;
    log.append("ended", LogEntry::End).await;
    log.fill("new", 1).await;
    assert_eq!(log.read("ended", 1).await, {
        Replay::Entries(vec![(2, LogEntry::End)])
    });
    log.append("new", message(2)).await;
    assert_eq!(log.read("ended", 1).await, Replay::Unknown);
    assert_eq!(log.read("live", 0).await, entries(1..=2));
    assert_eq!(log.read("new", 0).await, entries(1..=2));
}

#[tokio::test(start_paused = true)]
async fn unread_last_message_is_retained_longer_than_a_read_one() {
    let log = TestLog::new(MemoryEventLogLimits::default().with_total_bytes(2 * COST));
    let last = LogEntry::Last(Bytes::from_static(b"0000000000"));
    log.append("unread", last.clone()).await;
    log.append("read", last.clone()).await;
    log.read("read", 0).await;
    log.fill("new", 1).await;
    assert_eq!(log.read("read", 0).await, Replay::Unknown);
    let expected = Replay::Entries(vec![(1, last)]);
    assert_eq!(log.read("unread", 0).await, expected);
}

#[tokio::test(start_paused = true)]
async fn least_recently_used_stream_is_evicted_first() {
    let log = TestLog::new(MemoryEventLogLimits::default().with_total_bytes(6 * COST));
    log.fill("read", 2).await;
    log.fill("written", 1).await;
    log.fill("idle", 2).await;
    log.append("written", message(2)).await;
    log.read("read", 0).await;
    log.fill("new", 1).await;
    assert_eq!(log.read("idle", 0).await, Replay::Gap { oldest: 2 });
    assert_eq!(log.read("read", 0).await, entries(1..=2));
    assert_eq!(log.read("written", 0).await, entries(1..=2));
}

#[tokio::test(start_paused = true)]
async fn emptied_live_stream_continues_its_numbers() {
    let log = TestLog::new(MemoryEventLogLimits::default().with_total_bytes(2 * COST));
    log.fill("a", 2).await;
    log.fill("b", 2).await;
    assert_eq!(log.read("a", 1).await, Replay::Gap { oldest: 3 });
    assert_eq!(log.read("a", 2).await, entries([]));
    assert_eq!(log.append("a", message(3)).await, 3);
    assert_eq!(log.read("a", 2).await, entries([3]));
}

#[tokio::test(start_paused = true)]
async fn unused_stream_expires_exactly_after_the_retention() {
    let retention = Duration::from_secs(10);
    let almost = retention - Duration::from_millis(1);
    let log = TestLog::new(MemoryEventLogLimits::default().with_retention(retention));
    log.fill("a", 1).await;
    advance(almost).await;
    assert_eq!(log.read("a", 0).await, entries([1]));
    advance(almost).await;
    log.append("a", LogEntry::End).await;
    advance(almost).await;
    assert_ne!(log.read("a", 0).await, Replay::Unknown);
    advance(retention).await;
    assert_eq!(log.read("a", 0).await, Replay::Unknown);
    assert!(log.0.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn expired_streams_are_removed_by_later_calls() {
    let log = TestLog::new(MemoryEventLogLimits::default());
    for number in 0..100 {
        log.fill(&number.to_string(), 1).await;
    }
    advance(MemoryEventLogLimits::default().retention).await;
    for _ in 0..10 {
        log.read("unknown", 0).await;
    }
    assert!(log.0.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn stream_with_waiting_reader_does_not_expire() {
    let limits = MemoryEventLogLimits::default().with_retention(Duration::from_secs(10));
    let log = TestLog::new(limits);
    log.fill("a", 1).await;
    let write = async {
        advance(Duration::from_secs(100)).await;
        assert_eq!(log.read("unknown", 0).await, Replay::Unknown);
        assert_eq!(log.append("a", message(2)).await, 2);
    };
    let (replay, ()) = tokio::join!(log.wait("a", 1, Duration::from_secs(1000)), write);
    assert_eq!(replay, entries([2]));
}

#[tokio::test(start_paused = true)]
async fn read_returns_after_its_wait() {
    let log = TestLog::new(MemoryEventLogLimits::default());
    log.fill("a", 1).await;
    for seconds in [0, 7] {
        let wait = Duration::from_secs(seconds);
        let begin = Instant::now();
        assert_eq!(log.wait("a", 1, wait).await, entries([]));
        let elapsed = begin.elapsed();
        // The timer has a resolution of milliseconds.
        assert!(elapsed >= wait && elapsed <= wait + Duration::from_millis(2));
    }
}

#[tokio::test(start_paused = true)]
async fn removed_stream_continues_above_its_old_numbers() {
    let log = TestLog::new(MemoryEventLogLimits::default());
    log.fill("a", 5).await;
    advance(MemoryEventLogLimits::default().retention).await;
    let lost = Appended::Lost { last: 0 };
    assert_eq!(log.try_append("a", message(6)).await, lost);
    log.open_at("a", 6).await.unwrap();
    assert_eq!(log.append("a", message(6)).await, 6);
    assert_eq!(log.read("a", 3).await, Replay::Gap { oldest: 6 });
    assert_eq!(log.read("a", 5).await, entries([6]));
}

#[tokio::test(start_paused = true)]
async fn stream_beyond_the_limit_evicts_another() {
    let log = TestLog::new(MemoryEventLogLimits::default().with_streams(3));
    log.fill("live", 1).await;
    log.fill("ended", 0).await;
    log.append("ended", LogEntry::End).await;
    log.read("ended", 0).await;
    log.fill("bare", 0).await;
    for (new, displaced) in [("new", "ended"), ("newer", "bare"), ("newest", "live")] {
        log.fill(new, 1).await;
        assert_eq!(log.read(displaced, 0).await, Replay::Unknown, "{displaced}");
    }
    for retained in ["new", "newer", "newest"] {
        assert_eq!(log.read(retained, 0).await, entries([1]), "{retained}");
    }
}

#[tokio::test(start_paused = true)]
async fn streams_with_waiting_readers_are_not_evicted() {
    let log = TestLog::new(MemoryEventLogLimits::default().with_streams(2));
    let long = Duration::from_secs(60);
    log.fill("a", 0).await;
    log.fill("b", 1).await;
    let others = async {
        assert!(matches!(log.try_open("c").await, Err(StoreError::Full)));
        log.append("a", message(1)).await;
        log.append("b", message(2)).await;
    };
    let (a, b, ()) = tokio::join!(log.wait("a", 0, long), log.wait("b", 1, long), others);
    assert_eq!((a, b), (entries([1]), entries([2])));
    assert!(log.try_open("c").await.is_ok());
}
