//! The queue of events that a listener has not read yet.
//!
//! A change means that something has to be read again, so equal changes count as one. The queue therefore stores each
//! distinct change once, in the order of arrival. It cannot grow beyond the changes of the listener's filter.

use std::sync::{Mutex, MutexGuard};

use indexmap::IndexSet;
use tokio::sync::Notify;
use toolwire_proto::subscriptions::Change;
use toolwire_types::RawJson;

use crate::sync::lock;

/// The maximum number of distinct pending changes. Further changes are dropped with a warning.
pub(crate) const MAX_PENDING_CHANGES: usize = 4096;

/// An event of a subscription.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ListenEvent {
    /// The server has acknowledged the subscription with these parameters.
    Acknowledged(Option<RawJson>),
    /// A list or a resource changed.
    Changed(Change),
    /// The server or the connection has ended the subscription.
    Ended,
}

/// The pending events of one listener.
#[derive(Debug, Default)]
pub(crate) struct ListenQueue {
    pending: Mutex<PendingEvents>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct PendingEvents {
    acknowledged: Option<ListenEvent>,
    changes: IndexSet<Change>,
    ended: bool,
}

impl ListenQueue {
    pub(crate) fn push(&self, event: ListenEvent) {
        let mut pending = self.pending();
        match event {
            ListenEvent::Acknowledged(_) => pending.acknowledged = Some(event),
            ListenEvent::Changed(change) => {
                if pending.changes.len() < MAX_PENDING_CHANGES {
                    pending.changes.insert(change);
                } else if !pending.changes.contains(&change) {
                    tracing::warn!(
                        ?change,
                        "dropped a change, because the subscription is not read"
                    );
                }
            }
            ListenEvent::Ended => pending.ended = true,
        }
        drop(pending);
        self.arrived.notify_one();
    }

    /// Returns the next event. After the end, it returns [`ListenEvent::Ended`] again.
    pub(crate) async fn next(&self) -> ListenEvent {
        loop {
            if let Some(event) = self.take() {
                return event;
            }
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Option<ListenEvent> {
        let mut pending = self.pending();
        if let Some(acknowledged) = pending.acknowledged.take() {
            return Some(acknowledged);
        }
        match pending.changes.shift_remove_index(0) {
            Some(change) => Some(ListenEvent::Changed(change)),
            None => pending.ended.then_some(ListenEvent::Ended),
        }
    }

    fn pending(&self) -> MutexGuard<'_, PendingEvents> {
        lock(&self.pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(number: usize) -> Change {
        Change::ResourceUpdated(format!("test://{number}"))
    }

    #[tokio::test]
    async fn equal_changes_are_delivered_once() {
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
    async fn queue_that_is_not_read_has_a_bounded_number_of_changes() {
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
