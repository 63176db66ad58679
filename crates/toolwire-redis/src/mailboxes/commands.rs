//! The commands of mailboxes, each a script.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use redis::{Script, ScriptInvocation};
use toolwire::store::StoreError;

use crate::RedisOptions;
use crate::connection::{Connection, Repeat, milliseconds};
use crate::keys::Keys;
use crate::sealing::Sealing;
use crate::subscriber::{Subscriber, Waiter};

/// How long a node has its number after its last read.
const LEASE: Duration = Duration::from_secs(15);

/// How long messages are stored that no node takes. It is longer than the lease.
const MESSAGE_TTL: Duration = Duration::from_secs(60);

/// The maximum numbers of messages and bytes that one read returns.
const READ_MESSAGES: usize = 100;
const READ_BYTES: usize = 256 * 1024;

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

/// The limits of one mailbox.
#[derive(Debug, Clone, Copy)]
pub(super) struct MailboxLimits {
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
        invocation
            .arg(owner)
            .arg(self.subscriber.node_channel())
            .arg(milliseconds(LEASE));
        let repeat = Repeat::Harmless;
        self.connection.send(&invocation, repeat).await
    }

    /// Adds a message to a mailbox. Returns `false` if no node has the number.
    pub(super) async fn send(
        &self,
        node: NonZeroU16,
        mut message: Vec<u8>,
        limits: MailboxLimits,
        repeat: Repeat,
    ) -> Result<bool, StoreError> {
        if let Some(sealing) = &self.sealing {
            let sealed = sealing.seal(&self.keys.node_messages(node), &message)?;
            message = sealed.into_bytes();
        }
        let mut invocation = self.invoke(&self.scripts.send, node);
        invocation
            .arg(message)
            .arg(limits.messages)
            .arg(limits.bytes)
            .arg(milliseconds(MESSAGE_TTL));
        let sent: String = self.connection.send(&invocation, repeat).await?;
        match sent.as_str() {
            "sent" => Ok(true),
            "absent" => Ok(false),
            "full" => Err(StoreError::Full),
            _ => Err(StoreError::unavailable(
                "the engine returned an unexpected value",
            )),
        }
    }

    /// Renews the lease of a number, removes the messages before the number `next`, and returns some of the others. Returns
    /// `None` if the owner has lost the number.
    pub(super) async fn read(
        &self,
        node: NonZeroU16,
        owner: &str,
        next: u64,
    ) -> Result<Option<Vec<Vec<u8>>>, StoreError> {
        let mut invocation = self.invoke(&self.scripts.read, node);
        invocation
            .arg(owner)
            .arg(milliseconds(LEASE))
            .arg(next)
            .arg(READ_MESSAGES)
            .arg(READ_BYTES);
        let repeat = Repeat::Harmless;
        let mut found: Vec<Vec<u8>> = self.connection.send(&invocation, repeat).await?;
        if found.is_empty() || found.remove(0) != b"messages" {
            return Ok(None);
        }
        if let Some(sealing) = &self.sealing {
            let key = self.keys.node_messages(node);
            for message in &mut found {
                // A message that other keys have sealed is empty, which no message is.
                *message = sealing.open(&key, message).unwrap_or_default();
            }
        }
        Ok(Some(found))
    }

    /// Gives a number back.
    pub(super) async fn close(&self, node: NonZeroU16, owner: &str) -> Result<(), StoreError> {
        let mut invocation = self.invoke(&self.scripts.close, node);
        invocation.arg(owner);
        let repeat = Repeat::Harmless;
        self.connection.send(&invocation, repeat).await
    }

    /// Starts to wait for a message to this node.
    pub(super) fn wait_for(&self, node: NonZeroU16) -> Waiter {
        self.subscriber.wait_for(&self.keys.node_lease(node))
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
