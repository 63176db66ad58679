//! The state of a subscription that an application stores.

use serde::{Deserialize, Serialize};
use toolwire_types::RawJson;

/// The state of a subscription to events: what it selects, and what was received.
///
/// It can be stored as JSON, and passed to [`Client::resume_events`](crate::Client::resume_events) later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventSubscriptionState {
    /// The name of the type.
    pub name: String,
    /// The arguments.
    pub arguments: RawJson,
    /// The position after the last event. `None` if the type has no replay.
    #[serde(default)]
    pub cursor: Option<String>,
    /// The ids of the most recent events, at most 100. They are ignored if they are delivered again.
    #[serde(default)]
    pub recent: Vec<String>,
}
