//! A subscription to events, as the application sees it.

use std::fmt;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use toolwire_proto::events::SeenEvents;

use crate::client::events::delivery::Received;
use crate::client::events::item::EventItem;
use crate::client::events::state::EventSubscriptionState;
use crate::error::Error;

/// The number of ids in a stored state.
const RECENT_IDS: usize = 100;

/// A subscription to events, until it is dropped.
///
/// After a lost connection, it continues at its cursor. Each event is returned once.
pub struct EventSubscription {
    state: EventSubscriptionState,
    /// The ids of the last events that the application has.
    received: SeenEvents,
    items: mpsc::Receiver<Received>,
    failure: Option<oneshot::Receiver<Error>>,
    task: JoinHandle<()>,
}

impl EventSubscription {
    /// Creates the subscription that this task feeds.
    pub(super) fn new(
        state: EventSubscriptionState,
        items: mpsc::Receiver<Received>,
        failure: oneshot::Receiver<Error>,
        task: JoinHandle<()>,
    ) -> Self {
        let mut received = SeenEvents::with_max_ids(RECENT_IDS);
        for id in &state.recent {
            received.insert(id);
        }
        Self {
            received,
            state,
            items,
            failure: Some(failure),
            task,
        }
    }

    /// Returns the next item, or `None` after the subscription ended.
    ///
    /// # Errors
    /// Returns an error once, if the server ended the subscription or the connection is lost.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<EventItem>, Error> {
        loop {
            let Some(received) = self.items.recv().await else {
                return self.take_failure().map_or(Ok(None), Err);
            };
            if let Some(accept) = received.accept {
                accept();
            }
            if let Some(cursor) = received.cursor {
                self.state.cursor = cursor;
            }
            let Some(item) = received.item else {
                continue;
            };
            if let EventItem::Event(event) = &item {
                self.received.insert(&event.event_id);
            }
            return Ok(Some(item));
        }
    }

    /// Returns the state after the items that [`next`](Self::next) returned, to continue later.
    #[must_use]
    pub fn state(&self) -> EventSubscriptionState {
        let mut state = self.state.clone();
        state.recent = self.received.ids().map(str::to_owned).collect();
        state
    }

    /// Returns why the subscription ended, once.
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()?.try_recv().ok()
    }
}

impl fmt::Debug for EventSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSubscription")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Drop for EventSubscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}
