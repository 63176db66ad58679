//! Contract tests for the writers of streams: numbers, fences and leases.

use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;

use crate::store::contract::events::{Case, entries, message};
use crate::store::contract::in_time;
use crate::store::{Appended, LogEntry, LogWriter, Replay, WriterLease};

/// The lease of a writer that stops.
const LEASE: Duration = Duration::from_millis(200);

fn messages(numbers: impl IntoIterator<Item = u64>) -> Vec<LogEntry> {
    numbers.into_iter().map(message).collect()
}

fn last_message() -> LogEntry {
    LogEntry::Last(Bytes::from_static(b"{\"lost\":true}"))
}

pub(super) async fn several_entries_are_stored_in_order(case: &Case) {
    case.open().await;
    let writer = case.writer();
    assert_eq!(
        case.append_as(writer, &messages(1..=5)).await,
        Appended::Stored
    );
    assert_eq!(
        case.read(0).await,
        entries(1..=5),
        "the entries of one call are stored in order"
    );
    let next = LogWriter::new(writer.fence, 6);
    assert_eq!(case.append_as(next, &[]).await, Appended::Stored);
    assert_eq!(
        case.read(5).await,
        entries([]),
        "a call without entries stores nothing"
    );
}

pub(super) async fn repeated_append_stores_entries_once(case: &Case) {
    case.open().await;
    let writer = case.writer();
    for count in [3, 3, 1, 5] {
        assert_eq!(
            case.append_as(writer, &messages(1..=count)).await,
            Appended::Stored,
            "a repeated call succeeds"
        );
    }
    assert_eq!(
        case.read(0).await,
        entries(1..=5),
        "a repeated call stores only the entries that are not stored yet"
    );
    let mut end = messages(5..=5);
    end.push(last_message());
    for _ in 0..2 {
        let writer = LogWriter::new(writer.fence, 5);
        assert_eq!(
            case.append_as(writer, &end).await,
            Appended::Stored,
            "the end of a stream can be repeated"
        );
    }
    assert_eq!(
        case.read(5).await,
        Replay::Entries(vec![(6, last_message())]),
        "a repeated end is stored once"
    );
}

pub(super) async fn concurrent_repetitions_store_entries_once(case: &Case) {
    let rule = "concurrent calls with the same numbers store each entry once";
    case.open().await;
    let writer = case.writer();
    let mut appends = JoinSet::new();
    for _ in 0..32 {
        let case = case.with_owner_and_key(case.owner.clone(), case.key.clone());
        appends.spawn(async move { case.append_as(writer, &messages(1..=3)).await });
    }
    for appended in in_time(rule, appends.join_all()).await {
        assert_eq!(appended, Appended::Stored, "{rule}");
    }
    assert_eq!(case.read(0).await, entries(1..=3), "{rule}");
}

pub(super) async fn later_writer_fences_off_the_earlier(case: &Case) {
    case.fill(2).await;
    let earlier = case.writer();
    let later = case.open_at(1, None).await;
    assert!(
        later.fence > earlier.fence,
        "the fence of a later writer is higher"
    );
    assert_eq!(later.next, 3, "a later writer continues the numbers");
    for _ in 0..2 {
        assert_eq!(
            case.append_as(earlier, &[message(9)]).await,
            Appended::Fenced,
            "an earlier writer is fenced off"
        );
        assert_eq!(
            case.append_as(earlier, &[]).await,
            Appended::Fenced,
            "an earlier writer learns that it is fenced off when it renews its lease"
        );
    }
    assert_eq!(case.append(message(3)).await, 3);
    assert_eq!(
        case.read(0).await,
        entries(1..=3),
        "only the entries of the later writer are stored"
    );
}

pub(super) async fn missing_entries_are_reported_to_the_writer(case: &Case) {
    case.fill(2).await;
    let ahead = LogWriter::new(case.writer().fence, 5);
    for lost in [&messages([5])[..], &[]] {
        assert_eq!(
            case.append_as(ahead, lost).await,
            Appended::Lost { last: 2 },
            "a writer that is ahead of the log learns which entries are lost"
        );
    }
    assert_eq!(
        case.read(0).await,
        entries(1..=2),
        "nothing is stored after a missing entry"
    );
    let again = LogWriter::new(ahead.fence, 3);
    assert_eq!(
        case.append_as(again, &messages(3..=5)).await,
        Appended::Stored,
        "the writer may write the lost entries again"
    );
    assert_eq!(case.read(0).await, entries(1..=5));
    let unopened = case.sibling();
    assert_eq!(
        unopened.append_as(ahead, &[message(5)]).await,
        Appended::Lost { last: 0 },
        "nothing is appended to a stream that was never opened"
    );
    assert_eq!(unopened.read(0).await, Replay::Unknown);
}

pub(super) async fn stream_continues_with_the_demanded_number(case: &Case) {
    case.fill(2).await;
    assert_eq!(case.open_at(2, None).await.next, 3);
    assert_eq!(
        case.read(0).await,
        entries(1..=2),
        "a lower first number removes nothing"
    );
    assert_eq!(case.open_at(7, None).await.next, 7);
    assert_eq!(case.append(message(7)).await, 7);
    for after in [0, 2, 5] {
        assert_eq!(
            case.read(after).await,
            Replay::Gap { oldest: 7 },
            "the numbers before a higher first number are a gap"
        );
    }
    assert_eq!(case.read(6).await, entries([7]));
}

pub(super) async fn stream_ends_when_the_lease_of_its_writer_expires(case: &Case) {
    let rule = "a stream ends when the lease of its writer expires";
    let lease = WriterLease::new(LEASE, last_message());
    let writer = case.open_at(1, Some(lease)).await;
    case.append(message(1)).await;
    let replay = in_time(rule, case.wait_for_change(1)).await;
    assert_eq!(replay, Replay::Entries(vec![(2, last_message())]), "{rule}");
    assert_eq!(
        case.append_as(LogWriter::new(writer.fence, 2), &[message(2)])
            .await,
        Appended::Fenced,
        "a writer whose lease has expired is fenced off"
    );
    assert_eq!(
        case.read(0).await,
        Replay::Entries(vec![(1, message(1)), (2, last_message())]),
        "the last entry of an expired lease is stored once"
    );
}

pub(super) async fn end_of_a_lease_has_no_number_that_a_reader_knows(case: &Case) {
    let lease = WriterLease::new(LEASE, last_message());
    case.open_at(1, Some(lease)).await;
    case.append(message(1)).await;
    tokio::time::sleep(LEASE * 2).await;
    for after in [2, 3, u64::MAX] {
        assert_eq!(
            case.read(after).await,
            Replay::Unknown,
            "a number beyond the newest entry is unknown, also when the lease of the writer has expired: {after}"
        );
    }
    assert_eq!(
        case.read(1).await,
        Replay::Entries(vec![(2, last_message())]),
        "the stream ends for a reader that has its newest entry"
    );
}

pub(super) async fn renewed_lease_does_not_expire(case: &Case) {
    let lease = WriterLease::new(LEASE, last_message());
    let writer = case.open_at(1, Some(lease)).await;
    for _ in 0..6 {
        tokio::time::sleep(LEASE / 4).await;
        assert_eq!(case.append_as(writer, &[]).await, Appended::Stored);
        assert_eq!(
            case.read(0).await,
            entries([]),
            "a lease that is renewed does not expire"
        );
    }
}
