//! Hearing of changes, written once for both eras.
//!
//! On a modern server it is one `subscriptions/listen` request that stays open, and is made again when it is lost. On a
//! legacy one it is `resources/subscribe` for each resource, and the session's own notifications, filtered here.

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
use crate::client::transport::OutgoingRequest;
use crate::error::Error;

/// A stream that lived this long was no failed attempt, even if nothing changed.
const HEALTHY_STREAM_AGE: Duration = Duration::from_secs(60);

/// Changes as they happen, until it is dropped.
///
/// A change says "look again", not what it is now: several of the same kind may be told as one. After a lost connection
/// everything that was asked for is told once, because nobody knows what was missed.
#[derive(Debug)]
pub struct Subscription {
    news: Arc<ListenQueue>,
    honoured: SubscriptionFilter,
    keeping: JoinHandle<()>,
    failure: Option<oneshot::Receiver<Error>>,
}

impl Subscription {
    /// What the server agreed to tell; it may be less than what was asked for.
    #[must_use]
    pub fn accepted_filter(&self) -> &SubscriptionFilter {
        &self.honoured
    }

    /// The next change; `None` when there will be no more because the server ended it.
    ///
    /// # Errors
    /// Once, when listening ended because the connection was lost and could not be made again.
    pub async fn next(&mut self) -> Result<Option<Change>, Error> {
        loop {
            match self.news.next().await {
                ListenEvent::Changed(change) => return Ok(Some(change)),
                ListenEvent::Acknowledged(honoured) => {
                    self.honoured = acknowledged(honoured.as_ref())
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
        self.keeping.abort();
    }
}

impl Client {
    /// Hears of changes of lists and resources.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), toolwire::Error> {
    /// use toolwire::proto::subscriptions::Change;
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
    /// When the server refuses, or does not acknowledge within the client's timeout.
    pub async fn listen(&self, filter: SubscriptionFilter) -> Result<Subscription, Error> {
        let news = Arc::new(ListenQueue::default());
        let (fail, failure) = oneshot::channel();
        let keeping = SubscriptionTask {
            client: self.clone(),
            wish: filter,
            news: Arc::clone(&news),
        };
        let keeping = match self.version().has_listen() {
            true => tokio::spawn(keeping.modern(fail)),
            false => tokio::spawn(keeping.legacy(fail)),
        };
        let mut listening = Subscription {
            news,
            honoured: SubscriptionFilter::new(),
            keeping,
            failure: Some(failure),
        };
        let timeout = self.shared.config.limits.timeout;
        let first = tokio::time::timeout(timeout, listening.news.next());
        match first.await.map_err(|_| Error::timeout())? {
            ListenEvent::Acknowledged(honoured) => {
                listening.honoured = acknowledged(honoured.as_ref());
                Ok(listening)
            }
            // A server that tells before it acknowledges breaks a rule, but nothing is lost by it.
            ListenEvent::Changed(change) => {
                listening.honoured = SubscriptionFilter::new();
                listening.news.push(ListenEvent::Changed(change));
                Ok(listening)
            }
            ListenEvent::Ended => {
                let failure = listening.failure.take();
                let error = failure.and_then(|mut failure| failure.try_recv().ok());
                Err(error.unwrap_or_else(|| {
                    Error::protocol("the server ended the subscription before it began")
                }))
            }
        }
    }

    /// Subscribes to a resource on a legacy server; [`listen`](Self::listen) does it for every era.
    pub fn subscribe_resource(&self, uri: impl Into<String>) -> Call<EmptyResult> {
        let params = RawJson::from_serialize(&SubscribeRequestParams::new(uri));
        let params = params
            .map_err(|error| Error::decode("URI", error))
            .map(Some);
        self.plain("resources/subscribe", params)
    }

    /// Takes back a subscription to a resource on a legacy server.
    pub fn unsubscribe_resource(&self, uri: impl Into<String>) -> Call<EmptyResult> {
        let params = RawJson::from_serialize(&UnsubscribeRequestParams::new(uri));
        let params = params
            .map_err(|error| Error::decode("URI", error))
            .map(Some);
        self.plain("resources/unsubscribe", params)
    }
}

fn acknowledged(params: Option<&RawJson>) -> SubscriptionFilter {
    let params = params.and_then(|params| {
        params
            .parse::<SubscriptionsAcknowledgedNotificationParams>()
            .ok()
    });
    params
        .map(|params| params.notifications)
        .unwrap_or_default()
}

/// The task behind one [`Listening`].
struct SubscriptionTask {
    client: Client,
    wish: SubscriptionFilter,
    news: Arc<ListenQueue>,
}

impl SubscriptionTask {
    /// Listens, and listens again when the stream is lost, until it is lost too often without any news.
    async fn modern(self, fail: oneshot::Sender<Error>) {
        let mut reconnects = Reconnects::new(self.client.shared.config.limits.reconnects);
        let mut began = false;
        let end = loop {
            let start = Instant::now();
            let (outcome, heard) = self.listen_once(began).await;
            began |= heard.acknowledged;
            // What counts is news, not that the server lets itself be asked.
            if heard.changes || start.elapsed() >= HEALTHY_STREAM_AGE {
                reconnects.heard();
            }
            let for_good = match &outcome {
                // The server said goodbye, for example because it is restarted.
                Ok(_) => !began,
                Err(error) => {
                    !began || error.rpc().is_some() || self.client.session().link.is_closed()
                }
            };
            if for_good {
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
        self.news.push(ListenEvent::Ended);
    }

    /// One `subscriptions/listen`, from its request to its end; and what was heard meanwhile.
    async fn listen_once(&self, again: bool) -> (Result<(), Error>, StreamSummary) {
        let mut heard = StreamSummary::default();
        let client = &self.client;
        let session = client.session();
        let id = RequestId::from(client.shared.next_id.fetch_add(1, Ordering::Relaxed));
        let params = SubscriptionsListenRequestParams::new(self.wish.clone());
        let params = RawJson::from_serialize(&params).expect("plain data always serialises");
        let sent = session
            .meta
            .params(Some(&params), &Meta::new())
            .expect("the parameters are an object");
        let mirrored = match client.mirrored("subscriptions/listen", Some(&params)) {
            Ok(mirrored) => mirrored,
            Err(error) => return (Err(error), heard),
        };
        let request = OutgoingRequest {
            id: id.clone(),
            method: "subscriptions/listen".into(),
            params: Some(sent),
            version: session.version(),
            mirrored,
        };
        let (_guard, incoming) = session.inbox.listen(Some(id), None);
        let exchange = session.link.exchange(&request);
        tokio::pin!(exchange);
        loop {
            tokio::select! {
                // What came before the end is told before the end.
                biased;
                news = incoming.next() => match news {
                    ListenEvent::Ended => {
                        session.link.forget(&request.id);
                        return (Ok(()), heard);
                    }
                    ListenEvent::Acknowledged(params) => {
                        heard.acknowledged = true;
                        self.news.push(ListenEvent::Acknowledged(params));
                        if again {
                            self.tell_everything();
                        }
                    }
                    changed @ ListenEvent::Changed(_) => {
                        heard.changes = true;
                        self.news.push(changed);
                    }
                },
                answer = &mut exchange => {
                    let outcome = answer.and_then(|answer| answer.map_err(Error::from));
                    return (outcome.map(drop), heard);
                }
            }
        }
    }

    /// Subscribes to the resources, then filters what the session tells; again when the session was lost.
    async fn legacy(self, fail: oneshot::Sender<Error>) {
        let client = &self.client;
        let capabilities = client.server().map(|facts| facts.capabilities.clone());
        let honoured =
            subscriptions::accepted_filter(&self.wish, &capabilities.unwrap_or_default());
        // Not every server declares what it announces, so whatever is announced and asked for is told.
        let filter = match Filter::new(&self.wish) {
            Ok(filter) => filter,
            Err(error) => return self.fail(fail, error.into()),
        };
        let session = client.session();
        let mut renewals = session.inbox.renewals();
        let (_guard, incoming) = session.inbox.listen(None, Some(filter));
        let mut unsubscribe = Unsubscribe {
            client: client.clone(),
            uris: Vec::new(),
        };
        let uris = honoured.resource_subscriptions.clone().unwrap_or_default();
        session.link.server_stream_ready().await;
        for uri in &uris {
            if unsubscribe.is_first(uri)
                && let Err(error) = client.subscribe_resource(uri).await
            {
                return self.fail(fail, error);
            }
        }
        let params =
            SubscriptionsAcknowledgedNotificationParams::new(&RequestId::from(0), honoured);
        let params = RawJson::from_serialize(&params).expect("plain data always serialises");
        self.news.push(ListenEvent::Acknowledged(Some(params)));
        loop {
            tokio::select! {
                news = incoming.next() => {
                    let ended = news == ListenEvent::Ended;
                    self.news.push(news);
                    if ended {
                        return;
                    }
                }
                renewed = renewals.changed() => {
                    if renewed.is_err() {
                        return;
                    }
                    session.link.server_stream_ready().await;
                    for uri in &uris {
                        if let Err(error) = client.subscribe_resource(uri).await {
                            return self.fail(fail, error);
                        }
                    }
                    self.tell_everything();
                }
            }
        }
    }

    fn fail(&self, fail: oneshot::Sender<Error>, error: Error) {
        drop(fail.send(error));
        self.news.push(ListenEvent::Ended);
    }

    fn tell_everything(&self) {
        if let Ok(filter) = Filter::new(&self.wish) {
            for change in filter.changes() {
                self.client.shared.cache.invalidate(&change);
                self.news.push(ListenEvent::Changed(change));
            }
        }
    }
}

/// What was heard on one stream.
#[derive(Debug, Clone, Copy, Default)]
struct StreamSummary {
    acknowledged: bool,
    changes: bool,
}

/// Takes subscriptions back when nobody listens any more.
struct Unsubscribe {
    client: Client,
    uris: Vec<String>,
}

impl Unsubscribe {
    /// Counts one more listener of a resource; true when it is the first, who has to subscribe.
    fn is_first(&mut self, uri: &str) -> bool {
        self.uris.push(uri.to_owned());
        let mut subscribers = self.client.subscribers();
        let count = subscribers.entry(uri.to_owned()).or_default();
        *count += 1;
        *count == 1
    }
}

impl Drop for Unsubscribe {
    fn drop(&mut self) {
        let mut uris = std::mem::take(&mut self.uris);
        {
            let mut subscribers = self.client.subscribers();
            uris.retain(|uri| match subscribers.get_mut(uri) {
                Some(count) if *count > 1 => {
                    *count -= 1;
                    false
                }
                _ => subscribers.remove(uri).is_some(),
            });
        }
        if uris.is_empty() || self.client.session().link.is_closed() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let client = self.client.clone();
        runtime.spawn(async move {
            for uri in uris {
                if let Err(error) = client.unsubscribe_resource(uri).await {
                    tracing::debug!(%error, "a subscription could not be taken back");
                    return;
                }
            }
        });
    }
}
