//! The wake-ups of the mailboxes of this node.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::mpsc;

use crate::sync::lock;

/// The number of wake-ups that may wait for a mailbox. Further ones are dropped. A mailbox that has taken so many reads its
/// messages from the engine.
pub(crate) const WAITING_WAKE_UPS: usize = 100;

/// What wakes a mailbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WakeUp {
    /// A new message.
    Message(WakeUpMessage),
    /// Messages wait in the engine, or wake-ups may have been lost.
    Unread,
}

/// A new message of a mailbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WakeUpMessage {
    pub(crate) number: u64,
    /// The id of the message before it. It is empty for the first message.
    pub(crate) previous_id: Vec<u8>,
    /// The message as it is stored.
    pub(crate) stored: Vec<u8>,
}

/// The wake-ups of one mailbox.
pub(crate) type WakeUps = mpsc::Receiver<WakeUp>;

/// The mailboxes of this node, by the key of the lease of their number.
#[derive(Debug, Default)]
pub(super) struct MailboxWakeUps {
    mailboxes: Mutex<HashMap<String, mpsc::Sender<WakeUp>>>,
}

impl MailboxWakeUps {
    pub(super) fn add(&self, lease: &str) -> WakeUps {
        let (sender, wake_ups) = mpsc::channel(WAITING_WAKE_UPS);
        let mut mailboxes = self.lock();
        // Mailboxes that were dropped.
        mailboxes.retain(|_, mailbox| !mailbox.is_closed());
        mailboxes.insert(lease.to_owned(), sender);
        wake_ups
    }

    /// Wakes the mailbox that a payload names: the key of its lease, or this key, the number of a message, the id of the message
    /// before it and the message, with zero bytes between them.
    pub(super) fn receive(&self, payload: &[u8]) {
        let mut parts = payload.splitn(4, |byte| *byte == 0);
        let lease = parts.next().and_then(|lease| str::from_utf8(lease).ok());
        let Some(lease) = lease else {
            return;
        };
        let number = parts.next().and_then(|number| str::from_utf8(number).ok());
        let number = number.and_then(|number| number.parse().ok());
        let wake_up = match (number, parts.next(), parts.next()) {
            (Some(number), Some(previous_id), Some(stored)) => WakeUp::Message(WakeUpMessage {
                number,
                previous_id: previous_id.to_vec(),
                stored: stored.to_vec(),
            }),
            _ => WakeUp::Unread,
        };
        if let Some(mailbox) = self.lock().get(lease) {
            // If there is no space, the mailbox reads its messages soon.
            let _ = mailbox.try_send(wake_up);
        }
    }

    /// Returns the number of messages whose mailboxes have not taken them yet.
    pub(super) fn waiting(&self) -> usize {
        let waiting = |mailbox: &mpsc::Sender<WakeUp>| mailbox.max_capacity() - mailbox.capacity();
        let mailboxes = self.lock();
        let open = mailboxes.values().filter(|mailbox| !mailbox.is_closed());
        open.map(waiting).sum()
    }

    pub(super) fn wake_all(&self) {
        for mailbox in self.lock().values() {
            let _ = mailbox.try_send(WakeUp::Unread);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<WakeUp>>> {
        lock(&self.mailboxes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_up_reaches_its_mailbox_with_its_message() {
        let mailboxes = MailboxWakeUps::default();
        let (mut one, mut other) = (mailboxes.add("{m:1}:o"), mailboxes.add("{m:2}:o"));
        let mut check = |payload: &[u8], expected: Option<WakeUp>| {
            mailboxes.receive(payload);
            assert_eq!(one.try_recv().ok(), expected, "{payload:?}");
        };
        let message = |number, previous_id: &[u8], stored: &[u8]| {
            Some(WakeUp::Message(WakeUpMessage {
                number,
                previous_id: previous_id.to_vec(),
                stored: stored.to_vec(),
            }))
        };
        check(b"{m:1}:o", Some(WakeUp::Unread));
        check(
            b"{m:1}:o\x007\0id\0a\0b\xff",
            message(7, b"id", b"a\0b\xff"),
        );
        check(b"{m:1}:o\x007\0\0", message(7, b"", b""));
        for invalid in [
            &b"{m:1}:o\0x\0id\0a"[..],
            b"{m:1}:o\x007",
            b"{m:1}:o\x007\0id",
            b"{m:1}:o\0-1\0id\0a",
        ] {
            check(invalid, Some(WakeUp::Unread));
        }
        for unknown in [&b"{m:3}:o\x001\0\0a"[..], b"", b"\xff\x001\0\0a"] {
            check(unknown, None);
        }
        assert!(other.try_recv().is_err(), "the other mailbox");
        mailboxes.wake_all();
        assert_eq!(one.try_recv(), Ok(WakeUp::Unread));
        assert_eq!(other.try_recv(), Ok(WakeUp::Unread));
    }

    #[test]
    fn waiting_wake_ups_are_limited() {
        let mailboxes = MailboxWakeUps::default();
        let mut mailbox = mailboxes.add("a");
        for _ in 0..=WAITING_WAKE_UPS {
            mailboxes.receive(b"a");
        }
        let waiting = std::iter::from_fn(|| mailbox.try_recv().ok());
        assert_eq!(waiting.count(), WAITING_WAKE_UPS);
    }

    #[test]
    fn dropped_mailboxes_are_removed() {
        let mailboxes = MailboxWakeUps::default();
        drop(mailboxes.add("a"));
        let mut again = mailboxes.add("a");
        drop(mailboxes.add("b"));
        let _other = mailboxes.add("c");
        assert_eq!(mailboxes.lock().len(), 2);
        mailboxes.receive(b"a");
        assert_eq!(again.try_recv(), Ok(WakeUp::Unread));
    }
}
