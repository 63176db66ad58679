//! Batches of messages, which only one revision has (2025-03-26, basic, "Batching").

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::task::JoinSet;
use toolwire_proto::envelope::{Envelope, MalformedMessage, RequestEnvelope};
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::strict_json;
use toolwire_types::{ErrorObject, ResponseId};

use crate::engine::encoding::encode_error;
use crate::transport::batch_responses::BatchResponses;
use crate::transport::duplex::{HandlerFuture, MessageLoop, StartResult};
use crate::transport::outgoing_queue::OutgoingQueue;

/// A batch whose messages have started.
pub(crate) struct RunningBatch {
    running: JoinSet<()>,
    responses: Arc<BatchResponses>,
}

impl RunningBatch {
    /// Waits for the requests and queues the array of their responses, if not all of them were cancelled.
    pub(crate) async fn respond_to(mut self, out: Arc<OutgoingQueue>) {
        while self.running.join_next().await.is_some() {}
        if let Some(array) = self.responses.take_array() {
            out.push_response(array).await;
        }
    }
}

/// Starts every message of a batch. Returns `None` if no message needs a response.
///
/// # Errors
/// Returns an error if the revision of the connection has no batches.
pub(crate) async fn start(
    connection: &mut MessageLoop,
    messages: &[Box<RawValue>],
) -> Result<Option<RunningBatch>, MalformedMessage> {
    let version = connection.state().version();
    if !version.is_some_and(VersionFeatures::allows_batch) {
        let reason = match version {
            Some(version) => format!("protocol version {version} has no batches"),
            None => "a batch needs a handshake to a version with batches".to_owned(),
        };
        let error = ErrorObject::invalid_request(reason);
        return Err(MalformedMessage { error, id: None });
    }
    let responses = BatchResponses::new(connection.batch_budget());
    let mut running = JoinSet::new();
    for message in messages {
        match strict_json::read(message.get().as_bytes(), &strict_json::Limits::default()) {
            Ok(Envelope::Request(request)) => {
                match start_request(connection, &responses, &request).await {
                    Ok(work) => {
                        let started = connection.start_running(work);
                        let (sink, id) = (Arc::clone(connection.response_sink()), request.id);
                        let responses = Arc::clone(&responses);
                        running.spawn(async move {
                            if let Some(response) = started.respond(sink).await {
                                responses.add_of_handler(&id, response);
                            }
                        });
                    }
                    Err(response) => responses.add(&request.id, response),
                }
            }
            Ok(Envelope::Notification(notification)) => connection.on_notification(&notification),
            Ok(Envelope::Response(response)) => connection.on_response(response),
            Ok(Envelope::Batch(_)) => {
                let error = ErrorObject::invalid_request("a batch cannot contain another batch");
                responses.add_error(ResponseId::Null, error);
            }
            Err(unreadable) => {
                let id = unreadable.id.map_or(ResponseId::Null, ResponseId::Id);
                responses.add_error(id, unreadable.error);
            }
        }
    }
    if responses.is_empty() && running.is_empty() {
        return Ok(None);
    }
    Ok(Some(RunningBatch { running, responses }))
}

/// Returns the handler future of a request.
///
/// # Errors
/// Returns the response of a request that needs no handler.
async fn start_request(
    connection: &mut MessageLoop,
    responses: &BatchResponses,
    request: &RequestEnvelope<'_>,
) -> Result<HandlerFuture, Vec<u8>> {
    let reject = |error| encode_error(ResponseId::Id(request.id.clone()), error);
    responses.check_capacity().map_err(reject)?;
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
