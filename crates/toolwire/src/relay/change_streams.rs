//! The `subscriptions/listen` requests of modern clients of a legacy upstream server.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolwire_proto::requests::overloaded_error;
use toolwire_proto::subscriptions::{self, Change, Filter, accepted_filter, acknowledgement};
use toolwire_types::{
    ErrorObject, Notification, RawJson, RequestId, SubscriptionsListenRequestParams,
};

use crate::engine::TransportContext;
use crate::error::Error;
use crate::relay::connection::{UpstreamConnection, unreachable};
use crate::relay::messages::{ChangeReceiver, send};
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
    streams: Mutex<Streams>,
}

#[derive(Debug, Default)]
struct Streams {
    next: u64,
    open: BTreeMap<u64, ChangeStream>,
    /// The number of streams for each resource.
    resources: HashMap<String, usize>,
}

#[derive(Debug)]
struct ChangeStream {
    client: Arc<dyn TransportContext>,
    id: RequestId,
    filter: Filter,
}

impl ChangeStreams {
    pub(super) fn new(session: UpstreamConnection) -> Self {
        Self {
            session,
            streams: Mutex::default(),
        }
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
        };
        let _guard = self.add(stream, &uris)?;
        for uri in uris {
            self.subscribe("resources/subscribe", uri).await?;
        }
        let acknowledged = acknowledgement(&scope.id, accepted);
        let params = acknowledged.params.as_ref();
        send(&*scope.transport, &acknowledged.method, params);
        while !self.session.is_closed() {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        Err(unreachable(&Error::closed()))
    }

    /// Adds a stream until the returned value is dropped.
    fn add(
        self: &Arc<Self>,
        stream: ChangeStream,
        uris: &[String],
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
        for uri in uris {
            *streams.resources.entry(uri.clone()).or_default() += 1;
        }
        Ok(ChangeStreamGuard {
            streams: Arc::clone(self),
            number,
            uris: uris.to_vec(),
        })
    }

    async fn subscribe(&self, method: &str, uri: String) -> Result<(), ErrorObject> {
        let id = self.session.client.next_request_id();
        let params = RawJson::from(json!({ "uri": uri }));
        let response = self.session.client.forward(id, method, Some(params)).await;
        response
            .unwrap_or_else(|error| Err(unreachable(&error)))
            .map(|_| ())
    }
}

impl ChangeReceiver for ChangeStreams {
    fn on_change(&self, change: &Change, params: Option<&RawJson>) {
        let Some(notification) = change.to_notification() else {
            return;
        };
        let streams = lock(&self.streams);
        for stream in streams.open.values() {
            if !stream.filter.accepts(change) {
                continue;
            }
            let changed = Notification::new(notification.method.clone(), params.cloned());
            let changed = subscriptions::stamp(changed, &stream.id);
            send(&*stream.client, &changed.method, changed.params.as_ref());
        }
    }
}

/// The registration of a stream, which ends when the guard is dropped.
#[derive(Debug)]
struct ChangeStreamGuard {
    streams: Arc<ChangeStreams>,
    number: u64,
    uris: Vec<String>,
}

impl Drop for ChangeStreamGuard {
    fn drop(&mut self) {
        let mut streams = lock(&self.streams.streams);
        streams.open.remove(&self.number);
        let mut unused = Vec::new();
        for uri in std::mem::take(&mut self.uris) {
            let Some(count) = streams.resources.get_mut(&uri) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                streams.resources.remove(&uri);
                unused.push(uri);
            }
        }
        drop(streams);
        if unused.is_empty() || self.streams.session.is_closed() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let streams = Arc::clone(&self.streams);
            runtime.spawn(async move {
                for uri in unused {
                    if let Err(error) = streams.subscribe("resources/unsubscribe", uri).await {
                        tracing::debug!(%error, "a subscription could not be ended");
                    }
                }
            });
        }
    }
}
