//! The parameters and results of `events/subscribe` and `events/unsubscribe`.

use serde::{Deserialize, Deserializer, Serialize};

use crate::events::{CallbackFailure, DeliveryMode};
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::{EmptyResult, Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;

/// The parameters of `events/subscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscribeEventsParams {
    /// The name of the type.
    pub name: String,
    /// The arguments, an object that matches the input schema of the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Where the server delivers the events.
    pub delivery: WebhookDelivery,
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
    /// How long the subscription should be valid, in milliseconds. `None` leaves it to the server. `Some(None)` is
    /// serialized as `null` and requests a subscription that does not expire.
    #[serde(
        default,
        deserialize_with = "present_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<Option<u64>>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscribeEventsParams {
    /// Creates the parameters of a subscription without a cursor.
    #[must_use]
    pub fn new(name: impl Into<String>, delivery: WebhookDelivery) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            delivery,
            cursor: None,
            max_age_ms: None,
            ttl_ms: None,
            meta: None,
        }
    }

    setters! {
        with_arguments(arguments: into RawJson);
        with_cursor(cursor: into String);
        with_max_age_ms(max_age_ms: some u64);
        /// Sets how long the subscription should be valid, in milliseconds. `None` requests one that does not expire.
        with_ttl_ms(ttl_ms: some Option<u64>);
        with_meta(meta: some Meta);
    }
}

/// Where and with which secret a server delivers events. The secret is not part of the debug output.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebhookDelivery {
    /// The mode: [`DeliveryMode::Webhook`].
    pub mode: DeliveryMode,
    /// The URL that receives the events.
    pub url: String,
    /// The secret of the signatures: `whsec_` and base64.
    pub secret: String,
}

impl WebhookDelivery {
    /// Creates the delivery to a URL.
    #[must_use]
    pub fn new(url: impl Into<String>, secret: impl Into<String>) -> Self {
        Self {
            mode: DeliveryMode::Webhook,
            url: url.into(),
            secret: secret.into(),
        }
    }
}

impl std::fmt::Debug for WebhookDelivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookDelivery")
            .field("mode", &self.mode)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The result of `events/subscribe`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscribeEventsResult {
    /// The kind of result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The id that deliveries repeat in `X-MCP-Subscription-Id`. No method accepts it.
    pub id: String,
    /// When the subscription ends unless it is repeated, as an RFC 3339 date and time. `None` is serialized as `null`
    /// and means that it does not expire.
    #[serde(default)]
    pub refresh_before: Option<String>,
    /// The position up to which everything was delivered or given up. `None` is serialized as `null` and means that the
    /// type has no replay.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Whether events were skipped.
    #[serde(default)]
    pub truncated: bool,
    /// The state of the delivery, for a repeated subscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_status: Option<DeliveryStatus>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SubscribeEventsResult {
    /// Creates the result of a subscription that does not expire and has no cursor.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }
}

/// The state of the delivery of a subscription.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeliveryStatus {
    /// Whether the server delivers. `false` after too many failures.
    pub active: bool,
    /// When the last event was accepted, as an RFC 3339 date and time. `None` is serialized as `null`.
    #[serde(default)]
    pub last_delivery_at: Option<String>,
    /// Why the last delivery failed. `None` is serialized as `null`.
    #[serde(default)]
    pub last_error: Option<CallbackFailure>,
    /// Since when deliveries fail, as an RFC 3339 date and time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_since: Option<String>,
    /// Whether the server delivers more slowly than events happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<bool>,
    /// When the server tries again, in milliseconds.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after_ms: Option<u64>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl DeliveryStatus {
    /// Creates the state of a subscription that nothing was delivered to yet.
    #[must_use]
    pub fn new(active: bool) -> Self {
        Self {
            active,
            ..Self::default()
        }
    }
}

/// The parameters of `events/unsubscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UnsubscribeEventsParams {
    /// The name of the type.
    pub name: String,
    /// The arguments of the subscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// The URL of the subscription.
    pub delivery: WebhookUrl,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl UnsubscribeEventsParams {
    /// Creates the parameters for a subscription without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            delivery: WebhookUrl { url: url.into() },
            meta: None,
        }
    }

    setters! {
        with_arguments(arguments: into RawJson);
        with_meta(meta: some Meta);
    }
}

/// The URL that names a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebhookUrl {
    /// The URL that receives the events.
    pub url: String,
}

/// The result of `events/unsubscribe`.
pub type UnsubscribeEventsResult = EmptyResult;

/// Parses a member that is present, so that `null` differs from an absent member.
fn present_integer<'de, D>(deserializer: D) -> Result<Option<Option<u64>>, D::Error>
where
    D: Deserializer<'de>,
{
    lenient_optional_integer(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    fn subscription(ttl: &serde_json::Value) -> serde_json::Value {
        json!({
            "name": "a", "delivery": {"mode": "webhook", "url": "https://x.test/h", "secret": "whsec_AAAA"},
            "ttlMs": ttl,
        })
    }

    #[test]
    fn absent_ttl_differs_from_null() {
        let unlimited: SubscribeEventsParams = check(subscription(&json!(null)));
        assert_eq!(unlimited.ttl_ms, Some(None));
        let limited: SubscribeEventsParams = check(subscription(&json!(5)));
        assert_eq!(limited.ttl_ms, Some(Some(5)));
        let mut absent = subscription(&json!(5));
        absent.as_object_mut().unwrap().remove("ttlMs");
        let absent: SubscribeEventsParams = check(absent);
        assert_eq!(absent.ttl_ms, None);
    }

    #[test]
    fn results_round_trip() {
        check::<SubscribeEventsResult>(json!({
            "resultType": "complete", "id": "i", "refreshBefore": null, "cursor": null, "truncated": false,
        }));
        check::<SubscribeEventsResult>(json!({
            "id": "i", "refreshBefore": "2026-10-05T12:00:00Z", "cursor": "c", "truncated": true,
            "deliveryStatus": {
                "active": false, "lastDeliveryAt": null, "lastError": "http_5xx",
                "failedSince": "2026-10-05T12:00:00Z", "throttled": true, "retryAfterMs": 5, "later": 1,
            },
            "_meta": {}, "later": 1,
        }));
        check::<UnsubscribeEventsParams>(
            json!({"name": "a", "arguments": {}, "delivery": {"url": "https://x.test/h"}, "_meta": {}}),
        );
    }

    #[test]
    fn debug_output_has_no_secret() {
        let delivery = WebhookDelivery::new("https://x.test/h", "whsec_AAAA");
        let text = format!("{delivery:?}");
        assert!(
            text.contains("https://x.test/h") && !text.contains("AAAA"),
            "{text}"
        );
    }
}
