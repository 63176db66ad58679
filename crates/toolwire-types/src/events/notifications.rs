//! The parameters of the notifications on the stream of `events/stream`.
//!
//! Each has the subscription id in its `_meta`: the id of the `events/stream` request, with its JSON type.

use serde::{Deserialize, Serialize};

use crate::jsonrpc::ErrorObject;
use crate::meta::Meta;

/// The parameters of `notifications/events/active`: the first message of a stream, and the message about a gap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamActiveNotificationParams {
    /// The position from which the stream continues. `None` is serialized as `null` and means that the type has no
    /// replay.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Whether events were skipped.
    #[serde(default)]
    pub truncated: bool,
    /// The `_meta` object, which contains the subscription id.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl StreamActiveNotificationParams {
    /// Creates the parameters.
    #[must_use]
    pub fn new(cursor: Option<String>, truncated: bool) -> Self {
        Self {
            cursor,
            truncated,
            meta: None,
        }
    }
}

/// The parameters of `notifications/events/heartbeat`, which a server sends at least every 30 seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamHeartbeatNotificationParams {
    /// The current position. `None` is serialized as `null` and means that the type has no replay.
    #[serde(default)]
    pub cursor: Option<String>,
    /// The `_meta` object, which contains the subscription id.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl StreamHeartbeatNotificationParams {
    /// Creates the parameters.
    #[must_use]
    pub fn new(cursor: Option<String>) -> Self {
        Self { cursor, meta: None }
    }
}

/// The parameters of `notifications/events/error`, after which the stream continues, and of
/// `notifications/events/terminated`, which ends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventErrorNotificationParams {
    /// The error.
    pub error: ErrorObject,
    /// The `_meta` object, which contains the subscription id.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EventErrorNotificationParams {
    /// Creates the parameters.
    #[must_use]
    pub fn new(error: ErrorObject) -> Self {
        Self { error, meta: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn notifications_round_trip() {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": 7});
        check::<StreamActiveNotificationParams>(
            json!({"cursor": "c", "truncated": true, "_meta": meta}),
        );
        check::<StreamActiveNotificationParams>(json!({"cursor": null, "truncated": false}));
        check::<StreamHeartbeatNotificationParams>(json!({"cursor": null, "_meta": meta}));
        check::<EventErrorNotificationParams>(
            json!({"error": {"code": -32023, "message": "gone"}, "_meta": meta}),
        );
    }
}
