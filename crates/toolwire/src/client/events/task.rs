//! The task of a subscription: it selects the way of delivery and forwards what arrives.

use tokio::sync::{mpsc, oneshot};
use toolwire_proto::events::SeenEvents;
use toolwire_types::events::{DeliveryMode, EventOccurrence, code};

use crate::client::Client;
use crate::client::events::state::EventSubscriptionState;
use crate::client::events::subscription::EventItem;
use crate::client::events::{poll, push};
use crate::error::Error;

/// Something that arrived: an item, a new position, or both.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) item: Option<EventItem>,
    /// The position after the item. `None` if it did not change.
    pub(super) cursor: Option<Option<String>>,
}

/// The task of one [`EventSubscription`](crate::events::EventSubscription).
pub(super) struct SubscriptionTask {
    pub(super) client: Client,
    /// What is subscribed, and the position after everything that was forwarded.
    pub(super) state: EventSubscriptionState,
    pub(super) max_age_ms: Option<u64>,
    pub(super) mode: Option<DeliveryMode>,
    pub(super) seen: SeenEvents,
    pub(super) items: mpsc::Sender<Received>,
    /// Completes the start of the subscription.
    pub(super) opened: Option<oneshot::Sender<()>>,
}

/// The application dropped the subscription.
#[derive(Debug)]
pub(super) struct Dropped;

impl SubscriptionTask {
    pub(super) async fn run(mut self, fail: oneshot::Sender<Error>) {
        let error = match self.mode.clone() {
            Some(DeliveryMode::Push) => push::run(&mut self).await,
            Some(DeliveryMode::Poll) => poll::run(&mut self).await,
            Some(mode) => Error::invalid_request(format!(
                "this client does not receive events with the delivery mode `{mode}`"
            )),
            None => match push::run(&mut self).await {
                error if !self.is_open() && has_no_stream(&error) => poll::run(&mut self).await,
                error => error,
            },
        };
        drop(fail.send(error));
    }

    /// Records that the server accepted the subscription.
    pub(super) fn set_open(&mut self) {
        if let Some(opened) = self.opened.take() {
            // Nothing waits if the application dropped the start.
            let _ = opened.send(());
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.opened.is_none()
    }

    /// Forwards an event, unless it was forwarded before.
    pub(super) async fn forward_event(&mut self, event: EventOccurrence) -> Result<(), Dropped> {
        let cursor = event.cursor.clone().map(Some);
        let is_new = self.seen.insert(&event.event_id);
        let item = is_new.then_some(EventItem::Event(event));
        self.forward(item, cursor).await
    }

    /// Forwards an item and a position.
    pub(super) async fn forward(
        &mut self,
        item: Option<EventItem>,
        cursor: Option<Option<String>>,
    ) -> Result<(), Dropped> {
        let cursor = cursor.filter(|cursor| *cursor != self.state.cursor);
        if let Some(cursor) = &cursor {
            self.state.cursor.clone_from(cursor);
        }
        if item.is_none() && cursor.is_none() {
            return Ok(());
        }
        let sent = self.items.send(Received { item, cursor }).await;
        sent.map_err(|_| Dropped)
    }
}

/// Returns `true` if the server does not stream this type, or has no stream left, so that polling may work.
fn has_no_stream(error: &Error) -> bool {
    let reasons = [code::UNSUPPORTED, code::RESOURCE_EXHAUSTED];
    error.rpc().is_some_and(|rpc| reasons.contains(&rpc.code))
}
