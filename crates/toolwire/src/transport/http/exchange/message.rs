//! Decodes the message of a POST, determines its era and dispatches it.

use std::sync::Arc;

use http::StatusCode;
use toolwire_proto::admit::{self, Admitted, NotificationAction, Rejection};
use toolwire_proto::envelope::{Envelope, NotificationEnvelope, RequestEnvelope, ResponseEnvelope};
use toolwire_proto::features::Era;
use toolwire_proto::lifecycle::Lifecycle;
use toolwire_proto::strict_json;
use toolwire_types::ResponseId;

use crate::engine::{CatchPanic, TransportContext, boxed_cold};
use crate::transport::http::exchange::context::PeerState;
use crate::transport::http::exchange::modern;
use crate::transport::http::exchange::running::Dispatched;
use crate::transport::http::options::LegacyMode;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::response::{self, HttpResponse, status};
use crate::transport::http::session::lookup::SessionLookup;
use crate::transport::http::session::requests::RequestIds;
use crate::transport::http::session::{batch, messages, requests};

/// Serves the message of a POST.
///
/// All steps of a plain request are in this future, because each nested future is moved, polled and dropped in
/// addition. A connection reserves memory for this future for its whole lifetime, so cold paths are boxed.
pub(crate) async fn serve(post: &IncomingRequest<'_>, message: &[u8]) -> HttpResponse {
    let read = strict_json::read(message, &strict_json::Limits::default());
    let request = match &read {
        Ok(Envelope::Request(request)) => request,
        Ok(Envelope::Notification(notification)) => {
            return boxed_cold(|| on_notification(post, notification)).await;
        }
        Ok(Envelope::Response(response)) => {
            return boxed_cold(|| on_response(post, response.clone())).await;
        }
        Ok(Envelope::Batch(messages)) => return boxed_cold(|| batch::serve(post, messages)).await,
        Err(unreadable) => return post.reject_malformed(unreadable.clone()),
    };
    let lookup = if post.may_have_session() {
        post.find_session().await
    } else {
        Ok(SessionLookup::None)
    };
    let lookup = match lookup {
        Ok(lookup) => lookup,
        Err(rejection) => return rejection,
    };
    let admitted =
        post.with_admission_context(lookup.lifecycle(), |context| admit::admit(request, context));
    let admitted = match &admitted {
        Ok(admitted) => admitted,
        Err(rejection) => return reject(post, request, &lookup, rejection),
    };
    if let Some(rejection) = post.missing_scopes(admitted) {
        return rejection.into_response(ResponseId::Id(request.id.clone()));
    }
    let (dispatched, session) = match lookup {
        _ if admitted.era == Era::Modern => {
            let node = &post.endpoint.node;
            if modern::is_listen(admitted) && node.is_joining() {
                boxed_cold(|| node.wait_until_joined()).await;
            }
            (modern::begin(post, admitted), None)
        }
        SessionLookup::Session(session) if !requests::changes_record(admitted.method.name()) => {
            let dispatched = requests::begin_in_session(post, &session, admitted);
            (dispatched, Some(session))
        }
        lookup => return boxed_cold(|| on_legacy(post, lookup, admitted)).await,
    };
    match dispatched {
        Dispatched::Finished(response) => response,
        Dispatched::Running(running) => {
            let request = RequestIds::One(admitted.id);
            requests::finish(post.endpoint, running, session, request).await
        }
    }
}

/// Returns the response to a request that was not admitted.
#[cold]
fn reject(
    post: &IncomingRequest<'_>,
    request: &RequestEnvelope<'_>,
    lookup: &SessionLookup,
    rejection: &Rejection,
) -> HttpResponse {
    let id = ResponseId::Id(request.id.clone());
    let needs_session = rejection.era == Era::Legacy
        && post.endpoint.options.legacy == LegacyMode::Sessions
        && request.method != "initialize";
    match lookup {
        SessionLookup::None | SessionLookup::Unknown if needs_session => lookup.reject(id),
        _ => response::error(status(rejection.http_status), id, rejection.error.clone()),
    }
}

/// Serves a legacy request that opens a session, changes the session record, or has no session.
async fn on_legacy(
    post: &IncomingRequest<'_>,
    lookup: SessionLookup,
    admitted: &Admitted<'_>,
) -> HttpResponse {
    match (post.endpoint.options.legacy, lookup) {
        (LegacyMode::Sessions, SessionLookup::Session(session))
            if admitted.method.name() == "initialize" =>
        {
            requests::initialize_again(post, &session, admitted).await
        }
        (LegacyMode::Sessions, SessionLookup::Session(session)) => {
            requests::change_session(post, &session, admitted).await
        }
        (LegacyMode::Sessions, _) if admitted.method.name() == "initialize" => {
            requests::open_session(post, admitted).await
        }
        (LegacyMode::Sessions, lookup) => lookup.reject(ResponseId::Id(admitted.id.clone())),
        (LegacyMode::Stateless | LegacyMode::Reject, _) => {
            requests::serve_stateless(post, admitted).await
        }
    }
}

async fn on_notification(
    post: &IncomingRequest<'_>,
    notification: &NotificationEnvelope<'_>,
) -> HttpResponse {
    if post.declares_modern_version() || post.endpoint.options.legacy != LegacyMode::Sessions {
        return match post.check_version_header() {
            Ok(()) => handle_without_session(post, notification).await,
            Err(rejection) => rejection,
        };
    }
    // A forwarder has to know whether the notification is the first one.
    let is_initialized =
        notification.method == "notifications/initialized" && !post.snapshot.forwards();
    let session = if is_initialized {
        post.initialized_session().await
    } else {
        post.session().await
    };
    match session {
        // The store has recorded it, now or before.
        Ok(session) if is_initialized && session.state.is_initialized() => {
            response::empty(StatusCode::ACCEPTED)
        }
        Ok(session) => match messages::on_notification(post, &session, notification).await {
            Ok(()) => response::empty(StatusCode::ACCEPTED),
            Err(rejection) => rejection,
        },
        Err(rejection) => rejection,
    }
}

/// Runs the handler of a notification without a session, if there is one. Other notifications have no effect.
async fn handle_without_session(
    post: &IncomingRequest<'_>,
    notification: &NotificationEnvelope<'_>,
) -> HttpResponse {
    let action = post.with_admission_context(Lifecycle::Fresh, |context| {
        admit::admit_notification(notification, context)
    });
    if let NotificationAction::Custom(_, params) = action {
        let bytes = params.map_or(0, |params| params.get().len());
        let permit = match post.endpoint.request_permit(bytes) {
            Ok(permit) => permit,
            Err(rejection) => return rejection,
        };
        let client = || post.context(PeerState::Stateless) as Arc<dyn TransportContext>;
        if let Some(work) = post.snapshot.notification_work(notification, client)
            && CatchPanic::new(work).await.is_err()
        {
            tracing::error!("the handler of a notification panicked");
        }
        drop(permit);
    }
    response::empty(StatusCode::ACCEPTED)
}

async fn on_response(post: &IncomingRequest<'_>, response: ResponseEnvelope<'_>) -> HttpResponse {
    if post.declares_modern_version() || post.endpoint.options.legacy != LegacyMode::Sessions {
        return response::reject(
            StatusCode::BAD_REQUEST,
            "no request of the server is pending that this response could belong to",
        );
    }
    match post.session().await {
        Ok(session) => match messages::on_response(post, &session, response).await {
            Ok(()) => response::empty(StatusCode::ACCEPTED),
            Err(rejection) => rejection,
        },
        Err(rejection) => rejection,
    }
}
