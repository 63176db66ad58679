//! A webhook subscription of a client.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_types::events::{SubscribeEventsParams, UnsubscribeEventsParams};

use crate::client::Client;
use crate::client::webhooks::delivery_queue::{DeliveryQueue, WebhookItem};
use crate::client::webhooks::delivery_queues::DeliveryQueues;
use crate::client::webhooks::renewal::{renew, send};
use crate::error::Error;

/// A subscription whose events arrive at a [`WebhookReceiver`](crate::events::WebhookReceiver).
///
/// It is renewed in the background until it is dropped. After that, the receiver rejects its events, and the server
/// removes it when it expires. [`unsubscribe`](Self::unsubscribe) removes it at once.
#[derive(Debug)]
pub struct WebhookSubscription {
    id: String,
    client: Client,
    params: SubscribeEventsParams,
    items: mpsc::Receiver<WebhookItem>,
    queue: Arc<DeliveryQueue>,
    queues: Arc<DeliveryQueues>,
    renewal: AbortHandle,
}

impl WebhookSubscription {
    /// Returns the id that the server sends with each event.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Waits for the next item. Returns `None` after the end of the subscription, and after another subscription of the
    /// same receiver has replaced it.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<WebhookItem> {
        let item = tokio::select! {
            biased;
            item = self.items.recv() => item?,
            () = self.queue.closed().cancelled() => {
                self.renewal.abort();
                return None;
            }
        };
        if matches!(item, WebhookItem::Ended(_)) {
            self.renewal.abort();
            self.items.close();
        }
        Some(item)
    }

    /// Ends the subscription at the server. Sends nothing if another one has replaced it.
    ///
    /// # Errors
    /// Returns an error if the server rejects the request, for example because the subscription has expired.
    pub async fn unsubscribe(self) -> Result<(), Error> {
        self.renewal.abort();
        let queues = Arc::clone(&self.queues);
        let _guard = queues.lock_calls(&self.params).await;
        if self.queue.closed().is_cancelled() {
            return Ok(());
        }
        let SubscribeEventsParams {
            name,
            arguments,
            delivery,
            ..
        } = &self.params;
        let mut params = UnsubscribeEventsParams::new(name, &delivery.url);
        params.arguments.clone_from(arguments);
        self.client
            .request("events/unsubscribe", params)
            .await
            .map(drop)
    }
}

impl Drop for WebhookSubscription {
    fn drop(&mut self) {
        self.renewal.abort();
        self.queues.remove(&self.id, &self.queue);
    }
}

/// Subscribes to a type of events, with a new secret.
pub(super) async fn subscribe(
    client: &Client,
    queues: &Arc<DeliveryQueues>,
    mut params: SubscribeEventsParams,
) -> Result<WebhookSubscription, Error> {
    client.check_events()?;
    let mut random = [0; 32];
    getrandom::fill(&mut random)
        .map_err(|_| Error::invalid_request("the system provides no random bytes"))?;
    let secret = WebhookSecret::new(random);
    params.delivery.secret = secret.expose();
    let (queue, items) = DeliveryQueue::new(secret.clone());
    let guard = queues.lock_calls(&params).await;
    let pending = queues.add_pending(secret);
    let result = send(client, &params).await?;
    queues.add(result.id.clone(), Arc::clone(&queue));
    drop(pending);
    drop(guard);
    if result.truncated {
        queue.push_gap();
    }
    let id = result.id.clone();
    let renewal = renew(
        client.clone(),
        params.clone(),
        result,
        Arc::clone(&queue),
        Arc::clone(queues),
    );
    let closing = Arc::clone(&queue);
    let renewal = tokio::spawn(async move { closing.closed().unless_cancelled(renewal).await });
    Ok(WebhookSubscription {
        id,
        client: client.clone(),
        params,
        items,
        queue,
        queues: Arc::clone(queues),
        renewal: renewal.abort_handle(),
    })
}
