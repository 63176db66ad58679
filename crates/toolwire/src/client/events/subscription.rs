//! A subscription to events, as the application sees it.

use std::collections::VecDeque;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use toolwire_proto::events::SeenEvents;
use toolwire_types::ErrorObject;
use toolwire_types::events::EventOccurrence;

use crate::client::events::state::EventSubscriptionState;
use crate::client::events::subscribe::SubscribeEvents;
use crate::client::events::task::{Received, SubscriptionTask};
use crate::error::Error;

/// The number of items that wait for the application. The stream is not read beyond it.
const QUEUED_ITEMS: usize = 64;

/// The number of ids in a stored state.
const RECENT_IDS: usize = 100;

/// An item of a subscription to events.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventItem {
    /// An event. Its data is untrusted, and it permits nothing.
    Event(EventOccurrence),
    /// Events were missed here, for example because the server does not store them any longer.
    Gap,
    /// The server could not get events, and tries again.
    Failed(ErrorObject),
}

/// A subscription to events, until it is dropped.
///
/// After a lost connection, it continues at its cursor. Each event is returned once.
#[derive(Debug)]
pub struct EventSubscription {
    state: EventSubscriptionState,
    recent: VecDeque<String>,
    items: mpsc::Receiver<Received>,
    failure: Option<oneshot::Receiver<Error>>,
    task: JoinHandle<()>,
}

impl EventSubscription {
    pub(super) async fn start(options: SubscribeEvents) -> Result<Self, Error> {
        let SubscribeEvents {
            client,
            state,
            max_age,
            mode,
        } = options;
        let state = state?;
        client.check_events()?;
        let (sender, items) = mpsc::channel(QUEUED_ITEMS);
        let (fail, failure) = oneshot::channel();
        let (open, opened) = oneshot::channel();
        let mut seen = SeenEvents::new();
        for id in &state.recent {
            seen.insert(id);
        }
        let task = SubscriptionTask {
            client,
            state: state.clone(),
            max_age_ms: max_age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
            mode,
            seen,
            items: sender,
            opened: Some(open),
        };
        let mut subscription = Self {
            recent: state.recent.iter().cloned().collect(),
            state,
            items,
            failure: Some(failure),
            task: tokio::spawn(task.run(fail)),
        };
        match opened.await {
            Ok(()) => Ok(subscription),
            Err(_) => Err(subscription.take_failure().unwrap_or_else(Error::closed)),
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
            if let Some(cursor) = received.cursor {
                self.state.cursor = cursor;
            }
            let Some(item) = received.item else {
                continue;
            };
            if let EventItem::Event(event) = &item {
                self.recent.push_back(event.event_id.clone());
                if self.recent.len() > RECENT_IDS {
                    self.recent.pop_front();
                }
            }
            return Ok(Some(item));
        }
    }

    /// Returns the state after the items that [`next`](Self::next) returned, to continue later.
    #[must_use]
    pub fn state(&self) -> EventSubscriptionState {
        let mut state = self.state.clone();
        state.recent = self.recent.iter().cloned().collect();
        state
    }

    fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()?.try_recv().ok()
    }
}

impl Drop for EventSubscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}
