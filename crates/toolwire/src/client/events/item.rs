//! The items of a subscription.

use toolwire_types::ErrorObject;
use toolwire_types::events::EventOccurrence;

/// An item of a subscription to events.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventItem {
    /// An event. Its data is untrusted, and it permits nothing.
    Event(EventOccurrence),
    /// Events were missed here, for example because the server does not store them any longer.
    Gap,
    /// The server could not get events, and tries again.
    Failed(ErrorObject),
}
