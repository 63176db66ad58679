//! The parameters of notifications: progress, log messages, cancellation and resource updates.
//!
//! `toolwire-proto` decides when a notification may be sent, and to which peer. Notifications that define only `_meta`
//! use [`NotificationParams`](crate::NotificationParams).

use serde::{Deserialize, Serialize};

use crate::jsonrpc::{ProgressToken, RequestId};
use crate::meta::Meta;
use crate::number;
use crate::object::object;
use crate::raw::RawJson;
use crate::setters::setters;

/// The parameters of `notifications/cancelled`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelledNotificationParams {
    /// The id of the cancelled request. Required, except in 2025-11-25, where tasks are cancelled by other means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The reason, for logs or users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelledNotificationParams {
    /// Creates the parameters that cancel a request.
    #[must_use]
    pub fn new(request_id: impl Into<RequestId>) -> Self {
        Self {
            request_id: Some(request_id.into()),
            reason: None,
            meta: None,
        }
    }

    setters! {
        with_reason(reason: into String);
    }
}

/// The parameters of `notifications/progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProgressNotificationParams {
    /// The token of the request.
    pub progress_token: ProgressToken,
    /// The progress so far. It increases with every notification.
    #[serde(serialize_with = "number::shortest")]
    pub progress: f64,
    /// The total amount of work, if known.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub total: Option<f64>,
    /// A progress message for users (since 2025-03-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ProgressNotificationParams {
    /// Creates the progress of the request with this token.
    #[must_use]
    pub fn new(progress_token: impl Into<ProgressToken>, progress: f64) -> Self {
        Self {
            progress_token: progress_token.into(),
            progress,
            total: None,
            message: None,
            meta: None,
        }
    }

    setters! {
        with_total(total: some f64);
        with_message(message: into String);
    }
}

/// The severity of a log message, least severe first (RFC 5424).
///
/// # Deprecated
/// MCP 2026-07-28 deprecates logging (SEP-2577), and a revision of 2027-07-28 or later may remove it. Write to standard
/// error with `tracing`, or use OpenTelemetry instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "RFC 5424 defines a closed list, and an unknown level is an error on the wire"
)]
pub enum LoggingLevel {
    /// Details for debugging.
    Debug,
    /// General information.
    Info,
    /// Normal but significant events.
    Notice,
    /// Warning conditions.
    Warning,
    /// Error conditions.
    Error,
    /// Critical conditions, such as the failure of a component.
    Critical,
    /// Conditions that require immediate action.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LoggingLevel {
    /// Every level, least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice", // tidy: allow(notice) RFC 5424 level
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

/// The parameters of `notifications/message`.
///
/// # Deprecated
/// MCP 2026-07-28 deprecates logging (SEP-2577), and a revision of 2027-07-28 or later may remove it. Write to standard
/// error with `tracing`, or use OpenTelemetry instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoggingMessageNotificationParams {
    /// The severity.
    pub level: LoggingLevel,
    /// The name of the logger in the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The message: a string, an object or any other JSON value.
    pub data: RawJson,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl LoggingMessageNotificationParams {
    /// Creates a log message.
    #[must_use]
    pub fn new(level: LoggingLevel, data: impl Into<RawJson>) -> Self {
        Self {
            level,
            logger: None,
            data: data.into(),
            meta: None,
        }
    }

    setters! {
        with_logger(logger: into String);
    }
}

/// The parameters of `logging/setLevel` (up to 2025-11-25). Later revisions set the level in the `_meta` of a request.
///
/// # Deprecated
/// MCP 2026-07-28 deprecates logging (SEP-2577), and a revision of 2027-07-28 or later may remove it. Write to standard
/// error with `tracing`, or use OpenTelemetry instead.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SetLevelRequestParams {
    /// The least severe level that the server sends.
    pub level: LoggingLevel,
    /// The `_meta` object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

object!(SetLevelRequestParams = SetLevelRequestParams::new(LoggingLevel::Info);
    "level" => level required,
    "_meta" => meta;
    others ignored
);

impl SetLevelRequestParams {
    /// Creates a request for this level and all more severe levels.
    #[must_use]
    pub fn new(level: LoggingLevel) -> Self {
        Self { level, meta: None }
    }
}

/// The parameters of `notifications/resources/updated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceUpdatedNotificationParams {
    /// The URI of the updated resource. It may be a sub-resource of the subscribed resource.
    pub uri: String,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceUpdatedNotificationParams {
    /// Creates the parameters for an updated resource.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            meta: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn ids_and_tokens_preserve_their_json_type() {
        check::<CancelledNotificationParams>(json!({"requestId": 1, "reason": "r"}));
        check::<CancelledNotificationParams>(json!({"requestId": "1", "_meta": {"a": "b"}}));
        check::<CancelledNotificationParams>(json!({}));
        check::<ProgressNotificationParams>(json!({"progressToken": 7, "progress": 1}));
        check::<ProgressNotificationParams>(json!({"progressToken": "7", "progress": 1}));
    }

    #[test]
    fn progress_may_be_an_integer_or_a_float() {
        check::<ProgressNotificationParams>(
            json!({"progressToken": 1, "progress": 50, "total": 100, "message": "m", "_meta": {}}),
        );
        check::<ProgressNotificationParams>(
            json!({"progressToken": 1, "progress": 0.5, "total": 1}),
        );
        let built = ProgressNotificationParams::new(1, 2.0)
            .with_total(4.0)
            .with_message("m");
        assert_eq!(
            serde_json::to_string(&built).unwrap(),
            r#"{"progressToken":1,"progress":2,"total":4,"message":"m"}"#
        );
    }

    #[test]
    fn levels_are_ordered_by_severity() {
        assert!(LoggingLevel::ALL.is_sorted());
        assert!(LoggingLevel::Warning < LoggingLevel::Error);
        for level in LoggingLevel::ALL {
            assert_eq!(check::<LoggingLevel>(json!(level.as_str())), level);
            check::<SetLevelRequestParams>(json!({"level": level.as_str(), "_meta": {}}));
        }
        assert!(serde_json::from_str::<LoggingLevel>(r#""verbose""#).is_err());
        assert!(serde_json::from_str::<LoggingLevel>(r#""Error""#).is_err());
    }

    #[test]
    fn log_data_is_required_and_may_be_any_json() {
        for data in [json!("text"), json!(null), json!({"a": [1]}), json!(2.5)] {
            check::<LoggingMessageNotificationParams>(json!({"level": "info", "data": data}));
        }
        check::<LoggingMessageNotificationParams>(
            json!({"level": "error", "logger": "db", "data": 1, "_meta": {"x": 1}}),
        );
        let missing =
            serde_json::from_str::<LoggingMessageNotificationParams>(r#"{"level":"info"}"#);
        assert!(missing.is_err());
    }

    #[test]
    fn resource_update_round_trips_with_subscription_id() {
        check::<ResourceUpdatedNotificationParams>(
            json!({"uri": "file:///a", "_meta": {"io.modelcontextprotocol/subscriptionId": 3}}),
        );
    }
}
