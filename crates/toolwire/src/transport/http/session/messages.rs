//! Notifications and responses that a client sends to its session.

use std::num::NonZeroU16;
use std::sync::Arc;

use toolwire_proto::admit::{self, NotificationAction};
use toolwire_proto::envelope::{NotificationEnvelope, ResponseEnvelope};
use toolwire_types::{RawJson, RequestId, ResponseId};

use crate::engine::node_number::node_of;
use crate::engine::{PeerText, QueueFull, TransportContext};
use crate::server::middleware::NotificationDrop;
use crate::store::NodeMessage;
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::response::{self, HttpResponse};
use crate::transport::http::session::active::ActiveSession;
use crate::transport::http::session::channel::SessionChannel;

/// Applies a notification to the session: a cancellation, the end of the initialization, or one with a handler.
pub(crate) async fn on_notification(
    request: &IncomingRequest<'_>,
    session: &Arc<ActiveSession>,
    notification: &NotificationEnvelope<'_>,
) -> Result<(), HttpResponse> {
    let action = request.with_admission_context(session.state.lifecycle(), |context| {
        admit::admit_notification(notification, context)
    });
    match action {
        NotificationAction::Cancel { request_id, reason } => {
            tracing::debug!(id = %request_id, reason = reason.as_deref(), "cancelled by the client");
            session.state.cancel(&request_id, reason.as_deref());
            let publishing = request
                .endpoint
                .publish_cancellation(&session.key.id, request_id);
            let published = publishing.await;
            published.map_err(|error| response::store_error(&error))
        }
        NotificationAction::Initialized => {
            session.state.initialized();
            let saved = request.endpoint.save(session).await;
            saved.map_err(|error| response::store_error(&error))?;
            if request.snapshot.forwards() {
                return handle_notification(request, session, notification);
            }
            Ok(())
        }
        NotificationAction::Ignore(reason) => {
            tracing::debug!(method = %PeerText::new(&notification.method), ?reason, "ignored a notification");
            Ok(())
        }
        _ => handle_notification(request, session, notification),
    }
}

/// Runs the handler of a notification, if there is one, after the handlers of earlier notifications of the session on
/// this node. The client does not wait for it. The notification counts as a request in flight until then.
fn handle_notification(
    request: &IncomingRequest<'_>,
    session: &Arc<ActiveSession>,
    notification: &NotificationEnvelope<'_>,
) -> Result<(), HttpResponse> {
    let client = || -> Arc<dyn TransportContext> {
        Arc::new(SessionChannel::new(
            Arc::clone(session),
            request.auth.clone(),
        ))
    };
    let Some(work) = request.snapshot.notification_work(notification, client) else {
        return Ok(());
    };
    let bytes = notification.params.map_or(0, |params| params.get().len());
    let permit = request.endpoint.request_permit(bytes)?;
    let work = Box::pin(async move {
        work.await;
        drop(permit);
    });
    match session.state.notifications().push(bytes, work) {
        Ok(Some(running)) => {
            let ended = session.key.ended.clone();
            tokio::spawn(async move { ended.unless_cancelled(running).await });
        }
        Ok(None) => {}
        Err(QueueFull) => {
            let snapshot = &request.snapshot;
            snapshot.notification_dropped(NotificationDrop::FromClient);
        }
    }
    Ok(())
}

/// Delivers a client response to the pending request, on this node or on the node whose number is in the id.
pub(crate) async fn on_response(
    request: &IncomingRequest<'_>,
    session: &ActiveSession,
    response: ResponseEnvelope<'_>,
) -> Result<(), HttpResponse> {
    let outcome = response.outcome.map(RawJson::from);
    let endpoint = request.endpoint;
    let Some((node, id)) = other_node(endpoint, session, &response.id) else {
        session.client_requests.resolve(&response.id, outcome);
        return Ok(());
    };
    let message = NodeMessage::Response {
        session: session.key.id.clone(),
        id,
        outcome,
    };
    match endpoint.stores.send_to_node(node, &message).await {
        Ok(true) => Ok(()),
        Ok(false) => {
            tracing::warn!(
                node,
                "ignored a response to a request of a node that has stopped"
            );
            Ok(())
        }
        Err(error) => Err(response::store_error(&error)),
    }
}

/// Returns the other node that waits for a response, and the id of the request.
fn other_node(
    endpoint: &HttpEndpoint,
    session: &ActiveSession,
    id: &ResponseId,
) -> Option<(NonZeroU16, RequestId)> {
    let ResponseId::Id(request) = id else {
        return None;
    };
    if session.client_requests.is_waiting_for(id) {
        return None;
    }
    let node = node_of(request)?;
    (endpoint.node.number().current() != Some(node)).then(|| (node, request.clone()))
}
