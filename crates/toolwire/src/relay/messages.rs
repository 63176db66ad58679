//! Passes the messages of an upstream connection to the clients that they belong to.

use std::sync::{Arc, Mutex};

use toolwire_proto::envelope::{NotificationEnvelope, RequestEnvelope};
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::subscriptions::{Change, subscription_of};
use toolwire_types::{ErrorObject, RawJson, RequestId, meta_key};

use crate::client::relay::RelayMessages;
use crate::engine::{BoxFuture, OutgoingNotification, PeerText, TransportContext};
use crate::error::Error;
use crate::relay::calls::{ForwardedCall, ForwardedCalls};
use crate::sync::lock;

/// Receives the messages of one upstream connection.
#[derive(Debug, Default)]
pub(super) struct UpstreamMessages {
    pub(super) calls: Arc<ForwardedCalls>,
    /// The channel to the client outside of its requests, if the connection serves one client.
    channel: Mutex<Option<Arc<dyn TransportContext>>>,
}

impl UpstreamMessages {
    /// Sets the channel to the client outside of its requests.
    pub(super) fn set_channel(&self, channel: Arc<dyn TransportContext>) {
        *lock(&self.channel) = Some(channel);
    }

    /// Returns `true` if the connection may serve several clients.
    pub(super) fn is_shared(&self) -> bool {
        lock(&self.channel).is_none()
    }

    fn channel(&self) -> Option<Arc<dyn TransportContext>> {
        lock(&self.channel).clone()
    }

    /// Returns the request that a notification belongs to.
    fn call_of(
        &self,
        notification: &NotificationEnvelope<'_>,
        origin: Option<&RequestId>,
    ) -> Option<Arc<ForwardedCall>> {
        if let Some(origin) = origin {
            return self.calls.get(origin);
        }
        let params = notification.params?;
        if notification.method == "notifications/progress" {
            let members = RawObject::parse(params)?;
            let token = members.get("progressToken")?;
            return self.calls.with_progress_token(token.get());
        }
        self.calls.get(&subscription_of(params)?)
    }
}

impl RelayMessages for UpstreamMessages {
    fn on_notification(&self, notification: &NotificationEnvelope<'_>, origin: Option<&RequestId>) {
        // The client cancels the requests of the server itself.
        if notification.method == "notifications/cancelled" {
            return;
        }
        let call = self.call_of(notification, origin);
        if let Some(call) = &call {
            call.activity.notify_one();
        }
        let params = notification.params.map(RawJson::from);
        let params = match (&call, params) {
            (Some(call), Some(params)) => Some(for_client(call, &notification.method, params)),
            (_, params) => params,
        };
        // Changes of a session are not part of a call, even while one runs.
        let client = match call {
            Some(call) => Some(Arc::clone(&call.client)),
            None => self.channel().or_else(|| {
                let only = self.calls.only_client()?;
                Some(Arc::clone(&only.client))
            }),
        };
        let Some(client) = client else {
            tracing::debug!(method = %PeerText::new(&notification.method), "dropped a notification of the upstream server that belongs to no client");
            return;
        };
        let kind = kind_of(&notification.method, params.as_ref());
        let forwarded =
            OutgoingNotification::forwarded(&notification.method, params.as_ref(), kind);
        client.notify(forwarded);
    }

    fn on_request(
        &self,
        request: &RequestEnvelope<'_>,
        origin: Option<&RequestId>,
    ) -> BoxFuture<'static, Result<RawJson, ErrorObject>> {
        let call = match origin {
            Some(origin) => self.calls.get(origin),
            None => self.calls.only_client(),
        };
        let client = call.map(|call| Arc::clone(&call.client));
        let client = client.or_else(|| self.channel());
        let method = request.method.clone().into_owned();
        // `null` stands for absent parameters.
        let params = request.params.map_or_else(RawJson::null, RawJson::from);
        Box::pin(async move {
            let Some(client) = client else {
                return Err(no_client(&method));
            };
            let response = client.request(&method, params).await;
            response.map_err(|error| response_error(&method, error))
        })
    }

    fn on_session_renewed(&self) {
        let Some(channel) = self.channel() else {
            return;
        };
        // The lists of the new session may differ from those of the lost one.
        for change in [
            Change::ToolsListChanged,
            Change::PromptsListChanged,
            Change::ResourcesListChanged,
        ] {
            let Some(notification) = change.to_notification() else {
                continue;
            };
            let kind = kind_of(&notification.method, None);
            let forwarded = OutgoingNotification::forwarded(&notification.method, None, kind);
            channel.notify(forwarded);
        }
    }
}

/// Returns the parameters of a notification with the client's token and ids.
fn for_client(call: &ForwardedCall, method: &str, params: RawJson) -> RawJson {
    let is_progress = method == "notifications/progress";
    let subscription = subscription_of(params.as_raw_value());
    if !is_progress && subscription.is_none() {
        return params;
    }
    let Some(mut members) = RawObject::parse(params.as_raw_value()) else {
        return params;
    };
    if let Some(tokens) = call.progress.as_ref().filter(|_| is_progress)
        && tokens.upstream != tokens.client
    {
        members.set("progressToken", tokens.client.clone());
    }
    if subscription.is_some()
        && let Some(meta) = members.object_mut("_meta")
    {
        let id = RawJson::from_serialize(&call.client_id).expect("an id is text or a number");
        meta.set(meta_key::SUBSCRIPTION_ID, id);
    }
    let edited = members.finish_if_edited();
    edited.unwrap_or(params)
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

fn no_client(method: &str) -> ErrorObject {
    ErrorObject::invalid_request(format!(
        "`{method}` belongs to no request of a client that can respond"
    ))
}

/// Returns the error of a request to the client, for the upstream server.
fn response_error(method: &str, error: Error) -> ErrorObject {
    match error.rpc() {
        Some(rpc) => rpc.clone(),
        None => ErrorObject::internal(format!("the client did not respond to `{method}`: {error}")),
    }
}
