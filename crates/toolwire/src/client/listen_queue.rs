//! What a listener has not looked at yet.
//!
//! Changes say "look again", so the same change twice is one change. The queue therefore holds each distinct change
//! once, in the order of their first news, and cannot grow beyond what the listener asked to hear of.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexSet;
use tokio::sync::Notify;
use toolwire_proto::subscriptions::Change;
use toolwire_types::RawJson;

/// How many distinct changes wait for a listener that does not look; more are dropped with a warning.
pub(crate) const MAX_PENDING_CHANGES: usize = 4096;

/// What a listener is told next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ListenEvent {
    /// The server has acknowledged the subscription, with these parameters.
    Acknowledged(Option<RawJson>),
    /// Something changed.
    Changed(Change),
    /// The server, or the connection, has ended the subscription.
    Ended,
}

#[derive(Debug, Default)]
pub(crate) struct ListenQueue {
    unseen: Mutex<PendingEvents>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct PendingEvents {
    acknowledged: Option<ListenEvent>,
    changes: IndexSet<Change>,
    ended: bool,
}

impl ListenQueue {
    pub(crate) fn push(&self, news: ListenEvent) {
        let mut unseen = self.unseen();
        match news {
            ListenEvent::Acknowledged(_) => unseen.acknowledged = Some(news),
            ListenEvent::Changed(change) => {
                if unseen.changes.len() < MAX_PENDING_CHANGES {
                    unseen.changes.insert(change);
                } else if !unseen.changes.contains(&change) {
                    tracing::warn!(?change, "a listener does not look, so it misses a change");
                }
            }
            ListenEvent::Ended => unseen.ended = true,
        }
        drop(unseen);
        self.arrived.notify_one();
    }

    /// The next news; after the end, the end again.
    pub(crate) async fn next(&self) -> ListenEvent {
        loop {
            if let Some(news) = self.take() {
                return news;
            }
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Option<ListenEvent> {
        let mut unseen = self.unseen();
        if let Some(acknowledged) = unseen.acknowledged.take() {
            return Some(acknowledged);
        }
        match unseen.changes.shift_remove_index(0) {
            Some(change) => Some(ListenEvent::Changed(change)),
            None => unseen.ended.then_some(ListenEvent::Ended),
        }
    }

    fn unseen(&self) -> MutexGuard<'_, PendingEvents> {
        self.unseen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(number: usize) -> Change {
        Change::ResourceUpdated(format!("test://{number}"))
    }

    #[tokio::test]
    async fn the_same_change_is_told_once() {
        let queue = ListenQueue::default();
        queue.push(ListenEvent::Changed(updated(1)));
        queue.push(ListenEvent::Changed(Change::ToolsListChanged));
        queue.push(ListenEvent::Changed(updated(1)));
        queue.push(ListenEvent::Ended);
        assert_eq!(queue.next().await, ListenEvent::Changed(updated(1)));
        assert_eq!(
            queue.next().await,
            ListenEvent::Changed(Change::ToolsListChanged)
        );
        assert_eq!(queue.next().await, ListenEvent::Ended);
        assert_eq!(queue.next().await, ListenEvent::Ended);
    }

    #[tokio::test]
    async fn a_listener_that_does_not_look_holds_a_bounded_number_of_changes() {
        let queue = ListenQueue::default();
        for number in 0..=MAX_PENDING_CHANGES {
            queue.push(ListenEvent::Changed(updated(number)));
        }
        queue.push(ListenEvent::Ended);
        for number in 0..MAX_PENDING_CHANGES {
            assert_eq!(queue.next().await, ListenEvent::Changed(updated(number)));
        }
        assert_eq!(queue.next().await, ListenEvent::Ended);
    }
}
