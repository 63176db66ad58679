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
pub(crate) const UNSEEN_CHANGES: usize = 4096;

/// What a listener is told next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum News {
    /// The server has acknowledged the subscription, with these parameters.
    Acknowledged(Option<RawJson>),
    /// Something changed.
    Changed(Change),
    /// The server, or the connection, has ended the subscription.
    Ended,
}

#[derive(Debug, Default)]
pub(crate) struct NewsQueue {
    unseen: Mutex<Unseen>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Unseen {
    acknowledged: Option<News>,
    changes: IndexSet<Change>,
    ended: bool,
}

impl NewsQueue {
    pub(crate) fn push(&self, news: News) {
        let mut unseen = self.unseen();
        match news {
            News::Acknowledged(_) => unseen.acknowledged = Some(news),
            News::Changed(change) => {
                if unseen.changes.len() < UNSEEN_CHANGES {
                    unseen.changes.insert(change);
                } else if !unseen.changes.contains(&change) {
                    tracing::warn!(?change, "a listener does not look, so it misses a change");
                }
            }
            News::Ended => unseen.ended = true,
        }
        drop(unseen);
        self.arrived.notify_one();
    }

    /// The next news; after the end, the end again.
    pub(crate) async fn next(&self) -> News {
        loop {
            if let Some(news) = self.take() {
                return news;
            }
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Option<News> {
        let mut unseen = self.unseen();
        if let Some(acknowledged) = unseen.acknowledged.take() {
            return Some(acknowledged);
        }
        match unseen.changes.shift_remove_index(0) {
            Some(change) => Some(News::Changed(change)),
            None => unseen.ended.then_some(News::Ended),
        }
    }

    fn unseen(&self) -> MutexGuard<'_, Unseen> {
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
        let queue = NewsQueue::default();
        queue.push(News::Changed(updated(1)));
        queue.push(News::Changed(Change::ToolsListChanged));
        queue.push(News::Changed(updated(1)));
        queue.push(News::Ended);
        assert_eq!(queue.next().await, News::Changed(updated(1)));
        assert_eq!(queue.next().await, News::Changed(Change::ToolsListChanged));
        assert_eq!(queue.next().await, News::Ended);
        assert_eq!(queue.next().await, News::Ended);
    }

    #[tokio::test]
    async fn a_listener_that_does_not_look_holds_a_bounded_number_of_changes() {
        let queue = NewsQueue::default();
        for number in 0..=UNSEEN_CHANGES {
            queue.push(News::Changed(updated(number)));
        }
        queue.push(News::Ended);
        for number in 0..UNSEEN_CHANGES {
            assert_eq!(queue.next().await, News::Changed(updated(number)));
        }
        assert_eq!(queue.next().await, News::Ended);
    }
}
