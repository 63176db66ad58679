//! What becomes of a notification from a client.
//!
//! Notifications are never answered, so nothing here is an error: what is unknown, malformed or of the wrong era is
//! ignored, with a reason for counters and logs.

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

/// What to do with a notification.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NotificationAction<'a> {
    /// Cancel the requests with this id, if any are in flight on this connection.
    Cancel {
        /// The id of the requests.
        request_id: RequestId,
        /// Why, for the log.
        reason: Option<Cow<'a, str>>,
    },
    /// The handshake is complete: call [`Lifecycle::on_initialized`].
    Initialized,
    /// Progress of a request this server sent to the client; the parameters, unread.
    Progress(&'a RawValue),
    /// The client's roots changed: ask again when they are needed.
    RootsListChanged,
    /// A task of the client changed (2025-11-25); the parameters, unread.
    TaskStatus(&'a RawValue),
    /// A notification the server's author takes; name and parameters.
    Custom(Cow<'a, str>, Option<&'a RawValue>),
    /// Nothing.
    Ignore(IgnoreReason),
}

/// Why a notification is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IgnoreReason {
    /// No revision has it and nobody here takes it.
    Unknown,
    /// It lacks what it needs.
    Malformed,
    /// The revision in force does not have it, or not in this direction.
    WrongVersion,
    /// It came before or beside the handshake it belongs to.
    OutOfTurn,
    /// A bare id over HTTP without a session could be anybody's request.
    NoConnection,
}

/// Decides about a notification from a client.
#[must_use]
pub fn admit_notification<'a>(
    notification: &NotificationEnvelope<'a>,
    facts: &AdmissionContext<'_>,
) -> NotificationAction<'a> {
    use NotificationAction::Ignore;

    let Some(row) = methods::find(&notification.method) else {
        return if (facts.is_custom_method)(&notification.method) {
            NotificationAction::Custom(notification.method.clone(), notification.params)
        } else {
            Ignore(IgnoreReason::Unknown)
        };
    };
    // Either era cancels by id on stdio, even before any handshake.
    if row.name == "notifications/cancelled" {
        return cancel(notification, facts);
    }
    let Some(version) = version_in_force(facts) else {
        return Ignore(IgnoreReason::OutOfTurn);
    };
    if !row.is_client_notification(version) {
        return Ignore(IgnoreReason::WrongVersion);
    }
    match (row.name, notification.params) {
        ("notifications/initialized", _) => match facts.lifecycle {
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
    facts: &AdmissionContext<'_>,
) -> NotificationAction<'a> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CancelParams<'a> {
        request_id: RequestId,
        #[serde(borrow)]
        reason: Option<&'a RawValue>,
    }

    if let Some(headers) = &facts.headers {
        // Spec 2026-07-28, basic/patterns/cancellation: over HTTP, closing the stream cancels.
        if header_era(headers) == Some(Era::Modern) {
            return NotificationAction::Ignore(IgnoreReason::WrongVersion);
        }
        if facts.lifecycle.version().is_none() {
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

/// The version notifications are judged by; modern ones name none, so only a header can.
fn version_in_force(facts: &AdmissionContext<'_>) -> Option<ProtocolVersion> {
    match &facts.headers {
        Some(headers) if header_era(headers) == Some(Era::Modern) => {
            facts.supported.modern().next()
        }
        Some(headers) => facts.lifecycle.version().or_else(|| {
            legacy_header_version(headers, facts.supported)
                .ok()
                .flatten()
                .filter(|version| version.is_legacy())
        }),
        None => facts.lifecycle.version(),
    }
}
