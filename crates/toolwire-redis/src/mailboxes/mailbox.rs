//! The mailbox of this node.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use toolwire::store::{Mailbox, NodeMessage};

use crate::connection::Backoff;
use crate::mailboxes::commands::{MailboxCommands, MessageId};
use crate::subscriber::Waiter;

/// The longest time between two reads. It is a third of the lease.
const RENEWAL: Duration = Duration::from_secs(5);

/// The mailbox of this node.
pub(super) struct RedisMailbox {
    commands: MailboxCommands,
    node: NonZeroU16,
    /// The random name of the owner of the lease.
    owner: String,
    /// The number of the next message to read.
    next: u64,
    /// The id of the last message that was read.
    last_id: Option<MessageId>,
    received: VecDeque<NodeMessage>,
    /// Waits for messages since the last read, if that has returned all messages.
    waiter: Option<Waiter>,
}

impl RedisMailbox {
    pub(super) fn new(commands: MailboxCommands, node: NonZeroU16, owner: String) -> Self {
        Self {
            commands,
            node,
            owner,
            next: 1,
            last_id: None,
            received: VecDeque::new(),
            waiter: None,
        }
    }

    async fn next_message(&mut self) -> Option<NodeMessage> {
        let mut backoff = Backoff::new();
        loop {
            if let Some(message) = self.received.pop_front() {
                return Some(message);
            }
            if let Some(waiter) = self.waiter.take() {
                // Without a message, the next read renews the lease.
                let _ = timeout(RENEWAL, waiter.notified()).await;
            }
            // A message that is sent after the read is not missed.
            let waiter = self.commands.wait_for(self.node);
            let last_id = self.last_id.as_ref();
            let read = self
                .commands
                .read(self.node, &self.owner, self.next, last_id);
            match read.await {
                Ok(Some(read)) => {
                    backoff = Backoff::new();
                    self.next += read.messages.len() as u64;
                    self.last_id = read.last_id.or(self.last_id);
                    self.waiter = (!read.has_more).then_some(waiter);
                    let messages = read.messages.iter();
                    let messages = messages.filter_map(|message| decode(message));
                    self.received.extend(messages);
                }
                Ok(None) => return None,
                Err(error) => {
                    tracing::debug!(%error, "the mailbox of this node cannot be read");
                    sleep(backoff.next_pause()).await;
                }
            }
        }
    }
}

/// Decodes a message. A newer version may send messages that this one does not know.
fn decode(message: &[u8]) -> Option<NodeMessage> {
    let decoded = serde_json::from_slice(message);
    if decoded.is_err() {
        tracing::warn!("a message of another node cannot be read");
    }
    decoded.ok()
}

impl fmt::Debug for RedisMailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisMailbox")
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

impl Mailbox for RedisMailbox {
    fn node(&self) -> NonZeroU16 {
        self.node
    }

    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<NodeMessage>> + Send + '_>> {
        Box::pin(self.next_message())
    }
}

impl Drop for RedisMailbox {
    /// Gives the number back. If that fails, or if the process ends before it, the lease ends soon.
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (commands, node) = (self.commands.clone(), self.node);
        let owner = std::mem::take(&mut self.owner);
        runtime.spawn(async move {
            if let Err(error) = commands.close(node, &owner).await {
                tracing::debug!(%error, "the number of this node was not given back");
            }
        });
    }
}
