//! The commands of mailboxes, each a script.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use redis::{Script, ScriptInvocation};
use toolwire::store::StoreError;

use crate::RedisOptions;
use crate::connection::{Connection, Repeat, milliseconds};
use crate::counters::CountedEvent;
use crate::keys::Keys;
use crate::random_id::random_id;
use crate::sealing::Sealing;
use crate::subscriber::{Subscriber, WakeUps};

/// How long a node has its number after its last read.
const LEASE: Duration = Duration::from_secs(15);

/// How long messages are stored that no node takes. It is longer than the lease.
const MESSAGE_TTL: Duration = Duration::from_secs(60);

/// The maximum numbers of messages and bytes that one read returns.
pub(super) const READ_MESSAGES: usize = 100;
pub(super) const READ_BYTES: usize = 256 * 1024;

/// The size of the largest message that this node takes from a wake-up, without a read. It is the size of the stored message,
/// with its id and sealed.
const WAKE_UP_BYTES: usize = 16 * 1024;

/// The length of the id of a message.
const ID_BYTES: usize = 16;

/// The commands of mailboxes. Clones share the connection.
#[derive(Clone)]
pub(super) struct MailboxCommands {
    connection: Connection,
    subscriber: Subscriber,
    keys: Keys,
    sealing: Option<Sealing>,
    scripts: Arc<MailboxScripts>,
}

struct MailboxScripts {
    open: Script,
    send: Script,
    read: Script,
    close: Script,
}

/// Messages of a mailbox.
pub(super) struct ReadMessages {
    /// The messages as they are stored.
    pub(super) messages: Vec<Vec<u8>>,
    /// The number of further messages that wait.
    pub(super) waiting: usize,
}

/// The random id at the start of a stored message. It shows whether a failover gave the number of a message to another one.
pub(super) type MessageId = [u8; ID_BYTES];

/// Returns the id of a stored message. Returns `None` if it is too short, so that no node has sent it.
pub(super) fn message_id(stored: &[u8]) -> Option<MessageId> {
    stored.first_chunk().copied()
}

/// Numbers of messages and bytes of one mailbox.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MessageCount {
    pub(super) messages: usize,
    pub(super) bytes: usize,
}

impl MailboxCommands {
    pub(super) fn new(
        connection: Connection,
        subscriber: Subscriber,
        keys: Keys,
        options: &RedisOptions,
    ) -> Self {
        Self {
            connection,
            subscriber,
            keys,
            sealing: options.sealing.clone(),
            scripts: Arc::new(MailboxScripts {
                open: Script::new(include_str!("../scripts/mailboxes/open.lua")),
                send: Script::new(include_str!("../scripts/mailboxes/send.lua")),
                read: Script::new(include_str!("../scripts/mailboxes/read.lua")),
                close: Script::new(include_str!("../scripts/mailboxes/close.lua")),
            }),
        }
    }

    /// Leases a number. Returns `false` if another owner has it.
    pub(super) async fn open(&self, node: NonZeroU16, owner: &str) -> Result<bool, StoreError> {
        let mut invocation = self.invoke(&self.scripts.open, node);
        // A cluster would copy the messages to all its nodes.
        let wake_up_bytes = if self.subscriber.is_of_cluster() {
            0
        } else {
            WAKE_UP_BYTES
        };
        invocation
            .arg(owner)
            .arg(self.subscriber.node_channel())
            .arg(milliseconds(LEASE))
            .arg(wake_up_bytes);
        let repeat = Repeat::Harmless;
        self.connection.send(&invocation, repeat).await
    }

    /// Adds a message to a mailbox. Returns `false` if no node has the number.
    pub(super) async fn send(
        &self,
        node: NonZeroU16,
        message: &[u8],
        limits: MessageCount,
        repeat: Repeat,
    ) -> Result<bool, StoreError> {
        let mut stored = random_id()?.into_bytes();
        match &self.sealing {
            Some(sealing) => {
                let sealed = sealing.seal(&self.keys.node_messages(node), message)?;
                stored.extend(sealed.into_bytes());
            }
            None => stored.extend_from_slice(message),
        }
        let mut invocation = self.invoke(&self.scripts.send, node);
        invocation
            .arg(stored)
            .arg(limits.messages)
            .arg(limits.bytes)
            .arg(milliseconds(MESSAGE_TTL))
            .arg(ID_BYTES);
        let sent: String = self.connection.send(&invocation, repeat).await?;
        match sent.as_str() {
            "sent" => Ok(true),
            "absent" => {
                self.connection.count_event(CountedEvent::MailboxAbsent);
                Ok(false)
            }
            "full" => {
                self.connection.count_event(CountedEvent::MailboxFull);
                Err(StoreError::Full)
            }
            _ => Err(StoreError::unavailable(
                "the engine returned an unexpected value",
            )),
        }
    }

    /// Renews the lease of a number, removes the messages before the number `next`, and returns some of the others. Returns
    /// `None` if the owner has lost the number or messages.
    pub(super) async fn read(
        &self,
        node: NonZeroU16,
        owner: &str,
        next: u64,
        last_id: Option<&MessageId>,
    ) -> Result<Option<ReadMessages>, StoreError> {
        let mut invocation = self.invoke(&self.scripts.read, node);
        invocation
            .arg(owner)
            .arg(milliseconds(LEASE))
            .arg(next)
            .arg(READ_MESSAGES)
            .arg(READ_BYTES)
            .arg(last_id.map_or(&[][..], |id| id));
        let repeat = Repeat::Harmless;
        let found: Vec<Vec<u8>> = self.connection.send(&invocation, repeat).await?;
        let mut found = found.into_iter();
        let waiting = found.next();
        let waiting = waiting.and_then(|waiting| str::from_utf8(&waiting).ok()?.parse().ok());
        let Some(waiting) = waiting else {
            self.connection.count_event(CountedEvent::MailboxLost);
            return Ok(None);
        };
        Ok(Some(ReadMessages {
            messages: found.collect(),
            waiting,
        }))
    }

    /// Returns the encoded message in a stored one. It is empty if it cannot be opened.
    pub(super) fn open_message(&self, node: NonZeroU16, stored: &[u8]) -> Vec<u8> {
        let message = stored.get(ID_BYTES..).unwrap_or_default();
        match &self.sealing {
            Some(sealing) => {
                let opened = sealing.open(&self.keys.node_messages(node), message);
                opened.unwrap_or_default()
            }
            None => message.to_vec(),
        }
    }

    /// Gives a number back.
    pub(super) async fn close(&self, node: NonZeroU16, owner: &str) -> Result<(), StoreError> {
        let mut invocation = self.invoke(&self.scripts.close, node);
        invocation.arg(owner);
        let repeat = Repeat::Harmless;
        self.connection.send(&invocation, repeat).await
    }

    /// Notes how many messages wait for this node.
    pub(super) fn set_depth(&self, messages: usize) {
        let depth = &self.connection.counters().mailbox_depth;
        depth.store(messages, Ordering::Relaxed);
    }

    /// Returns the wake-ups of this node from now on.
    pub(super) fn wake_ups(&self, node: NonZeroU16) -> WakeUps {
        self.subscriber.wake_ups(&self.keys.node_lease(node))
    }

    /// Checks that the engine responds.
    pub(super) async fn check(&self) -> Result<(), StoreError> {
        self.connection.check().await
    }

    /// Starts the call of a script with the keys of a mailbox.
    fn invoke<'a>(&self, script: &'a Script, node: NonZeroU16) -> ScriptInvocation<'a> {
        let mut invocation = script.prepare_invoke();
        invocation
            .key(self.keys.node_lease(node))
            .key(self.keys.node_messages(node));
        invocation
    }
}
