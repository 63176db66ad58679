//! Delivers changes on one connection: `subscriptions/listen` streams, and the notifications of legacy clients.

mod exchange;
mod stream_queue;
mod tasks;

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use toolwire_proto::admit::Admitted;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::methods;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::stamp::{Stamp as _, Target};
use toolwire_proto::subscriptions::{self, Change, Filter};
use toolwire_types::{
    CancelledNotificationParams, ErrorObject, Notification, ProtocolVersion, RawJson, RequestId,
    SubscriptionFilter, SubscriptionsListenRequestParams, SubscriptionsListenResult,
};

use crate::engine::encoding::encode_outcome;
use crate::engine::{ConnectionState, EncodedResult, Outcome, TokenInfo};
use crate::server::hub::{ChangeListener, ListenerGuard};
use crate::server::mount::UriSubscription;
use crate::server::visibility::{Caller, StoredCaller};
use crate::server::{Server, ServerInner};
use crate::transport::listen::stream_queue::{ListenMessage, StreamQueue};
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
    queue: StreamQueue,
    tasks: TaskFeed,
    server: Weak<ServerInner>,
    caller: StoredCaller,
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
    /// Acknowledges the request, and delivers changes from then on. The caller owns the tasks that the filter may name. A
    /// resource that is hidden from it is acknowledged like an unknown one, and its changes are not delivered.
    ///
    /// # Errors
    /// Returns an error if a visibility rule or a source panics.
    pub(crate) fn open(
        server: &Server,
        (id, version): (RequestId, ProtocolVersion),
        filter: ListenFilter,
        out: Arc<dyn MessageSink>,
        caller: StoredCaller,
    ) -> Result<Self, ErrorObject> {
        let ListenFilter { accepted, filter } = filter;
        let principal = caller.principal();
        let shared = Arc::new(ListenState {
            id,
            filter,
            out,
            queue: StreamQueue::default(),
            tasks: Default::default(),
            server: Arc::downgrade(server.shared()),
            caller,
        });
        // Registered before the acknowledgement is sent: no change is lost in between.
        let listening = server
            .hub()
            .listen(Arc::clone(&shared) as Arc<dyn ChangeListener>);
        let mut subscriptions = Vec::new();
        let snapshot = server.snapshot();
        for uri in accepted.resource_subscriptions.iter().flatten() {
            if !snapshot.hides_resource(uri, || shared.caller.caller())? {
                subscriptions.push(server.subscribe_to(uri)?);
            }
        }
        let feed = match TaskFeed::start(&shared, server, accepted, principal) {
            Ok(feed) => Some(feed),
            Err(accepted) => {
                shared.acknowledge(accepted);
                None
            }
        };
        Ok(Self {
            shared,
            version,
            _listening: listening,
            _feed: feed,
            _subscriptions: subscriptions,
        })
    }

    /// Ends the stream without another message, because the client cancelled it.
    pub(crate) fn close_silently(self) {
        self.shared.queue.close();
    }

    /// Ends the stream from the server side, on a connection that stays open. The specification requires two different
    /// final messages, so both are sent: that of `basic/patterns/cancellation` and that of [`finish`](Self::finish).
    pub(crate) fn cancel_and_conclude(self, server: &Server) {
        self.send_cancelled();
        self.finish(server);
    }

    /// Closes the stream and sends the notification that the server cancels it.
    fn send_cancelled(&self) {
        self.shared.queue.close();
        let cancelled = cancelled_by_server(&self.shared.id);
        self.shared.out.notify(&cancelled, OutgoingKind::Other);
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
        self.shared.queue.close();
        let result = SubscriptionsListenResult::new(&self.shared.id);
        server.snapshot().finish(result, self.version)
    }
}

/// Returns the notification that the server cancels a stream.
pub(crate) fn cancelled_by_server(id: &RequestId) -> Notification {
    let cancelled = CancelledNotificationParams::new(id.clone());
    let params = RawJson::from_serialize(&cancelled).expect("an id always serializes");
    Notification::new("notifications/cancelled", Some(params))
}

/// Returns the result of a forwarded stream that this server ends. It does not name this server, because the client
/// knows only the server behind it.
pub(crate) fn forwarded_end(id: &RequestId, version: ProtocolVersion) -> Outcome {
    let mut result = SubscriptionsListenResult::new(id);
    result.stamp(&Target::new(version));
    let result = RawJson::from_serialize(&result);
    let result = result.map_err(|error| ErrorObject::internal(error.to_string()))?;
    Ok(EncodedResult::Json(result))
}

impl ListenState {
    /// Sends the acknowledgement, and the changes that waited for it.
    fn acknowledge(&self, accepted: SubscriptionFilter) {
        self.queue
            .acknowledge(accepted, |message| self.send(message));
    }

    /// Sends the state of a task.
    #[cfg(feature = "tasks")]
    fn send_task(&self, id: &str, notification: Notification) {
        self.queue
            .add_task(id, notification, |message| self.send(message));
    }

    fn send(&self, message: ListenMessage) {
        match message {
            ListenMessage::Acknowledgement(accepted) => self.out.notify(
                &subscriptions::acknowledgement(&self.id, accepted),
                OutgoingKind::Other,
            ),
            ListenMessage::Change(change) => {
                if let Some(notification) = change.to_notification() {
                    self.out.notify(
                        &subscriptions::stamp(notification, &self.id),
                        kind(&change, Some(&self.id)),
                    );
                }
            }
            #[cfg(feature = "tasks")]
            ListenMessage::Task(task, notification) => {
                let subscription = Some(self.id.to_string());
                let kind = OutgoingKind::TaskChanged { task, subscription };
                self.out
                    .notify(&subscriptions::stamp(notification, &self.id), kind);
            }
        }
    }

    /// Returns `true` if a resource is hidden from the caller now.
    fn is_hidden(&self, change: &Change) -> bool {
        let (Change::ResourceUpdated(uri), Some(shared)) = (change, self.server.upgrade()) else {
            return false;
        };
        let snapshot = Server::of_shared(shared).snapshot();
        // A resource whose rule panics is not shown.
        let is_hidden = snapshot.hides_resource(uri, || self.caller.caller());
        is_hidden.unwrap_or(true)
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
        if change.to_notification().is_none() || self.is_hidden(change) {
            return false;
        }
        self.queue.add_change(change, |message| self.send(message))
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
    server: Weak<ServerInner>,
    token: Option<Arc<TokenInfo>>,
    uses_tokens: bool,
}

impl LegacyListener {
    /// Creates the listener of a connection. The token is that of the client, on transports that use tokens.
    pub(crate) fn new(
        out: Arc<dyn MessageSink>,
        state: Arc<ConnectionState>,
        server: &Server,
        (token, uses_tokens): (Option<Arc<TokenInfo>>, bool),
    ) -> Self {
        Self {
            out,
            state,
            server: Arc::downgrade(server.shared()),
            token,
            uses_tokens,
        }
    }

    /// Returns `true` if a resource is hidden from the client now. Rules may have changed since it subscribed.
    fn is_hidden(&self, uri: &str) -> bool {
        let Some(shared) = self.server.upgrade() else {
            return false;
        };
        let snapshot = Server::of_shared(shared).snapshot();
        let client = self.state.client_info();
        let is_hidden = snapshot.hides_resource(uri, || {
            let token = self.token.as_deref().unwrap_or(TokenInfo::none());
            Caller::new(
                token,
                self.uses_tokens,
                client.as_deref().map(Cow::Borrowed),
            )
        });
        // A resource whose rule panics is not shown.
        is_hidden.unwrap_or(true)
    }

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
            Change::ResourceUpdated(uri) => self.state.is_subscribed(uri) && !self.is_hidden(uri),
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
