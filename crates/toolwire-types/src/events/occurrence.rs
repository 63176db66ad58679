//! One event.

use serde::{Deserialize, Serialize};

use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;

/// One event: an occurrence of a type. It is also the `params` of `notifications/events/event`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EventOccurrence {
    /// The id of the event, which is the same whenever the event is delivered again.
    pub event_id: String,
    /// The name of the type.
    pub name: String,
    /// When the event happened, as an RFC 3339 date and time.
    pub timestamp: String,
    /// The data of the event, which matches the payload schema of the type.
    pub data: RawJson,
    /// The position after this event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The `_meta` object. In a stream, it contains the subscription id.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EventOccurrence {
    /// Creates an event without a cursor.
    #[must_use]
    pub fn new(
        event_id: impl Into<String>,
        name: impl Into<String>,
        timestamp: impl Into<String>,
        data: impl Into<RawJson>,
    ) -> Self {
        Self {
            event_id: event_id.into(),
            name: name.into(),
            timestamp: timestamp.into(),
            data: data.into(),
            cursor: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_cursor(cursor: into String);
        with_meta(meta: some Meta);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn occurrences_round_trip() {
        check::<EventOccurrence>(json!({
            "eventId": "e1", "name": "mail.received", "timestamp": "2026-10-05T12:00:00Z", "data": {"id": 1},
        }));
        let full: EventOccurrence = check(json!({
            "eventId": "e1", "name": "mail.received", "timestamp": "2026-10-05T12:00:00Z", "data": [1.0],
            "cursor": "c", "_meta": {"a": 1}, "later": {"x": 1},
        }));
        assert_eq!(full.cursor.as_deref(), Some("c"));
        assert_eq!(full.data.get(), "[1.0]", "the data stays as it was written");
    }

    #[test]
    fn cursor_that_is_null_counts_as_absent() {
        let text = r#"{"eventId":"e","name":"n","timestamp":"2026-10-05T12:00:00Z","data":1,"cursor":null}"#;
        let event: EventOccurrence = serde_json::from_str(text).unwrap();
        assert_eq!(event.cursor, None);
    }
}
