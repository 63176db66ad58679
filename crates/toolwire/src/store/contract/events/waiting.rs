//! Contract tests for waiting readers.

use std::time::Duration;

use tokio::time::timeout;

use crate::store::contract::events::{Case, LONG_WAIT, entries, message};
use crate::store::contract::in_time;
use crate::store::{LogEntry, Replay};

/// The wait of a read that is not expected to find entries.
const SHORT_WAIT: Duration = Duration::from_millis(50);

pub(super) async fn waiting_reader_is_woken(case: &Case) {
    let rule = "a waiting reader gets an entry when it is appended";
    case.open().await;
    for last in 0..3 {
        let both =
            async { tokio::join!(case.wait_for_change(last), case.append(message(last + 1))) };
        let (replay, number) = in_time(rule, both).await;
        assert_eq!(number, last + 1, "numbers are consecutive");
        assert_eq!(replay, entries([last + 1]), "{rule}");
    }
    let all = async {
        tokio::join!(
            case.wait_for_change(3),
            case.wait_for_change(3),
            case.append(message(4))
        )
    };
    let (first, second, _) = in_time("every waiting reader is woken", all).await;
    assert_eq!(
        (first, second),
        (entries([4]), entries([4])),
        "every waiting reader gets an entry when it is appended"
    );
}

pub(super) async fn waiting_reader_gets_the_end(case: &Case) {
    let rule = "a waiting reader gets the end when it is appended";
    case.fill(1).await;
    let both = async { tokio::join!(case.wait_for_change(1), case.append(LogEntry::End)) };
    let (replay, _) = in_time(rule, both).await;
    assert_eq!(replay, Replay::Entries(vec![(2, LogEntry::End)]), "{rule}");
}

pub(super) async fn read_returns_after_its_wait(case: &Case) {
    case.fill(1).await;
    let read = case.read_or_wait(1, SHORT_WAIT);
    assert_eq!(
        in_time("a read returns after its wait", read).await,
        entries([]),
        "a read that times out returns no entries"
    );
}

pub(super) async fn dropped_read_loses_nothing(case: &Case) {
    case.fill(1).await;
    let _ = timeout(Duration::ZERO, case.read_or_wait(1, LONG_WAIT)).await;
    case.append(message(2)).await;
    assert_eq!(
        case.read(1).await,
        entries([2]),
        "a dropped read loses no entries"
    );
}

pub(super) async fn following_reader_gets_every_entry(case: &Case) {
    let rule = "a reader that continues from the last number gets every entry once, in order";
    let count = 40;
    case.open().await;
    let write = async {
        for number in 1..=count {
            case.append(message(number)).await;
            if number % 3 == 0 {
                tokio::task::yield_now().await;
            }
        }
        case.append(LogEntry::End).await;
    };
    let follow = async {
        let mut seen: Vec<(u64, LogEntry)> = Vec::new();
        while seen.last().is_none_or(|(_, entry)| *entry != LogEntry::End) {
            let last = seen.last().map_or(0, |(number, _)| *number);
            match case.read_or_wait(last, LONG_WAIT).await {
                Replay::Entries(entries) => seen.extend(entries),
                other => panic!("{rule}: {other:?} after {last}"),
            }
        }
        seen
    };
    let (seen, ()) = in_time(rule, async { tokio::join!(follow, write) }).await;
    let mut expected: Vec<_> = (1..=count)
        .map(|number| (number, message(number)))
        .collect();
    expected.push((count + 1, LogEntry::End));
    assert_eq!(seen, expected, "{rule}");
}

pub(super) async fn removal_wakes_waiting_readers(case: &Case) {
    let rule = "a waiting reader of a removed session gets `Unknown`";
    case.fill(1).await;
    let both = async { tokio::join!(case.wait_for_change(1), case.remove_session()) };
    let (replay, ()) = in_time(rule, both).await;
    assert_eq!(replay, Replay::Unknown, "{rule}");
}
