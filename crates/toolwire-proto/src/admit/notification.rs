//! Admission of notifications from a client.
//!
//! Notifications get no response, so nothing here is an error. Unknown and malformed notifications and those of the
//! wrong era are ignored, with a reason for counters and logs.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire_types::{ProtocolVersion, RequestId};

use crate::admit::{AdmissionContext, Era, header_era, legacy_header_version};
use crate::envelope::NotificationEnvelope;
use crate::features::VersionFeatures;
use crate::lifecycle::Lifecycle;
use crate::methods;
use crate::strict_json::string_value;

/// The action for a notification.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NotificationAction<'a> {
    /// Cancel the requests with this id, if any are in flight on this connection.
    Cancel {
        /// The id of the requests.
        request_id: RequestId,
        /// The reason, for the log.
        reason: Option<Cow<'a, str>>,
    },
    /// The handshake is complete. The caller calls [`Lifecycle::on_initialized`].
    Initialized,
    /// Progress of a request that this server sent to the client, with the raw parameters.
    Progress(&'a RawValue),
    /// The client's roots changed. The server requests them again when it needs them.
    RootsListChanged,
    /// A task of the client changed (2025-11-25), with the raw parameters.
    TaskStatus(&'a RawValue),
    /// A custom notification of the server, with its name and raw parameters.
    Custom(Cow<'a, str>, Option<&'a RawValue>),
    /// No action.
    Ignore(IgnoreReason),
}

/// The reason for ignoring a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IgnoreReason {
    /// No revision defines the notification, and the server has no handler for it.
    Unknown,
    /// A required parameter is missing or invalid.
    Malformed,
    /// The negotiated revision does not define it, or not in this direction.
    WrongVersion,
    /// It arrived before its handshake, or outside of one.
    OutOfTurn,
    /// Over HTTP without a session, an id alone could refer to another client's request.
    NoConnection,
}

/// Returns the action for a notification from a client.
#[must_use]
pub fn admit_notification<'a>(
    notification: &NotificationEnvelope<'a>,
    context: &AdmissionContext<'_>,
) -> NotificationAction<'a> {
    use NotificationAction::Ignore;

    let Some(row) = methods::find(&notification.method) else {
        return if (context.is_custom_notification)(&notification.method) {
            NotificationAction::Custom(notification.method.clone(), notification.params)
        } else {
            Ignore(IgnoreReason::Unknown)
        };
    };
    // Both eras cancel by id on stdio, even before the handshake.
    if row.name == "notifications/cancelled" {
        return cancel(notification, context);
    }
    let Some(version) = version_in_force(context) else {
        return Ignore(IgnoreReason::OutOfTurn);
    };
    if !row.is_client_notification(version) {
        return Ignore(IgnoreReason::WrongVersion);
    }
    match (row.name, notification.params) {
        ("notifications/initialized", _) => match context.lifecycle {
            Lifecycle::InitializeProcessed { .. } => NotificationAction::Initialized,
            Lifecycle::Fresh | Lifecycle::Initialized { .. } => Ignore(IgnoreReason::OutOfTurn),
        },
        ("notifications/roots/list_changed", _) => NotificationAction::RootsListChanged,
        ("notifications/progress", Some(params)) => NotificationAction::Progress(params),
        ("notifications/tasks/status", Some(params)) => NotificationAction::TaskStatus(params),
        _ => Ignore(IgnoreReason::Malformed),
    }
}

fn cancel<'a>(
    notification: &NotificationEnvelope<'a>,
    context: &AdmissionContext<'_>,
) -> NotificationAction<'a> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CancelParams<'a> {
        request_id: RequestId,
        #[serde(borrow)]
        reason: Option<&'a RawValue>,
    }

    if let Some(headers) = &context.headers {
        // Spec 2026-07-28, basic/patterns/cancellation: over HTTP, closing the stream cancels.
        if header_era(headers) == Some(Era::Modern) {
            return NotificationAction::Ignore(IgnoreReason::WrongVersion);
        }
        if context.lifecycle.version().is_none() {
            return NotificationAction::Ignore(IgnoreReason::NoConnection);
        }
    }
    let params = notification
        .params
        .and_then(|raw| serde_json::from_str::<CancelParams<'_>>(raw.get()).ok());
    match params {
        Some(params) => NotificationAction::Cancel {
            request_id: params.request_id,
            reason: params.reason.and_then(|reason| string_value(reason.get())),
        },
        None => NotificationAction::Ignore(IgnoreReason::Malformed),
    }
}

/// Returns the version whose rules apply to notifications. Modern notifications name no version, so only a header can.
fn version_in_force(context: &AdmissionContext<'_>) -> Option<ProtocolVersion> {
    match &context.headers {
        Some(headers) if header_era(headers) == Some(Era::Modern) => {
            context.supported.modern().next()
        }
        Some(headers) => context.lifecycle.version().or_else(|| {
            legacy_header_version(headers, context.supported)
                .ok()
                .flatten()
                .filter(|version| version.is_legacy())
        }),
        None => context.lifecycle.version(),
    }
}
