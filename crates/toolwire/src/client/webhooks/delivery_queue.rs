//! The events of one subscription on their way to the application.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot};
use toolwire_proto::events::SeenEvents;
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_types::ErrorObject;
use toolwire_types::events::EventOccurrence;

use crate::engine::Cancellation;
use crate::sync::lock;

/// The maximum number of items that wait for the application. Further events get 503, and are sent again later.
pub(super) const MAX_QUEUED_ITEMS: usize = 32;

/// What a subscription receives.
#[derive(Debug)]
#[non_exhaustive]
pub enum WebhookItem {
    /// An event. Call [`WebhookEvent::accept`] when it is stored or processed.
    Event(WebhookEvent),
    /// Events were skipped.
    Gap,
    /// The server ended the subscription. Nothing follows.
    Ended(ErrorObject),
}

/// An event that waits for its acceptance.
///
/// The server gets a 2xx response when [`accept`](Self::accept) is called. If the value is dropped instead, the server
/// gets 503 and sends the event again later.
#[derive(Debug)]
#[must_use = "the server sends the event again unless it is accepted"]
pub struct WebhookEvent {
    event: Option<Box<EventOccurrence>>,
    message_id: String,
    queue: Arc<DeliveryQueue>,
    accepted: Option<oneshot::Sender<()>>,
}

impl WebhookEvent {
    /// Returns the event.
    #[must_use]
    pub fn event(&self) -> &EventOccurrence {
        self.event
            .as_deref()
            .expect("the event is taken only when the value is consumed")
    }

    /// Accepts the event. The server does not send it again.
    pub fn accept(mut self) -> EventOccurrence {
        lock(&self.queue.ids).accepted.insert(&self.message_id);
        if let Some(accepted) = self.accepted.take() {
            // Without a waiting request, the server sends the event again, and it is recognized then.
            let _ = accepted.send(());
        }
        *self
            .event
            .take()
            .expect("the event is taken only when the value is consumed")
    }
}

impl Drop for WebhookEvent {
    fn drop(&mut self) {
        lock(&self.queue.ids).waiting.remove(&self.message_id);
    }
}

/// The receiving end of one subscription.
#[derive(Debug)]
pub(super) struct DeliveryQueue {
    secret: WebhookSecret,
    items: mpsc::Sender<WebhookItem>,
    ids: Mutex<MessageIds>,
    /// Set when another subscription has replaced this one.
    closed: Cancellation,
}

#[derive(Debug, Default)]
struct MessageIds {
    accepted: SeenEvents,
    /// The events that the application has not accepted yet.
    waiting: HashSet<String>,
}

/// The reason why an event is not queued.
pub(super) enum Unqueued {
    /// The application accepted it before.
    Accepted,
    /// The application does not read, or still processes the same event.
    Busy,
}

impl DeliveryQueue {
    pub(super) fn new(secret: WebhookSecret) -> (Arc<Self>, mpsc::Receiver<WebhookItem>) {
        let (items, receiver) = mpsc::channel(MAX_QUEUED_ITEMS);
        let queue = Self {
            secret,
            items,
            ids: Mutex::default(),
            closed: Cancellation::new(),
        };
        (Arc::new(queue), receiver)
    }

    pub(super) fn secret(&self) -> &WebhookSecret {
        &self.secret
    }

    /// Ends the subscription, because another one has replaced it.
    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    /// Returns the signal that another subscription has replaced this one.
    pub(super) fn closed(&self) -> &Cancellation {
        &self.closed
    }

    /// Queues an event. The returned receiver completes when the application accepts or drops it.
    pub(super) fn push_event(
        self: &Arc<Self>,
        message_id: &str,
        event: Box<EventOccurrence>,
    ) -> Result<oneshot::Receiver<()>, Unqueued> {
        let mut ids = lock(&self.ids);
        if ids.accepted.contains(message_id) {
            return Err(Unqueued::Accepted);
        }
        let permit = self.items.try_reserve().map_err(|_| Unqueued::Busy)?;
        if !ids.waiting.insert(message_id.to_owned()) {
            return Err(Unqueued::Busy);
        }
        drop(ids);
        let (accepted, acceptance) = oneshot::channel();
        permit.send(WebhookItem::Event(WebhookEvent {
            event: Some(event),
            message_id: message_id.to_owned(),
            queue: Arc::clone(self),
            accepted: Some(accepted),
        }));
        Ok(acceptance)
    }

    /// Queues a message that is not an event, once. Returns `false` if the application does not read.
    pub(super) fn push_control(&self, message_id: &str, item: WebhookItem) -> bool {
        let mut ids = lock(&self.ids);
        if ids.accepted.contains(message_id) {
            return true;
        }
        let Ok(permit) = self.items.try_reserve() else {
            return false;
        };
        ids.accepted.insert(message_id);
        drop(ids);
        permit.send(item);
        true
    }

    /// Queues the end of the subscription, when the application reads.
    pub(super) async fn push_end(&self, error: ErrorObject) {
        // Without a reader, the application has dropped the subscription.
        drop(self.items.send(WebhookItem::Ended(error)).await);
    }

    /// Queues a gap that the response to a renewal announced.
    pub(super) fn push_gap(&self) {
        // A full queue is no problem: the server also sends the gap.
        drop(self.items.try_send(WebhookItem::Gap));
    }
}
