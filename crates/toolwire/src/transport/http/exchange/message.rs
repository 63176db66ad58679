//! The message of a POST: which era it is of, and who answers it.

use http::StatusCode;
use toolwire_proto::admit::{self, Admitted, Rejection};
use toolwire_proto::envelope::{Envelope, NotificationEnvelope, RequestEnvelope, ResponseEnvelope};
use toolwire_proto::features::Era;
use toolwire_proto::strict_json;
use toolwire_types::ResponseId;

use crate::engine::box_cold;
use crate::transport::http::exchange::modern;
use crate::transport::http::exchange::running::Dispatched;
use crate::transport::http::options::LegacyMode;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::response::{self, HttpResponse, status};
use crate::transport::http::session::lookup::SessionLookup;
use crate::transport::http::session::{batch, messages, requests};

/// Answers the message of a POST.
///
/// All of a plain request is here and not in a function for each step: every future in another is moved, asked and dropped
/// once more. A connection also keeps room for this one as long as it lives, so what is asked rarely is elsewhere.
pub(crate) async fn serve(post: &IncomingRequest<'_>, message: &[u8]) -> HttpResponse {
    let read = strict_json::read(message, &strict_json::Limits::default());
    let request = match &read {
        Ok(Envelope::Request(request)) => request,
        Ok(Envelope::Notification(notification)) => {
            return box_cold(|| on_notification(post, notification)).await;
        }
        Ok(Envelope::Response(response)) => {
            return box_cold(|| on_response(post, response.clone())).await;
        }
        Ok(Envelope::Batch(messages)) => return box_cold(|| batch::serve(post, messages)).await,
        Err(unreadable) => return post.reject_malformed(unreadable.clone()),
    };
    let standing = match post.may_have_session() {
        false => Ok(SessionLookup::None),
        true => post.find_session().await,
    };
    let standing = match standing {
        Ok(standing) => standing,
        Err(answer) => return answer,
    };
    let admitted =
        post.with_admission_context(standing.lifecycle(), |facts| admit::admit(request, facts));
    let admitted = match &admitted {
        Ok(admitted) => admitted,
        Err(rejection) => return refuse(post, request, &standing, rejection),
    };
    if let Some(refusal) = post.missing_scopes(admitted) {
        return refusal.into_response(ResponseId::Id(request.id.clone()));
    }
    let (begun, session) = match standing {
        _ if admitted.era == Era::Modern => (modern::begin(post, admitted), None),
        SessionLookup::Session(session) if !requests::changes_record(admitted.method.name()) => {
            let begun = requests::begin_in_session(post, &session, admitted);
            (begun, Some(session))
        }
        standing => return box_cold(|| on_legacy(post, standing, admitted)).await,
    };
    match begun {
        Dispatched::Answered(answer) => answer,
        Dispatched::Running(running) => requests::finish(post.endpoint, running, session).await,
    }
}

/// Refuses a request that has not passed the gate.
#[cold]
fn refuse(
    post: &IncomingRequest<'_>,
    request: &RequestEnvelope<'_>,
    standing: &SessionLookup,
    rejection: &Rejection,
) -> HttpResponse {
    let id = ResponseId::Id(request.id.clone());
    let needs_session = rejection.era == Era::Legacy
        && post.endpoint.options.legacy == LegacyMode::Sessions
        && request.method != "initialize";
    match standing {
        SessionLookup::None | SessionLookup::Unknown if needs_session => standing.reject(id),
        _ => response::error(status(rejection.http_status), id, rejection.error.clone()),
    }
}

/// Answers a request of an earlier revision that opens a session, changes it, or stands outside of any.
async fn on_legacy(
    post: &IncomingRequest<'_>,
    standing: SessionLookup,
    admitted: &Admitted<'_>,
) -> HttpResponse {
    match (post.endpoint.options.legacy, standing) {
        (LegacyMode::Sessions, SessionLookup::Session(session)) => {
            requests::change_session(post, &session, admitted).await
        }
        (LegacyMode::Sessions, _) if admitted.method.name() == "initialize" => {
            requests::open_session(post, admitted).await
        }
        (LegacyMode::Sessions, standing) => standing.reject(ResponseId::Id(admitted.id.clone())),
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
        // There is nothing a lone notification could change.
        return match post.check_version_header() {
            Ok(()) => response::empty(StatusCode::ACCEPTED),
            Err(answer) => answer,
        };
    }
    match post.session().await {
        Ok(session) => match messages::on_notification(post, &session, notification).await {
            Ok(()) => response::empty(StatusCode::ACCEPTED),
            Err(answer) => answer,
        },
        Err(answer) => answer,
    }
}

async fn on_response(post: &IncomingRequest<'_>, response: ResponseEnvelope<'_>) -> HttpResponse {
    if post.declares_modern_version() || post.endpoint.options.legacy != LegacyMode::Sessions {
        return response::reject(
            StatusCode::BAD_REQUEST,
            "nothing was asked here that a response could answer",
        );
    }
    match post.session().await {
        Ok(session) => match messages::on_response(post, &session, response).await {
            Ok(()) => response::empty(StatusCode::ACCEPTED),
            Err(answer) => answer,
        },
        Err(answer) => answer,
    }
}
