//! Events: the extension `io.modelcontextprotocol/events`, which is a draft.
//!
//! An author registers an [`EventSource`] under a name. [`Emitter`] is a source for events without a history of their
//! own: it stores recent ones. The registered type is an `EventEntry` of the snapshot (`entry`).
//!
//! Every way of delivery uses the same seam, [`ErasedSource`](erased::ErasedSource) in `EventEntry::source`:
//!
//! * `check` validates arguments against the input schema of the type.
//! * `authorize` decides whether a caller may receive the events of these arguments. It is called when a subscription
//!   starts, and again before each page.
//! * `page` returns the events after a cursor, encoded, with the next cursor.
//! * `signal` wakes a delivery when something new may be there. A delivery takes its receiver before it requests a page,
//!   so that no signal is lost. Sources without a signal are asked every `poll_interval`.
//!
//! `EventEntry::subscribe` counts a subscription for the hooks of the source until its guard is dropped, and
//! `EventEntry::removed` ends subscriptions of a type that is removed. `methods` serves `events/list` and `events/poll`,
//! `stream` serves `events/stream`, `webhooks` delivers to URLs. `EventState` is what all types of a server share.

mod context;
mod emitter;
mod entry;
mod erased;
mod event;
mod lookup;
mod methods;
mod register;
mod signal;
mod source;
mod state;
mod stream;
mod subscribers;
mod webhook_methods;
mod webhook_service;
#[cfg(feature = "http-client")]
pub(crate) mod webhooks;

pub use context::EventContext;
pub use emitter::Emitter;
pub(crate) use entry::EventEntry;
pub use event::{Event, EventPage};
pub use signal::EventSignal;
pub use source::{EventSource, NoArguments, Since};
pub use state::EventLimits;
pub(crate) use state::EventState;

use std::sync::Arc;

use crate::server::events::webhook_service::WebhookService;
use crate::server::registry::NameMap;

/// The event types of a server, and what they share.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventTypes {
    pub(crate) by_name: NameMap<Arc<EventEntry>>,
    pub(crate) state: Arc<EventState>,
    /// The delivery to URLs, if the server has it.
    pub(crate) webhooks: Option<Arc<dyn WebhookService>>,
}

impl EventTypes {
    /// Returns `true` if the server delivers events to URLs.
    pub(crate) fn has_webhooks(&self) -> bool {
        self.webhooks.is_some()
    }
}
