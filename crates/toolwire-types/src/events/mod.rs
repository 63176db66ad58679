//! Events: the extension `io.modelcontextprotocol/events`, since 2026-07-28.
//!
//! A server lists the types of its events. A client polls a type, opens a stream of it, or lets the server deliver it to
//! a URL. A cursor is a position in the history of a type. It is optional and may be `null` in every message.
//!
//! The extension is a draft, and so are its error codes. This module follows the draft and may change with it.

mod entry;
mod errors;
mod methods;
mod notifications;
mod occurrence;
mod webhook;

use serde::{Deserialize, Serialize};

pub use entry::{DeliveryMode, EventType};
pub use errors::{
    CallbackEndpointErrorData, CallbackFailure, NotFoundData, NotFoundKind, ResourceExhaustedData,
    UnsupportedData, code,
};
pub use methods::{
    ListEventsParams, ListEventsResult, PollEventsParams, PollEventsResult, StreamEventsParams,
    StreamEventsResult,
};
pub use notifications::{
    EventErrorNotificationParams, StreamActiveNotificationParams, StreamHeartbeatNotificationParams,
};
pub use occurrence::EventOccurrence;
pub use webhook::{
    DeliveryStatus, SubscribeEventsParams, SubscribeEventsResult, UnsubscribeEventsParams,
    UnsubscribeEventsResult, WebhookDelivery, WebhookUrl,
};

use crate::result::Extra;
use crate::setters::setters;

/// The id with which client and server declare the extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/events";

/// The settings of a server for the extension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EventsSettings {
    /// Whether the server sends `notifications/events/list_changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EventsSettings {
    /// Creates settings without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares that the server sends `notifications/events/list_changed`.
        with_list_changed(list_changed = true);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn settings_round_trip() {
        check::<EventsSettings>(json!({}));
        check::<EventsSettings>(json!({"listChanged": false, "later": 1}));
        let declared = EventsSettings::new().with_list_changed();
        assert_eq!(
            serde_json::to_value(declared).unwrap(),
            json!({"listChanged": true})
        );
    }
}
