//! A source for events without a history of their own: recent events are stored in memory.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::events::{CursorKey, EventRing, PageLimits, RingLimits};
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::since_epoch;
use crate::error::Error;
use crate::server::events::context::EventContext;
use crate::server::events::erased::epoch_ms;
use crate::server::events::event::{Event, EventData, EventPage};
use crate::server::events::signal::EventSignal;
use crate::server::events::source::{EventSource, Since};
use crate::server::events::state::MAX_PAGE_BYTES;
use crate::sync::lock;

/// The maximum bytes of the data of one event. The whole body of a webhook has the same limit, so an event with data close
/// to it is delivered by polls and streams only.
const MAX_EVENT_BYTES: usize = 256 * 1024;

/// The memory of a stored event besides its data.
const EVENT_OVERHEAD: usize = 256;

/// A source of events that a program emits as they happen. Clones share the events.
///
/// Recent events are stored: those of the last 10 minutes, at most 10,000 events and 16 MiB. A client that was away for
/// longer learns that it missed events. The events are stored in this process, so they reach only clients of this node.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolwire::Error> {
/// use serde::{Deserialize, Serialize};
/// use toolwire::events::{Emitter, Event};
/// use toolwire::{JsonSchema, Server};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Filter { severity: u8 }
///
/// #[derive(Serialize, JsonSchema)]
/// struct Incident { severity: u8, title: String }
///
/// let incidents = Emitter::new()
///     .matching(|filter: &Filter, incident: &Incident| incident.severity >= filter.severity)
///     .with_description("An incident was created.");
/// let server = Server::new("desk", "1.0.0").event("incident.created", incidents.clone());
///
/// let incident = Incident { severity: 2, title: "The printer is on fire".to_owned() };
/// incidents.emit(Event::new(incident).with_id("INC-17"))?;
/// # drop(server);
/// # Ok(())
/// # }
/// ```
pub struct Emitter<A, P> {
    ring: Arc<Mutex<EventRing<Arc<StoredEvent<P>>>>>,
    key: CursorKey,
    signal: EventSignal,
    matches: Arc<Matcher<A, P>>,
    description: Option<String>,
    scopes: Vec<String>,
}

/// Decides whether a subscription with these arguments receives an event.
type Matcher<A, P> = dyn Fn(&A, &P) -> bool + Send + Sync;

struct StoredEvent<P> {
    value: P,
    data: Arc<RawJson>,
    id: Arc<str>,
    time: SystemTime,
}

impl<A, P> Emitter<A, P> {
    /// Creates an emitter whose events all clients receive that subscribe to them.
    ///
    /// # Panics
    /// Panics if the operating system provides no random bytes.
    #[must_use]
    pub fn new() -> Self {
        let mut random = [0; 16];
        getrandom::fill(&mut random).expect("the operating system provides random bytes");
        Self {
            ring: Arc::new(Mutex::new(EventRing::new(RingLimits::default()))),
            key: CursorKey::new(random),
            signal: EventSignal::new(),
            matches: Arc::new(|_, _| true),
            description: None,
            scopes: Vec::new(),
        }
    }

    /// Sets which events a subscription with these arguments receives.
    #[must_use]
    pub fn matching(mut self, matches: impl Fn(&A, &P) -> bool + Send + Sync + 'static) -> Self {
        self.matches = Arc::new(matches);
        self
    }

    /// Sets the limits of the stored events. Events that were emitted before are dropped.
    #[must_use]
    pub fn with_limits(mut self, limits: RingLimits) -> Self {
        self.ring = Arc::new(Mutex::new(EventRing::new(limits)));
        self
    }

    /// Sets the description that clients see. Default: the documentation of the payload type.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds scopes that an access token must grant to receive the events over HTTP.
    #[must_use]
    pub fn requires_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }
}

impl<A, P: Serialize> Emitter<A, P> {
    /// Emits an event. It does not wait for clients.
    ///
    /// # Errors
    /// Returns an error if the data cannot be written as JSON, or has more than 256 KiB.
    pub fn emit(&self, event: impl Into<Event<P>>) -> Result<(), Error> {
        let event: Event<P> = event.into();
        let data = RawJson::from_serialize(&event.data).map_err(|error| {
            Error::invalid_request(format!("the event could not be written as JSON: {error}"))
        })?;
        let bytes = data.get().len();
        if bytes > MAX_EVENT_BYTES {
            return Err(Error::invalid_request(format!(
                "the event has {bytes} bytes; the limit is {MAX_EVENT_BYTES}, so send an id instead"
            )));
        }
        let mut ring = lock(&self.ring);
        let new_id = || self.key.encode(None, ring.end()).into();
        let stored = StoredEvent {
            id: event.id.unwrap_or_else(new_id),
            value: event.data,
            data: Arc::new(data),
            time: event.time,
        };
        let bytes = bytes + stored.id.len() + EVENT_OVERHEAD;
        ring.push(now_ms(), bytes, Arc::new(stored));
        drop(ring);
        self.signal.send();
        Ok(())
    }
}

impl<A, P> EventSource for Emitter<A, P>
where
    A: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    P: Serialize + JsonSchema + Send + Sync + 'static,
{
    type Arguments = A;
    type Payload = P;

    async fn after(
        &self,
        ctx: &EventContext,
        arguments: &A,
        since: Since<'_>,
    ) -> Result<EventPage<P>, ErrorObject> {
        let caller = ctx.principal().as_str();
        let at = |position: u64| self.key.encode(caller, position);
        let mut ring = lock(&self.ring);
        ring.trim(now_ms());
        let Some(cursor) = since.cursor() else {
            return Ok(EventPage::empty(at(ring.end())));
        };
        let position = self.key.decode(caller, cursor);
        let limits = PageLimits {
            events: since.limit(),
            bytes: MAX_PAGE_BYTES,
        };
        let earliest = since.not_before().map(epoch_ms);
        let select = |stored: &Arc<StoredEvent<P>>| {
            (self.matches)(arguments, &stored.value).then(|| Arc::clone(stored))
        };
        let page = ring.page(position, earliest, limits, select);
        drop(ring);
        if page.truncated {
            // The gap is reported first, with a position from which no further event is lost.
            let next = page.events.first().map_or(page.end, |(after, _)| after - 1);
            let gap = EventPage::empty(at(next)).truncated();
            let has_more = page.has_more || next < page.end;
            return Ok(if has_more { gap.with_more() } else { gap });
        }
        let events = page.events.into_iter().map(|(after, stored)| Event {
            data: EventData::Encoded(Arc::clone(&stored.data)),
            id: Some(Arc::clone(&stored.id)),
            time: stored.time,
            cursor: Some(at(after)),
        });
        let events = EventPage::of(events.collect(), at(page.end));
        Ok(if page.has_more {
            events.with_more()
        } else {
            events
        })
    }

    fn description(&self) -> Option<String> {
        self.description.clone()
    }

    fn required_scopes(&self) -> Vec<String> {
        self.scopes.clone()
    }

    fn signal(&self) -> Option<EventSignal> {
        Some(self.signal.clone())
    }
}

impl<A, P> Default for Emitter<A, P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A, P> Clone for Emitter<A, P> {
    fn clone(&self) -> Self {
        Self {
            ring: Arc::clone(&self.ring),
            key: self.key.clone(),
            signal: self.signal.clone(),
            matches: Arc::clone(&self.matches),
            description: self.description.clone(),
            scopes: self.scopes.clone(),
        }
    }
}

impl<A, P> fmt::Debug for Emitter<A, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitter")
            .field("events", &lock(&self.ring).len())
            .finish_non_exhaustive()
    }
}

fn now_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}
