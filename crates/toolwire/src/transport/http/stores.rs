//! The shared stores of an endpoint. Every call has a deadline.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::Principal;
use crate::store::store_call::StoreCall;
use crate::store::{
    Appended, Bus, BusMessage, BusSubscription, EventLog, ExpiredSession, LoadedSession, LogEntry,
    LogWriter, Mailbox, Mailboxes, NodeMessage, Replay, SessionRecord, SessionStore, StoreError,
    StoreFuture, StoredSession, StreamKey, WriterLease,
};
use crate::transport::http::options::HttpOptions;

/// The stores of an endpoint. Clones use the same stores.
#[derive(Debug, Clone)]
pub(crate) struct Stores {
    sessions: Arc<dyn SessionStore>,
    events: Arc<dyn EventLog>,
    bus: Option<Arc<dyn Bus>>,
    mailboxes: Option<Arc<dyn Mailboxes>>,
    deadline: Duration,
}

impl Stores {
    pub(crate) fn new(options: &HttpOptions) -> Self {
        Self {
            sessions: Arc::clone(&options.sessions),
            events: Arc::clone(&options.events),
            bus: options.bus.clone(),
            mailboxes: options.mailboxes.clone(),
            deadline: options.limits.store_deadline,
        }
    }

    pub(crate) fn create_session<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: SessionRecord,
        ttl: Duration,
    ) -> StoreCall<'a, StoredSession> {
        self.within_deadline(self.sessions.create(id, principal, record, ttl))
    }

    pub(crate) fn load_session<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
        known: Option<u64>,
    ) -> StoreCall<'a, Option<LoadedSession>> {
        self.within_deadline(self.sessions.load(id, principal, ttl, known))
    }

    /// Loads a session whose client has sent `notifications/initialized`.
    pub(crate) fn load_initialized_session<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreCall<'a, Option<LoadedSession>> {
        self.within_deadline(self.sessions.load_initialized(id, principal, ttl))
    }

    pub(crate) fn touch_session<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreCall<'a, bool> {
        self.within_deadline(self.sessions.touch(id, principal, ttl))
    }

    pub(crate) fn touch_sessions<'a>(
        &'a self,
        sessions: &'a [(String, Principal)],
        ttl: Duration,
    ) -> StoreCall<'a, Vec<bool>> {
        self.within_deadline(self.sessions.touch_many(sessions, ttl))
    }

    pub(crate) fn replace_session<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: SessionRecord,
    ) -> StoreCall<'a, Option<u64>> {
        self.within_deadline(self.sessions.replace(id, principal, revision, record))
    }

    /// Replaces a record and publishes it to the other nodes in one step. Returns `None` if the store cannot do both.
    pub(crate) fn replace_and_publish_session<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: &'a SessionRecord,
        node: &'a str,
    ) -> Option<StoreCall<'a, Option<u64>>> {
        let bus = self.bus.as_deref()?;
        let replacing = self
            .sessions
            .replace_and_publish(id, principal, revision, record, bus, node)?;
        Some(self.within_deadline(replacing))
    }

    pub(crate) fn delete_session<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
    ) -> StoreCall<'a, bool> {
        self.within_deadline(self.sessions.delete(id, principal))
    }

    pub(crate) fn take_expired_sessions(&self) -> StoreCall<'_, Vec<ExpiredSession>> {
        self.within_deadline(self.sessions.take_expired())
    }

    pub(crate) fn open_stream<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        first: u64,
        lease: Option<WriterLease>,
    ) -> StoreCall<'a, LogWriter> {
        self.within_deadline(self.events.open(principal, key, first, lease))
    }

    pub(crate) fn append<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        writer: LogWriter,
        entries: &'a [LogEntry],
    ) -> StoreCall<'a, Appended> {
        self.within_deadline(self.events.append(principal, key, writer, entries))
    }

    /// Reads a stream. The deadline starts after the wait.
    pub(crate) fn read_after<'a>(
        &'a self,
        principal: &'a Principal,
        key: &'a StreamKey,
        after: u64,
        wait: Duration,
    ) -> StoreCall<'a, Replay> {
        StoreCall::new(
            self.events.read_after(principal, key, after, wait),
            self.deadline.saturating_add(wait),
        )
    }

    pub(crate) fn remove_streams<'a>(
        &'a self,
        principal: &'a Principal,
        session: &'a str,
    ) -> StoreCall<'a, ()> {
        self.within_deadline(self.events.remove_session(principal, session))
    }

    pub(crate) fn has_bus(&self) -> bool {
        self.bus.is_some()
    }

    /// Publishes messages to the other nodes. Does nothing without a bus.
    pub(crate) fn publish_all<'a>(&'a self, messages: &'a [BusMessage]) -> StoreCall<'a, ()> {
        self.within_deadline(match &self.bus {
            Some(bus) => bus.publish_all(messages),
            None => Box::pin(async { Ok(()) }),
        })
    }

    /// Subscribes to the bus, if there is one.
    pub(crate) fn subscribe(&self) -> Option<StoreCall<'_, Box<dyn BusSubscription>>> {
        let bus = self.bus.as_ref()?;
        Some(self.within_deadline(bus.subscribe()))
    }

    /// Opens the mailbox of this node, if there are mailboxes.
    pub(crate) fn open_mailbox(&self) -> Option<StoreCall<'_, Box<dyn Mailbox>>> {
        let mailboxes = self.mailboxes.as_ref()?;
        Some(self.within_deadline(mailboxes.open()))
    }

    /// Sends a message to one node. Returns `false` if no node has the number, or if there are no mailboxes.
    pub(crate) fn send_to_node<'a>(
        &'a self,
        node: NonZeroU16,
        message: &'a NodeMessage,
    ) -> StoreCall<'a, bool> {
        self.within_deadline(match &self.mailboxes {
            Some(mailboxes) => mailboxes.send(node, message),
            None => Box::pin(async { Ok(false) }),
        })
    }

    /// Checks that all stores can be used now.
    pub(crate) async fn check(&self) -> Result<(), StoreError> {
        self.within_deadline(self.sessions.check()).await?;
        self.within_deadline(self.events.check()).await?;
        if let Some(bus) = &self.bus {
            self.within_deadline(bus.check()).await?;
        }
        if let Some(mailboxes) = &self.mailboxes {
            self.within_deadline(mailboxes.check()).await?;
        }
        Ok(())
    }

    fn within_deadline<'a, T>(&self, call: StoreFuture<'a, T>) -> StoreCall<'a, T> {
        StoreCall::new(call, self.deadline)
    }
}
