//! What the task of a subscription stores, and how it forwards what arrives.

use tokio::sync::{mpsc, oneshot};
use toolwire_proto::events::SeenEvents;
use toolwire_types::events::EventOccurrence;

use crate::client::Client;
use crate::client::events::item::EventItem;
use crate::client::events::state::EventSubscriptionState;

/// Tells the server that the application has an event.
pub(super) type Accept = Box<dyn FnOnce() + Send>;

/// Something that arrived: an item, a new position, or both.
pub(super) struct Received {
    pub(super) item: Option<EventItem>,
    /// The position after the item. `None` if it did not change.
    pub(super) cursor: Option<Option<String>>,
    /// Called when the application takes the item. `None` if the server does not wait for it.
    pub(super) accept: Option<Accept>,
}

/// The task of one [`EventSubscription`](crate::events::EventSubscription).
pub(super) struct EventDelivery {
    pub(super) client: Client,
    /// What is subscribed, and the position after everything that was forwarded.
    pub(super) state: EventSubscriptionState,
    pub(super) max_age_ms: Option<u64>,
    pub(super) seen: SeenEvents,
    pub(super) items: mpsc::Sender<Received>,
    /// Completes the start of the subscription.
    pub(super) opened: Option<oneshot::Sender<()>>,
}

/// The application dropped the subscription.
#[derive(Debug)]
pub(super) struct Dropped;

impl EventDelivery {
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
    pub(super) async fn forward_event(
        &mut self,
        event: EventOccurrence,
        accept: Option<Accept>,
    ) -> Result<(), Dropped> {
        let cursor = event.cursor.clone().map(Some);
        if self.seen.insert(&event.event_id) {
            let item = Some(EventItem::Event(event));
            return self.send(item, cursor, accept).await;
        }
        if let Some(accept) = accept {
            accept();
        }
        self.forward(None, cursor).await
    }

    /// Forwards an item and a position.
    pub(super) async fn forward(
        &mut self,
        item: Option<EventItem>,
        cursor: Option<Option<String>>,
    ) -> Result<(), Dropped> {
        self.send(item, cursor, None).await
    }

    async fn send(
        &mut self,
        item: Option<EventItem>,
        cursor: Option<Option<String>>,
        accept: Option<Accept>,
    ) -> Result<(), Dropped> {
        let cursor = cursor.filter(|cursor| *cursor != self.state.cursor);
        if let Some(cursor) = &cursor {
            self.state.cursor.clone_from(cursor);
        }
        if item.is_none() && cursor.is_none() {
            return Ok(());
        }
        let received = Received {
            item,
            cursor,
            accept,
        };
        self.items.send(received).await.map_err(|_| Dropped)
    }
}
