//! Changes and notifications of this node that are not published yet.
//!
//! A change is removed only after it was published. The number of waiting changes is limited. Beyond the limit, they are
//! replaced by one message for the other nodes: everything may have changed.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;
use toolwire_proto::subscriptions::Change;
use toolwire_types::Notification;

use crate::server::hub::ChangeForwarder;
use crate::store::{BusPayload, StoreError};
use crate::sync::lock;

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

/// The maximum number of messages that are published in one call of the bus.
const MAX_BATCH: usize = 256;

/// The maximum size of these messages together, in bytes. A single message may be larger.
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// The queue of changes and notifications for the bus.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    waiting: Mutex<WaitingMessages>,
    pub(super) ready: Notify,
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
}

/// The messages of one call of the bus. If the call fails, they are put back ([`PendingChanges::put_back`]).
#[derive(Debug)]
pub(super) struct PendingBatch {
    everything: bool,
    changes: Vec<Change>,
    notifications: Vec<Notification>,
}

impl PendingChanges {
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
        let is_empty = !everything && changes.is_empty() && notifications.is_empty();
        (!is_empty).then_some(PendingBatch {
            everything,
            changes,
            notifications,
        })
    }

    /// Puts the messages of a batch back that could not be published.
    ///
    /// If it is unknown whether they were published, only changes are put back: a client may be notified of a change twice,
    /// but not of anything else.
    pub(super) fn put_back(&self, batch: PendingBatch, error: &StoreError) {
        let mut waiting = self.lock();
        if batch.everything {
            waiting.report_everything();
        }
        for change in batch.changes {
            waiting.add_change(change);
        }
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
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingMessages> {
        lock(&self.waiting)
    }
}

impl PendingBatch {
    /// Returns the messages of the batch.
    pub(super) fn payloads(&self) -> impl Iterator<Item = BusPayload> + '_ {
        let everything = self.everything.then_some(BusPayload::Everything);
        let changes = self.changes.iter().cloned().map(BusPayload::Change);
        let notifications =
            self.notifications
                .iter()
                .map(|notification| BusPayload::Notification {
                    method: notification.method.clone().into_owned(),
                    params: notification.params.clone(),
                });
        everything.into_iter().chain(changes).chain(notifications)
    }
}

impl WaitingMessages {
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

/// The size of a batch.
#[derive(Debug, Default)]
struct BatchSize {
    messages: usize,
    bytes: usize,
}

impl BatchSize {
    /// Adds a message. Returns `false`, and does not add it, if that would exceed a limit.
    fn add(&mut self, bytes: usize) -> bool {
        let is_full = self.messages >= MAX_BATCH;
        let is_too_large = self.messages > 0 && self.bytes + bytes > MAX_BATCH_BYTES;
        if is_full || is_too_large {
            return false;
        }
        self.messages += 1;
        self.bytes += bytes;
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
        }
        self.ready.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::RawJson;

    use super::*;

    const METHOD: &str = "notifications/acme/news";

    /// Returns a notification of this size: the bytes of its method and of its parameters.
    fn notification(bytes: usize) -> Notification {
        let empty = METHOD.len() + r#"{"text":""}"#.len();
        let params = RawJson::from(json!({"text": "x".repeat(bytes - empty)}));
        assert_eq!(METHOD.len() + params.get().len(), bytes);
        Notification::new(METHOD, Some(params))
    }

    fn update(number: usize) -> Change {
        Change::ResourceUpdated(format!("a:{number:05}"))
    }

    /// Takes all messages. Panics if a batch is too large.
    fn take_all(pending: &PendingChanges) -> Vec<BusPayload> {
        let mut all = Vec::new();
        while let Some(batch) = pending.take() {
            let payloads: Vec<_> = batch.payloads().collect();
            assert!(payloads.len() <= MAX_BATCH, "{}", payloads.len());
            all.extend(payloads);
        }
        all
    }

    #[test]
    fn too_many_changes_become_one_message() {
        let pending = PendingChanges::default();
        for number in 0..MAX_WAITING_CHANGES {
            pending.forward(&update(number));
        }
        assert_eq!(take_all(&pending).len(), MAX_WAITING_CHANGES);
        for number in 0..=MAX_WAITING_CHANGES {
            pending.forward(&update(number));
        }
        pending.forward(&Change::ToolsListChanged);
        assert_eq!(take_all(&pending), [BusPayload::Everything]);
        pending.forward(&Change::ToolsListChanged);
        let expected = [BusPayload::Change(Change::ToolsListChanged)];
        assert_eq!(take_all(&pending), expected);
    }

    #[test]
    fn too_large_changes_become_one_message() {
        let pending = PendingChanges::default();
        let large = |first: char, bytes| {
            Change::ResourceUpdated(format!("{first}{}", "x".repeat(bytes - 1)))
        };
        let half = MAX_WAITING_CHANGE_BYTES / 2;
        for _ in 0..2 {
            pending.forward(&large('a', half));
            pending.forward(&large('b', half));
            // The same change is not counted twice.
            pending.forward(&large('b', half));
            assert_eq!(take_all(&pending).len(), 2);
        }
        pending.forward(&large('a', half));
        let batch = pending.take().expect("a change waits");
        pending.forward(&large('b', half + 1));
        pending.put_back(batch, &StoreError::unavailable("away"));
        assert_eq!(take_all(&pending), [BusPayload::Everything]);
    }

    #[test]
    fn batches_are_limited_in_bytes() {
        let pending = PendingChanges::default();
        let half = MAX_BATCH_BYTES / 2;
        let change = |first: char, bytes| {
            Change::ResourceUpdated(format!("{first}{}", "x".repeat(bytes - 1)))
        };
        pending.forward(&change('a', half));
        pending.forward(&change('b', half));
        pending.forward(&change('c', half));
        pending.forward_notification(&notification(half));
        pending.forward_notification(&notification(MAX_BATCH_BYTES + 1));
        pending.forward_notification(&notification(100));
        let batches = std::iter::from_fn(|| pending.take());
        let counts: Vec<_> = batches.map(|batch| batch.payloads().count()).collect();
        assert_eq!(counts, [2, 2, 1, 1]);
    }

    #[test]
    fn unpublished_messages_wait_again() {
        let pending = PendingChanges::default();
        pending.forward(&update(1));
        pending.forward_notification(&Notification::new("notifications/acme/1", None));
        let batch = pending.take().expect("two messages wait");
        pending.forward(&update(1));
        pending.forward(&update(2));
        pending.forward_notification(&Notification::new("notifications/acme/2", None));
        pending.put_back(batch, &StoreError::unavailable("away"));
        let of_method = |method: &str| BusPayload::Notification {
            method: method.to_owned(),
            params: None,
        };
        let expected = [
            BusPayload::Change(update(1)),
            BusPayload::Change(update(2)),
            of_method("notifications/acme/1"),
            of_method("notifications/acme/2"),
        ];
        assert_eq!(take_all(&pending), expected);
    }

    #[test]
    fn notifications_that_may_have_been_published_do_not_wait_again() {
        let pending = PendingChanges::default();
        pending.forward(&update(1));
        pending.forward_notification(&Notification::new("notifications/acme/1", None));
        let batch = pending.take().expect("two messages wait");
        pending.forward_notification(&Notification::new("notifications/acme/2", None));
        pending.put_back(batch, &StoreError::unknown("no reply"));
        let second = BusPayload::Notification {
            method: "notifications/acme/2".to_owned(),
            params: None,
        };
        let expected = [BusPayload::Change(update(1)), second];
        assert_eq!(take_all(&pending), expected);
    }

    #[test]
    fn unpublished_changes_count_towards_the_limit() {
        let pending = PendingChanges::default();
        for number in 0..MAX_WAITING_CHANGES {
            pending.forward(&update(number));
        }
        let batch = pending.take().expect("changes wait");
        pending.forward(&update(MAX_WAITING_CHANGES));
        pending.put_back(batch, &StoreError::unavailable("away"));
        assert_eq!(take_all(&pending), [BusPayload::Everything]);
    }

    #[test]
    fn waiting_notifications_are_limited_in_count() {
        let pending = PendingChanges::default();
        for _ in 0..=MAX_WAITING_NOTIFICATIONS {
            pending.forward_notification(&Notification::new(METHOD, None));
        }
        assert_eq!(take_all(&pending).len(), MAX_WAITING_NOTIFICATIONS);
    }

    #[test]
    fn waiting_notifications_are_limited_in_bytes() {
        let pending = PendingChanges::default();
        pending.forward_notification(&notification(MAX_WAITING_NOTIFICATION_BYTES - 100));
        pending.forward_notification(&notification(101));
        pending.forward_notification(&notification(100));
        pending.forward_notification(&Notification::new(METHOD, None));
        let bytes: Vec<_> = take_all(&pending).iter().map(published_bytes).collect();
        assert_eq!(bytes, [MAX_WAITING_NOTIFICATION_BYTES - 100, 100]);
        // The bytes are counted anew, and a single notification counts, too.
        pending.forward_notification(&notification(MAX_WAITING_NOTIFICATION_BYTES + 1));
        assert_eq!(take_all(&pending), []);
        pending.forward_notification(&notification(MAX_WAITING_NOTIFICATION_BYTES));
        let bytes: Vec<_> = take_all(&pending).iter().map(published_bytes).collect();
        assert_eq!(bytes, [MAX_WAITING_NOTIFICATION_BYTES]);
    }

    fn published_bytes(payload: &BusPayload) -> usize {
        let BusPayload::Notification { method, params } = payload else {
            panic!("only notifications were sent: {payload:?}");
        };
        method.len() + params.as_ref().map_or(0, |params| params.get().len())
    }
}
