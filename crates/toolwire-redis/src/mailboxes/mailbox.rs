//! The mailbox of this node.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout_at};
use toolwire::store::{Mailbox, NodeMessage, StoreError};

use crate::connection::Backoff;
use crate::mailboxes::commands::{MailboxCommands, MessageCount, READ_BYTES, READ_MESSAGES};
use crate::mailboxes::position::{Position, WakeUpKind};
use crate::subscriber::{WAITING_WAKE_UPS, WakeUp, WakeUpMessage, WakeUps};

/// The longest time between two reads. It is a third of the lease.
const RENEWAL: Duration = Duration::from_secs(5);

// A mailbox reads after this many wake-ups at the latest, so it does not miss those that found no space.
const _: () = assert!(READ_MESSAGES <= WAITING_WAKE_UPS);

/// The mailbox of this node.
pub(super) struct RedisMailbox {
    commands: MailboxCommands,
    node: NonZeroU16,
    /// The random name of the owner of the lease.
    owner: String,
    position: Position,
    received: VecDeque<NodeMessage>,
    /// The number of messages that the last read did not return.
    unread: usize,
    wake_ups: WakeUps,
    /// The time of the next read, if the last one has returned all messages.
    read_at: Option<Instant>,
    /// How many messages that this node has, and that the engine stores until the next read, cause a read.
    max_taken: MessageCount,
}

impl RedisMailbox {
    pub(super) fn new(
        commands: MailboxCommands,
        node: NonZeroU16,
        owner: String,
        limits: MessageCount,
    ) -> Self {
        Self {
            wake_ups: commands.wake_ups(node),
            commands,
            node,
            owner,
            position: Position::new(),
            received: VecDeque::new(),
            unread: 0,
            read_at: None,
            // Messages that this node has should not fill its mailbox.
            max_taken: MessageCount {
                messages: READ_MESSAGES.min(limits.messages / 2).max(1),
                bytes: READ_BYTES.min(limits.bytes / 2).max(1),
            },
        }
    }

    async fn next_message(&mut self) -> Option<NodeMessage> {
        let mut backoff = Backoff::new();
        loop {
            if let Some(message) = self.received.pop_front() {
                self.commands.set_depth(self.received.len() + self.unread);
                return Some(message);
            }
            if self.receive().await {
                continue;
            }
            match self.read().await {
                Ok(true) => backoff = Backoff::new(),
                Ok(false) => return None,
                Err(error) => {
                    tracing::debug!(%error, "the mailbox of this node cannot be read");
                    sleep(backoff.next_pause()).await;
                }
            }
        }
    }

    /// Waits for a wake-up, and takes its message. Returns `false` if the mailbox has to be read: to renew the lease, to remove
    /// messages, or because other messages may wait.
    async fn receive(&mut self) -> bool {
        let Some(read_at) = self.read_at else {
            return false;
        };
        let (taken, max) = (self.position.taken(), &self.max_taken);
        // Wake-ups that wait must not delay the renewal of the lease: `timeout_at` returns them also after its deadline.
        let is_due = Instant::now() >= read_at;
        if is_due || taken.messages >= max.messages || taken.bytes >= max.bytes {
            return false;
        }
        match timeout_at(read_at, self.wake_ups.recv()).await {
            Ok(Some(WakeUp::Message(message))) => self.take_from_wake_up(&message),
            _ => false,
        }
    }

    /// Takes the message of a wake-up. Returns `false` if the mailbox has to be read.
    fn take_from_wake_up(&mut self, wake_up: &WakeUpMessage) -> bool {
        match self.position.kind_of(wake_up) {
            WakeUpKind::Next => {
                // The engine may have another message than a wake-up that cannot be read.
                let Some(message) = self.decode(&wake_up.stored) else {
                    return false;
                };
                self.position.take(&wake_up.stored);
                self.received.push_back(message);
                true
            }
            WakeUpKind::Taken => true,
            WakeUpKind::Other => false,
        }
    }

    /// Reads messages. Returns `false` if the owner has lost the number or messages.
    async fn read(&mut self) -> Result<bool, StoreError> {
        self.read_at = None;
        // The read returns their messages, too.
        while self.wake_ups.try_recv().is_ok() {}
        let start = Instant::now();
        let (next, last_id) = (self.position.next(), self.position.last_id());
        let read = self.commands.read(self.node, &self.owner, next, last_id);
        let Some(read) = read.await? else {
            return Ok(false);
        };
        self.position.begin_read();
        for stored in &read.messages {
            self.position.take(stored);
            let message = self.decode(stored);
            if message.is_none() {
                tracing::warn!("a message of another node cannot be read");
            }
            self.received.extend(message);
        }
        self.unread = read.waiting;
        self.commands.set_depth(self.received.len() + self.unread);
        self.read_at = (read.waiting == 0).then(|| start + RENEWAL);
        Ok(true)
    }

    /// Decodes a stored message. Returns `None` if it cannot be read: a newer version may send messages that this one does not
    /// know.
    fn decode(&self, stored: &[u8]) -> Option<NodeMessage> {
        let message = self.commands.open_message(self.node, stored);
        serde_json::from_slice(&message).ok()
    }
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
        self.commands.set_depth(0);
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
