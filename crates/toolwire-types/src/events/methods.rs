//! The parameters and results of `events/list`, `events/poll` and `events/stream`.

use serde::{Deserialize, Serialize};

use crate::events::{EventOccurrence, EventType};
use crate::meta::Meta;
use crate::pagination::PaginatedRequestParams;
use crate::raw::RawJson;
use crate::result::{Extra, ResultType, lenient_integer, lenient_optional_integer};
use crate::setters::setters;
use crate::subscriptions::SubscriptionsListenResult;

/// The parameters of `events/list`.
pub type ListEventsParams = PaginatedRequestParams;

/// The result of `events/list`: one page of event types.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListEventsResult {
    /// The kind of result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The types of this page.
    pub events: Vec<EventType>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListEventsResult {
    /// Creates a page. Without a cursor, it is the last page.
    #[must_use]
    pub fn new(events: Vec<EventType>) -> Self {
        Self {
            events,
            ..Self::default()
        }
    }

    setters! {
        with_next_cursor(next_cursor: into String);
    }
}

/// The parameters of `events/poll`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PollEventsParams {
    /// The name of the type.
    pub name: String,
    /// The arguments, an object that matches the input schema of the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// The position after which events are requested. `None` requests no history: only events from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The maximum age of the events in milliseconds. Ignored without a cursor.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_age_ms: Option<u64>,
    /// The maximum number of events in the result.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_events: Option<u64>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl PollEventsParams {
    /// Creates the parameters of a poll without a cursor.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            cursor: None,
            max_age_ms: None,
            max_events: None,
            meta: None,
        }
    }

    setters! {
        with_arguments(arguments: into RawJson);
        with_cursor(cursor: into String);
        with_max_age_ms(max_age_ms: some u64);
        with_max_events(max_events: some u64);
        with_meta(meta: some Meta);
    }
}

/// The result of `events/poll`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PollEventsResult {
    /// The kind of result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The events after the cursor of the request, oldest first.
    pub events: Vec<EventOccurrence>,
    /// The position after these events. `None` is serialized as `null` and means that the type has no replay.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Whether events were skipped.
    #[serde(default)]
    pub truncated: bool,
    /// Whether more events are ready.
    #[serde(default)]
    pub has_more: bool,
    /// When the client should poll again, in milliseconds, unless more events are ready.
    #[serde(default, deserialize_with = "lenient_integer")]
    pub next_poll_ms: u64,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PollEventsResult {
    /// Creates a result with all events up to a cursor.
    #[must_use]
    pub fn new(events: Vec<EventOccurrence>, cursor: Option<String>, next_poll_ms: u64) -> Self {
        Self {
            events,
            cursor,
            next_poll_ms,
            ..Self::default()
        }
    }
}

/// The parameters of `events/stream`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StreamEventsParams {
    /// The name of the type.
    pub name: String,
    /// The arguments, an object that matches the input schema of the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// The position after which events are requested. `None` requests no history: only events from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The maximum age of the events in milliseconds. Ignored without a cursor.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_age_ms: Option<u64>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl StreamEventsParams {
    /// Creates the parameters of a stream without a cursor.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            cursor: None,
            max_age_ms: None,
            meta: None,
        }
    }

    setters! {
        with_arguments(arguments: into RawJson);
        with_cursor(cursor: into String);
        with_max_age_ms(max_age_ms: some u64);
        with_meta(meta: some Meta);
    }
}

/// The result of `events/stream`, with which the server ends the stream: the subscription id in `_meta`.
pub type StreamEventsResult = SubscriptionsListenResult;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn requests_round_trip() {
        check::<PollEventsParams>(json!({"name": "a"}));
        check::<PollEventsParams>(json!({
            "name": "a", "arguments": {"x": 1}, "cursor": "c", "maxAgeMs": 5, "maxEvents": 2, "_meta": {},
        }));
        check::<StreamEventsParams>(json!({"name": "a"}));
        check::<StreamEventsParams>(
            json!({"name": "a", "arguments": {}, "cursor": "", "maxAgeMs": 0, "_meta": {"x": 1}}),
        );
        assert!(serde_json::from_str::<PollEventsParams>("{}").is_err());
        let built = PollEventsParams::new("a")
            .with_arguments(json!({}))
            .with_cursor("c")
            .with_max_age_ms(1)
            .with_max_events(2);
        assert_eq!(
            serde_json::to_value(built).unwrap(),
            json!({"name": "a", "arguments": {}, "cursor": "c", "maxAgeMs": 1, "maxEvents": 2})
        );
    }

    #[test]
    fn cursor_of_a_request_that_is_null_counts_as_absent() {
        let poll: PollEventsParams =
            serde_json::from_str(r#"{"name":"a","cursor":null,"maxAgeMs":null,"arguments":null}"#)
                .unwrap();
        assert_eq!(poll, PollEventsParams::new("a"));
    }

    #[test]
    fn results_round_trip() {
        check::<ListEventsResult>(json!({"resultType": "complete", "events": []}));
        check::<ListEventsResult>(
            json!({"events": [], "nextCursor": "n", "_meta": {}, "later": 1}),
        );
        check::<PollEventsResult>(json!({
            "resultType": "complete", "events": [], "cursor": null, "truncated": false, "hasMore": false,
            "nextPollMs": 1000,
        }));
        check::<PollEventsResult>(json!({
            "events": [{"eventId": "e", "name": "a", "timestamp": "t", "data": 1, "cursor": "c"}],
            "cursor": "c", "truncated": true, "hasMore": true, "nextPollMs": 0, "_meta": {}, "later": 1,
        }));
        let absent: PollEventsResult = serde_json::from_str(r#"{"events":[]}"#).unwrap();
        assert_eq!(absent, PollEventsResult::new(Vec::new(), None, 0));
    }
}
