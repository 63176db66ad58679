//! The state of every stream.
//!
//! The state is queried after every observation, so it is stored as counts.

use std::time::{Duration, Instant};

use super::stream::{Observation, StreamEvent};

/// The state of all streams.
#[derive(Debug)]
pub(crate) struct StreamLog {
    streams: Vec<Entry>,
    /// The number of changes so far.
    changes: usize,
    /// The time of the last change.
    changed_at: Option<Instant>,
    /// The number of streams that may still open.
    opening: usize,
    opened: usize,
    /// The number of open streams that have not received the last change yet.
    pending: usize,
    delivery_times: Vec<Duration>,
    ended: usize,
    duplicates: usize,
    unexpected: usize,
    first_error: Option<String>,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    is_open: bool,
    /// The number of the last change that the stream has received, from 1.
    last_received: usize,
}

impl StreamLog {
    pub(crate) fn new(streams: usize) -> Self {
        Self {
            streams: vec![Entry::default(); streams],
            changes: 0,
            changed_at: None,
            opening: streams,
            opened: 0,
            pending: 0,
            delivery_times: Vec::new(),
            ended: 0,
            duplicates: 0,
            unexpected: 0,
            first_error: None,
        }
    }

    /// Permits one more change notification for each stream from now on. An earlier one is unexpected.
    pub(crate) fn expect_change(&mut self, now: Instant) {
        self.changes += 1;
        self.changed_at = Some(now);
        self.pending = self.opened - self.ended;
    }

    pub(crate) fn record(&mut self, observation: Observation) {
        let Observation { stream, at, event } = observation;
        let entry = &mut self.streams[stream];
        match event {
            StreamEvent::Acknowledged if entry.is_open => {
                self.record_unexpected(stream, "acknowledged again");
            }
            StreamEvent::Acknowledged => {
                entry.is_open = true;
                self.opening -= 1;
                self.opened += 1;
                self.pending += usize::from(self.changes > 0);
            }
            StreamEvent::Changed => match self.changed_at {
                _ if !entry.is_open => {
                    self.record_unexpected(stream, "a change before the acknowledgement");
                }
                None => self.record_unexpected(stream, "a change that was not made"),
                Some(_) if entry.last_received == self.changes => {
                    self.duplicates += 1;
                    self.record_error(stream, "received the change again");
                }
                Some(since) => {
                    entry.last_received = self.changes;
                    self.pending -= 1;
                    self.delivery_times
                        .push(at.saturating_duration_since(since));
                }
            },
            StreamEvent::Unexpected(message) => {
                self.record_unexpected(stream, &format!("unexpected message: {message}"));
            }
            StreamEvent::Ended(reason) => {
                if !entry.is_open {
                    self.opening -= 1;
                } else if entry.last_received < self.changes {
                    self.pending -= 1;
                }
                self.ended += usize::from(entry.is_open);
                self.record_error(stream, &reason);
            }
        }
    }

    /// Returns `true` if every stream is open or has failed to open.
    pub(crate) fn all_opened_or_failed(&self) -> bool {
        self.opening == 0
    }

    /// Returns `true` if every open stream has received the last change or has ended.
    pub(crate) fn all_received(&self) -> bool {
        self.pending == 0
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
    pub(crate) fn received(&self) -> usize {
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
    pub(crate) fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }

    pub(crate) fn delivery_times(&self) -> &[Duration] {
        &self.delivery_times
    }

    fn record_unexpected(&mut self, stream: usize, error: &str) {
        self.unexpected += 1;
        self.record_error(stream, error);
    }

    fn record_error(&mut self, stream: usize, error: &str) {
        self.first_error
            .get_or_insert_with(|| format!("stream {stream}: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        log: StreamLog,
        now: Instant,
    }

    impl Fixture {
        /// Creates a log of two streams.
        fn new() -> Self {
            Self {
                log: StreamLog::new(2),
                now: Instant::now(),
            }
        }

        fn observe(&mut self, stream: usize, event: StreamEvent) {
            let at = self.now;
            self.log.record(Observation { stream, at, event });
        }

        fn open_both_and_change(&mut self) {
            self.observe(0, StreamEvent::Acknowledged);
            self.observe(1, StreamEvent::Acknowledged);
            self.log.expect_change(self.now);
            self.now += Duration::from_millis(5);
        }
    }

    fn ended() -> StreamEvent {
        StreamEvent::Ended("reset".to_owned())
    }

    #[test]
    fn opening_ends_when_every_stream_is_open_or_has_failed() {
        let mut fixture = Fixture::new();
        fixture.observe(0, StreamEvent::Acknowledged);
        assert!(!fixture.log.all_opened_or_failed());
        fixture.observe(1, ended());
        assert!(fixture.log.all_opened_or_failed());
        assert_eq!((fixture.log.opened(), fixture.log.ended()), (1, 0));
        assert_eq!(fixture.log.first_error(), Some("stream 1: reset"));
    }

    #[test]
    fn stream_without_the_change_is_pending_until_it_ends() {
        let mut fixture = Fixture::new();
        fixture.open_both_and_change();
        fixture.observe(0, StreamEvent::Changed);
        assert!(!fixture.log.all_received());
        fixture.observe(1, ended());
        assert!(fixture.log.all_received());
        assert_eq!((fixture.log.received(), fixture.log.ended()), (1, 1));
        assert_eq!(
            fixture.log.delivery_times(),
            [Duration::from_millis(5)],
            "the time starts at the change"
        );
    }

    #[test]
    fn repeated_delivery_does_not_replace_a_lost_one() {
        let mut fixture = Fixture::new();
        fixture.open_both_and_change();
        fixture.observe(0, StreamEvent::Changed);
        fixture.observe(0, StreamEvent::Changed);
        assert!(!fixture.log.all_received());
        assert_eq!((fixture.log.received(), fixture.log.duplicates()), (1, 1));
    }

    #[test]
    fn second_change_is_expected_on_every_stream() {
        let mut fixture = Fixture::new();
        fixture.open_both_and_change();
        fixture.observe(0, StreamEvent::Changed);
        fixture.observe(1, StreamEvent::Changed);
        fixture.log.expect_change(fixture.now);
        assert!(!fixture.log.all_received());
        fixture.observe(0, StreamEvent::Changed);
        fixture.observe(1, StreamEvent::Changed);
        assert!(fixture.log.all_received());
        assert_eq!((fixture.log.received(), fixture.log.changes()), (4, 2));
        fixture.observe(1, StreamEvent::Changed);
        assert_eq!((fixture.log.received(), fixture.log.duplicates()), (4, 1));
    }

    #[test]
    fn change_before_its_call_or_acknowledgement_is_unexpected() {
        let mut fixture = Fixture::new();
        fixture.observe(0, StreamEvent::Acknowledged);
        fixture.observe(0, StreamEvent::Changed);
        assert_eq!((fixture.log.received(), fixture.log.unexpected()), (0, 1));
        fixture.log.expect_change(fixture.now);
        fixture.observe(1, StreamEvent::Changed);
        fixture.observe(0, StreamEvent::Unexpected("{}".to_owned()));
        assert_eq!((fixture.log.received(), fixture.log.unexpected()), (0, 3));
    }
}
