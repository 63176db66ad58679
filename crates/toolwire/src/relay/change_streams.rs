//! The `subscriptions/listen` requests of modern clients of a legacy upstream server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use toolwire_proto::requests::overloaded_error;
use toolwire_proto::subscriptions::{self, Change, Filter, accepted_filter, acknowledgement};
use toolwire_types::{
    ErrorObject, Notification, RawJson, RequestId, SubscriptionFilter,
    SubscriptionsListenRequestParams,
};

use crate::engine::TransportContext;
use crate::error::Error;
use crate::relay::connection::{UpstreamConnection, unreachable};
use crate::relay::messages::{ChangeReceiver, send};
use crate::relay::resource_subscriptions::ResourceSubscriptions;
use crate::relay::shared_log_level::SharedLogLevel;
use crate::server::request::Exchange;
use crate::sync::lock;

/// The maximum number of streams.
const MAX_STREAMS: usize = 10_000;

/// How often a stream checks whether the session with the upstream server is open.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The open streams.
#[derive(Debug)]
pub(super) struct ChangeStreams {
    session: UpstreamConnection,
    resources: Arc<ResourceSubscriptions>,
    streams: Arc<Mutex<Streams>>,
    log_level: Arc<SharedLogLevel>,
}

#[derive(Debug, Default)]
struct Streams {
    next: u64,
    open: BTreeMap<u64, ChangeStream>,
}

#[derive(Debug)]
struct ChangeStream {
    client: Arc<dyn TransportContext>,
    id: RequestId,
    filter: Filter,
    phase: ChangeStreamPhase,
}

/// The phase of a stream.
#[derive(Debug)]
enum ChangeStreamPhase {
    /// The acknowledgement was not sent yet. Changes wait for it, each once, with the parameters of their newest
    /// notification. So the filter limits their number.
    Opening(BTreeMap<Change, Option<RawJson>>),
    Open,
}

impl ChangeStreams {
    /// Creates the streams of a session. `log_level` is the one of this session.
    pub(super) fn new(session: UpstreamConnection, log_level: Arc<SharedLogLevel>) -> Self {
        Self {
            resources: Arc::new(ResourceSubscriptions::new(session.clone())),
            session,
            streams: Arc::default(),
            log_level,
        }
    }

    /// Returns a receiver for the changes of a session that has no subscriptions of its own.
    pub(super) fn receiver_of_other_session(&self) -> Weak<dyn ChangeReceiver> {
        let streams: Weak<Mutex<Streams>> = Arc::downgrade(&self.streams);
        streams
    }

    /// Serves a request until the client cancels it or the session with the upstream server is lost.
    pub(super) async fn serve(
        self: &Arc<Self>,
        exchange: &Exchange,
    ) -> Result<RawJson, ErrorObject> {
        let request: SubscriptionsListenRequestParams = exchange.decode_params()?;
        let details = self.session.client.server();
        let capabilities = details.map(|details| details.capabilities.clone());
        let accepted = accepted_filter(&request.notifications, &capabilities.unwrap_or_default());
        let filter = Filter::new(&accepted)?;
        let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
        let scope = exchange.context.scope();
        let stream = ChangeStream {
            client: Arc::clone(&scope.transport),
            id: scope.id.clone(),
            filter,
            phase: ChangeStreamPhase::Opening(BTreeMap::new()),
        };
        let guard = self.add(stream, uris)?;
        for uri in &guard.uris {
            self.resources.subscribe(uri).await?;
        }
        guard.acknowledge(accepted);
        while !self.session.is_closed() {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        Err(unreachable(&Error::closed()))
    }

    /// Adds a stream until the returned value is dropped. Changes wait until it is acknowledged.
    fn add(
        &self,
        stream: ChangeStream,
        uris: Vec<String>,
    ) -> Result<ChangeStreamGuard, ErrorObject> {
        let mut streams = lock(&self.streams);
        if streams.open.len() >= MAX_STREAMS {
            return Err(overloaded_error(
                "too many subscriptions are open; try again later",
            ));
        }
        let number = streams.next;
        streams.next += 1;
        streams.open.insert(number, stream);
        drop(streams);
        self.resources.add_stream(&uris);
        Ok(ChangeStreamGuard {
            streams: Arc::clone(&self.streams),
            resources: Arc::clone(&self.resources),
            number,
            uris,
        })
    }
}

impl ChangeReceiver for ChangeStreams {
    fn on_change(&self, change: &Change, params: Option<&RawJson>) {
        lock(&self.streams).deliver(change, params);
    }

    fn on_session_renewed(&self) {
        self.log_level.reset();
        let lost = self.resources.on_session_renewed();
        let (resources, streams) = (Arc::clone(&self.resources), Arc::clone(&self.streams));
        tokio::spawn(async move {
            for uri in lost {
                if let Err(error) = resources.subscribe(&uri).await {
                    tracing::warn!(%error, "a subscription could not be made again after a session was lost");
                }
                // The resource may have changed while the session had no subscription.
                lock(&streams).deliver(&Change::ResourceUpdated(uri), None);
            }
        });
    }
}

impl ChangeReceiver for Mutex<Streams> {
    fn on_change(&self, change: &Change, params: Option<&RawJson>) {
        lock(self).deliver(change, params);
    }
}

impl Streams {
    /// Sends a change to the streams whose filter accepts it. `params` are those of the notification.
    fn deliver(&mut self, change: &Change, params: Option<&RawJson>) {
        for stream in self.open.values_mut() {
            if !stream.filter.accepts(change) {
                continue;
            }
            match &mut stream.phase {
                ChangeStreamPhase::Opening(waiting) => {
                    waiting.insert(change.clone(), params.cloned());
                }
                ChangeStreamPhase::Open => stream.send(change, params),
            }
        }
    }
}

impl ChangeStream {
    /// Sends the acknowledgement, and the changes that waited for it.
    fn acknowledge(&mut self, accepted: SubscriptionFilter) {
        let acknowledged = acknowledgement(&self.id, accepted);
        let params = acknowledged.params.as_ref();
        send(&*self.client, &acknowledged.method, params);
        if let ChangeStreamPhase::Opening(waiting) =
            std::mem::replace(&mut self.phase, ChangeStreamPhase::Open)
        {
            for (change, params) in &waiting {
                self.send(change, params.as_ref());
            }
        }
    }

    /// Sends a change, with the parameters that the upstream server sent.
    fn send(&self, change: &Change, params: Option<&RawJson>) {
        let Some(mut changed) = change.to_notification() else {
            return;
        };
        if let Some(params) = params {
            changed = Notification::new(changed.method, Some(params.clone()));
        }
        let changed = subscriptions::stamp(changed, &self.id);
        send(&*self.client, &changed.method, changed.params.as_ref());
    }
}

/// The registration of a stream, which ends when the guard is dropped.
#[derive(Debug)]
struct ChangeStreamGuard {
    streams: Arc<Mutex<Streams>>,
    resources: Arc<ResourceSubscriptions>,
    number: u64,
    uris: Vec<String>,
}

impl ChangeStreamGuard {
    fn acknowledge(&self, accepted: SubscriptionFilter) {
        if let Some(stream) = lock(&self.streams).open.get_mut(&self.number) {
            stream.acknowledge(accepted);
        }
    }
}

impl Drop for ChangeStreamGuard {
    fn drop(&mut self) {
        let stream = lock(&self.streams).open.remove(&self.number);
        // Dropped outside of the lock.
        drop(stream);
        self.resources.remove_stream(&self.uris);
    }
}
