//! Passes the messages of an upstream connection to the clients that they belong to.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use toolwire_proto::envelope::{NotificationEnvelope, RequestEnvelope};
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::mapping::{Action, Sender, action};
use toolwire_proto::subscriptions::{self, Change, subscription_of};
use toolwire_types::{ErrorObject, Notification, RawJson, RequestId, meta_key};

use crate::client::relay_messages::RelayMessages;
use crate::engine::{BoxFuture, OutgoingNotification, PeerText, TransportContext};
use crate::relay::calls::{CallToken, ForwardedCall, ForwardedCalls, is_of_one_client};
use crate::relay::server_requests::RequestToClient;
use crate::sync::lock;

/// Receives the messages of one upstream connection.
#[derive(Debug, Default)]
pub(super) struct UpstreamMessages {
    pub(super) calls: Arc<ForwardedCalls>,
    receiver: Mutex<OtherMessages>,
    /// The session of the only client.
    session: Mutex<Option<Weak<dyn RenewableSession>>>,
    /// Whether several principals use the connection, so that a notification without a name may belong to another one
    /// than the only request.
    is_of_several_principals: AtomicBool,
}

/// Receives the messages that belong to no request.
#[derive(Debug, Clone, Default)]
enum OtherMessages {
    /// The connection may serve several clients, and none of them gets such messages.
    #[default]
    None,
    /// The connection serves one client of the same era.
    Client(Arc<dyn TransportContext>),
    /// The connection serves several clients, which subscribe to changes.
    Changes(Weak<dyn ChangeReceiver>),
}

/// The request that a notification names.
#[derive(Debug)]
enum NamedCall {
    Open(Arc<ForwardedCall>),
    /// The request was cancelled, or ended otherwise without a response.
    Cancelled,
    /// The request has ended, or never existed.
    Unknown,
}

/// The session of a legacy client that has an upstream session of its own.
pub(super) trait RenewableSession: fmt::Debug + Send + Sync {
    /// Handles the replacement of a lost upstream session by a new one, without waiting.
    fn on_session_renewed(self: Arc<Self>);
}

/// Receives the changes that an upstream server announces outside of requests.
pub(super) trait ChangeReceiver: fmt::Debug + Send + Sync {
    /// Handles a change, without waiting. `params` are those of the notification.
    fn on_change(&self, change: &Change, params: Option<&RawJson>);

    /// Handles the replacement of a lost session by a new one, without waiting. Does nothing for a session without
    /// subscriptions.
    fn on_session_renewed(&self) {}
}

impl UpstreamMessages {
    /// Creates the receiver of a connection that several principals use.
    pub(super) fn of_several_principals() -> Self {
        Self {
            is_of_several_principals: true.into(),
            ..Self::default()
        }
    }

    /// Records that several principals use the connection from now on.
    pub(super) fn set_of_several_principals(&self) {
        self.is_of_several_principals.store(true, Ordering::Release);
    }

    /// Sets the channel to the only client of the connection, outside of its requests, and the client's session.
    pub(super) fn set_client(
        &self,
        channel: Arc<dyn TransportContext>,
        session: Weak<dyn RenewableSession>,
    ) {
        *lock(&self.session) = Some(session);
        *lock(&self.receiver) = OtherMessages::Client(channel);
    }

    /// Sets the receiver of changes.
    pub(super) fn set_change_receiver(&self, receiver: Weak<dyn ChangeReceiver>) {
        *lock(&self.receiver) = OtherMessages::Changes(receiver);
    }

    /// Returns `true` if the connection may serve several clients.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(*lock(&self.receiver), OtherMessages::Client(_))
    }

    fn other_messages(&self) -> OtherMessages {
        lock(&self.receiver).clone()
    }

    /// Returns the request that a notification names. `None` if it names none.
    fn call_of(
        &self,
        notification: &NotificationEnvelope<'_>,
        origin: Option<&RequestId>,
    ) -> Option<NamedCall> {
        let named = |call: Option<Arc<ForwardedCall>>| match call {
            Some(call) => NamedCall::Open(call),
            None => NamedCall::Unknown,
        };
        if let Some(origin) = origin {
            return Some(named(self.calls.get(origin)));
        }
        let params = notification.params?;
        if notification.method == "notifications/progress" {
            let members = RawObject::parse(params)?;
            let token = members.get("progressToken")?.get();
            return Some(match self.calls.with_progress_token(token) {
                None if self.calls.ended_without_response(token) => NamedCall::Cancelled,
                call => named(call),
            });
        }
        let subscription = subscription_of(params)?;
        Some(named(self.calls.get(&subscription)))
    }

    /// Handles a notification of a request that has ended. Only a client that has the connection to itself gets it, as it
    /// would get it from the server. It may be the progress of a task, whose token stays valid after the response of its
    /// request (2025-11-25, basic/utilities/tasks, "Progress"). A cancelled request gets none.
    fn on_late_notification(&self, method: &str, params: Option<RawJson>) {
        match self.other_messages() {
            OtherMessages::Client(client) => send_unless_full(&*client, method, params.as_ref()),
            OtherMessages::None | OtherMessages::Changes(_) => {
                tracing::debug!(method = %PeerText::new(method), "dropped a notification of a request that has ended");
            }
        }
    }

    /// Handles a notification that names no request.
    fn on_other_notification(&self, method: &str, params: Option<RawJson>) {
        let open = self.calls.open();
        let newest = open.last().filter(|_| is_of_one_client(&open));
        match (self.other_messages(), newest) {
            // A client over HTTP may not read messages outside of its requests.
            (OtherMessages::Client(_), Some(call))
                if open.len() == 1 && method == "notifications/message" =>
            {
                call.notify(method, params);
            }
            (OtherMessages::Client(client), _) => {
                send_unless_full(&*client, method, params.as_ref());
            }
            (OtherMessages::None | OtherMessages::Changes(_), Some(call))
                if !self.is_of_several_principals.load(Ordering::Acquire) =>
            {
                call.notify(method, params);
            }
            (OtherMessages::None | OtherMessages::Changes(_), _) => {
                tracing::debug!(method = %PeerText::new(method), "dropped a notification of the upstream server that belongs to no client");
            }
        }
    }

    /// Announces a change to all clients that subscribe to it. `call` is the request on whose stream it arrived. Only a
    /// client that has the connection to itself gets it on that stream, as the upstream server sent it.
    fn announce(
        &self,
        change: &Change,
        method: &str,
        params: Option<RawJson>,
        call: Option<NamedCall>,
    ) {
        match (self.other_messages(), call) {
            (OtherMessages::Client(_), Some(NamedCall::Open(call))) => call.notify(method, params),
            (OtherMessages::Client(client), _) => {
                send_unless_full(&*client, method, params.as_ref());
            }
            (OtherMessages::Changes(receiver), _) => {
                if let Some(receiver) = receiver.upgrade() {
                    receiver.on_change(change, params.as_ref());
                }
            }
            (OtherMessages::None, _) => {
                for call in self.calls.listening_for(change) {
                    call.announce(method, params.clone());
                }
            }
        }
    }
}

/// Returns the change of a notification that the upstream server sends to all of its clients. The notification of a task,
/// and one with a subscription id, belongs to one request.
fn announced_change(notification: &NotificationEnvelope<'_>) -> Option<Change> {
    let change = Change::of_notification(&notification.method, notification.params)?;
    let is_for_all = !matches!(change, Change::Task(_))
        && notification.params.and_then(subscription_of).is_none();
    is_for_all.then_some(change)
}

impl RelayMessages for UpstreamMessages {
    fn on_notification(&self, notification: &NotificationEnvelope<'_>, origin: Option<&RequestId>) {
        let method = &*notification.method;
        // The client of the connection has cancelled the request of the server that is named.
        if method == "notifications/cancelled" {
            return;
        }
        let params = notification.params.map(RawJson::from);
        let call = self.call_of(notification, origin);
        let mut is_listening = false;
        if let Some(NamedCall::Open(call)) = &call {
            call.activity.notify_one();
            is_listening = call.listening.is_some();
        }
        match (call, announced_change(notification)) {
            (call, Some(change)) if !is_listening => self.announce(&change, method, params, call),
            (Some(NamedCall::Open(call)), _) => call.notify(method, params),
            (Some(NamedCall::Cancelled), _) => {
                tracing::debug!(method = %PeerText::new(method), "dropped a notification of a cancelled request");
            }
            (Some(NamedCall::Unknown), _) => self.on_late_notification(method, params),
            (None, _) => self.on_other_notification(method, params),
        }
    }

    fn on_request(
        &self,
        request: &RequestEnvelope<'_>,
        origin: Option<&RequestId>,
    ) -> BoxFuture<'static, Result<RawJson, ErrorObject>> {
        let request = RequestToClient::new(request);
        if let Some(call) = origin.and_then(|origin| self.calls.get(origin)) {
            return Box::pin(async move { request.ask_call(&call).await });
        }
        let channel = match self.other_messages() {
            OtherMessages::Client(channel) => Some(channel),
            OtherMessages::None | OtherMessages::Changes(_) => None,
        };
        if origin.is_some() {
            return Box::pin(async move { request.ask_channel(channel.as_ref()).await });
        }
        let calls = Arc::clone(&self.calls);
        Box::pin(async move { request.ask_any(&calls, channel.as_ref()).await })
    }

    fn on_stream_released(&self, request: &RequestId) {
        if let Some(call) = self.calls.get(request) {
            // A client whose revision or transport cannot resume a stream waits on it.
            call.client.release_stream();
        }
    }

    fn on_session_renewed(&self) {
        let session = lock(&self.session).as_ref().and_then(Weak::upgrade);
        if let Some(session) = session {
            session.on_session_renewed();
        }
        let OtherMessages::Changes(receiver) = self.other_messages() else {
            return;
        };
        let Some(receiver) = receiver.upgrade() else {
            return;
        };
        // The lists of the new session may differ from those of the lost one. Each stream gets those that it listens to.
        for change in [
            Change::ToolsListChanged,
            Change::PromptsListChanged,
            Change::ResourcesListChanged,
        ] {
            receiver.on_change(&change, None);
        }
        receiver.on_session_renewed();
    }
}

impl ForwardedCall {
    /// Sends a notification of the upstream server to the client, in the form of the client's revision.
    fn notify(&self, method: &str, params: Option<RawJson>) {
        if let Some(listening) = &self.listening
            && method == "notifications/subscriptions/acknowledged"
        {
            listening.set_acknowledged();
        }
        if !self.conversion.is_same_revision() {
            let (from, to) = (self.conversion.from(), self.conversion.to());
            let action = action(method, Sender::Upstream, to, from);
            if matches!(action, Action::Discard | Action::Consume | Action::Reject) {
                return;
            }
        }
        if method == "notifications/message" && !self.logs.accepts(params.as_ref()) {
            return;
        }
        let is_limited = self.limits(method, params.as_ref());
        let params = params.map(|params| self.converted(method, params));
        if is_limited {
            send(&*self.client, method, params.as_ref());
        } else {
            send_unless_full(&*self.client, method, params.as_ref());
        }
    }

    /// Returns `true` if the request limits the number of queued notifications of this kind: the queue holds one for each
    /// progress token and for each change to which the client subscribes.
    fn limits(&self, method: &str, params: Option<&RawJson>) -> bool {
        if method == "notifications/progress" {
            return self.has_progress_token(params);
        }
        let change = Change::of_notification(method, params.map(RawJson::as_raw_value));
        match (&self.listening, change) {
            (Some(listening), Some(change)) => listening.names(&change),
            _ => false,
        }
    }

    /// Sends a change that the upstream server announced to all clients, as a message of this subscription.
    fn announce(&self, method: &str, params: Option<RawJson>) {
        if !self.conversion.is_same_revision() {
            return self.notify(method, params);
        }
        let changed = Notification::new(method.to_owned(), params);
        let changed = subscriptions::stamp(changed, &self.client_id);
        send(&*self.client, method, changed.params.as_ref());
    }

    /// Returns the parameters of a notification with the client's token and ids.
    fn converted(&self, method: &str, params: RawJson) -> RawJson {
        let is_progress = method == "notifications/progress";
        let subscription = subscription_of(params.as_raw_value());
        if self.conversion.is_same_revision() && !is_progress && subscription.is_none() {
            return params;
        }
        let Some(mut members) = RawObject::parse(params.as_raw_value()) else {
            return params;
        };
        if let Some(CallToken::Replaced { upstream, client }) = &self.progress
            && is_progress
            && members.get("progressToken").is_some_and(|token| {
                serde_json::from_str(token.get()).ok().as_ref() == Some(upstream)
            })
        {
            members.set("progressToken", client.clone());
        }
        if !self.conversion.is_same_revision() {
            self.conversion.notification(method, &mut members);
        } else if subscription.is_some()
            && let Some(meta) = members.object_mut("_meta")
        {
            let id = RawJson::from_serialize(&self.client_id).expect("an id is text or a number");
            meta.set(meta_key::SUBSCRIPTION_ID, id);
        }
        let edited = members.finish_if_edited();
        edited.unwrap_or(params)
    }
}

/// Sends a notification to a client.
pub(super) fn send(client: &dyn TransportContext, method: &str, params: Option<&RawJson>) {
    let kind = kind_of(method, params);
    client.notify(OutgoingNotification::forwarded(method, params, kind));
}

/// Sends a notification whose number only the upstream server decides. While the client reads slowly, it is dropped, so
/// that the server cannot grow the queue. The queue itself drops log messages and merges changes of lists. It has one
/// entry for each resource, so changes of resources to which the client subscribes are sent.
fn send_unless_full(client: &dyn TransportContext, method: &str, params: Option<&RawJson>) {
    let kind = kind_of(method, params);
    let is_limited = match &kind {
        OutgoingKind::Log | OutgoingKind::ListChanged { .. } => true,
        OutgoingKind::ResourceUpdated { uri, .. } => {
            let state = client.connection_state();
            state.is_some_and(|state| state.is_subscribed(uri))
        }
        _ => false,
    };
    if !is_limited && client.is_full() {
        tracing::debug!(method = %PeerText::new(method), "dropped a notification of the upstream server, because the client reads slowly");
        client.report_drop();
        return;
    }
    client.notify(OutgoingNotification::forwarded(method, params, kind));
}

/// Returns how the outgoing queue may treat a notification.
fn kind_of(method: &str, params: Option<&RawJson>) -> OutgoingKind {
    let raw = params.map(RawJson::as_raw_value);
    let subscription = raw.and_then(subscription_of).map(|id| id.to_string());
    match Change::of_notification(method, raw) {
        Some(Change::ResourceUpdated(uri)) => OutgoingKind::ResourceUpdated { uri, subscription },
        Some(Change::Task(task)) => OutgoingKind::TaskChanged { task, subscription },
        Some(_) => OutgoingKind::ListChanged {
            method: method.to_owned().into(),
            subscription,
        },
        None => match method {
            "notifications/message" => OutgoingKind::Log,
            "notifications/progress" => {
                let token = raw.and_then(|params| {
                    let members = RawObject::parse(params)?;
                    serde_json::from_str(members.get("progressToken")?.get()).ok()
                });
                token.map_or(OutgoingKind::Other, OutgoingKind::Progress)
            }
            _ => OutgoingKind::Other,
        },
    }
}
