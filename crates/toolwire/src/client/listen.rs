//! Subscriptions to changes, for both eras.
//!
//! On a modern server, a subscription is one open `subscriptions/listen` request, which is sent again when it is lost.
//! On a legacy server, it is `resources/subscribe` for each resource, and the client filters the notifications.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::sse::Reconnects;
use toolwire_proto::subscriptions::{self, Change, Filter};
use toolwire_types::{
    EmptyResult, Meta, RawJson, RequestId, SubscribeRequestParams, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
};

use crate::client::Client;
use crate::client::call::Call;
use crate::client::listen_queue::{ListenEvent, ListenQueue};
use crate::client::middleware::{ClientNext, ClientRequest, SendOnce, StreamOpening};
use crate::client::resource_listener::ResourceListener;
use crate::client::session::ActiveConnection;
use crate::client::transport::OutgoingRequest;
use crate::error::Error;

/// A stream of this age counts as a successful attempt, even if it delivered no change.
const HEALTHY_STREAM_AGE: Duration = Duration::from_secs(60);

/// A stream of changes, until it is dropped.
///
/// A change means that something has to be read again. Several equal changes may be delivered as one. After a lost
/// connection, every subscribed change is delivered once, because changes may have been missed.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<ListenQueue>,
    accepted: SubscriptionFilter,
    task: JoinHandle<()>,
    failure: Option<oneshot::Receiver<Error>>,
}

impl Subscription {
    /// Returns the filter that the server accepted. It may be smaller than the requested filter.
    #[must_use]
    pub fn accepted_filter(&self) -> &SubscriptionFilter {
        &self.accepted
    }

    /// Returns the next change, or `None` if the server ended the subscription.
    ///
    /// # Errors
    /// Returns an error once, if the connection was lost and could not be opened again.
    pub async fn next(&mut self) -> Result<Option<Change>, Error> {
        loop {
            match self.queue.next().await {
                ListenEvent::Changed(change) => return Ok(Some(change)),
                ListenEvent::Acknowledged(params) => {
                    self.accepted = acknowledged_filter(params.as_ref());
                }
                ListenEvent::Ended => {
                    let failure = self.failure.take();
                    return match failure.and_then(|mut failure| failure.try_recv().ok()) {
                        Some(error) => Err(error),
                        None => Ok(None),
                    };
                }
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Client {
    /// Subscribes to changes of lists and resources.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), toolwire::Error> {
    /// use toolwire::Change;
    /// use toolwire::types::SubscriptionFilter;
    /// use toolwire::{Client, Server, tool};
    ///
    /// /// Says hello.
    /// #[tool]
    /// async fn hello() -> &'static str { "hello" }
    ///
    /// let server = Server::new("demo", "1.0.0").tool(hello);
    /// let client = Client::in_process(&server).await?;
    /// let filter = SubscriptionFilter::new().with_tools_list_changed();
    /// let mut changes = client.listen(filter).await?;
    /// server.remove_tool("hello");
    /// assert_eq!(changes.next().await?, Some(Change::ToolsListChanged));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the server rejects the subscription, or does not acknowledge it within the client's timeout.
    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, Error> {
        let queue = Arc::new(ListenQueue::default());
        let (fail, failure) = oneshot::channel();
        let task = SubscriptionTask {
            client: self.clone(),
            filter,
            queue: Arc::clone(&queue),
        };
        let task = if self.version().has_listen() {
            tokio::spawn(task.run_modern(fail))
        } else {
            tokio::spawn(task.run_legacy(fail))
        };
        let mut subscription = Subscription {
            queue,
            accepted: SubscriptionFilter::new(),
            task,
            failure: Some(failure),
        };
        let timeout = self.shared.config.limits.timeout;
        let first = tokio::time::timeout(timeout, subscription.queue.next());
        match first.await.map_err(|_| Error::timeout())? {
            ListenEvent::Acknowledged(params) => {
                subscription.accepted = acknowledged_filter(params.as_ref());
                Ok(subscription)
            }
            // A server that sends a change before the acknowledgement violates the protocol, but no change is lost.
            ListenEvent::Changed(change) => {
                subscription.accepted = SubscriptionFilter::new();
                subscription.queue.push(ListenEvent::Changed(change));
                Ok(subscription)
            }
            ListenEvent::Ended => {
                let failure = subscription.failure.take();
                let error = failure.and_then(|mut failure| failure.try_recv().ok());
                Err(error.unwrap_or_else(|| {
                    Error::protocol("the server ended the subscription before it began")
                }))
            }
        }
    }

    /// Subscribes to a resource on a legacy server. [`listen`](Self::listen) works in every era.
    pub fn subscribe_resource(&self, uri: impl Into<String>) -> Call<EmptyResult> {
        let params = RawJson::from_serialize(&SubscribeRequestParams::new(uri));
        let params = params
            .map_err(|error| Error::decode("URI", error))
            .map(Some);
        self.decoded_call("resources/subscribe", params)
    }

    /// Unsubscribes from a resource on a legacy server.
    pub fn unsubscribe_resource(&self, uri: impl Into<String>) -> Call<EmptyResult> {
        let params = RawJson::from_serialize(&UnsubscribeRequestParams::new(uri));
        let params = params
            .map_err(|error| Error::decode("URI", error))
            .map(Some);
        self.decoded_call("resources/unsubscribe", params)
    }
}

fn acknowledged_filter(params: Option<&RawJson>) -> SubscriptionFilter {
    let params = params.and_then(|params| {
        params
            .parse::<SubscriptionsAcknowledgedNotificationParams>()
            .ok()
    });
    params
        .map(|params| params.notifications)
        .unwrap_or_default()
}

/// The task of one [`Subscription`].
struct SubscriptionTask {
    client: Client,
    filter: SubscriptionFilter,
    queue: Arc<ListenQueue>,
}

impl SubscriptionTask {
    /// Listens, and opens a lost stream again until too many streams are lost without a change.
    async fn run_modern(self, fail: oneshot::Sender<Error>) {
        let mut reconnects = Reconnects::new(self.client.shared.config.limits.reconnects);
        let mut was_acknowledged = false;
        let end = loop {
            let start = Instant::now();
            let (outcome, summary) = self.listen_once(was_acknowledged).await;
            was_acknowledged |= summary.acknowledged;
            // Only a change or a long-lived stream counts as success, not an acknowledgement alone.
            if summary.changes || start.elapsed() >= HEALTHY_STREAM_AGE {
                reconnects.record_event();
            }
            let is_final = match &outcome {
                // The server ended the stream, for example because it restarts.
                Ok(_) => !was_acknowledged,
                Err(error) => {
                    !was_acknowledged
                        || error.rpc().is_some()
                        || self.client.session().transport.is_closed()
                }
            };
            if is_final {
                break outcome.err();
            }
            match reconnects.next(None) {
                Ok(pause) => tokio::time::sleep(pause).await,
                Err(_) => break outcome.err(),
            }
        };
        if let Some(error) = end {
            drop(fail.send(error));
        }
        self.queue.push(ListenEvent::Ended);
    }

    /// Sends one `subscriptions/listen` request and returns its outcome, with a summary of the stream.
    async fn listen_once(&self, is_reconnect: bool) -> (Result<(), Error>, StreamSummary) {
        let mut summary = StreamSummary::default();
        let client = &self.client;
        let session = client.session();
        let number = client.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let id = RequestId::from(number);
        let params = SubscriptionsListenRequestParams::new(self.filter.clone());
        let params = RawJson::from_serialize(&params).expect("plain data always serialises");
        let sent = session
            .meta
            .params(Some(&params), &Meta::new())
            .expect("the parameters are an object");
        let mirrored = match client.mirrored_headers("subscriptions/listen", Some(&params)) {
            Ok(mirrored) => mirrored,
            Err(error) => return (Err(error), summary),
        };
        let request = OutgoingRequest {
            id: id.clone(),
            method: "subscriptions/listen".into(),
            params: Some(sent),
            version: session.version(),
            mirrored,
            forwarded: None,
        };
        let (_guard, incoming) = session.incoming.listen(Some(id), None);
        let opening = StreamOpening::default();
        let exchange = self.exchange(&session, number, &request, &opening);
        tokio::pin!(exchange);
        loop {
            tokio::select! {
                // Events that arrived before the end are delivered before the end.
                biased;
                event = incoming.next() => match event {
                    ListenEvent::Ended => {
                        session.transport.forget(&request.id);
                        return (Ok(()), summary);
                    }
                    ListenEvent::Acknowledged(params) => {
                        summary.acknowledged = true;
                        opening.opened();
                        self.queue.push(ListenEvent::Acknowledged(params));
                        if is_reconnect {
                            self.push_all_changes();
                        }
                    }
                    changed @ ListenEvent::Changed(_) => {
                        summary.changes = true;
                        self.queue.push(changed);
                    }
                },
                response = &mut exchange => {
                    return (response.map(drop), summary);
                }
            }
        }
    }

    /// Sends the request through the middleware that handles every request, and waits for the end of the stream.
    async fn exchange(
        &self,
        session: &ActiveConnection,
        id: i64,
        request: &OutgoingRequest,
        opening: &StreamOpening,
    ) -> Result<RawJson, Error> {
        let shared = &self.client.shared;
        let Some(chain) = &shared.config.full_middleware else {
            return session
                .transport
                .exchange(request)
                .await?
                .map_err(Error::from);
        };
        let sender = SendOnce::new(|params: RawJson| {
            let request = request.with_params(params);
            Box::pin(async move {
                let response = session.transport.exchange(&request).await?;
                response.map_err(Error::from)
            })
        });
        let (method, params) = (request.method.clone(), request.params.clone());
        let (version, connection) = (request.version, &shared.connection);
        let request = ClientRequest::new(method, params, Meta::new(), version, connection);
        let mut request = request.with_id(id).with_opening(opening.clone());
        ClientNext::new(chain, &sender).run(&mut request).await
    }

    /// Subscribes to the resources and filters the session's notifications. Subscribes again after a session was lost.
    async fn run_legacy(self, fail: oneshot::Sender<Error>) {
        let client = &self.client;
        let capabilities = client.server().map(|server| server.capabilities.clone());
        let accepted =
            subscriptions::accepted_filter(&self.filter, &capabilities.unwrap_or_default());
        // Some servers send notifications that they do not declare, so every requested change is delivered.
        let filter = match Filter::new(&self.filter) {
            Ok(filter) => filter,
            Err(error) => return self.fail(fail, error.into()),
        };
        let session = client.session();
        let mut renewals = session.incoming.renewals();
        let (_guard, incoming) = session.incoming.listen(None, Some(filter));
        let mut resources = ResourceListener::new(client.clone());
        let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
        session.transport.server_stream_ready().await;
        for uri in &uris {
            if let Err(error) = resources.subscribe(uri).await {
                return self.fail(fail, error);
            }
        }
        let params =
            SubscriptionsAcknowledgedNotificationParams::new(&RequestId::from(0), accepted);
        let params = RawJson::from_serialize(&params).expect("plain data always serialises");
        self.queue.push(ListenEvent::Acknowledged(Some(params)));
        loop {
            tokio::select! {
                event = incoming.next() => {
                    let ended = event == ListenEvent::Ended;
                    self.queue.push(event);
                    if ended {
                        return;
                    }
                }
                renewed = renewals.changed() => {
                    if renewed.is_err() {
                        return;
                    }
                    session.transport.server_stream_ready().await;
                    if let Err(error) = resources.subscribe_again().await {
                        return self.fail(fail, error);
                    }
                    self.push_all_changes();
                }
            }
        }
    }

    fn fail(&self, fail: oneshot::Sender<Error>, error: Error) {
        drop(fail.send(error));
        self.queue.push(ListenEvent::Ended);
    }

    /// Delivers every subscribed change once.
    fn push_all_changes(&self) {
        if let Ok(filter) = Filter::new(&self.filter) {
            for change in filter.changes() {
                self.client.shared.cache.invalidate(&change);
                self.queue.push(ListenEvent::Changed(change));
            }
        }
    }
}

/// What one stream delivered.
#[derive(Debug, Clone, Copy, Default)]
struct StreamSummary {
    acknowledged: bool,
    changes: bool,
}
