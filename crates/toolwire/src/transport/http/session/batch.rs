//! Serves batches of messages, which only one revision supports (2025-03-26, basic, "Batching").

use std::sync::Arc;

use http::StatusCode;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use toolwire_proto::admit::{self, Admitted};
use toolwire_proto::envelope::{Envelope, MalformedMessage, RequestEnvelope};
use toolwire_proto::features::{Era, VersionFeatures};
use toolwire_proto::requests::{Overloaded, overloaded_error};
use toolwire_proto::scopes::ScopeSet;
use toolwire_proto::strict_json;
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::engine::encoding::EncodedResponse;
use crate::transport::batch_responses::BatchResponses;
use crate::transport::http::exchange::context::{HttpStreamContext, PeerState};
use crate::transport::http::exchange::running::{ExchangeFuture, OnDisconnect, RunningHandler};
use crate::transport::http::options::LegacyMode;
use crate::transport::http::permits::RequestPermit;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::response::{self, FinalMessage, HttpResponse};
use crate::transport::http::session::lookup::SessionLookup;
use crate::transport::http::session::messages;
use crate::transport::http::session::requests::{self, RequestIds, StartedRequest};

/// Serves every message of a batch. Returns the responses as one array.
pub(crate) async fn serve(post: &IncomingRequest<'_>, messages: &[&RawValue]) -> HttpResponse {
    let lookup = match post.find_session().await {
        Ok(lookup) => lookup,
        Err(rejection) => return rejection,
    };
    let has_sessions = post.endpoint.options.legacy == LegacyMode::Sessions;
    let version = match &lookup {
        SessionLookup::Session(session) => session.state.version(),
        SessionLookup::None | SessionLookup::Unknown => admit::batch_version(&post.head.routing),
    };
    let served = version.filter(|version| post.snapshot.supported.contains(*version));
    if !served.is_some_and(VersionFeatures::allows_batch)
        || post.endpoint.options.legacy == LegacyMode::Reject
    {
        return post.reject_malformed(no_batches());
    }
    if has_sessions && !matches!(lookup, SessionLookup::Session(_)) {
        return lookup.reject(ResponseId::Null);
    }
    let peer = match &lookup {
        SessionLookup::Session(session) => PeerState::Session(Arc::clone(session)),
        SessionLookup::None | SessionLookup::Unknown => PeerState::Stateless,
    };
    let context = post.context(peer);
    let mut batch = Batch {
        post,
        lookup,
        context: Arc::clone(&context),
        responses: BatchResponses::new(post.endpoint.requests.bytes().reservation()),
        running: RunningRequests::default(),
        unsaved: Vec::new(),
        ids: Vec::new(),
        rejection: None,
    };
    let messages: Vec<_> = messages
        .iter()
        .map(|message| strict_json::read(message.get().as_bytes(), &strict_json::Limits::default()))
        .collect();
    // Checked before a request starts: the client repeats the whole batch with another token.
    if let Err(rejection) = post.check_scopes(&batch.needed_scopes(&messages)) {
        return rejection.into_response(ResponseId::Null);
    }
    for message in messages {
        batch.start(message).await;
    }
    batch.save().await;
    let Batch {
        lookup,
        responses,
        running,
        ids,
        rejection,
        ..
    } = batch;
    if responses.is_empty() && running.0.is_empty() {
        return rejection.unwrap_or_else(|| response::empty(StatusCode::ACCEPTED));
    }
    if rejection.is_some() {
        let error = overloaded_error("notifications or responses of the batch were not processed");
        responses.add_error(ResponseId::Null, error);
    }
    let mut running = running.into_tasks();
    let future = ExchangeFuture::Other(Box::pin(async move {
        while running.join_next().await.is_some() {}
        responses.take_array().map(|array| FinalMessage {
            status: StatusCode::OK,
            message: EncodedResponse::Message(array),
        })
    }));
    // Each request of the batch has its own permit.
    let running = RunningHandler::new(future, context, OnDisconnect::Finish, None);
    let session = match lookup {
        SessionLookup::Session(session) => Some(session),
        SessionLookup::None | SessionLookup::Unknown => None,
    };
    let ids = RequestIds::Batch(&ids);
    requests::finish(post.endpoint, running, session, ids).await
}

/// The state of a batch while its messages are started.
struct Batch<'a> {
    post: &'a IncomingRequest<'a>,
    lookup: SessionLookup,
    context: Arc<HttpStreamContext>,
    responses: Arc<BatchResponses>,
    running: RunningRequests,
    /// The requests that changed the record of the session, which is not saved yet, and their responses.
    unsaved: Vec<(RequestId, Vec<u8>)>,
    /// The ids of all requests of the batch.
    ids: Vec<RequestId>,
    /// The rejection of a notification or a response. Those after it are not processed.
    rejection: Option<HttpResponse>,
}

/// The running requests of a batch whose messages are still being started. On drop they continue, because a disconnect is
/// not a cancellation.
#[derive(Default)]
struct RunningRequests(JoinSet<()>);

impl RunningRequests {
    /// Returns the tasks, which end when they are dropped.
    fn into_tasks(mut self) -> JoinSet<()> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for RunningRequests {
    fn drop(&mut self) {
        self.0.detach_all();
    }
}

impl Batch<'_> {
    /// Returns the scopes that the requests of the batch need in total.
    fn needed_scopes(&self, messages: &[Result<Envelope<'_>, MalformedMessage>]) -> ScopeSet {
        let mut needed = ScopeSet::new();
        for message in messages {
            if let Ok(Envelope::Request(request)) = message
                && let Ok(admitted) = self.admit(request)
            {
                let token = self.post.auth.as_deref();
                needed = needed.union(&self.post.snapshot.scopes_for(&admitted, token));
            }
        }
        needed
    }

    async fn start(&mut self, message: Result<Envelope<'_>, MalformedMessage>) {
        match message {
            Ok(Envelope::Request(request)) => self.start_request(&request),
            Ok(Envelope::Notification(_) | Envelope::Response(_)) if self.rejection.is_some() => {}
            Ok(Envelope::Notification(notification)) => {
                if let SessionLookup::Session(session) = &self.lookup {
                    let processed = messages::on_notification(self.post, session, &notification);
                    self.rejection = processed.await.err();
                }
            }
            Ok(Envelope::Response(response)) => {
                if let SessionLookup::Session(session) = &self.lookup {
                    let processed = messages::on_response(self.post, session, response);
                    self.rejection = processed.await.err();
                }
            }
            Ok(Envelope::Batch(_)) => {
                let error = ErrorObject::invalid_request("a batch cannot contain another batch");
                self.responses.add_error(ResponseId::Null, error);
            }
            Err(unreadable) => {
                let id = unreadable.id.map_or(ResponseId::Null, ResponseId::Id);
                self.responses.add_error(id, unreadable.error);
            }
        }
    }

    /// Stores the record of the session if requests changed it, and adds their responses.
    async fn save(&mut self) {
        let unsaved = std::mem::take(&mut self.unsaved);
        let mut saved = Ok(());
        if !unsaved.is_empty()
            && let SessionLookup::Session(session) = &self.lookup
        {
            saved = self.post.endpoint.save(session).await;
        }
        let saved = saved.map_err(|error| response::store_error_object(&error));
        for (id, response) in unsaved {
            match &saved {
                Ok(()) => self.responses.add(&id, response),
                Err(error) => self.responses.add_error(ResponseId::Id(id), error.clone()),
            }
        }
    }

    fn start_request(&mut self, request: &RequestEnvelope<'_>) {
        self.ids.push(request.id.clone());
        let bytes = request.params.map_or(0, |params| params.get().len());
        let admitted = self.responses.check_capacity();
        let admitted = admitted.and_then(|()| self.admit(request));
        let started = admitted.and_then(|admitted| match &self.lookup {
            SessionLookup::Session(session) => {
                requests::start_in_session(self.post, session, &self.context, &admitted)
            }
            SessionLookup::None | SessionLookup::Unknown => {
                Ok(requests::start_alone(self.post, &self.context, &admitted))
            }
        });
        let rejected = match started {
            Ok(StartedRequest::Finished(finished)) => {
                let response = finished.message.into_bytes();
                if requests::changes_record(&request.method) {
                    self.unsaved.push((request.id.clone(), response));
                } else {
                    self.responses.add(&request.id, response);
                }
                return;
            }
            Ok(StartedRequest::Running(future)) => {
                match self.post.endpoint.requests.try_acquire(bytes) {
                    Some(permit) => return self.run(request.id.clone(), future, permit),
                    None => Overloaded::new().into(),
                }
            }
            Err(error) => error,
        };
        let id = ResponseId::Id(request.id.clone());
        self.responses.add_error(id, rejected);
    }

    /// Runs a request to its end. Its response is counted at once, because other requests may run much longer.
    fn run(&mut self, id: RequestId, future: ExchangeFuture, permit: RequestPermit) {
        let responses = Arc::clone(&self.responses);
        self.running.0.spawn(async move {
            if let Some(finished) = future.finish().await {
                responses.add_of_handler(&id, finished.message.into_bytes());
            }
            drop(permit);
        });
    }

    fn admit<'m>(&self, request: &'m RequestEnvelope<'m>) -> Result<Admitted<'m>, ErrorObject> {
        // Spec 2025-03-26, basic/lifecycle, "Initialization".
        if request.method == "initialize" {
            return Err(ErrorObject::invalid_request(
                "`initialize` cannot be part of a batch",
            ));
        }
        let post = self.post;
        match post.with_admission_context(self.lookup.lifecycle(), |context| {
            admit::admit(request, context)
        }) {
            Ok(admitted) if admitted.era == Era::Legacy => Ok(admitted),
            Ok(_) => Err(no_batches().error),
            Err(rejection) => Err(rejection.error),
        }
    }
}

fn no_batches() -> MalformedMessage {
    MalformedMessage {
        error: ErrorObject::invalid_request("the protocol version does not support batches"),
        id: None,
    }
}
