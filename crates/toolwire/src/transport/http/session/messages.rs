//! Notifications and responses that a client sends to its session.

use toolwire_proto::admit::{self, NotificationAction};
use toolwire_proto::envelope::{NotificationEnvelope, ResponseEnvelope};
use toolwire_types::{RawJson, ResponseId};

use crate::store::SessionSignal;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::response::{self, HttpResponse};
use crate::transport::http::session::active::ActiveSession;

/// Applies a notification to the session: a cancellation or the end of the initialization.
pub(crate) async fn on_notification(
    request: &IncomingRequest<'_>,
    session: &ActiveSession,
    notification: &NotificationEnvelope<'_>,
) -> Result<(), HttpResponse> {
    let action = request.with_admission_context(session.state.lifecycle(), |context| {
        admit::admit_notification(notification, context)
    });
    match action {
        NotificationAction::Cancel { request_id, reason } => {
            tracing::debug!(id = %request_id, reason = reason.as_deref(), "cancelled by the client");
            session.state.cancel(&request_id);
            let signal = SessionSignal::Cancelled { id: request_id };
            let sent = request.endpoint.signal(&session.key.id, signal).await;
            sent.map_err(|error| response::store_error(&error))
        }
        NotificationAction::Initialized => {
            session.state.initialized();
            let saved = request.endpoint.save(session).await;
            saved.map_err(|error| response::store_error(&error))
        }
        _ => {
            tracing::debug!(method = %notification.method, "notification without a handler");
            Ok(())
        }
    }
}

/// Delivers a client response to the pending request, on this node or through the bus.
pub(crate) async fn on_response(
    request: &IncomingRequest<'_>,
    session: &ActiveSession,
    response: ResponseEnvelope<'_>,
) -> Result<(), HttpResponse> {
    let outcome = response.outcome.map(RawJson::from);
    if request.endpoint.options.bus.is_none()
        || session.client_requests.is_waiting_for(&response.id)
    {
        session.client_requests.resolve(&response.id, outcome);
        return Ok(());
    }
    let ResponseId::Id(id) = response.id else {
        return Ok(());
    };
    let signal = SessionSignal::Responded { id, outcome };
    let sent = request.endpoint.signal(&session.key.id, signal).await;
    sent.map_err(|error| response::store_error(&error))
}
