//! The ring of recent events of one type, with limits in age, number and bytes.
//!
//! Events have consecutive positions. A cursor is the position of the next event that its owner has not seen.

use std::collections::VecDeque;
use std::time::Duration;

/// The limits of a ring. The oldest events are dropped beyond them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingLimits {
    /// The maximum age of an event. Default: 10 minutes.
    pub age: Duration,
    /// The maximum number of events. Default: 10,000.
    pub events: usize,
    /// The maximum bytes of all events. The newest event is stored even if it is larger. Default: 16 MiB.
    pub bytes: usize,
}

impl Default for RingLimits {
    fn default() -> Self {
        Self {
            age: Duration::from_secs(10 * 60),
            events: 10_000,
            bytes: 16 * 1024 * 1024,
        }
    }
}

/// The limits of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a page is measured in events and bytes"
)]
pub struct PageLimits {
    /// The maximum number of events.
    pub events: usize,
    /// The maximum bytes of all events. The first event is returned even if it is larger.
    pub bytes: usize,
}

/// Recent events, oldest first.
#[derive(Debug)]
pub struct EventRing<T> {
    limits: RingLimits,
    entries: VecDeque<RingEntry<T>>,
    bytes: usize,
    /// The position of the next event.
    end: u64,
}

#[derive(Debug)]
struct RingEntry<T> {
    time_ms: u64,
    bytes: usize,
    value: T,
}

/// A part of the ring.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingPage<T> {
    /// The events that were selected, each with the position after it.
    pub events: Vec<(u64, T)>,
    /// The position after the last event that was looked at.
    pub end: u64,
    /// Whether events were skipped because they are no longer stored or too old.
    pub truncated: bool,
    /// Whether there are events after `end`.
    pub has_more: bool,
}

impl<T> EventRing<T> {
    /// Creates an empty ring.
    #[must_use]
    pub fn new(limits: RingLimits) -> Self {
        Self {
            limits,
            entries: VecDeque::new(),
            bytes: 0,
            end: 0,
        }
    }

    /// Returns the position of the next event.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of stored events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if no event is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an event, and drops the oldest ones beyond the limits. `now_ms` counts from 1970-01-01.
    ///
    /// The times of events never decrease, also if the clock is set back. So the events that are too old for a caller
    /// are the first ones, and the position after a gap is always after the requested one.
    pub fn push(&mut self, now_ms: u64, bytes: usize, value: T) {
        let last_ms = self.entries.back().map_or(0, |last| last.time_ms);
        self.entries.push_back(RingEntry {
            time_ms: now_ms.max(last_ms),
            bytes,
            value,
        });
        self.bytes += bytes;
        self.end += 1;
        self.trim(now_ms);
    }

    /// Drops the events beyond the limits, but never the newest one for its size.
    pub fn trim(&mut self, now_ms: u64) {
        let oldest_ms = now_ms.saturating_sub(millis(self.limits.age));
        while let Some(first) = self.entries.front() {
            let is_too_much = self.entries.len() > 1
                && (self.entries.len() > self.limits.events || self.bytes > self.limits.bytes);
            if first.time_ms >= oldest_ms && !is_too_much {
                return;
            }
            self.bytes -= first.bytes;
            self.entries.pop_front();
        }
    }

    /// Returns the events from a position on that `select` accepts and that are not older than `not_before_ms`.
    ///
    /// A position of `None` is an unknown one: the page is empty and truncated, and continues at the end. A position
    /// after the end is treated in the same way.
    pub fn page<U>(
        &self,
        position: Option<u64>,
        not_before_ms: Option<u64>,
        limits: PageLimits,
        mut select: impl FnMut(&T) -> Option<U>,
    ) -> RingPage<U> {
        let mut page = RingPage {
            events: Vec::new(),
            end: self.end,
            truncated: true,
            has_more: false,
        };
        let Some(position) = position.filter(|position| *position <= self.end) else {
            return page;
        };
        let start = self.end - self.entries.len() as u64;
        page.truncated = position < start;
        let mut at = position.max(start);
        let skipped = usize::try_from(at - start).unwrap_or(usize::MAX);
        let mut bytes = 0;
        for entry in self.entries.iter().skip(skipped) {
            let is_full = page.events.len() >= limits.events || bytes > limits.bytes;
            let is_too_large = !page.events.is_empty() && bytes + entry.bytes > limits.bytes;
            if is_full || is_too_large {
                page.has_more = true;
                break;
            }
            at += 1;
            if not_before_ms.is_some_and(|earliest| entry.time_ms < earliest) {
                page.truncated = true;
                continue;
            }
            if let Some(selected) = select(&entry.value) {
                bytes += entry.bytes;
                page.events.push((at, selected));
            }
        }
        page.end = at;
        page
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ring(events: usize, bytes: usize) -> EventRing<u64> {
        EventRing::new(RingLimits {
            events,
            bytes,
            ..RingLimits::default()
        })
    }

    fn first(events: usize) -> PageLimits {
        PageLimits {
            events,
            bytes: usize::MAX,
        }
    }

    fn all(ring: &EventRing<u64>, position: u64) -> RingPage<u64> {
        ring.page(Some(position), None, first(100), |value| Some(*value))
    }

    #[test]
    fn oldest_events_are_dropped_at_each_limit() {
        let mut by_number = ring(2, 1000);
        let mut by_bytes = ring(100, 20);
        for value in 0..3 {
            by_number.push(0, 10, value);
            by_bytes.push(0, 10, value);
        }
        for ring in [&by_number, &by_bytes] {
            let page = all(ring, 0);
            assert_eq!(page.events, [(2, 1), (3, 2)]);
            assert!(page.truncated, "event 0 is gone");
            assert!(!all(ring, 1).truncated);
        }
        let mut by_age = ring(100, 1000);
        by_age.push(0, 1, 7);
        by_age.push(600_000, 1, 8);
        assert_eq!(
            all(&by_age, 0).events.len(),
            2,
            "an age of 10 minutes is stored"
        );
        by_age.trim(600_001);
        assert_eq!(all(&by_age, 0).events, [(2, 8)]);
    }

    #[test]
    fn newest_event_is_stored_even_if_it_is_too_large() {
        let mut ring = ring(10, 100);
        ring.push(0, 50, 1);
        ring.push(0, 101, 2);
        assert_eq!(all(&ring, 1).events, [(2, 2)]);
        ring.push(0, 1, 3);
        assert_eq!(all(&ring, 2).events, [(3, 3)], "the large one gives way");
    }

    #[test]
    fn page_ends_at_its_limits() {
        let mut ring = ring(10, 1000);
        for (value, bytes) in [(1, 60), (2, 40), (3, 1), (4, 101), (5, 1)] {
            ring.push(0, bytes, value);
        }
        let page = |position, events| {
            let limits = PageLimits { events, bytes: 100 };
            let page = ring.page(Some(position), None, limits, |value| Some(*value));
            let values: Vec<u64> = page.events.into_iter().map(|(_, value)| value).collect();
            (values, page.end, page.has_more)
        };
        assert_eq!(page(0, 10), (vec![1, 2], 2, true));
        assert_eq!(page(2, 10), (vec![3], 3, true));
        assert_eq!(page(3, 10), (vec![4], 4, true), "too large, but the first");
        assert_eq!(page(4, 10), (vec![5], 5, false));
        assert_eq!(page(0, 1), (vec![1], 1, true));
    }

    #[test]
    fn unknown_positions_are_truncated_and_continue_at_the_end() {
        let mut ring = ring(10, 100);
        ring.push(0, 1, 1);
        for position in [None, Some(2), Some(u64::MAX)] {
            let page = ring.page(position, None, first(10), |value| Some(*value));
            assert!(page.truncated && page.events.is_empty() && !page.has_more);
            assert_eq!(page.end, 1);
        }
        assert!(!all(&ring, 1).truncated, "the end is a known position");
    }

    #[test]
    fn events_that_are_too_old_for_the_caller_are_skipped() {
        let mut ring = ring(10, 100);
        ring.push(100, 1, 1);
        ring.push(200, 1, 2);
        let page =
            |not_before| ring.page(Some(0), Some(not_before), first(10), |value| Some(*value));
        assert_eq!(page(100).events.len(), 2);
        assert!(!page(100).truncated);
        assert_eq!(page(101).events, [(2, 2)]);
        assert!(page(101).truncated);
    }

    proptest! {
        #[test]
        fn pages_return_each_selected_event_once_and_in_order(
            count in 0_u64..60, limit in 1_usize..10, stored in 1_usize..70, step in 1_u64..4,
        ) {
            let mut ring = ring(stored, usize::MAX);
            for value in 0..count {
                ring.push(0, 1, value);
            }
            let (mut position, mut seen) = (0, Vec::new());
            loop {
                let page = ring.page(Some(position), None, first(limit), |value| (value % step == 0).then_some(*value));
                prop_assert!(page.events.len() <= limit);
                prop_assert!(page.end >= position);
                for (after, value) in page.events {
                    prop_assert_eq!(after, value + 1);
                    seen.push(value);
                }
                position = page.end;
                if !page.has_more {
                    break;
                }
            }
            let first = count.saturating_sub(stored as u64);
            let expected: Vec<u64> = (first..count).filter(|value| value % step == 0).collect();
            prop_assert_eq!(seen, expected);
            prop_assert_eq!(position, count);
        }

        #[test]
        fn position_after_a_gap_is_after_the_requested_one(
            times in proptest::collection::vec(0_u64..20, 1..40), not_before in 0_u64..25, step in 1_u64..4,
        ) {
            let mut ring = ring(30, usize::MAX);
            for (value, time) in (0..).zip(times) {
                ring.push(time, 1, value);
            }
            for position in 0..=ring.end() {
                let page = ring.page(Some(position), Some(not_before), first(5), |value| (value % step == 0).then_some(*value));
                if page.truncated {
                    let next = page.events.first().map_or(page.end, |(after, _)| after - 1);
                    prop_assert!(next > position);
                }
                prop_assert!(page.end > position || !page.has_more);
            }
        }

        #[test]
        fn limits_hold_after_every_event(sizes in proptest::collection::vec(0_usize..50, 1..80)) {
            let mut ring = ring(10, 100);
            for (at, size) in sizes.iter().enumerate() {
                ring.push(at as u64, *size, 0);
                prop_assert!(ring.len() <= 10);
                prop_assert!(ring.bytes <= 100 || ring.len() == 1);
                prop_assert_eq!(ring.bytes, ring.entries.iter().map(|entry| entry.bytes).sum::<usize>());
                prop_assert_eq!(ring.end(), at as u64 + 1);
            }
        }
    }
}
