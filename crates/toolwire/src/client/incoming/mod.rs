//! Incoming messages other than responses: notifications, and requests of legacy servers.
//!
//! Nothing here waits: listeners run at once, and each request is handled by its own task, so that reading continues.
//! A request that the server cancels, or whose connection ends, is aborted.

mod server_requests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use toolwire_proto::elicitation_ids::ElicitationIds;
use toolwire_proto::envelope::NotificationEnvelope;
use toolwire_proto::requests::spellings;
use toolwire_proto::subscriptions::{Change, Filter, subscription_of};
#[cfg(feature = "tasks")]
use toolwire_types::tasks::GetTaskRequestParams;
use toolwire_types::{
    CancelledNotificationParams, ElicitationCompleteNotificationParams, ErrorObject, Notification,
    ProtocolVersion, RawJson, RequestId, code,
};

use crate::client::cache::Cache;
#[cfg(feature = "events")]
use crate::client::events::routes::EventRoutes;
use crate::client::handlers::ClientHandlers;
use crate::client::listen_queue::{ListenEvent, ListenQueue};
use crate::client::middleware::ClientChain;
use crate::client::progress::ProgressRoutes;
#[cfg(feature = "tasks")]
use crate::client::tasks::notifications::TaskNotifications;
use crate::engine::ConnectionInfo;
use crate::sync::lock;

/// Receives all messages of one connection that are not responses.
#[derive(Debug)]
pub(crate) struct IncomingMessages {
    pub(crate) handlers: Arc<ClientHandlers>,
    pub(crate) progress: Arc<ProgressRoutes>,
    #[cfg(feature = "events")]
    pub(crate) event_streams: Arc<EventRoutes>,
    #[cfg(feature = "tasks")]
    pub(crate) task_notifications: Arc<TaskNotifications>,
    cache: Arc<Cache>,
    /// The middleware around the handlers of requests. `None` without any.
    middleware: Option<ClientChain>,
    connection: Arc<ConnectionInfo>,
    state: Mutex<IncomingState>,
    /// Shared by all connections of one client.
    skipped: Arc<AtomicU64>,
    /// Counts the sessions that replaced a lost session.
    renewals: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct IncomingState {
    /// The negotiated version, or the version of the probe request before that.
    version: Option<ProtocolVersion>,
    /// The requests of the server in flight.
    running: HashMap<RequestId, AbortHandle>,
    /// The number of immediate responses that are being sent.
    responding: usize,
    listening: Vec<Listener>,
    next_listener: u64,
    /// The URL elicitations that the server announced.
    elicitations: ElicitationIds,
}

#[derive(Debug)]
struct Listener {
    number: u64,
    /// The request that opened the stream. `None` receives every change, because legacy sessions have one stream.
    subscription: Option<RequestId>,
    /// The changes to deliver, where the server does not filter them.
    filter: Option<Filter>,
    queue: Arc<ListenQueue>,
}

impl IncomingMessages {
    pub(crate) fn new(
        handlers: Arc<ClientHandlers>,
        cache: Arc<Cache>,
        skipped: Arc<AtomicU64>,
        middleware: Option<ClientChain>,
        connection: Arc<ConnectionInfo>,
    ) -> Self {
        Self {
            handlers,
            progress: Arc::default(),
            #[cfg(feature = "events")]
            event_streams: Arc::default(),
            #[cfg(feature = "tasks")]
            task_notifications: Arc::default(),
            cache,
            middleware,
            connection,
            state: Mutex::default(),
            skipped,
            renewals: watch::Sender::new(0),
        }
    }

    /// Sets the protocol version of the connection.
    pub(crate) fn set_version(&self, version: ProtocolVersion) {
        self.state().version = Some(version);
    }

    /// Counts an ignored message.
    pub(crate) fn count_skipped(&self, what: &'static str) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(what, "ignored a message of the server");
    }

    /// Returns the number of requests in flight, listeners and progress routes.
    pub(crate) fn open_entries(&self) -> usize {
        let state = self.state();
        state.running.len() + state.responding + state.listening.len() + self.progress.len()
    }

    /// Returns `true` if a request of the server is in flight. Meanwhile the server waits for this client.
    pub(crate) fn has_server_requests(&self) -> bool {
        !self.state().running.is_empty()
    }

    /// Records that a new legacy session replaced a lost one. Its subscriptions have to be made again.
    #[cfg(feature = "http-client")]
    pub(crate) fn session_renewed(&self) {
        self.renewals.send_modify(|count| *count += 1);
        #[cfg(feature = "relay")]
        if let Some(relay) = &self.handlers.relay {
            relay.on_session_renewed();
        }
    }

    /// Records that the server closed the stream of a request before its response, so that the client resumes it.
    #[cfg(feature = "http-client")]
    pub(crate) fn stream_released(&self, request: &RequestId) {
        #[cfg(feature = "relay")]
        if let Some(relay) = &self.handlers.relay {
            relay.on_stream_released(request);
        }
        #[cfg(not(feature = "relay"))]
        let _ = (self, request);
    }

    /// Returns a receiver that changes when a new session replaces a lost one.
    pub(crate) fn renewals(&self) -> watch::Receiver<u64> {
        self.renewals.subscribe()
    }

    /// Returns the number of sessions that replaced a lost one.
    pub(crate) fn renewed_sessions(&self) -> u64 {
        *self.renewals.borrow()
    }

    /// Handles a notification. `origin` is the request on whose stream it arrived.
    pub(crate) fn on_notification(
        &self,
        notification: &NotificationEnvelope<'_>,
        origin: Option<&RequestId>,
    ) {
        let params = notification.params;
        #[cfg(feature = "relay")]
        if let Some(relay) = &self.handlers.relay {
            if notification.method == "notifications/cancelled" {
                self.on_cancelled(params);
            }
            relay.on_notification(notification, origin);
            return;
        }
        #[cfg(not(feature = "relay"))]
        let _ = origin;
        match &*notification.method {
            "notifications/progress" => {
                let progress = params.and_then(|params| serde_json::from_str(params.get()).ok());
                if !progress.is_some_and(|progress| self.progress.deliver(progress)) {
                    self.count_skipped("progress with an unknown token");
                }
            }
            "notifications/cancelled" => self.on_cancelled(params),
            "notifications/message" => {
                match params.map(|params| serde_json::from_str(params.get())) {
                    Some(Ok(message)) => {
                        ClientHandlers::notify(self.handlers.log.as_ref(), || message);
                    }
                    _ => self.count_skipped("an unreadable log message"),
                }
            }
            "notifications/elicitation/complete" => self.on_elicitation_complete(params),
            #[cfg(feature = "tasks")]
            "notifications/tasks/status" => self.on_task_status(params),
            "notifications/subscriptions/acknowledged" => {
                let subscription = params.and_then(subscription_of);
                let params = params.map(RawJson::from);
                self.notify_listeners(subscription.as_ref(), &ListenEvent::Acknowledged(params));
            }
            #[cfg(feature = "events")]
            method if EventRoutes::serves(method) => {
                if !self.event_streams.deliver(method, params) {
                    self.count_skipped("a message of an unknown event stream");
                }
            }
            method => {
                if let Some(change) = Change::of_notification(method, params) {
                    self.cache.invalidate(&change);
                    #[cfg(feature = "tasks")]
                    if let (Change::Task(id), Some(params)) = (&change, params) {
                        self.task_notifications.store(id, || params.into());
                    }
                    let subscription = params.and_then(subscription_of);
                    self.notify_listeners(
                        subscription.as_ref(),
                        &ListenEvent::Changed(change.clone()),
                    );
                    ClientHandlers::notify(self.handlers.change.as_ref(), || change);
                }
            }
        }
        ClientHandlers::notify(self.handlers.notification.as_ref(), || {
            let method = notification.method.clone().into_owned();
            Notification::new(method, params.map(RawJson::from))
        });
    }

    /// Handles the cancellation of a request of the server.
    fn on_cancelled(&self, params: Option<&RawValue>) {
        let cancelled: Option<CancelledNotificationParams> =
            params.and_then(|params| serde_json::from_str(params.get()).ok());
        if let Some(id) = cancelled.and_then(|cancelled| cancelled.request_id) {
            self.cancel(&id);
        }
    }

    /// Stores the status of a task that the client waits for (2025-11-25).
    #[cfg(feature = "tasks")]
    fn on_task_status(&self, params: Option<&RawValue>) {
        // The task is read where the client waits for it. Here only its id is needed.
        let subject: Option<GetTaskRequestParams> =
            params.and_then(|params| serde_json::from_str(params.get()).ok());
        match (subject, params) {
            (Some(subject), Some(params)) => {
                self.task_notifications
                    .store(&subject.task_id, || params.into());
            }
            _ => self.count_skipped("an unreadable status of a task"),
        }
    }

    /// Forwards the completion of a URL elicitation that the server announced, once.
    fn on_elicitation_complete(&self, params: Option<&RawValue>) {
        let completed: Option<ElicitationCompleteNotificationParams> =
            params.and_then(|params| serde_json::from_str(params.get()).ok());
        let completed = completed.filter(|completed| {
            let elicitations = &mut self.state().elicitations;
            elicitations.complete(&completed.elicitation_id)
        });
        match completed {
            Some(completed) => {
                ClientHandlers::notify(self.handlers.elicitation_complete.as_ref(), || completed);
            }
            None => self.count_skipped("the completion of an unknown or completed elicitation"),
        }
    }

    /// Stores the URL elicitations that an error of the server announces.
    pub(crate) fn on_error(&self, error: &ErrorObject) {
        if error.code == code::URL_ELICITATION_REQUIRED {
            self.state().elicitations.announce_error(error);
        }
    }

    /// Cancels a request of the server, or ends a subscription.
    fn cancel(&self, id: &RequestId) {
        let task = self.state().running.remove(id);
        if let Some(task) = task {
            task.abort();
        }
        self.notify_listeners(Some(id), &ListenEvent::Ended);
    }

    /// Returns a queue for the events of a subscription, or for all changes that pass the filter. Dropping the guard
    /// removes the listener.
    pub(crate) fn listen(
        self: &Arc<Self>,
        subscription: Option<RequestId>,
        filter: Option<Filter>,
    ) -> (ListenGuard, Arc<ListenQueue>) {
        let queue = Arc::new(ListenQueue::default());
        let mut state = self.state();
        state.next_listener += 1;
        let number = state.next_listener;
        state.listening.push(Listener {
            number,
            subscription,
            filter,
            queue: Arc::clone(&queue),
        });
        drop(state);
        let guard = ListenGuard {
            incoming: Arc::clone(self),
            number,
        };
        (guard, queue)
    }

    fn notify_listeners(&self, subscription: Option<&RequestId>, event: &ListenEvent) {
        let state = self.state();
        for listener in &state.listening {
            let subscription_matches = match (&listener.subscription, subscription) {
                (None, None) => true,
                (Some(own), Some(id)) => spellings(id).any(|id| id == *own),
                (Some(_), None) | (None, Some(_)) => false,
            };
            let filter_accepts = match (&listener.filter, event) {
                (Some(filter), ListenEvent::Changed(change)) => filter.accepts(change),
                _ => true,
            };
            if subscription_matches && filter_accepts {
                listener.queue.push(event.clone());
            }
        }
    }

    /// Aborts all requests and ends all listeners, because the connection is closed.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        for (_, task) in state.running.drain() {
            task.abort();
        }
        for listener in state.listening.drain(..) {
            listener.queue.push(ListenEvent::Ended);
        }
    }

    fn state(&self) -> MutexGuard<'_, IncomingState> {
        lock(&self.state)
    }
}

/// Removes a listener when it is dropped.
#[derive(Debug)]
pub(crate) struct ListenGuard {
    incoming: Arc<IncomingMessages>,
    number: u64,
}

impl Drop for ListenGuard {
    fn drop(&mut self) {
        let number = self.number;
        self.incoming
            .state()
            .listening
            .retain(|listener| listener.number != number);
    }
}
