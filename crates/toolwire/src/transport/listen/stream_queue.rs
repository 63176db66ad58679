//! The messages of one stream, sent in order and outside of any lock.
//!
//! A message passes through code of the author if a middleware observes notifications, and that code may cause the next
//! change. So a thread that finds another one sending leaves its message to it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use toolwire_proto::subscriptions::Change;
#[cfg(feature = "tasks")]
use toolwire_types::Notification;
use toolwire_types::SubscriptionFilter;

use crate::sync::lock;

/// The messages of a stream that were not sent yet. Equal changes are merged, so their number is limited by the filter.
#[derive(Debug, Default)]
pub(super) struct StreamQueue {
    state: Mutex<StreamQueueState>,
    /// Signalled when a thread has sent its messages.
    idle: Condvar,
}

#[derive(Debug, Default)]
struct StreamQueueState {
    phase: StreamPhase,
    waiting: VecDeque<ListenMessage>,
    /// The thread that sends the waiting messages.
    sender: Option<ThreadId>,
}

/// The phase of a stream.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum StreamPhase {
    /// The acknowledgement was not sent yet. Changes wait for it.
    #[default]
    Opening,
    Open,
    Closed,
}

/// A message of a stream.
#[derive(Debug)]
pub(super) enum ListenMessage {
    Acknowledgement(SubscriptionFilter),
    Change(Change),
    /// The state of a task.
    #[cfg(feature = "tasks")]
    Task(String, Notification),
}

impl StreamQueue {
    /// Sends the acknowledgement, and the changes that waited for it. It is sent once.
    pub(super) fn acknowledge(&self, accepted: SubscriptionFilter, send: impl Fn(ListenMessage)) {
        let mut state = lock(&self.state);
        if state.phase == StreamPhase::Opening {
            state.phase = StreamPhase::Open;
            let first = ListenMessage::Acknowledgement(accepted);
            state.waiting.push_front(first);
            self.send_waiting(state, send);
        }
    }

    /// Sends a change, or leaves it to the acknowledgement. Returns `false` if the stream has ended.
    pub(super) fn add_change(&self, change: &Change, send: impl Fn(ListenMessage)) -> bool {
        let mut state = lock(&self.state);
        if state.phase == StreamPhase::Closed {
            return false;
        }
        let is_equal =
            |waiting: &ListenMessage| matches!(waiting, ListenMessage::Change(c) if c == change);
        if !state.waiting.iter().any(is_equal) {
            let message = ListenMessage::Change(change.clone());
            state.waiting.push_back(message);
        }
        self.send_waiting(state, send);
        true
    }

    /// Sends the state of a task on an open stream. It replaces an earlier state that was not sent yet.
    #[cfg(feature = "tasks")]
    pub(super) fn add_task(&self, id: &str, task: Notification, send: impl Fn(ListenMessage)) {
        let mut state = lock(&self.state);
        if state.phase != StreamPhase::Open {
            return;
        }
        let waiting = &mut state.waiting;
        waiting.retain(|waiting| !matches!(waiting, ListenMessage::Task(other, _) if other == id));
        waiting.push_back(ListenMessage::Task(id.to_owned(), task));
        self.send_waiting(state, send);
    }

    /// Ends the stream. No message follows when this returns, unless it is called while this thread sends one.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.phase = StreamPhase::Closed;
        state.waiting.clear();
        let this = thread::current().id();
        while state.sender.is_some_and(|sender| sender != this) {
            let waited = self.idle.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn send_waiting(
        &self,
        mut state: MutexGuard<'_, StreamQueueState>,
        send: impl Fn(ListenMessage),
    ) {
        if state.sender.is_some() || state.phase == StreamPhase::Opening {
            return;
        }
        state.sender = Some(thread::current().id());
        drop(state);
        let mut sending = Sending {
            queue: self,
            is_done: false,
        };
        while let Some(message) = sending.next() {
            send(message);
        }
    }
}

/// The permit of the thread that sends. It ends with the last message, or with a panic.
struct Sending<'a> {
    queue: &'a StreamQueue,
    is_done: bool,
}

impl Sending<'_> {
    fn next(&mut self) -> Option<ListenMessage> {
        let mut state = lock(&self.queue.state);
        let message = state.waiting.pop_front();
        if message.is_none() {
            self.is_done = true;
            state.sender = None;
            self.queue.idle.notify_all();
        }
        message
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            lock(&self.queue.state).sender = None;
            self.queue.idle.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn names(sent: &RefCell<Vec<String>>) -> impl Fn(ListenMessage) {
        |message| sent.borrow_mut().push(format!("{message:?}"))
    }

    #[test]
    fn changes_wait_for_the_acknowledgement_and_are_merged() {
        let (queue, sent) = (StreamQueue::default(), RefCell::default());
        for change in [Change::ToolsListChanged, Change::ToolsListChanged] {
            assert!(queue.add_change(&change, names(&sent)));
        }
        assert!(sent.borrow().is_empty());
        queue.acknowledge(SubscriptionFilter::default(), names(&sent));
        queue.acknowledge(SubscriptionFilter::default(), names(&sent));
        assert_eq!(sent.borrow().len(), 2, "{sent:?}");
        assert_eq!(sent.borrow()[1], "Change(ToolsListChanged)");
        queue.close();
        assert!(!queue.add_change(&Change::ToolsListChanged, names(&sent)));
        assert_eq!(sent.borrow().len(), 2);
    }

    #[test]
    fn change_during_a_send_is_sent_after_it() {
        let (queue, sent) = (StreamQueue::default(), RefCell::default());
        queue.acknowledge(SubscriptionFilter::default(), names(&sent));
        let causing = |message: ListenMessage| {
            if matches!(message, ListenMessage::Change(Change::ToolsListChanged)) {
                queue.add_change(&Change::PromptsListChanged, names(&sent));
                assert_eq!(sent.borrow().len(), 1, "it is not sent in between");
            }
            names(&sent)(message);
        };
        queue.add_change(&Change::ToolsListChanged, causing);
        let expected = ["Change(ToolsListChanged)", "Change(PromptsListChanged)"];
        assert_eq!(sent.borrow()[1..], expected);
    }

    #[test]
    fn panic_while_sending_does_not_stop_the_stream() {
        let (queue, sent) = (StreamQueue::default(), RefCell::default());
        queue.acknowledge(SubscriptionFilter::default(), names(&sent));
        let panics = || queue.add_change(&Change::ToolsListChanged, |_| panic!("expected"));
        assert!(crate::engine::catch_panic(panics).is_err());
        queue.add_change(&Change::PromptsListChanged, names(&sent));
        assert_eq!(sent.borrow().len(), 2);
    }
}
