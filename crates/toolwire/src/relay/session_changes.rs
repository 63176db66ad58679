//! The changes that a legacy client expects without a request, from a modern upstream server.
//!
//! Each session of a legacy client has one `subscriptions/listen` request. If the client subscribes to another resource,
//! the next request opens before the previous one ends, so that no change is missed.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::convert::HopMeta;
use toolwire_proto::subscriptions::Filter;
use toolwire_types::{
    ProtocolVersion, RawJson, RequestId, ServerCapabilities, SubscriptionsListenRequestParams,
};

use crate::engine::TransportContext;
use crate::relay::connection::{UpstreamConnection, UpstreamRequest};
use crate::relay::log_filter::LogFilter;
use crate::relay::messages::send;
use crate::sync::lock;

/// How long the previous request stays open, and the client's next requests wait, if the server does not acknowledge the
/// next one.
const ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// The pauses before a lost subscription is opened again: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The changes of one session.
#[derive(Debug, Default)]
pub(super) struct SessionChanges {
    channel: Mutex<Option<Arc<dyn TransportContext>>>,
    newest: Mutex<Option<NewestSubscription>>,
}

/// The subscription that includes everything that the client has subscribed to.
#[derive(Debug)]
struct NewestSubscription {
    listening: AbortHandle,
    /// Whether the server has acknowledged or rejected it.
    opened: watch::Receiver<bool>,
    /// Until when others wait for this.
    deadline: Instant,
}

impl SessionChanges {
    /// Sets the channel to the client.
    pub(super) fn set_channel(&self, channel: Arc<dyn TransportContext>) {
        *lock(&self.channel) = Some(channel);
    }

    /// Subscribes to list changes and to these resources, instead of the previous subscription.
    pub(super) fn listen(
        &self,
        upstream: &UpstreamConnection,
        version: ProtocolVersion,
        hop: &HopMeta,
        uris: Vec<String>,
    ) {
        let Some(channel) = lock(&self.channel).clone() else {
            return;
        };
        let details = upstream.client.server();
        let capabilities = details.map(|details| details.capabilities.clone());
        let params = listen_params(&capabilities.unwrap_or_default(), hop, uris);
        let (opened, is_opened) = watch::channel(false);
        let deadline = Instant::now() + ACKNOWLEDGEMENT_TIMEOUT;
        let next = params.map(|params| {
            let listening = Listening {
                upstream: upstream.clone(),
                version,
                params,
                client: channel,
                opened,
            };
            NewestSubscription {
                listening: tokio::spawn(listening.run()).abort_handle(),
                opened: is_opened.clone(),
                deadline,
            }
        });
        let is_listening = next.is_some();
        let previous = std::mem::replace(&mut *lock(&self.newest), next);
        if let Some(previous) = previous {
            tokio::spawn(async move {
                if is_listening {
                    wait_until(is_opened, deadline).await;
                }
                previous.listening.abort();
            });
        }
    }

    /// Waits until the server has acknowledged the newest subscription, or until [`ACKNOWLEDGEMENT_TIMEOUT`] after the
    /// subscription was requested.
    pub(super) async fn wait_until_open(&self) {
        if let Some((opened, deadline)) = self.opening() {
            wait_until(opened, deadline).await;
        }
    }

    /// Returns the newest subscription if it is not open yet.
    fn opening(&self) -> Option<(watch::Receiver<bool>, Instant)> {
        let newest = lock(&self.newest);
        let newest = newest.as_ref().filter(|newest| !*newest.opened.borrow());
        newest.map(|newest| (newest.opened.clone(), newest.deadline))
    }
}

/// Waits until a subscription is open or has ended, at most until the deadline.
async fn wait_until(mut opened: watch::Receiver<bool>, deadline: Instant) {
    let _ = tokio::time::timeout_at(deadline, opened.wait_for(|is_open| *is_open)).await;
}

impl Drop for SessionChanges {
    fn drop(&mut self) {
        if let Some(newest) = lock(&self.newest).take() {
            newest.listening.abort();
        }
    }
}

/// Returns the parameters of the subscription, or `None` if the server announces nothing that the client expects.
fn listen_params(server: &ServerCapabilities, hop: &HopMeta, uris: Vec<String>) -> Option<RawJson> {
    let mut filter = serde_json::Map::new();
    let changes = |flag: Option<bool>| flag == Some(true);
    let tools = server.tools.as_ref();
    let prompts = server.prompts.as_ref();
    let resources = server.resources.as_ref();
    let lists = [
        (
            "toolsListChanged",
            tools.is_some_and(|tools| changes(tools.list_changed)),
        ),
        (
            "promptsListChanged",
            prompts.is_some_and(|prompts| changes(prompts.list_changed)),
        ),
        (
            "resourcesListChanged",
            resources.is_some_and(|resources| changes(resources.list_changed)),
        ),
    ];
    for (name, _) in lists.into_iter().filter(|(_, announces)| *announces) {
        filter.insert(name.to_owned(), true.into());
    }
    if !uris.is_empty() {
        filter.insert("resourceSubscriptions".to_owned(), uris.into());
    }
    if filter.is_empty() {
        return None;
    }
    let params = RawJson::from(json!({ "notifications": filter }));
    let mut members = RawObject::parse(params.as_raw_value())?;
    hop.write(&mut members);
    Some(members.finish())
}

/// A subscription, which is opened again when it is lost.
struct Listening {
    upstream: UpstreamConnection,
    version: ProtocolVersion,
    params: RawJson,
    client: Arc<dyn TransportContext>,
    /// Set when the server has acknowledged or rejected the first subscription.
    opened: watch::Sender<bool>,
}

impl Listening {
    /// Listens until the task is aborted or the connection is closed.
    async fn run(self) {
        let mut pause = FIRST_PAUSE;
        let mut is_lost = false;
        loop {
            let activity = Arc::new(Notify::new());
            let request = UpstreamRequest {
                method: "subscriptions/listen".into(),
                params: Some(self.params.clone()),
                client: Arc::clone(&self.client),
                client_id: RequestId::from(0),
                client_version: self.version,
                activity: Arc::clone(&activity),
                logs: LogFilter::All,
                cancellation: None,
            };
            let mut listening = pin!(self.upstream.send(request));
            let ended = tokio::select! {
                ended = &mut listening => ended,
                () = activity.notified() => {
                    self.opened.send_replace(true);
                    pause = FIRST_PAUSE;
                    if is_lost {
                        self.announce_all();
                    }
                    listening.await
                }
            };
            self.opened.send_replace(true);
            if self.upstream.is_closed() {
                return;
            }
            if let Err(error) = ended {
                tracing::warn!(%error, "a subscription to the upstream server was lost");
            }
            is_lost = true;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Announces every change that the subscription contains, because some may have been missed.
    fn announce_all(&self) {
        let params: Option<SubscriptionsListenRequestParams> = self.params.parse().ok();
        let filter = params.and_then(|params| Filter::new(&params.notifications).ok());
        for change in filter.iter().flat_map(Filter::changes) {
            if let Some(notification) = change.to_notification() {
                let params = notification.params.as_ref();
                send(&*self.client, &notification.method, params);
            }
        }
    }
}
