//! The mailboxes of nodes.
//!
//! A mailbox is a list of messages and the lease of the number of its node. Only that node is woken by a message. A small
//! message is part of its wake-up, if the node has stated in its lease that it takes it from there. In a cluster, it does not.
//! The node reads the others by their numbers. It removes the messages that it has with the next read, so a lost wake-up or response loses no message.
//! Each read renews the lease. A failover of the engine can lose messages. A node that detects it gives up its number,
//! because messages that it has not read may be lost, too.

mod commands;
mod mailbox;
mod position;

use std::fmt;
use std::num::NonZeroU16;

use toolwire::store::{Mailbox, Mailboxes, NodeMessage, StoreError};

use crate::connection::{Connection, Repeat};
use crate::keys::Keys;
use crate::random_id::random_id;
use crate::subscriber::Subscriber;
use crate::{RedisOptions, StoreFuture};
use commands::{MailboxCommands, MessageCount};
use mailbox::RedisMailbox;

/// How many numbers are tried. They are random, so the first one is free unless there are thousands of nodes.
const OPEN_ATTEMPTS: usize = 64;

/// The mailboxes of all nodes of a service ([`Redis::mailboxes`](crate::Redis::mailboxes)).
///
/// In each mailbox, 10,000 messages and 32 MiB may wait. A node that does not read its mailbox for 15 s loses its number. A
/// message whose stored form has up to 16 KiB reaches its node without a read, except in a cluster.
#[derive(Clone)]
pub struct RedisMailboxes {
    commands: MailboxCommands,
    limits: MessageCount,
}

impl RedisMailboxes {
    pub(crate) fn new(
        connection: Connection,
        subscriber: Subscriber,
        keys: Keys,
        options: &RedisOptions,
    ) -> Self {
        Self {
            commands: MailboxCommands::new(connection, subscriber, keys, options),
            limits: MessageCount {
                messages: options.messages_per_mailbox,
                bytes: options.bytes_per_mailbox,
            },
        }
    }

    async fn open_mailbox(&self) -> Result<Box<dyn Mailbox>, StoreError> {
        let owner = random_id()?;
        for _ in 0..OPEN_ATTEMPTS {
            let Some(node) = random_node()? else {
                continue;
            };
            if self.commands.open(node, &owner).await? {
                let commands = self.commands.clone();
                let mailbox = RedisMailbox::new(commands, node, owner, self.limits);
                return Ok(Box::new(mailbox));
            }
        }
        Err(StoreError::Full)
    }

    async fn send_message(
        &self,
        node: NonZeroU16,
        message: &NodeMessage,
    ) -> Result<bool, StoreError> {
        let encoded = serde_json::to_vec(message).map_err(StoreError::unavailable)?;
        let repeat = match message {
            // A node ignores the second response to a request.
            NodeMessage::Response { .. } => Repeat::Harmless,
            _ => Repeat::Harmful,
        };
        let sent = self.commands.send(node, &encoded, self.limits, repeat);
        sent.await
    }
}

impl fmt::Debug for RedisMailboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisMailboxes")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Mailboxes for RedisMailboxes {
    fn open(&self) -> StoreFuture<'_, Box<dyn Mailbox>> {
        Box::pin(self.open_mailbox())
    }

    fn send<'a>(&'a self, node: NonZeroU16, message: &'a NodeMessage) -> StoreFuture<'a, bool> {
        Box::pin(self.send_message(node, message))
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.commands.check())
    }
}

/// Returns a random number for a node, or `None` for zero, which no node has.
fn random_node() -> Result<Option<NonZeroU16>, StoreError> {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::unavailable(format!("no random bytes: {error}")))?;
    Ok(NonZeroU16::new(u16::from_le_bytes(bytes)))
}
