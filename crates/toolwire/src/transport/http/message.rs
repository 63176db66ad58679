//! The message of a POST: which era it is of, and who answers it.

use http::StatusCode;
use toolwire_proto::admit;
use toolwire_proto::envelope::{Envelope, NotificationEnvelope, RequestEnvelope, ResponseEnvelope};
use toolwire_proto::features::Era;
use toolwire_proto::strict_json;
use toolwire_types::ResponseId;

use crate::engine::rarely;
use crate::transport::http::answer::{self, Answer, status};
use crate::transport::http::legacy::standing::Standing;
use crate::transport::http::legacy::{batch, requests};
use crate::transport::http::modern;
use crate::transport::http::options::LegacyMode;
use crate::transport::http::post::Post;

/// Answers the message of a POST.
pub(super) async fn serve(post: &Post<'_>, message: &[u8]) -> Answer {
    // A connection keeps room for this future as long as it lives: only what is asked often is not boxed.
    let read = strict_json::read(message, &strict_json::Limits::default());
    match &read {
        Ok(Envelope::Request(request)) => on_request(post, request).await,
        Ok(Envelope::Notification(notification)) => {
            rarely(|| on_notification(post, notification)).await
        }
        Ok(Envelope::Response(response)) => rarely(|| on_response(post, response.clone())).await,
        Ok(Envelope::Batch(messages)) => rarely(|| batch::serve(post, messages)).await,
        Err(unreadable) => post.refuse_unreadable(unreadable.clone()),
    }
}

async fn on_request(post: &Post<'_>, request: &RequestEnvelope<'_>) -> Answer {
    let standing = match post.standing().await {
        Ok(standing) => standing,
        Err(answer) => return answer,
    };
    let id = || ResponseId::Id(request.id.clone());
    let admitted = post.with_facts(&standing, |facts| admit::admit(request, facts));
    if let Ok(admitted) = &admitted
        && let Some(refusal) = post.lacks_scopes(admitted)
    {
        return refusal.answer(id());
    }
    match &admitted {
        Ok(admitted) if admitted.era == Era::Modern => modern::serve(post, admitted).await,
        Ok(admitted) => match (post.endpoint.options.legacy, standing) {
            (LegacyMode::Sessions, Standing::Session(session)) => {
                requests::serve_in_session(post, session, admitted).await
            }
            (LegacyMode::Sessions, _) if request.method == "initialize" => {
                rarely(|| requests::open_session(post, admitted)).await
            }
            (LegacyMode::Sessions, standing) => standing.refuse(id()),
            (LegacyMode::Stateless | LegacyMode::Refuse, _) => {
                rarely(|| requests::serve_alone(post, admitted)).await
            }
        },
        Err(rejection) => {
            let needs_session = rejection.era == Era::Legacy
                && post.endpoint.options.legacy == LegacyMode::Sessions
                && request.method != "initialize";
            match standing {
                Standing::None | Standing::Unknown if needs_session => standing.refuse(id()),
                _ => answer::error(status(rejection.http_status), id(), rejection.error.clone()),
            }
        }
    }
}

async fn on_notification(post: &Post<'_>, notification: &NotificationEnvelope<'_>) -> Answer {
    if post.names_modern() || post.endpoint.options.legacy != LegacyMode::Sessions {
        // There is nothing a lone notification could change.
        return match post.check_version_header() {
            Ok(()) => answer::empty(StatusCode::ACCEPTED),
            Err(answer) => answer,
        };
    }
    match post.session().await {
        Ok(session) => match post.note(&session, notification).await {
            Ok(()) => answer::empty(StatusCode::ACCEPTED),
            Err(answer) => answer,
        },
        Err(answer) => answer,
    }
}

async fn on_response(post: &Post<'_>, response: ResponseEnvelope<'_>) -> Answer {
    if post.names_modern() || post.endpoint.options.legacy != LegacyMode::Sessions {
        return answer::refuse(
            StatusCode::BAD_REQUEST,
            "nothing was asked here that a response could answer",
        );
    }
    match post.session().await {
        Ok(session) => match post.resolve(&session, response).await {
            Ok(()) => answer::empty(StatusCode::ACCEPTED),
            Err(answer) => answer,
        },
        Err(answer) => answer,
    }
}
