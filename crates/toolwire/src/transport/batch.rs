//! Batches of messages, which only one revision has (2025-03-26, basic, "Batching").

use std::future::Future;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::task::JoinSet;
use toolwire_proto::envelope::{Envelope, MalformedMessage, RequestEnvelope};
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::strict_json;
use toolwire_types::{ErrorObject, ResponseId};

use crate::engine::encoding::encode_error;
use crate::transport::duplex::{HandlerFuture, MessageLoop, StartResult};

/// Starts every message of a batch. The future returns the array of responses. It returns `None` if every request was
/// cancelled. There is no future if no message needs a response.
///
/// # Errors
/// Returns an error if the revision of the connection has no batches.
pub(crate) async fn start(
    connection: &mut MessageLoop,
    messages: &[Box<RawValue>],
) -> Result<Option<impl Future<Output = Option<Vec<u8>>> + use<>>, MalformedMessage> {
    let version = connection.state().version();
    if !version.is_some_and(VersionFeatures::allows_batch) {
        let reason = match version {
            Some(version) => format!("protocol version {version} has no batches"),
            None => "a batch needs a handshake to a version with batches".to_owned(),
        };
        let error = ErrorObject::invalid_request(reason);
        return Err(MalformedMessage { error, id: None });
    }
    let mut responses = Vec::new();
    let mut running = JoinSet::new();
    for message in messages {
        match strict_json::read(message.get().as_bytes(), &strict_json::Limits::default()) {
            Ok(Envelope::Request(request)) => match start_request(connection, &request).await {
                Ok(work) => {
                    let request = connection.start_running(work);
                    running.spawn(request.respond(Arc::clone(connection.response_sink())));
                }
                Err(response) => responses.push(response),
            },
            Ok(Envelope::Notification(notification)) => connection.on_notification(&notification),
            Ok(Envelope::Response(response)) => connection.on_response(response),
            Ok(Envelope::Batch(_)) => {
                let error = ErrorObject::invalid_request("a batch cannot contain another batch");
                responses.push(encode_error(ResponseId::Null, error));
            }
            Err(unreadable) => {
                let id = unreadable.id.map_or(ResponseId::Null, ResponseId::Id);
                responses.push(encode_error(id, unreadable.error));
            }
        }
    }
    if responses.is_empty() && running.is_empty() {
        return Ok(None);
    }
    Ok(Some(async move {
        while let Some(finished) = running.join_next().await {
            responses.extend(finished.ok().flatten());
        }
        (!responses.is_empty()).then(|| array(&responses))
    }))
}

/// Returns the handler future of a request.
///
/// # Errors
/// Returns the response of a request that needs no handler.
async fn start_request(
    connection: &mut MessageLoop,
    request: &RequestEnvelope<'_>,
) -> Result<HandlerFuture, Vec<u8>> {
    let reject = |error| encode_error(ResponseId::Id(request.id.clone()), error);
    // Spec 2025-03-26, basic/lifecycle, "Initialization".
    if request.method == "initialize" {
        return Err(reject(ErrorObject::invalid_request(
            "`initialize` cannot be part of a batch",
        )));
    }
    let admitted = connection.admit(request);
    let admitted = admitted.map_err(|rejection| reject(rejection.error))?;
    match connection.start(&admitted) {
        StartResult::Finished(response) => Err(response),
        StartResult::Ready(work) => Ok(work),
        StartResult::Full(work) => connection.wait_for_permit().await.map(|()| work),
    }
}

/// Encodes messages as one JSON array.
pub(crate) fn array(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![b'['];
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            bytes.push(b',');
        }
        bytes.extend_from_slice(message);
    }
    bytes.push(b']');
    bytes
}
