//! The entries and names that a log stores unchanged.

use bytes::Bytes;

use crate::store::contract::events::Case;
use crate::store::contract::{unique_name, user};
use crate::store::{LogEntry, Replay, StreamKey};

/// The size of the largest entry: the default limit of a message.
const LARGEST: usize = 4 * 1024 * 1024;

/// Names that an adapter could confuse if it joined them without an encoding.
const UNUSUAL_NAMES: [&str; 8] = [
    "{a}",
    "a}b",
    "a%7Db",
    "a:b",
    "a b",
    "a\r\nb",
    "*",
    "é\u{2603}",
];

pub(super) async fn entries_are_stored_byte_for_byte(case: &Case) {
    case.open().await;
    let every_byte: Bytes = (0..=u8::MAX).collect();
    let large: Bytes = (0..LARGEST).map(|index| (index % 251) as u8).collect();
    for (number, bytes) in (1..).zip([every_byte, large]) {
        let entry = LogEntry::Message(bytes);
        assert_eq!(case.append(entry.clone()).await, number);
        let is_unchanged = case.read(number - 1).await == Replay::Entries(vec![(number, entry)]);
        assert!(
            is_unchanged,
            "an entry of any bytes is returned unchanged, and the newest one whatever its size: entry {number}"
        );
    }
    case.remove_session().await;
}

pub(super) async fn unusual_names_are_separate(case: &Case) {
    let prefix = unique_name("session");
    let with = |session: &str, stream: &str| {
        let key = StreamKey::new(format!("{prefix}{session}"), stream);
        case.with_owner_and_key(user("alice"), key)
    };
    let names = UNUSUAL_NAMES;
    let streams: Vec<Case> = names.iter().map(|name| with(name, "s")).collect();
    let others: Vec<Case> = names.iter().map(|name| with("", name)).collect();
    let all = || streams.iter().chain(&others).zip(0_u64..);
    let entry = |number: u64| LogEntry::Message(Bytes::from(number.to_string()));
    for (stream, number) in all() {
        stream.open().await;
        stream.append(entry(number)).await;
    }
    for (stream, number) in all() {
        assert_eq!(
            stream.read(0).await,
            Replay::Entries(vec![(1, entry(number))]),
            "streams with unusual names are separate: {:?}",
            stream.key
        );
    }
    for (stream, _) in all() {
        stream.remove_session().await;
    }
}
