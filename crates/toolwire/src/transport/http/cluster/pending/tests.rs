use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use toolwire_types::RawJson;

use super::batch::{MAX_BATCH, MAX_BATCH_BYTES};
use super::*;
use crate::store::{BusPayload, NodeMessage, SessionSignal};

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
    let large =
        |first: char, bytes| Change::ResourceUpdated(format!("{first}{}", "x".repeat(bytes - 1)));
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
    let change =
        |first: char, bytes| Change::ResourceUpdated(format!("{first}{}", "x".repeat(bytes - 1)));
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
fn waiting_ends_of_sessions_are_limited_and_published_in_batches() {
    let pending = PendingChanges::default();
    for number in 0..=MAX_WAITING_ENDS {
        pending.add_ended_session(&number.to_string());
    }
    let batch = pending.take().expect("sessions have ended");
    pending.put_back(batch, &StoreError::unknown("no reply"));
    let mut ended: Vec<_> = take_all(&pending)
        .into_iter()
        .map(|payload| match payload {
            BusPayload::Session {
                session,
                signal: SessionSignal::Ended,
            } => session.parse::<usize>().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    ended.sort_unstable();
    let expected: Vec<_> = (1..=MAX_WAITING_ENDS).collect();
    assert_eq!(ended, expected, "the oldest is removed");
}

#[tokio::test(start_paused = true)]
async fn cancellations_are_repeated_at_most_once_in_an_interval() {
    let pending = PendingChanges::default();
    pending.repeat_cancellations();
    assert_eq!(take_all(&pending), [], "there are none");
    tokio::time::advance(REPEAT_INTERVAL).await;
    pending.record_cancellation("session", &1.into());
    assert_eq!(take_all(&pending), [], "no node asks for it");
    pending.ask_for_cancellations();
    pending.repeat_cancellations();
    let batch = pending.take().expect("two messages wait");
    let payloads: Vec<_> = batch.payloads().collect();
    let [
        BusPayload::MessagesLost,
        BusPayload::Session { session, .. },
    ] = &payloads[..]
    else {
        panic!("{payloads:?}");
    };
    assert_eq!(session, "session");
    // It is unknown whether they were published.
    pending.put_back(batch, &StoreError::unknown("no reply"));
    assert_eq!(take_all(&pending), []);
    tokio::time::advance(REPEAT_INTERVAL).await;
    assert_eq!(
        take_all(&pending),
        payloads_after(&payloads, REPEAT_INTERVAL)
    );
    assert_eq!(take_all(&pending), []);
}

/// Returns payloads whose cancellations are older.
fn payloads_after(payloads: &[BusPayload], time: Duration) -> Vec<BusPayload> {
    let mut payloads = payloads.to_vec();
    for payload in &mut payloads {
        if let BusPayload::Session {
            signal: SessionSignal::Cancelled { age, .. },
            ..
        } = payload
        {
            *age += time;
        }
    }
    payloads
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

#[tokio::test(start_paused = true)]
async fn node_waits_until_its_changes_are_published() {
    let pending = PendingChanges::default();
    let is_published = async || {
        let waiting = tokio::time::timeout(REPEAT_INTERVAL, pending.wait_until_published());
        waiting.await.is_ok()
    };
    assert!(is_published().await, "there are none");
    pending.forward(&update(1));
    assert!(!is_published().await);
    let batch = pending.take().expect("a change waits");
    assert!(!is_published().await, "the bus has not responded");
    pending.put_back(batch, &StoreError::unavailable("away"));
    assert!(!is_published().await);
    let _batch = pending.take().expect("the change waits again");
    let (is_published, ()) = tokio::join!(is_published(), async { pending.set_published() });
    assert!(is_published);
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

/// Counts the notifications that were dropped.
#[derive(Default)]
struct Drops(AtomicUsize);

impl ClusterHandler for Drops {
    fn on_bus_message(&self, _: BusPayload) {}

    fn resync(&self) {}

    fn on_node_message(&self, _: NodeMessage) {}

    fn on_number_lost(&self) {}

    fn on_notification_dropped(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn handler_records_dropped_notifications() {
    let drops = Arc::<Drops>::default();
    let pending = PendingChanges::default();
    pending.set_handler(Arc::downgrade(&drops) as Weak<dyn ClusterHandler>);
    let news = Notification::new(METHOD, None);
    pending.forward_notification(&news);
    let batch = pending.take().expect("a notification waits");
    for _ in 0..MAX_WAITING_NOTIFICATIONS {
        pending.forward_notification(&news);
    }
    assert_eq!(drops.0.load(Ordering::Relaxed), 0);
    pending.forward_notification(&news);
    assert_eq!(drops.0.load(Ordering::Relaxed), 1);
    // The batch is put back before the others, so the last one is dropped.
    pending.put_back(batch, &StoreError::unavailable("away"));
    assert_eq!(drops.0.load(Ordering::Relaxed), 2);
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
