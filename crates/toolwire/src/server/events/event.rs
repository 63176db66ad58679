//! Events and pages of events, as a source returns them.

use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;
use toolwire_types::RawJson;

/// One event.
///
/// The id is the same whenever the event is delivered again, so that clients can ignore repetitions. Use the id that the
/// event has in your own system. Without one, the position after the event is its id. An
/// [`Emitter`](crate::events::Emitter) generates one.
#[derive(Debug, Clone)]
#[must_use = "an event has no effect until it is emitted or returned"]
pub struct Event<P> {
    pub(super) data: P,
    pub(super) id: Option<Arc<str>>,
    pub(super) time: SystemTime,
    pub(super) cursor: Option<String>,
}

impl<P> Event<P> {
    /// Creates an event that happens now, without an id.
    pub fn new(data: P) -> Self {
        Self {
            data,
            id: None,
            time: SystemTime::now(),
            cursor: None,
        }
    }

    /// Sets the id.
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(Arc::from(id.into()));
        self
    }

    /// Sets when the event happened. Default: now.
    pub fn with_time(mut self, time: SystemTime) -> Self {
        self.time = time;
        self
    }

    /// Sets the position after this event, so that a client can continue after it, and that a page with too many events or
    /// bytes can end there. The last event of a page has the position of the page. An
    /// [`Emitter`](crate::events::Emitter) sets its own.
    pub fn with_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }
}

/// The data of an event of a page: a value, or the JSON that an emitter stores.
#[derive(Debug, Clone)]
pub(super) enum EventData<P> {
    Value(P),
    Encoded(Arc<RawJson>),
}

impl<P: Serialize> EventData<P> {
    pub(super) fn encode(&self) -> serde_json::Result<Arc<RawJson>> {
        match self {
            Self::Value(value) => RawJson::from_serialize(value).map(Arc::new),
            Self::Encoded(data) => Ok(Arc::clone(data)),
        }
    }
}

impl<P> From<P> for Event<P> {
    fn from(data: P) -> Self {
        Self::new(data)
    }
}

/// The events after a position, oldest first, and the position after them.
#[derive(Debug, Clone)]
#[must_use = "a page has no effect until it is returned"]
pub struct EventPage<P> {
    pub(super) events: Vec<Event<EventData<P>>>,
    pub(super) cursor: String,
    pub(super) truncated: bool,
    pub(super) has_more: bool,
}

impl<P> EventPage<P> {
    /// Creates a page. `cursor` is the position after all events of the page, and what the next request starts from. Its
    /// text is up to the source. If the list is empty, nothing happened.
    pub fn new(
        events: impl IntoIterator<Item = impl Into<Event<P>>>,
        cursor: impl Into<String>,
    ) -> Self {
        let events = events.into_iter().map(|event| {
            let Event {
                data,
                id,
                time,
                cursor,
            } = event.into();
            let data = EventData::Value(data);
            Event {
                data,
                id,
                time,
                cursor,
            }
        });
        Self::of(events.collect(), cursor.into())
    }

    pub(super) fn of(events: Vec<Event<EventData<P>>>, cursor: String) -> Self {
        Self {
            events,
            cursor,
            truncated: false,
            has_more: false,
        }
    }

    /// Creates a page without events, for a start without a cursor.
    pub fn empty(cursor: impl Into<String>) -> Self {
        Self::new(Vec::<Event<P>>::new(), cursor)
    }

    /// Declares that events before this page were skipped, for example because they are no longer stored or the cursor
    /// is unknown.
    pub fn truncated(mut self) -> Self {
        self.truncated = true;
        self
    }

    /// Declares that more events are ready after this page.
    pub fn with_more(mut self) -> Self {
        self.has_more = true;
        self
    }
}
