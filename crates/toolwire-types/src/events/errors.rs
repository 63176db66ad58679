//! The error codes of the extension, and the `data` of its errors.

use serde::{Deserialize, Serialize};

use crate::result::lenient_optional_integer;

/// The error codes of the extension. They are provisional, as the extension is a draft.
pub mod code {
    /// The event type or the subscription does not exist.
    pub const NOT_FOUND: i64 = -32023;
    /// The caller may not receive these events.
    pub const FORBIDDEN: i64 = -32024;
    /// A limit of the server is reached.
    pub const RESOURCE_EXHAUSTED: i64 = -32025;
    /// The server does not support what the request asks for, such as a delivery mode.
    pub const UNSUPPORTED: i64 = -32026;
    /// The callback URL of a webhook did not accept the check of the server.
    pub const CALLBACK_ENDPOINT_ERROR: i64 = -32027;
}

/// The `data` of a [`code::NOT_FOUND`] error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NotFoundData {
    /// What does not exist.
    pub kind: NotFoundKind,
}

impl NotFoundData {
    /// Creates the data.
    #[must_use]
    pub fn new(kind: NotFoundKind) -> Self {
        Self { kind }
    }
}

/// What does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotFoundKind {
    /// The event type.
    Event,
    /// The subscription.
    Subscription,
}

/// The `data` of a [`code::RESOURCE_EXHAUSTED`] error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceExhaustedData {
    /// The name of the limit.
    pub limit: String,
    /// The value of the limit.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub max: Option<u64>,
}

impl ResourceExhaustedData {
    /// Creates the data of a limit with a value.
    #[must_use]
    pub fn new(limit: impl Into<String>, max: u64) -> Self {
        Self {
            limit: limit.into(),
            max: Some(max),
        }
    }
}

/// The `data` of a [`code::UNSUPPORTED`] error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnsupportedData {
    /// The feature, such as `delivery`.
    pub feature: String,
    /// The value that is not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The reason, such as `schema_changed` when a type ends its subscriptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl UnsupportedData {
    /// Creates the data.
    #[must_use]
    pub fn new(feature: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            feature: feature.into(),
            value: Some(value.into()),
            reason: None,
        }
    }
}

/// The `data` of a [`code::CALLBACK_ENDPOINT_ERROR`] error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallbackEndpointErrorData {
    /// Why the callback URL failed.
    pub reason: CallbackFailure,
}

impl CallbackEndpointErrorData {
    /// Creates the data.
    #[must_use]
    pub fn new(reason: CallbackFailure) -> Self {
        Self { reason }
    }
}

/// Why a callback URL failed. No text of the endpoint is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallbackFailure {
    /// No connection was possible.
    ConnectionRefused,
    /// The endpoint did not respond in time.
    Timeout,
    /// The TLS handshake failed.
    TlsError,
    /// The endpoint responded with a 4xx status.
    #[serde(rename = "http_4xx")]
    Http4xx,
    /// The endpoint responded with a 5xx status.
    #[serde(rename = "http_5xx")]
    Http5xx,
    /// The endpoint did not return the challenge.
    ChallengeFailed,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn data_of_errors_round_trips() {
        check::<NotFoundData>(json!({"kind": "event"}));
        check::<NotFoundData>(json!({"kind": "subscription"}));
        check::<ResourceExhaustedData>(json!({"limit": "streams", "max": 5}));
        check::<ResourceExhaustedData>(json!({"limit": "streams"}));
        check::<UnsupportedData>(json!({"feature": "delivery", "value": "push"}));
        check::<UnsupportedData>(json!({"feature": "schema", "reason": "schema_changed"}));
        for reason in [
            "connection_refused",
            "timeout",
            "tls_error",
            "http_4xx",
            "http_5xx",
            "challenge_failed",
        ] {
            check::<CallbackEndpointErrorData>(json!({"reason": reason}));
        }
    }
}
