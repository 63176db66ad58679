//! Notifications that belong to a request: progress, log messages, cancellation; and word that a resource changed.
//!
//! When each may be sent, and to whom, is decided in `toolwire-proto`. Notifications without parameters of their own use
//! [`NotificationParams`](crate::NotificationParams).

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
    /// The request that is no longer wanted. Required, except in 2025-11-25, where tasks have their own way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Why, for a log or a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelledNotificationParams {
    /// Cancels a request.
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
    /// The token the request came with.
    pub progress_token: ProgressToken,
    /// How far it is; grows with every notification.
    #[serde(serialize_with = "number::shortest")]
    pub progress: f64,
    /// How far it has to go, when that is known.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub total: Option<f64>,
    /// What is happening, for a person (since 2025-03-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ProgressNotificationParams {
    /// Progress of the request that came with this token.
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

/// How severe a log message is, least severe first (RFC 5424).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "RFC 5424 closed the list long ago, and an unknown level is an error on the wire"
)]
pub enum LoggingLevel {
    /// Detail for whoever looks for a fault.
    Debug,
    /// What is going on.
    Info,
    /// Normal but worth knowing.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// Part of the system failed.
    Critical,
    /// Somebody must act now.
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

    /// The wire name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

/// The parameters of `notifications/message`. Deprecated in 2026-07-28.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoggingMessageNotificationParams {
    /// How severe it is.
    pub level: LoggingLevel,
    /// Which part of the server speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// What it says: a string, an object, any JSON.
    pub data: RawJson,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl LoggingMessageNotificationParams {
    /// A message.
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

/// The parameters of `logging/setLevel` (up to 2025-11-25; later each request says it in its `_meta`).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SetLevelRequestParams {
    /// The least severe level the client wants to see.
    pub level: LoggingLevel,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

object!(SetLevelRequestParams = SetLevelRequestParams::new(LoggingLevel::Info);
    "level" => level required,
    "_meta" => meta;
    others ignored
);

impl SetLevelRequestParams {
    /// Asks for this level and everything more severe.
    #[must_use]
    pub fn new(level: LoggingLevel) -> Self {
        Self { level, meta: None }
    }
}

/// The parameters of `notifications/resources/updated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceUpdatedNotificationParams {
    /// The resource that changed; possibly one below the address that was subscribed to.
    pub uri: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceUpdatedNotificationParams {
    /// Says that a resource changed.
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
    fn ids_and_tokens_keep_their_type() {
        check::<CancelledNotificationParams>(json!({"requestId": 1, "reason": "r"}));
        check::<CancelledNotificationParams>(json!({"requestId": "1", "_meta": {"a": "b"}}));
        check::<CancelledNotificationParams>(json!({}));
        check::<ProgressNotificationParams>(json!({"progressToken": 7, "progress": 1}));
        check::<ProgressNotificationParams>(json!({"progressToken": "7", "progress": 1}));
    }

    #[test]
    fn progress_is_a_number_of_either_kind() {
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
    fn log_data_is_any_json_but_must_be_there() {
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
    fn an_update_keeps_its_subscription() {
        check::<ResourceUpdatedNotificationParams>(
            json!({"uri": "file:///a", "_meta": {"io.modelcontextprotocol/subscriptionId": 3}}),
        );
    }
}
