//! What arrives beside answers: notifications, and the requests of legacy servers.
//!
//! Nothing here waits: listeners run at once, questions are answered by tasks of their own, so that the stream is
//! always read on. A question the server takes back, or whose connection ends, stops being answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use toolwire_proto::envelope::{NotificationEnvelope, RequestEnvelope};
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::methods;
use toolwire_proto::requests::spellings;
use toolwire_proto::subscriptions::{Change, Filter, subscription_of};
use toolwire_types::{
    CancelledNotificationParams, ErrorObject, InputRequest, Notification, ProtocolVersion, RawJson,
    RequestId, Response,
};

use crate::client::cache::Cache;
use crate::client::handlers::ClientHandlers;
use crate::client::listen_queue::{ListenEvent, ListenQueue};
use crate::client::progress::ProgressRoutes;
use crate::client::send::{SendMessage, trace_wire};

/// How many questions of one server are answered at the same time; one more is refused.
pub(crate) const MAX_SERVER_REQUESTS: usize = 64;

/// How long a server may take to accept an answer.
const REPLY_TIME: Duration = Duration::from_secs(30);

/// Where everything goes that is not an answer.
#[derive(Debug)]
pub(crate) struct IncomingMessages {
    pub(crate) handlers: Arc<ClientHandlers>,
    pub(crate) progress: Arc<ProgressRoutes>,
    cache: Arc<Cache>,
    state: Mutex<IncomingState>,
    /// Shared by all connections of one client.
    skipped: Arc<AtomicU64>,
    /// Counts the sessions that replaced a lost one.
    renewals: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct IncomingState {
    /// What is spoken, or asked in while that is not known.
    version: Option<ProtocolVersion>,
    /// The questions that are being answered.
    answering: HashMap<RequestId, AbortHandle>,
    /// How many answers that took no thought are on their way out.
    replying: usize,
    listening: Vec<Listener>,
    next_listener: u64,
}

#[derive(Debug)]
struct Listener {
    number: u64,
    /// The request that opened the stream; `None` hears everything (legacy sessions have one stream of changes).
    subscription: Option<RequestId>,
    /// What it asked to hear of, where the server does not sort that out.
    filter: Option<Filter>,
    news: Arc<ListenQueue>,
}

impl IncomingMessages {
    pub(crate) fn new(
        handlers: Arc<ClientHandlers>,
        cache: Arc<Cache>,
        skipped: Arc<AtomicU64>,
    ) -> Self {
        Self {
            handlers,
            progress: Arc::default(),
            cache,
            state: Mutex::default(),
            skipped,
            renewals: watch::Sender::new(0),
        }
    }

    /// From now on this revision is spoken.
    pub(crate) fn set_version(&self, version: ProtocolVersion) {
        self.state().version = Some(version);
    }

    /// Counts something that was ignored.
    pub(crate) fn skipped(&self, what: &'static str) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(what, "ignored from the server");
    }

    /// How many questions are being answered, and how many calls listen to progress.
    pub(crate) fn open_entries(&self) -> usize {
        let state = self.state();
        state.answering.len() + state.replying + state.listening.len() + self.progress.len()
    }

    /// Whether a question of the server is being answered: as long as it is, the server waits for this side.
    pub(crate) fn is_answering(&self) -> bool {
        !self.state().answering.is_empty()
    }

    /// A legacy session was lost and another one took its place: what was set up in it has to be set up again.
    #[cfg(feature = "http-client")]
    pub(crate) fn session_renewed(&self) {
        self.renewals.send_modify(|count| *count += 1);
    }

    /// Hears of sessions that replaced a lost one.
    pub(crate) fn renewals(&self) -> watch::Receiver<u64> {
        self.renewals.subscribe()
    }

    /// Takes a notification.
    pub(crate) fn notification(&self, notification: &NotificationEnvelope<'_>) {
        let params = notification.params;
        match &*notification.method {
            "notifications/progress" => {
                let progress = params.and_then(|params| serde_json::from_str(params.get()).ok());
                if !progress.is_some_and(|progress| self.progress.deliver(progress)) {
                    self.skipped("progress that nobody asked for");
                }
            }
            "notifications/cancelled" => {
                let cancelled: Option<CancelledNotificationParams> =
                    params.and_then(|params| serde_json::from_str(params.get()).ok());
                if let Some(id) = cancelled.and_then(|cancelled| cancelled.request_id) {
                    self.taken_back(&id);
                }
            }
            "notifications/message" => {
                match params.map(|params| serde_json::from_str(params.get())) {
                    Some(Ok(message)) => {
                        ClientHandlers::tell(self.handlers.log.as_ref(), || message)
                    }
                    _ => self.skipped("an unreadable log message"),
                }
            }
            "notifications/elicitation/complete" => {
                if let Some(Ok(complete)) = params.map(|params| serde_json::from_str(params.get()))
                {
                    ClientHandlers::tell(self.handlers.elicitation_complete.as_ref(), || complete);
                }
            }
            "notifications/subscriptions/acknowledged" => {
                let subscription = params.and_then(subscription_of);
                let params = params.map(RawJson::from);
                self.tell_listeners(subscription.as_ref(), &ListenEvent::Acknowledged(params));
            }
            method => {
                if let Some(change) = Change::of_notification(method, params) {
                    self.cache.invalidate(&change);
                    let subscription = params.and_then(subscription_of);
                    self.tell_listeners(
                        subscription.as_ref(),
                        &ListenEvent::Changed(change.clone()),
                    );
                    ClientHandlers::tell(self.handlers.change.as_ref(), || change);
                }
            }
        }
        ClientHandlers::tell(self.handlers.notification.as_ref(), || {
            let method = notification.method.clone().into_owned();
            Notification::new(method, params.map(RawJson::from))
        });
    }

    /// Takes a request of the server and answers it through `reply`, from a task of its own.
    pub(crate) fn request(
        self: &Arc<Self>,
        request: &RequestEnvelope<'_>,
        reply: &Arc<dyn SendMessage>,
    ) {
        let version = self.state().version;
        if version.is_some_and(|version| !version.has_server_requests()) {
            // Spec 2026-07-28, basic/patterns: servers send no requests, and clients no answers.
            tracing::warn!(method = %request.method, "a request from a modern server is ignored");
            self.skipped("a request from a modern server");
            return;
        }
        let id = request.id.clone();
        let question = version.and_then(|version| {
            let question = self.question(version, request)?;
            Some((version, question))
        });
        let Some((version, question)) = question else {
            let answer = match &*request.method {
                "ping" => Ok(RawJson::empty_object()),
                method => Err(ErrorObject::method_not_found(method.to_owned())),
            };
            return self.reply(reply, id, answer);
        };
        let question = match question {
            Ok(question) => question,
            Err(error) => return self.reply(reply, id, Err(error)),
        };
        let mut state = self.state();
        let refusal = if state.answering.contains_key(&id) {
            Some(ErrorObject::invalid_request(
                "a question with this id is being answered",
            ))
        } else if state.answering.len() >= MAX_SERVER_REQUESTS {
            Some(ErrorObject::internal(
                "too many questions at once; ask again later",
            ))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            drop(state);
            return self.reply(reply, id, Err(refusal));
        }
        let inbox = Arc::clone(self);
        let reply = Arc::clone(reply);
        let answered = id.clone();
        // Spawned while the table is locked, so that the task cannot be over before it is in the table.
        let task = tokio::spawn(async move {
            let answer = inbox.handlers.respond(question, version).await;
            // The answer is on its way out before the question leaves the table, which bounds both.
            send_reply(&reply, answered.clone(), answer).await;
            inbox.state().answering.remove(&answered);
        });
        state.answering.insert(id, task.abort_handle());
    }

    /// Sends an answer that took no thought, from a task of its own; a server that does not read gets no more of them.
    fn reply(
        self: &Arc<Self>,
        reply: &Arc<dyn SendMessage>,
        id: RequestId,
        answer: Result<RawJson, ErrorObject>,
    ) {
        let mut state = self.state();
        if state.replying >= MAX_SERVER_REQUESTS {
            drop(state);
            return self.skipped("a request of a server that does not read answers");
        }
        state.replying += 1;
        drop(state);
        let (inbox, reply) = (Arc::clone(self), Arc::clone(reply));
        tokio::spawn(async move {
            send_reply(&reply, id, answer).await;
            inbox.state().replying -= 1;
        });
    }

    /// The question a request puts, when it is one of the kinds a client answers.
    fn question(
        &self,
        version: ProtocolVersion,
        request: &RequestEnvelope<'_>,
    ) -> Option<Result<InputRequest, ErrorObject>> {
        let method = methods::find(&request.method)?;
        if request.method == "ping" || !method.is_server_request(version) {
            return None;
        }
        // Kept raw: a number that fits no type is an error of the question, not a value.
        let question = ServerRequest {
            method: &request.method,
            params: request.params,
        };
        let question = RawJson::from_serialize(&question).and_then(|question| question.parse());
        Some(
            question.map_err(|error| {
                ErrorObject::invalid_params(format!("{}: {error}", request.method))
            }),
        )
    }

    /// The server takes a question back, or ends a subscription.
    fn taken_back(&self, id: &RequestId) {
        let task = self.state().answering.remove(id);
        if let Some(task) = task {
            task.abort();
        }
        self.tell_listeners(Some(id), &ListenEvent::Ended);
    }

    /// Hears of what belongs to a subscription, or of everything the filter lets through, until the guard is dropped.
    pub(crate) fn listen(
        self: &Arc<Self>,
        subscription: Option<RequestId>,
        filter: Option<Filter>,
    ) -> (ListenGuard, Arc<ListenQueue>) {
        let news = Arc::new(ListenQueue::default());
        let mut state = self.state();
        state.next_listener += 1;
        let number = state.next_listener;
        state.listening.push(Listener {
            number,
            subscription,
            filter,
            news: Arc::clone(&news),
        });
        drop(state);
        let guard = ListenGuard {
            inbox: Arc::clone(self),
            number,
        };
        (guard, news)
    }

    fn tell_listeners(&self, subscription: Option<&RequestId>, news: &ListenEvent) {
        let state = self.state();
        for listener in &state.listening {
            let concerned = match (&listener.subscription, subscription) {
                (None, None) => true,
                (Some(ours), Some(id)) => spellings(id).any(|id| id == *ours),
                (Some(_), None) | (None, Some(_)) => false,
            };
            let wanted = match (&listener.filter, news) {
                (Some(filter), ListenEvent::Changed(change)) => filter.accepts(change),
                _ => true,
            };
            if concerned && wanted {
                listener.news.push(news.clone());
            }
        }
    }

    /// The connection is gone: nothing is answered any more, and nobody hears anything more.
    pub(crate) fn closed(&self) {
        let mut state = self.state();
        for (_, task) in state.answering.drain() {
            task.abort();
        }
        for listener in state.listening.drain(..) {
            listener.news.push(ListenEvent::Ended);
        }
    }

    fn state(&self) -> MutexGuard<'_, IncomingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of the server in the form of an input request.
#[derive(Serialize)]
struct ServerRequest<'a> {
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

/// Stops listening when it is dropped.
#[derive(Debug)]
pub(crate) struct ListenGuard {
    inbox: Arc<IncomingMessages>,
    number: u64,
}

impl Drop for ListenGuard {
    fn drop(&mut self) {
        let number = self.number;
        self.inbox
            .state()
            .listening
            .retain(|listener| listener.number != number);
    }
}

async fn send_reply(
    reply: &Arc<dyn SendMessage>,
    id: RequestId,
    answer: Result<RawJson, ErrorObject>,
) {
    let response = match answer {
        Ok(result) => Response::result(id, result),
        Err(error) => Response::error(id, error),
    };
    let message = serde_json::to_vec(&response).expect("a response always serialises");
    trace_wire("sent", &message);
    match tokio::time::timeout(REPLY_TIME, reply.send(message)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "an answer could not be sent"),
        Err(_) => tracing::debug!("the server did not take an answer"),
    }
}
