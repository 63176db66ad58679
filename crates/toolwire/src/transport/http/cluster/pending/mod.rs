//! Changes and notifications of this node that are not published yet.
//!
//! A change is removed only after it was published. The number of waiting changes is limited. Beyond the limit, they are
//! replaced by one message for the other nodes: everything may have changed.

mod batch;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use toolwire_proto::subscriptions::Change;
use toolwire_types::{Notification, RequestId};

use crate::server::hub::ChangeForwarder;
use crate::store::StoreError;
use crate::sync::lock;
use crate::transport::http::cluster::handler::ClusterHandler;
use crate::transport::http::cluster::pending::batch::{BatchSize, PendingBatch, Repetition};
use crate::transport::http::cluster::recent_cancellations::RecentCancellations;

/// The maximum number of distinct changes that are queued for the bus. More changes are published as
/// [`BusPayload::Everything`].
const MAX_WAITING_CHANGES: usize = 10_000;

/// The maximum size of these changes together, in bytes: of their URIs and task ids. More changes are published as
/// [`BusPayload::Everything`], too.
const MAX_WAITING_CHANGE_BYTES: usize = 4 * 1024 * 1024;

/// The maximum number of notifications that are queued for the bus. Further notifications are not published.
const MAX_WAITING_NOTIFICATIONS: usize = 1_000;

/// The maximum size of these notifications together, in bytes. A larger notification could block the changes behind it.
const MAX_WAITING_NOTIFICATION_BYTES: usize = 4 * 1024 * 1024;

/// The maximum number of ended sessions that are queued for the bus. Beyond it, the oldest end on the other nodes when these
/// nodes use them.
const MAX_WAITING_ENDS: usize = 1_000;

/// The shortest time between two messages about lost messages. Otherwise, a node that cannot keep up would cause ever more.
const REPEAT_INTERVAL: Duration = Duration::from_secs(1);

/// The queue of changes and notifications for the bus.
#[derive(Default)]
pub(super) struct PendingChanges {
    waiting: Mutex<WaitingMessages>,
    pub(super) ready: Notify,
    /// Notifies when a batch was published.
    published: Notify,
    /// Records each notification that is dropped.
    handler: OnceLock<Weak<dyn ClusterHandler>>,
}

#[derive(Debug, Default)]
struct WaitingMessages {
    changes: BTreeSet<Change>,
    change_bytes: usize,
    /// Whether there were too many changes, so that everything is reported as changed.
    everything: bool,
    /// The notifications, in the order in which they were sent.
    notifications: Vec<Notification>,
    notification_bytes: usize,
    /// Sessions that have ended, but whose end could not be published.
    ended_sessions: VecDeque<String>,
    cancellations: RecentCancellations,
    /// Whether a batch was taken that is neither published nor put back.
    is_publishing: bool,
    repetition: Repetition,
    /// When the last repetition was taken.
    repeated: Option<Instant>,
}

impl PendingChanges {
    /// Sets the handler that records dropped notifications.
    pub(super) fn set_handler(&self, handler: Weak<dyn ClusterHandler>) {
        // A node joins once, so no other handler can be set.
        let _ = self.handler.set(handler);
    }

    /// Records a cancellation that is about to be published.
    pub(super) fn record_cancellation(&self, session: &str, id: &RequestId) {
        self.lock().cancellations.add(session, id);
    }

    /// Publishes later that a session has ended.
    pub(super) fn add_ended_session(&self, session: &str) {
        self.lock().add_ended_session(session.to_owned());
        self.ready.notify_one();
    }

    /// Lets the recorded cancellations be published again.
    pub(super) fn repeat_cancellations(&self) {
        self.lock().repetition.repeats = true;
        self.ready.notify_one();
    }

    /// Lets the other nodes be asked for their cancellations.
    pub(super) fn ask_for_cancellations(&self) {
        self.lock().repetition.asks = true;
        self.ready.notify_one();
    }

    /// Takes the messages to publish next. Returns `None` if no message waits.
    pub(super) fn take(&self) -> Option<PendingBatch> {
        let mut waiting = self.lock();
        let everything = std::mem::take(&mut waiting.everything);
        let mut size = BatchSize::default();
        let mut changes = Vec::new();
        while waiting
            .changes
            .first()
            .is_some_and(|next| size.add(change_bytes(next)))
            && let Some(change) = waiting.take_change()
        {
            changes.push(change);
        }
        let mut fitting = waiting.notifications.iter();
        let fitting = fitting.by_ref().take_while(|next| size.add(bytes_of(next)));
        let count = fitting.count();
        let notifications: Vec<_> = waiting.notifications.drain(..count).collect();
        waiting.notification_bytes -= notifications.iter().map(bytes_of).sum::<usize>();
        let mut ended_sessions = Vec::new();
        while waiting
            .ended_sessions
            .front()
            .is_some_and(|next| size.add(next.len()))
        {
            ended_sessions.extend(waiting.ended_sessions.pop_front());
        }
        let repetition = waiting.take_repetition();
        let cancellations = if repetition.repeats {
            waiting.cancellations.payloads()
        } else {
            Vec::new()
        };
        let batch = PendingBatch {
            everything,
            changes,
            notifications,
            ended_sessions,
            repetition,
            cancellations,
        };
        waiting.is_publishing = !batch.is_empty();
        drop(waiting);
        (!batch.is_empty()).then_some(batch)
    }

    /// Records that the batch that was taken last is published.
    pub(super) fn set_published(&self) {
        self.lock().is_publishing = false;
        self.published.notify_waiters();
    }

    /// Waits until no message waits to be published. Repeated cancellations do not count.
    pub(super) async fn wait_until_published(&self) {
        loop {
            let published = self.published.notified();
            tokio::pin!(published);
            // Registered before the state is read, so that a batch that is published in between is not missed.
            published.as_mut().enable();
            if self.lock().is_published() {
                return;
            }
            published.await;
        }
    }

    /// Puts the messages of a batch back that could not be published.
    ///
    /// If it is unknown whether they were published, only changes are put back: a client may be notified of a change twice,
    /// but not of anything else.
    pub(super) fn put_back(&self, batch: PendingBatch, error: &StoreError) {
        let mut waiting = self.lock();
        waiting.is_publishing = false;
        if batch.everything {
            waiting.report_everything();
        }
        for change in batch.changes {
            waiting.add_change(change);
        }
        for session in batch.ended_sessions {
            waiting.add_ended_session(session);
        }
        waiting.repetition.asks |= batch.repetition.asks;
        waiting.repetition.repeats |= batch.repetition.repeats;
        if matches!(error, StoreError::Unknown(_)) {
            return;
        }
        let newer = std::mem::take(&mut waiting.notifications);
        waiting.notification_bytes = 0;
        let all = batch.notifications.into_iter().chain(newer);
        let dropped = all
            .filter(|notification| !waiting.add_notification(notification))
            .count();
        drop(waiting);
        if dropped > 0 {
            tracing::warn!(
                dropped,
                "dropped notifications for the other nodes, because the bus is unavailable"
            );
            self.record_dropped(dropped);
        }
    }

    fn record_dropped(&self, count: usize) {
        let handler = self.handler.get().and_then(Weak::upgrade);
        if let Some(handler) = handler {
            (0..count).for_each(|_| handler.on_notification_dropped());
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingMessages> {
        lock(&self.waiting)
    }
}

impl fmt::Debug for PendingChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingChanges")
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

impl WaitingMessages {
    fn is_published(&self) -> bool {
        let has_changes = self.everything || !self.changes.is_empty();
        let has_signals = !self.notifications.is_empty() || !self.ended_sessions.is_empty();
        !self.is_publishing && !has_changes && !has_signals
    }

    fn add_ended_session(&mut self, session: String) {
        if self.ended_sessions.len() >= MAX_WAITING_ENDS {
            self.ended_sessions.pop_front();
        }
        self.ended_sessions.push_back(session);
    }

    fn add_change(&mut self, change: Change) {
        if self.everything {
            return;
        }
        let bytes = change_bytes(&change);
        if self.changes.insert(change) {
            self.change_bytes += bytes;
        }
        if self.changes.len() > MAX_WAITING_CHANGES || self.change_bytes > MAX_WAITING_CHANGE_BYTES
        {
            self.report_everything();
        }
    }

    /// Takes what has to be published because a node has lost messages, unless that was done a short time ago.
    fn take_repetition(&mut self) -> Repetition {
        let is_due = self
            .repeated
            .is_none_or(|repeated| repeated.elapsed() >= REPEAT_INTERVAL);
        if self.repetition == Repetition::default() || !is_due {
            return Repetition::default();
        }
        self.repeated = Some(Instant::now());
        std::mem::take(&mut self.repetition)
    }

    fn take_change(&mut self) -> Option<Change> {
        let change = self.changes.pop_first()?;
        self.change_bytes -= change_bytes(&change);
        Some(change)
    }

    /// Replaces all changes by the report that everything may have changed.
    fn report_everything(&mut self) {
        self.changes.clear();
        self.change_bytes = 0;
        self.everything = true;
    }

    /// Adds a notification. Returns `false`, and does not add it, if that would exceed a limit.
    fn add_notification(&mut self, notification: &Notification) -> bool {
        let bytes = self.notification_bytes + bytes_of(notification);
        if self.notifications.len() >= MAX_WAITING_NOTIFICATIONS
            || bytes > MAX_WAITING_NOTIFICATION_BYTES
        {
            return false;
        }
        self.notification_bytes = bytes;
        self.notifications.push(notification.clone());
        true
    }
}

fn change_bytes(change: &Change) -> usize {
    match change {
        Change::ResourceUpdated(uri) => uri.len(),
        Change::Task(id) => id.len(),
        _ => 0,
    }
}

fn bytes_of(notification: &Notification) -> usize {
    let params = notification.params.as_ref();
    notification.method.len() + params.map_or(0, |params| params.get().len())
}

impl ChangeForwarder for PendingChanges {
    fn forward(&self, change: &Change) {
        self.lock().add_change(change.clone());
        self.ready.notify_one();
    }

    fn forward_notification(&self, notification: &Notification) {
        let is_queued = self.lock().add_notification(notification);
        if !is_queued {
            tracing::warn!(
                bytes = bytes_of(notification),
                limit = MAX_WAITING_NOTIFICATION_BYTES,
                "dropped a notification for the other nodes, because it is too large or the bus is slow"
            );
            self.record_dropped(1);
        }
        self.ready.notify_one();
    }
}
