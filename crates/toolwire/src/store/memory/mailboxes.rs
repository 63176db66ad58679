//! Mailboxes within one process.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::engine::BoxFuture;
use crate::store::memory::encoded_size::encoded_size;
use crate::store::{Mailbox, Mailboxes, NodeMessage, StoreError, StoreFuture};
use crate::sync::lock;

/// The default number of messages that wait in one mailbox.
const DEFAULT_MESSAGES: usize = 10_000;

/// The default number of bytes of all messages that wait in one mailbox.
const DEFAULT_BYTES: usize = 32 * 1024 * 1024;

/// Mailboxes of the services of one process.
#[derive(Debug)]
pub struct MemoryMailboxes {
    mailboxes: Arc<Mutex<OpenMailboxes>>,
    messages: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct OpenMailboxes {
    used: HashMap<NonZeroU16, MailboxQueue>,
    /// The number that was taken last. The next one follows, so that a number is used again as late as possible.
    last: u16,
}

#[derive(Debug, Default)]
struct MailboxQueue {
    /// The messages, with their sizes in bytes.
    queue: VecDeque<(usize, NodeMessage)>,
    bytes: usize,
    changed: Arc<Notify>,
}

impl Default for MemoryMailboxes {
    fn default() -> Self {
        Self {
            mailboxes: Arc::default(),
            messages: DEFAULT_MESSAGES,
            bytes: DEFAULT_BYTES,
        }
    }
}

impl MemoryMailboxes {
    /// Sets the maximum number of messages that wait in one mailbox. Default: 10,000.
    #[must_use]
    pub fn with_messages(mut self, messages: usize) -> Self {
        self.messages = messages;
        self
    }

    /// Sets the maximum number of bytes of all messages that wait in one mailbox, as JSON. Default: 32 MiB.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    fn add(&self, node: NonZeroU16, message: &NodeMessage) -> Result<bool, StoreError> {
        let mut mailboxes = lock(&self.mailboxes);
        let Some(waiting) = mailboxes.used.get_mut(&node) else {
            return Ok(false);
        };
        let size = encoded_size(message);
        let bytes = waiting.bytes.saturating_add(size);
        if waiting.queue.len() >= self.messages || bytes > self.bytes {
            return Err(StoreError::Full);
        }
        waiting.bytes = bytes;
        waiting.queue.push_back((size, message.clone()));
        waiting.changed.notify_one();
        Ok(true)
    }
}

impl OpenMailboxes {
    /// Takes a free number.
    fn take(&mut self) -> Result<(NonZeroU16, Arc<Notify>), StoreError> {
        let first = self.last.wrapping_add(1);
        let candidates = (0..=u16::MAX).map(|distance| first.wrapping_add(distance));
        let mut candidates = candidates.filter_map(NonZeroU16::new);
        let free = candidates.find(|node| !self.used.contains_key(node));
        let node = free.ok_or(StoreError::Full)?;
        self.last = node.get();
        let waiting = MailboxQueue::default();
        let changed = Arc::clone(&waiting.changed);
        self.used.insert(node, waiting);
        Ok((node, changed))
    }
}

impl Mailboxes for MemoryMailboxes {
    fn open(&self) -> StoreFuture<'_, Box<dyn Mailbox>> {
        Box::pin(async move {
            let (node, changed) = lock(&self.mailboxes).take()?;
            let mailbox: Box<dyn Mailbox> = Box::new(MemoryMailbox {
                node,
                mailboxes: Arc::clone(&self.mailboxes),
                changed,
            });
            Ok(mailbox)
        })
    }

    fn send<'a>(&'a self, node: NonZeroU16, message: &'a NodeMessage) -> StoreFuture<'a, bool> {
        Box::pin(async move { self.add(node, message) })
    }
}

#[derive(Debug)]
struct MemoryMailbox {
    node: NonZeroU16,
    mailboxes: Arc<Mutex<OpenMailboxes>>,
    changed: Arc<Notify>,
}

impl MemoryMailbox {
    fn mailboxes(&self) -> MutexGuard<'_, OpenMailboxes> {
        lock(&self.mailboxes)
    }

    fn take(&self) -> Option<NodeMessage> {
        let mut mailboxes = self.mailboxes();
        let waiting = mailboxes.used.get_mut(&self.node)?;
        let (size, message) = waiting.queue.pop_front()?;
        waiting.bytes -= size;
        Some(message)
    }
}

impl Mailbox for MemoryMailbox {
    fn node(&self) -> NonZeroU16 {
        self.node
    }

    fn next(&mut self) -> BoxFuture<'_, Option<NodeMessage>> {
        Box::pin(async move {
            loop {
                if let Some(message) = self.take() {
                    return Some(message);
                }
                self.changed.notified().await;
            }
        })
    }
}

impl Drop for MemoryMailbox {
    fn drop(&mut self) {
        self.mailboxes().used.remove(&self.node);
    }
}

#[cfg(test)]
mod tests {
    use toolwire_types::RawJson;

    use super::*;
    use crate::store::contract;

    fn message() -> NodeMessage {
        NodeMessage::Response {
            session: "session".to_owned(),
            id: 1.into(),
            outcome: Ok(RawJson::empty_object()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn mailboxes_meet_the_contract() {
        let mailboxes = Arc::new(MemoryMailboxes::default());
        contract::mailboxes(async || mailboxes.clone()).await;
        let limited = MemoryMailboxes::default().with_messages(3);
        contract::mailboxes_bound(&limited, 3).await;
    }

    #[tokio::test]
    async fn waiting_bytes_are_limited() {
        let size = encoded_size(&message());
        for (bytes, fit) in [(2 * size, 2), (2 * size - 1, 1)] {
            let limited = MemoryMailboxes::default().with_bytes(bytes);
            contract::mailboxes_bound(&limited, fit).await;
        }
    }

    #[tokio::test]
    async fn numbers_are_used_again_late() {
        let mailboxes = MemoryMailboxes::default();
        let first = mailboxes.open().await.unwrap();
        assert_eq!(first.node().get(), 1);
        let mut open = Vec::new();
        for node in 2..=u16::MAX {
            let mailbox = mailboxes.open().await.unwrap();
            assert_eq!(mailbox.node().get(), node);
            open.push(mailbox);
        }
        let full = mailboxes.open().await.unwrap_err();
        assert!(matches!(full, StoreError::Full), "{full:?}");
        drop(first);
        assert_eq!(mailboxes.open().await.unwrap().node().get(), 1);
    }
}
