//! What all event types of a server share: the limits and the count of open streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use toolwire_proto::events::{HEARTBEAT_INTERVAL, MAX_HEARTBEAT_INTERVAL, exhausted};
use toolwire_types::ErrorObject;

/// The number of events of a page if the client requests no other number, and of each page of a stream.
pub(crate) const PAGE_EVENTS: usize = 100;

/// The maximum bytes of the data, ids and cursors of one page. A page whose first position comes later is larger.
pub(crate) const MAX_PAGE_BYTES: usize = 1024 * 1024;

/// The limits of the events of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventLimits {
    /// The maximum number of open `events/stream` requests, which are not counted as running requests. Another one gets
    /// −32025. Default: 10,000.
    pub streams: usize,
    /// The maximum number of events in the result of a poll, whatever the client requests. Default: 1000.
    pub page_events: usize,
    /// The time after which a stream without events gets a heartbeat, at most 30 s. Default: 15 s.
    pub heartbeat: Duration,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self {
            streams: 10_000,
            page_events: 1000,
            heartbeat: HEARTBEAT_INTERVAL,
        }
    }
}

impl EventLimits {
    /// Returns the number of events that a poll may return.
    pub(super) fn page(&self, requested: Option<u64>) -> usize {
        let requested = requested.map(|events| usize::try_from(events).unwrap_or(usize::MAX));
        // Some clients mean "no limit" by zero, and a page without events would never end.
        let requested = requested.filter(|events| *events > 0);
        requested
            .unwrap_or(PAGE_EVENTS)
            .min(self.page_events.max(1))
    }

    pub(super) fn heartbeat(&self) -> Duration {
        self.heartbeat.min(MAX_HEARTBEAT_INTERVAL)
    }
}

/// The state that all event types of a server share.
#[derive(Debug, Default)]
pub(crate) struct EventState {
    pub(crate) limits: EventLimits,
    streams: AtomicUsize,
}

impl EventState {
    pub(crate) fn new(limits: EventLimits) -> Self {
        Self {
            limits,
            streams: AtomicUsize::new(0),
        }
    }

    /// Counts a stream until the permit is dropped.
    pub(super) fn open_stream(self: &Arc<Self>) -> Result<EventStreamPermit, ErrorObject> {
        let max = self.limits.streams;
        // Counted first. If the limit is exceeded, dropping the permit subtracts it again.
        let open = self.streams.fetch_add(1, Ordering::AcqRel);
        let permit = EventStreamPermit(Arc::clone(self));
        if open < max {
            return Ok(permit);
        }
        Err(exhausted(
            "too many event streams are open; close some first, or poll",
            "streams",
            max as u64,
        ))
    }
}

/// The right of one stream to be open. It is released on drop.
#[derive(Debug)]
pub(super) struct EventStreamPermit(Arc<EventState>);

impl Drop for EventStreamPermit {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_streams_equals_the_limit() {
        let limits = EventLimits {
            streams: 1,
            ..EventLimits::default()
        };
        let state = Arc::new(EventState::new(limits));
        let first = state.open_stream().unwrap();
        let error = state.open_stream().unwrap_err();
        assert_eq!(error.code, -32025);
        assert!(error.data.unwrap().get().contains("\"max\":1"));
        drop(first);
        assert!(state.open_stream().is_ok());
    }

    #[test]
    fn page_has_the_requested_number_of_events_within_the_limit() {
        let limits = EventLimits::default();
        assert_eq!(limits.page(None), 100);
        assert_eq!(limits.page(Some(0)), 100);
        assert_eq!(limits.page(Some(1)), 1);
        assert_eq!(limits.page(Some(1000)), 1000);
        assert_eq!(limits.page(Some(1001)), 1000);
        assert_eq!(limits.page(Some(u64::MAX)), 1000);
    }

    #[test]
    fn heartbeat_is_at_most_30_seconds() {
        let limits = EventLimits {
            heartbeat: Duration::MAX,
            ..EventLimits::default()
        };
        assert_eq!(limits.heartbeat(), Duration::from_secs(30));
        assert_eq!(EventLimits::default().heartbeat(), Duration::from_secs(15));
    }
}
