//! Tests of each kind's rule, and of all rules against a queue that never drops anything.

use std::collections::HashMap;

use proptest::prelude::*;

use super::OutgoingKind::{Log, Other, Request, Response};
use super::*;

fn limited(messages: usize, bytes: usize) -> Outbox {
    Outbox::new(OutboxLimits { messages, bytes })
}

fn message(kind: &OutgoingKind, text: &str) -> Outgoing {
    Outgoing::new(kind.clone(), text.as_bytes().to_vec())
}

fn progress(token: &str) -> OutgoingKind {
    OutgoingKind::Progress(token.into())
}

fn list_changed(method: &'static str, subscription: Option<&str>) -> OutgoingKind {
    OutgoingKind::ListChanged {
        method: method.into(),
        subscription: subscription.map(str::to_owned),
    }
}

fn updated(uri: &str, subscription: Option<&str>) -> OutgoingKind {
    OutgoingKind::ResourceUpdated {
        uri: uri.to_owned(),
        subscription: subscription.map(str::to_owned),
    }
}

/// Pushes all messages into a queue for four, then lists the messages that it returns.
#[track_caller]
fn check(pushed: &[(&OutgoingKind, &str)], expected: &str, dropped: (u64, u64, u64)) {
    let mut outbox = limited(4, 100);
    let mut lost = 0;
    for (kind, text) in pushed {
        lost += outbox.push(message(kind, text));
    }
    let counted = outbox.dropped();
    assert_eq!((counted.logs, counted.progress, counted.changes), dropped);
    assert_eq!(lost, dropped.0 + dropped.1);
    let mut out = Vec::new();
    let count = outbox.pop_all_into(&mut out, |out, bytes| {
        out.extend_from_slice(bytes);
        out.push(b' ');
    });
    assert_eq!(String::from_utf8(out).unwrap().trim_end(), expected);
    assert_eq!(count, expected.split_whitespace().count());
    assert!(outbox.is_empty() && outbox.changes.is_empty() && outbox.logs.is_empty());
    assert_eq!((outbox.len(), outbox.bytes()), (0, 0));
}

#[test]
fn lines_count_as_messages_and_are_not_framed_again() {
    let lines = OutgoingKind::Lines { messages: 2 };
    for others_before in [0, 1] {
        let mut outbox = limited(4, 100);
        for _ in 0..others_before {
            outbox.push(message(&Other, "other"));
        }
        outbox.push(message(&lines, "a\nb\n"));
        outbox.push(message(&Response, "c"));
        assert_eq!(outbox.len(), 3 + others_before);
        assert_eq!(outbox.is_full(), others_before == 1);
        let mut out = Vec::new();
        let count = outbox.pop_all_into(&mut out, |out, bytes| {
            out.extend_from_slice(bytes);
            out.push(b'.');
        });
        assert_eq!(count, 3 + others_before);
        assert!(out.ends_with(b"a\nb\nc."));
        assert_eq!(out.starts_with(b"other."), others_before == 1);
        assert_eq!((outbox.len(), outbox.bytes()), (0, 0));
    }
    let mut outbox = limited(4, 100);
    outbox.push(message(&lines, "a\nb\n"));
    let mut out = b"before ".to_vec();
    outbox.pop_all_into(&mut out, |_, _| unreachable!("nothing is left to frame"));
    assert_eq!(out, b"before a\nb\n");
    outbox.push(message(&lines, "a\nb\n"));
    assert_eq!(outbox.pop().unwrap().kind, lines);
    assert!(outbox.is_empty());
}

#[test]
fn responses_requests_and_others_are_never_dropped() {
    check(
        &[
            (&Response, "1"),
            (&Request, "2"),
            (&Other, "3"),
            (&Response, "4"),
            (&Response, "5"),
            (&Other, "6"),
            (&Request, "7"),
        ],
        "1 2 3 4 5 6 7",
        (0, 0, 0),
    );
}

#[test]
fn progress_is_replaced_only_when_the_queue_is_full() {
    let (a, b) = (&progress("a"), &progress("b"));
    check(
        &[(a, "a1"), (a, "a2"), (b, "b1"), (a, "a3")],
        "a1 a2 b1 a3",
        (0, 0, 0),
    );
    check(
        &[
            (a, "a1"),
            (a, "a2"),
            (b, "b1"),
            (&Response, "r"),
            (a, "a3"),
            (a, "a4"),
        ],
        "a1 a4 b1 r",
        (0, 2, 0),
    );
    check(
        &[
            (&Response, "1"),
            (&Response, "2"),
            (&Response, "3"),
            (&Response, "4"),
            (a, "a1"),
            (b, "b1"),
            (a, "a2"),
        ],
        "1 2 3 4 a2 b1",
        (0, 1, 0),
    );
}

#[test]
fn oldest_log_entry_is_dropped() {
    check(
        &[
            (&Log, "1"),
            (&Response, "r"),
            (&Log, "2"),
            (&Log, "3"),
            (&Log, "4"),
            (&Log, "5"),
        ],
        "r 3 4 5",
        (2, 0, 0),
    );
    check(
        &[
            (&Response, "1"),
            (&Response, "2"),
            (&Response, "3"),
            (&Response, "4"),
            (&Log, "x"),
        ],
        "1 2 3 4",
        (1, 0, 0),
    );
}

#[test]
fn log_entry_over_the_byte_limit_is_queued_only_alone() {
    let long = "x".repeat(101);
    check(&[(&Log, &long)], &long, (0, 0, 0));
    check(&[(&Log, "1"), (&Log, "2"), (&Log, &long)], &long, (2, 0, 0));
    check(&[(&Response, "r"), (&Log, &long)], "r", (1, 0, 0));
}

#[test]
fn queued_change_is_not_queued_twice() {
    let (tools, prompts) = (&list_changed("tools", None), &list_changed("prompts", None));
    let subscribed = &list_changed("tools", Some("s"));
    check(
        &[
            (tools, "t1"),
            (prompts, "p1"),
            (tools, "t2"),
            (subscribed, "s1"),
            (subscribed, "s2"),
        ],
        "t2 p1 s2",
        (0, 0, 2),
    );
    let (x, y) = (&updated("x", None), &updated("y", None));
    check(
        &[
            (x, "x1"),
            (&Other, "o"),
            (y, "y1"),
            (x, "x2"),
            (&updated("x", Some("s")), "z1"),
        ],
        "x2 o y1 z1",
        (0, 0, 1),
    );
}

#[test]
fn change_is_queued_again_after_it_was_sent() {
    let mut outbox = limited(4, 100);
    for text in ["1", "2", "3"] {
        outbox.push(message(&updated("x", None), text));
        assert_eq!(outbox.pop(), Some(message(&updated("x", None), text)));
        assert_eq!(outbox.pop(), None);
    }
}

#[test]
fn queue_is_full_at_its_limits() {
    let mut outbox = limited(3, 10);
    let full_after = |outbox: &mut Outbox, text: &str| {
        outbox.push(message(&Response, text));
        outbox.is_full()
    };
    assert!(!full_after(&mut outbox, "1"));
    assert!(!full_after(&mut outbox, "2"));
    assert!(full_after(&mut outbox, "3"));
    assert!(full_after(&mut outbox, "4"));
    while outbox.pop().is_some() {}
    assert!(!full_after(&mut outbox, "123456789"));
    assert!(full_after(&mut outbox, "0"));
    assert_eq!((outbox.len(), outbox.bytes()), (2, 10));
}

#[test]
fn emptied_queue_works_again() {
    let (list, a) = (&list_changed("tools", None), &progress("a"));
    let mut outbox = limited(4, 100);
    for round in ["1", "2"] {
        for kind in [list, list, &Log, a] {
            outbox.push(message(kind, round));
        }
        let mut out = Vec::new();
        assert_eq!(
            outbox.pop_all_into(&mut out, |out, bytes| out.extend(bytes)),
            3
        );
        assert_eq!(String::from_utf8(out).unwrap(), round.repeat(3));
    }
    assert_eq!(outbox.dropped().changes, 2);
}

#[test]
fn dropped_logs_leave_no_growing_gaps() {
    let mut outbox = limited(4, 100);
    outbox.push(message(&Response, "r"));
    outbox.push(message(&progress("a"), "a1"));
    for _ in 0..10_000 {
        outbox.push(message(&Log, "l"));
        assert!(outbox.entries.len() <= 2 * 4 + 65);
    }
    outbox.push(message(&progress("a"), "a2"));
    assert_eq!(outbox.pop(), Some(message(&Response, "r")));
    assert_eq!(outbox.pop(), Some(message(&progress("a"), "a2")));
    assert_eq!(outbox.pop(), Some(message(&Log, "l")));
    assert_eq!(
        outbox.dropped(),
        Dropped {
            logs: 9_998,
            progress: 1,
            changes: 0
        }
    );
}

fn kinds() -> impl Strategy<Value = Option<OutgoingKind>> {
    prop_oneof![
        3 => Just(None),
        2 => Just(Some(Response)),
        1 => Just(Some(Request)),
        3 => prop::sample::select(vec!["a", "b"]).prop_map(|token| Some(progress(token))),
        4 => Just(Some(Log)),
        1 => Just(Some(list_changed("tools", None))),
        3 => prop::sample::select(vec!["x", "y", "z"]).prop_map(|uri| Some(updated(uri, None))),
        1 => Just(Some(Other)),
    ]
}

proptest! {
    /// `None` pops. Each message contains the number of its push.
    #[test]
    fn lossless_messages_are_never_lost_or_reordered(
        steps in prop::collection::vec(kinds(), 0..400),
        messages in 1_usize..8,
        bytes in 1_usize..24,
    ) {
        let mut outbox = limited(messages, bytes);
        let mut pushed: Vec<OutgoingKind> = Vec::new();
        let mut left: Vec<(OutgoingKind, usize)> = Vec::new();
        let number = |outgoing: &Outgoing| {
            std::str::from_utf8(&outgoing.bytes).unwrap().parse::<usize>().unwrap()
        };
        for step in steps {
            match step {
                Some(kind) => {
                    let text = pushed.len().to_string();
                    outbox.push(message(&kind, &text));
                    pushed.push(kind);
                }
                None => left.extend(outbox.pop().map(|outgoing| (outgoing.kind.clone(), number(&outgoing)))),
            }
            let queued = outbox.entries.iter().flatten();
            prop_assert_eq!(outbox.len(), queued.clone().count());
            prop_assert_eq!(outbox.bytes(), queued.map(|outgoing| outgoing.bytes.len()).sum::<usize>());
        }
        while let Some(outgoing) = outbox.pop() {
            left.push((outgoing.kind.clone(), number(&outgoing)));
        }
        let dropped = outbox.dropped();
        let lost = dropped.logs + dropped.progress + dropped.changes;
        prop_assert_eq!(left.len() as u64 + lost, pushed.len() as u64);

        // Messages that are never dropped are all returned, in order.
        let lossless = |kind: &OutgoingKind| matches!(kind, Response | Request | Other);
        let expected: Vec<usize> = (0..pushed.len()).filter(|&at| lossless(&pushed[at])).collect();
        let actual: Vec<usize> = left.iter().filter(|(kind, _)| lossless(kind)).map(|(_, at)| *at).collect();
        prop_assert_eq!(actual, expected);

        // Every kind is returned in push order. For merged kinds the last message is returned.
        let mut last_left = HashMap::new();
        for (kind, at) in left {
            prop_assert_eq!(&pushed[at], &kind);
            prop_assert!(last_left.insert(kind, at).is_none_or(|earlier| earlier < at));
        }
        for (at, kind) in pushed.iter().enumerate() {
            if kind.is_change() || matches!(kind, OutgoingKind::Progress(_)) {
                prop_assert!(last_left[kind] >= at);
            }
        }
    }
}
