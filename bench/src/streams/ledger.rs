//! The state of every stream.
//!
//! The state is queried after every observation, so it is stored as counts.

use std::time::{Duration, Instant};

use super::stream::{Happening, Observation};

/// The state of all streams.
#[derive(Debug)]
pub(crate) struct Ledger {
    streams: Vec<Entry>,
    /// The number of changes so far.
    changes: usize,
    /// The time of the last change.
    changed_at: Option<Instant>,
    /// The number of streams that may still open.
    opening: usize,
    opened: usize,
    /// The number of open streams that have not received the last change yet.
    listening: usize,
    delivery_times: Vec<Duration>,
    ended: usize,
    duplicates: usize,
    unexpected: usize,
    first_trouble: Option<String>,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    is_open: bool,
    /// The number of the last change that the stream has received, from 1.
    last_heard: usize,
}

impl Ledger {
    pub(crate) fn new(streams: usize) -> Self {
        Self {
            streams: vec![Entry::default(); streams],
            changes: 0,
            changed_at: None,
            opening: streams,
            opened: 0,
            listening: 0,
            delivery_times: Vec::new(),
            ended: 0,
            duplicates: 0,
            unexpected: 0,
            first_trouble: None,
        }
    }

    /// Permits one more change notification for each stream from now on. An earlier one is unexpected.
    pub(crate) fn expect_change(&mut self, now: Instant) {
        self.changes += 1;
        self.changed_at = Some(now);
        self.listening = self.opened - self.ended;
    }

    pub(crate) fn record(&mut self, observation: Observation) {
        let Observation { stream, at, what } = observation;
        let entry = &mut self.streams[stream];
        match what {
            Happening::Acknowledged if entry.is_open => self.wonder(stream, "acknowledged again"),
            Happening::Acknowledged => {
                entry.is_open = true;
                self.opening -= 1;
                self.opened += 1;
                self.listening += usize::from(self.changes > 0);
            }
            Happening::Changed => match self.changed_at {
                _ if !entry.is_open => self.wonder(stream, "a change before the acknowledgement"),
                None => self.wonder(stream, "a change that has not happened"),
                Some(_) if entry.last_heard == self.changes => {
                    self.duplicates += 1;
                    self.note(stream, "heard of the change again");
                }
                Some(since) => {
                    entry.last_heard = self.changes;
                    self.listening -= 1;
                    self.delivery_times
                        .push(at.saturating_duration_since(since));
                }
            },
            Happening::Unexpected(message) => {
                self.wonder(stream, &format!("unexpected message: {message}"));
            }
            Happening::Ended(reason) => {
                if !entry.is_open {
                    self.opening -= 1;
                } else if entry.last_heard < self.changes {
                    self.listening -= 1;
                }
                self.ended += usize::from(entry.is_open);
                self.note(stream, &reason);
            }
        }
    }

    /// Returns `true` if every stream is open or has failed to open.
    pub(crate) fn is_everybody_open_or_gone(&self) -> bool {
        self.opening == 0
    }

    /// Returns `true` if every open stream has received the last change or has ended.
    pub(crate) fn has_everybody_heard(&self) -> bool {
        self.listening == 0
    }

    /// Returns the number of acknowledged streams.
    pub(crate) fn opened(&self) -> usize {
        self.opened
    }

    /// Returns the number of changes so far.
    pub(crate) fn changes(&self) -> usize {
        self.changes
    }

    /// Returns the number of deliveries without repeated ones.
    pub(crate) fn heard(&self) -> usize {
        self.delivery_times.len()
    }

    /// Returns the number of streams that were open and have ended.
    pub(crate) fn ended(&self) -> usize {
        self.ended
    }

    /// Returns the number of repeated deliveries.
    pub(crate) fn duplicates(&self) -> usize {
        self.duplicates
    }

    /// Returns the number of unexpected messages.
    pub(crate) fn unexpected(&self) -> usize {
        self.unexpected
    }

    /// Returns the first error.
    pub(crate) fn first_trouble(&self) -> Option<&str> {
        self.first_trouble.as_deref()
    }

    pub(crate) fn delivery_times(&self) -> &[Duration] {
        &self.delivery_times
    }

    fn wonder(&mut self, stream: usize, trouble: &str) {
        self.unexpected += 1;
        self.note(stream, trouble);
    }

    fn note(&mut self, stream: usize, trouble: &str) {
        self.first_trouble
            .get_or_insert_with(|| format!("stream {stream}: {trouble}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Script {
        ledger: Ledger,
        now: Instant,
    }

    impl Script {
        /// Returns a ledger of two streams.
        fn new() -> Self {
            Self {
                ledger: Ledger::new(2),
                now: Instant::now(),
            }
        }

        fn see(&mut self, stream: usize, what: Happening) {
            let at = self.now;
            self.ledger.record(Observation { stream, at, what });
        }

        fn open_both_and_change(&mut self) {
            self.see(0, Happening::Acknowledged);
            self.see(1, Happening::Acknowledged);
            self.ledger.expect_change(self.now);
            self.now += Duration::from_millis(5);
        }
    }

    fn ended() -> Happening {
        Happening::Ended("reset".to_owned())
    }

    #[test]
    fn opening_is_over_when_each_is_open_or_gone() {
        let mut script = Script::new();
        script.see(0, Happening::Acknowledged);
        assert!(!script.ledger.is_everybody_open_or_gone());
        script.see(1, ended());
        assert!(script.ledger.is_everybody_open_or_gone());
        assert_eq!((script.ledger.opened(), script.ledger.ended()), (1, 0));
        assert_eq!(script.ledger.first_trouble(), Some("stream 1: reset"));
    }

    #[test]
    fn silent_stream_is_waited_for_until_it_ends() {
        let mut script = Script::new();
        script.open_both_and_change();
        script.see(0, Happening::Changed);
        assert!(!script.ledger.has_everybody_heard());
        script.see(1, ended());
        assert!(script.ledger.has_everybody_heard());
        assert_eq!((script.ledger.heard(), script.ledger.ended()), (1, 1));
        assert_eq!(
            script.ledger.delivery_times(),
            [Duration::from_millis(5)],
            "measured from the change on"
        );
    }

    #[test]
    fn second_delivery_does_not_stand_in_for_a_lost_one() {
        let mut script = Script::new();
        script.open_both_and_change();
        script.see(0, Happening::Changed);
        script.see(0, Happening::Changed);
        assert!(!script.ledger.has_everybody_heard());
        assert_eq!((script.ledger.heard(), script.ledger.duplicates()), (1, 1));
    }

    #[test]
    fn second_change_is_delivered_again() {
        let mut script = Script::new();
        script.open_both_and_change();
        script.see(0, Happening::Changed);
        script.see(1, Happening::Changed);
        script.ledger.expect_change(script.now);
        assert!(!script.ledger.has_everybody_heard());
        script.see(0, Happening::Changed);
        script.see(1, Happening::Changed);
        assert!(script.ledger.has_everybody_heard());
        assert_eq!((script.ledger.heard(), script.ledger.changes()), (4, 2));
        script.see(1, Happening::Changed);
        assert_eq!((script.ledger.heard(), script.ledger.duplicates()), (4, 1));
    }

    #[test]
    fn change_out_of_turn_is_unexpected() {
        let mut script = Script::new();
        script.see(0, Happening::Acknowledged);
        script.see(0, Happening::Changed);
        assert_eq!((script.ledger.heard(), script.ledger.unexpected()), (0, 1));
        script.ledger.expect_change(script.now);
        script.see(1, Happening::Changed);
        script.see(0, Happening::Unexpected("{}".to_owned()));
        assert_eq!((script.ledger.heard(), script.ledger.unexpected()), (0, 3));
    }
}
