//! Delivers changes on one connection: `subscriptions/listen` streams, and the notifications of legacy clients.

mod exchange;
mod tasks;

use std::sync::{Arc, Mutex, MutexGuard};

use toolwire_proto::admit::Admitted;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::methods;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::subscriptions::{self, Change, Filter};
use toolwire_types::{
    CancelledNotificationParams, ErrorObject, Notification, ProtocolVersion, RawJson, RequestId,
    SubscriptionFilter, SubscriptionsListenRequestParams, SubscriptionsListenResult,
};

use crate::engine::encoding::encode_outcome;
use crate::engine::{ConnectionState, Outcome, Principal};
use crate::server::Server;
use crate::server::hub::{ChangeListener, ListenerGuard};
use crate::server::mount::UriSubscription;
use crate::sync::lock;
use crate::transport::listen::tasks::{RunningFeed, TaskFeed};
use crate::transport::outgoing_queue::MessageSink;

pub(crate) use exchange::{ListenEnd, listen_work};

/// One open `subscriptions/listen` stream.
#[derive(Debug)]
pub(crate) struct ListenStream {
    shared: Arc<ListenState>,
    version: ProtocolVersion,
    _listening: ListenerGuard,
    _feed: Option<RunningFeed>,
    _subscriptions: Vec<UriSubscription>,
}

#[derive(Debug)]
struct ListenState {
    id: RequestId,
    filter: Filter,
    out: Arc<dyn MessageSink>,
    /// Locked while a message is sent: the acknowledgement is first, and nothing follows the end.
    phase: Mutex<StreamPhase>,
    tasks: TaskFeed,
}

/// The phase of a stream.
#[derive(Debug)]
enum StreamPhase {
    /// The acknowledgement was not sent yet. Changes wait for it.
    Opening(Vec<Change>),
    Open,
    Closed,
}

/// The validated filter of a `subscriptions/listen` request.
#[derive(Debug)]
pub(crate) struct ListenFilter {
    /// The part that the server can serve, as the acknowledgement reports it.
    accepted: SubscriptionFilter,
    filter: Filter,
}

impl ListenFilter {
    /// Reads and validates the filter of a request.
    pub(crate) fn read(server: &Server, admitted: &Admitted<'_>) -> Result<Self, ErrorObject> {
        let capabilities = server.capabilities();
        let method = admitted.method.name();
        if !methods::find(method)
            .is_some_and(|method| method.is_offered(admitted.version, &capabilities))
        {
            return Err(methods::not_offered(method));
        }
        let text = admitted.params().map_or("{}", |params| params.get());
        let request: SubscriptionsListenRequestParams =
            serde_json::from_str(text).map_err(|error| {
                ErrorObject::invalid_params(format!("params: {}", decode_message(&error)))
            })?;
        let requested = &request.notifications;
        if let Some(id) = subscriptions::required_extension(requested, &capabilities) {
            Server::check_declared(id, admitted)?;
        }
        let accepted = subscriptions::accepted_filter(requested, &capabilities);
        let filter = Filter::new(&accepted)?;
        Ok(Self { accepted, filter })
    }

    /// Returns an upper bound of its memory in bytes.
    #[cfg(feature = "http-server")]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.filter.memory_bytes()
    }
}

impl ListenStream {
    /// Acknowledges the request, and delivers changes from then on. `principal` is the owner of the tasks that the filter
    /// may name.
    pub(crate) fn open(
        server: &Server,
        (id, version): (RequestId, ProtocolVersion),
        filter: ListenFilter,
        out: Arc<dyn MessageSink>,
        principal: Principal,
    ) -> Self {
        let ListenFilter { accepted, filter } = filter;
        let shared = Arc::new(ListenState {
            id,
            filter,
            out,
            phase: Mutex::new(StreamPhase::Opening(Vec::new())),
            tasks: Default::default(),
        });
        // Registered before the acknowledgement is sent: no change is lost in between.
        let listening = server
            .hub()
            .listen(Arc::clone(&shared) as Arc<dyn ChangeListener>);
        let uris = accepted.resource_subscriptions.iter().flatten();
        let subscriptions = uris.map(|uri| server.subscribe_to(uri)).collect();
        let feed = match TaskFeed::start(&shared, server, accepted, principal) {
            Ok(feed) => Some(feed),
            Err(accepted) => {
                shared.acknowledge(accepted);
                None
            }
        };
        Self {
            shared,
            version,
            _listening: listening,
            _feed: feed,
            _subscriptions: subscriptions,
        }
    }

    /// Ends the stream without another message, because the client cancelled it.
    pub(crate) fn close_silently(self) {
        *self.shared.lock() = StreamPhase::Closed;
    }

    /// Ends the stream from the server side, on a connection that stays open. The specification requires two different
    /// final messages, so both are sent: that of `basic/patterns/cancellation` and that of [`finish`](Self::finish).
    pub(crate) fn cancel_and_conclude(self, server: &Server) {
        self.send_cancelled();
        self.finish(server);
    }

    /// Closes the stream and sends the notification that the server cancels it.
    fn send_cancelled(&self) {
        let mut phase = self.shared.lock();
        *phase = StreamPhase::Closed;
        let cancelled = CancelledNotificationParams::new(self.shared.id.clone());
        if let Ok(params) = RawJson::from_serialize(&cancelled) {
            self.shared.out.notify(
                &Notification::new("notifications/cancelled", Some(params)),
                OutgoingKind::Other,
            );
        }
    }

    /// Ends the stream from the server side with its result: `basic/patterns/subscriptions`, "Graceful Closure".
    pub(crate) fn finish(self, server: &Server) {
        let outcome = self.close(server);
        let id = &self.shared.id;
        self.shared
            .out
            .push(OutgoingKind::Response, encode_outcome(id, outcome));
    }

    /// Closes the stream and returns its result.
    fn close(&self, server: &Server) -> Outcome {
        *self.shared.lock() = StreamPhase::Closed;
        let result = SubscriptionsListenResult::new(&self.shared.id);
        server.snapshot().finish(result, self.version)
    }
}

impl ListenState {
    /// Sends the acknowledgement, and the changes that waited for it.
    fn acknowledge(&self, accepted: SubscriptionFilter) {
        let mut phase = self.lock();
        let waiting = match &mut *phase {
            StreamPhase::Opening(waiting) => std::mem::take(waiting),
            StreamPhase::Open | StreamPhase::Closed => return,
        };
        self.out.notify(
            &subscriptions::acknowledgement(&self.id, accepted),
            OutgoingKind::Other,
        );
        for change in &waiting {
            self.send(change);
        }
        *phase = StreamPhase::Open;
    }

    /// Sends a change. The caller holds the lock.
    fn send(&self, change: &Change) -> bool {
        let notification = change.to_notification();
        if let Some(notification) = &notification {
            self.out.notify(
                &subscriptions::stamp(notification.clone(), &self.id),
                kind(change, Some(&self.id)),
            );
        }
        notification.is_some()
    }

    /// Sends the state of a task.
    #[cfg(feature = "tasks")]
    fn send_task(&self, id: &str, notification: Notification) {
        let phase = self.lock();
        if matches!(*phase, StreamPhase::Open) {
            let kind = OutgoingKind::TaskChanged {
                task: id.to_owned(),
                subscription: Some(self.id.to_string()),
            };
            self.out
                .notify(&subscriptions::stamp(notification, &self.id), kind);
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamPhase> {
        lock(&self.phase)
    }
}

impl ChangeListener for ListenState {
    fn deliver(&self, change: &Change) -> bool {
        if !self.filter.accepts(change) {
            return false;
        }
        if let Change::Task(id) = change {
            return self.tasks.add(id);
        }
        let mut phase = self.lock();
        match &mut *phase {
            StreamPhase::Opening(waiting) => {
                if !waiting.contains(change) {
                    waiting.push(change.clone());
                }
                true
            }
            StreamPhase::Open => self.send(change),
            StreamPhase::Closed => false,
        }
    }

    #[cfg(feature = "http-server")]
    fn resync(&self) {
        for change in self.filter.changes() {
            self.deliver(&change);
        }
    }
}

/// Delivers changes to a legacy client: all list changes, and updates of the resources it subscribed to.
#[derive(Debug)]
pub(crate) struct LegacyListener {
    out: Arc<dyn MessageSink>,
    state: Arc<ConnectionState>,
}

impl LegacyListener {
    pub(crate) fn new(out: Arc<dyn MessageSink>, state: Arc<ConnectionState>) -> Self {
        Self { out, state }
    }
}

impl LegacyListener {
    /// Returns `true` if the client has completed the handshake of a legacy revision.
    fn is_legacy(&self) -> bool {
        self.state.is_initialized()
            && self
                .state
                .version()
                .is_some_and(|version| !version.has_listen())
    }
}

impl ChangeListener for LegacyListener {
    fn deliver(&self, change: &Change) -> bool {
        let is_legacy = self.is_legacy();
        let is_subscribed = match change {
            Change::ToolsListChanged
            | Change::PromptsListChanged
            | Change::ResourcesListChanged => true,
            Change::ResourceUpdated(uri) => self.state.is_subscribed(uri),
            _ => false,
        };
        let notification = change
            .to_notification()
            .filter(|_| is_legacy && is_subscribed);
        if let Some(notification) = &notification {
            self.out.notify(notification, kind(change, None));
        }
        notification.is_some()
    }

    #[cfg(feature = "http-server")]
    fn resync(&self) {
        let lists = [
            Change::ToolsListChanged,
            Change::PromptsListChanged,
            Change::ResourcesListChanged,
        ];
        let resources = self.state.subscriptions();
        for change in lists
            .into_iter()
            .chain(resources.into_iter().map(Change::ResourceUpdated))
        {
            self.deliver(&change);
        }
    }

    fn notify(&self, notification: &Notification) -> bool {
        let is_legacy = self.is_legacy();
        if is_legacy {
            self.out.notify(notification, OutgoingKind::Other);
        }
        is_legacy
    }
}

/// Returns the kind of a change, by which the queue merges it with an equal queued change.
fn kind(change: &Change, subscription: Option<&RequestId>) -> OutgoingKind {
    let subscription = subscription.map(ToString::to_string);
    match change {
        Change::ResourceUpdated(uri) => OutgoingKind::ResourceUpdated {
            uri: uri.clone(),
            subscription,
        },
        Change::ToolsListChanged | Change::PromptsListChanged | Change::ResourcesListChanged => {
            OutgoingKind::ListChanged {
                method: format!("{change:?}").into(),
                subscription,
            }
        }
        #[cfg(feature = "events")]
        Change::EventsListChanged => OutgoingKind::ListChanged {
            method: "EventsListChanged".into(),
            subscription,
        },
        _ => OutgoingKind::Other,
    }
}
