//! Lets requests wait for the notifications that the client sent before them.
//!
//! A notification is forwarded by a task of its own. Without the gate, a request could reach the upstream server before
//! the `notifications/initialized` that the client sent first.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::sync::lock;

/// The notifications of one session that are not forwarded yet.
#[derive(Debug, Default)]
pub(super) struct NotificationGate {
    state: Mutex<GateState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct GateState {
    next: u64,
    waiting: BTreeSet<u64>,
}

impl NotificationGate {
    /// Adds a notification until the returned value is dropped.
    pub(super) fn enter(self: &Arc<Self>) -> GateEntry {
        let mut state = lock(&self.state);
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number);
        GateEntry {
            gate: Arc::clone(self),
            number,
        }
    }

    /// Returns the notifications that were added so far.
    pub(super) fn earlier(self: &Arc<Self>) -> EarlierNotifications {
        EarlierNotifications {
            gate: Arc::clone(self),
            end: lock(&self.state).next,
        }
    }
}

/// A notification that is not forwarded yet.
#[derive(Debug)]
pub(super) struct GateEntry {
    gate: Arc<NotificationGate>,
    number: u64,
}

impl Drop for GateEntry {
    fn drop(&mut self) {
        lock(&self.gate.state).waiting.remove(&self.number);
        self.gate.changed.notify_waiters();
    }
}

/// The notifications that a request waits for.
#[derive(Debug)]
pub(super) struct EarlierNotifications {
    gate: Arc<NotificationGate>,
    end: u64,
}

impl EarlierNotifications {
    /// Waits until the notifications are forwarded or dropped.
    pub(super) async fn forwarded(self) {
        loop {
            let mut changed = pin!(self.gate.changed.notified());
            // Registered before the check, so that no change is missed.
            changed.as_mut().enable();
            let first = lock(&self.gate.state).waiting.first().copied();
            if first.is_none_or(|first| first >= self.end) {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn request_waits_for_earlier_notifications_only() {
        let gate = Arc::new(NotificationGate::default());
        gate.earlier().forwarded().await;
        let [first, second] = [gate.enter(), gate.enter()];
        let mut waiting = pin!(gate.earlier().forwarded());
        let _later = gate.enter();
        let is_waiting = |waiting: std::pin::Pin<&mut dyn Future<Output = ()>>| {
            let poll = waiting.poll(&mut Context::from_waker(Waker::noop()));
            poll == Poll::Pending
        };
        assert!(is_waiting(waiting.as_mut()));
        drop(second);
        assert!(is_waiting(waiting.as_mut()));
        drop(first);
        waiting.await;
    }
}
