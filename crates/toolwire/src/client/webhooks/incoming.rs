//! Decides on one request: verifies it, and passes its message to the subscription.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use toolwire_proto::events::webhook::message::{
    ID_HEADER, SIGNATURE_HEADER, SUBSCRIPTION_HEADER, TIMESTAMP_HEADER, WebhookMessage,
    challenge_response,
};
use toolwire_proto::events::webhook::signature::{SignedHeaders, verify};

use crate::client::webhooks::delivery_queue::{Unqueued, WebhookItem};
use crate::client::webhooks::delivery_queues::DeliveryQueues;
use crate::engine::{PeerText, since_epoch};

/// How long a request waits for the application. Servers wait for 10 s.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(8);

/// Handles a request whose body was read.
pub(super) async fn respond(
    queues: &DeliveryQueues,
    headers: &HeaderMap,
    body: &Bytes,
) -> Response<Full<Bytes>> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(timestamp), Some(signature), Some(subscription)) = (
        text(ID_HEADER),
        text(TIMESTAMP_HEADER),
        text(SIGNATURE_HEADER),
        text(SUBSCRIPTION_HEADER),
    ) else {
        return status(StatusCode::BAD_REQUEST);
    };
    let signed = SignedHeaders {
        id,
        timestamp,
        signature,
    };
    let Some(queue) = queues.get(subscription) else {
        return respond_to_unknown(queues, signed, body);
    };
    if let Err(error) = verify([queue.secret()], signed, body, since_epoch()) {
        tracing::debug!(%error, subscription, "a webhook request is rejected");
        return status(StatusCode::UNAUTHORIZED);
    }
    let message = match WebhookMessage::parse(body) {
        Ok(Some(message)) => message,
        // A message of a later version. Sending it again would not help.
        Ok(None) => return status(StatusCode::NO_CONTENT),
        Err(error) => {
            // The text of the error may contain a long value of the message.
            let error = error.to_string();
            let error = PeerText::new(&error);
            tracing::warn!(%error, subscription, "a webhook message is malformed");
            return status(StatusCode::BAD_REQUEST);
        }
    };
    match message {
        WebhookMessage::Event(event) => match queue.push_event(id, event) {
            Ok(acceptance) => match tokio::time::timeout(ACCEPT_TIMEOUT, acceptance).await {
                Ok(Ok(())) => status(StatusCode::NO_CONTENT),
                _ => status(StatusCode::SERVICE_UNAVAILABLE),
            },
            Err(Unqueued::Accepted) => status(StatusCode::NO_CONTENT),
            Err(Unqueued::Busy) => status(StatusCode::SERVICE_UNAVAILABLE),
        },
        WebhookMessage::Gap { .. } => queued(queue.push_control(id, WebhookItem::Gap)),
        WebhookMessage::Terminated { error } => {
            queued(queue.push_control(id, WebhookItem::Ended(error)))
        }
        WebhookMessage::Verification { challenge } => echo(&challenge),
        _ => status(StatusCode::NO_CONTENT),
    }
}

/// Handles a request for a subscription whose id is unknown. It may belong to a subscribe call that is in flight.
fn respond_to_unknown(
    queues: &DeliveryQueues,
    signed: SignedHeaders<'_>,
    body: &Bytes,
) -> Response<Full<Bytes>> {
    let pending = queues.pending_secrets();
    if verify(&pending, signed, body, since_epoch()).is_ok()
        && let Ok(Some(WebhookMessage::Verification { challenge })) = WebhookMessage::parse(body)
    {
        return echo(&challenge);
    }
    // The server sends an event again, when the id is known.
    status(StatusCode::SERVICE_UNAVAILABLE)
}

fn echo(challenge: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(challenge_response(challenge).into()));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn queued(is_queued: bool) -> Response<Full<Bytes>> {
    status(if is_queued {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    })
}

/// Returns a response without a body.
pub(super) fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
