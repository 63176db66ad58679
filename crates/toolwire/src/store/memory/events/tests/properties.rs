//! Property tests over sequences of calls.

use proptest::prelude::*;

use super::*;

/// One call of a sequence. Streams are identified by number.
#[derive(Debug, Clone)]
enum Call {
    Append(usize),
    End(usize),
    Read(usize, u64),
    RemoveSession(usize),
}

fn call() -> impl Strategy<Value = Call> {
    let stream = 0..4usize;
    prop_oneof![
        8 => stream.clone().prop_map(Call::Append),
        1 => stream.clone().prop_map(Call::End),
        6 => (stream.clone(), 0..12u64).prop_map(|(stream, after)| Call::Read(stream, after)),
        1 => stream.prop_map(Call::RemoveSession),
    ]
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

proptest! {
    /// A replay after k is the entries appended after k to the same stream.
    #[test]
    fn replay_is_the_suffix(calls in proptest::collection::vec(call(), 0..80)) {
        let limits = MemoryEventLogLimits::default();
        let log = MemoryEventLog::new(limits);
        block_on(replay_is_the_suffix_in(&log, &calls, false))?;
    }

    /// Within limits, a replay is either the suffix or reports a gap.
    #[test]
    fn replay_within_bounds_is_the_suffix_or_a_gap(
        calls in proptest::collection::vec(call(), 0..80),
        events in 0..5usize,
        total in 0..8usize,
        streams in 1..5usize,
    ) {
        let limits = MemoryEventLogLimits::default()
            .with_events_per_stream(events)
            .with_total_bytes(total * COST)
            .with_streams(streams);
        let log = MemoryEventLog::new(limits);
        block_on(replay_is_the_suffix_in(&log, &calls, true))?;
        log.lock().check();
    }

    /// A reader that follows a stream while it is written sees each entry once, wherever the writer pauses.
    #[test]
    fn following_reader_sees_every_entry_once(
        pauses in proptest::collection::vec(0..3u8, 1..40),
        reader_pauses in proptest::collection::vec(0..3u8, 1..8),
    ) {
        let log = TestLog::new(MemoryEventLogLimits::default());
        let count = pauses.len() as u64;
        let seen = block_on(async {
            log.fill("a", 0).await;
            let write = async {
                for (number, pause) in (1..).zip(pauses) {
                    log.append("a", message(number)).await;
                    for _ in 0..pause {
                        tokio::task::yield_now().await;
                    }
                }
                log.append("a", LogEntry::End).await;
            };
            let (seen, ()) = tokio::join!(follow(&log, &reader_pauses), write);
            seen
        });
        let mut expected: Vec<_> = (1..=count).map(|number| (number, message(number))).collect();
        expected.push((count + 1, LogEntry::End));
        prop_assert_eq!(seen, expected);
    }
}

async fn follow(log: &TestLog, pauses: &[u8]) -> Vec<(u64, LogEntry)> {
    let mut seen: Vec<(u64, LogEntry)> = Vec::new();
    for pause in pauses.iter().cycle() {
        let last = seen.last().map_or(0, |(number, _)| *number);
        match log.wait("a", last, Duration::from_secs(1)).await {
            Replay::Entries(entries) => seen.extend(entries),
            other => panic!("{other:?}"),
        }
        if matches!(seen.last(), Some((_, LogEntry::End))) {
            break;
        }
        for _ in 0..*pause {
            tokio::task::yield_now().await;
        }
    }
    seen
}

/// Compares a log with lists of all entries that were appended and not removed by name. Each stream has its own
/// session.
async fn replay_is_the_suffix_in(
    log: &MemoryEventLog,
    calls: &[Call],
    bounded: bool,
) -> Result<(), TestCaseError> {
    let owner = Principal::anonymous();
    let mut lists: [Vec<(u64, LogEntry)>; 4] = Default::default();
    let mut writers: [Option<LogWriter>; 4] = Default::default();
    let mut known = [false; 4];
    for (index, call) in calls.iter().enumerate() {
        let (Call::Append(stream)
        | Call::End(stream)
        | Call::Read(stream, _)
        | Call::RemoveSession(stream)) = call;
        let (stream, name) = (*stream, stream.to_string());
        let key = StreamKey::new(name.clone(), "stream");
        match call {
            Call::Append(_) | Call::End(_) => {
                let entry = match call {
                    Call::End(_) => LogEntry::End,
                    _ => message(index as u64),
                };
                let mut writer = match writers[stream] {
                    Some(writer) => writer,
                    None => log.open(&owner, &key, 1, None).await.unwrap(),
                };
                let mut entries = vec![entry.clone()];
                let mut appended = log.append(&owner, &key, writer, &entries).await.unwrap();
                if let Appended::Lost { .. } = appended {
                    prop_assert!(bounded || !known[stream]);
                    writer = log.open(&owner, &key, writer.next, None).await.unwrap();
                    appended = log.append(&owner, &key, writer, &entries).await.unwrap();
                }
                known[stream] = true;
                match appended {
                    Appended::Stored => lists[stream].push((writer.next, entries.remove(0))),
                    Appended::Ended => {
                        let last = lists[stream].last();
                        prop_assert_eq!(last.map(|(_, entry)| entry), Some(&LogEntry::End));
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
                if appended == Appended::Stored {
                    writer.next += 1;
                }
                writers[stream] = Some(writer);
            }
            Call::Read(_, after) => {
                let replay = log
                    .read_after(&owner, &key, *after, Duration::ZERO)
                    .await
                    .unwrap();
                let suffix: Vec<_> = lists[stream]
                    .iter()
                    .filter(|(number, _)| number > after)
                    .cloned()
                    .collect();
                match replay {
                    Replay::Entries(entries) => prop_assert_eq!(entries, suffix),
                    Replay::Gap { oldest } => {
                        let oldest_number = suffix.first().map(|(number, _)| *number);
                        prop_assert!(bounded || oldest_number == Some(oldest));
                        prop_assert!(oldest > after + 1);
                    }
                    Replay::Ended => {
                        let last = lists[stream].last();
                        prop_assert_eq!(last, Some(&(*after, LogEntry::End)));
                    }
                    Replay::Unknown => {
                        let nothing_left = suffix.is_empty();
                        prop_assert!(bounded || !known[stream] || nothing_left);
                    }
                }
            }
            Call::RemoveSession(_) => {
                log.remove_session(&owner, &name).await.unwrap();
                known[stream] = false;
                lists[stream].clear();
            }
        }
    }
    Ok(())
}
