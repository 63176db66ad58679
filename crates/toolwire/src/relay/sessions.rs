//! The sessions of legacy clients, each with an upstream session of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use toolwire_types::RawJson;

use crate::engine::{ConnectionState, TransportContext};
use crate::relay::connection::UpstreamConnection;
use crate::relay::legacy_client::LegacyClient;
use crate::relay::notification_gate::NotificationGate;
use crate::sync::lock;

/// The session of a legacy client.
#[derive(Debug, Clone)]
pub(super) struct RelaySession {
    pub(super) upstream: UpstreamConnection,
    /// The state of the client, if the upstream server is modern and does not store it.
    pub(super) client: Option<Arc<LegacyClient>>,
    /// The result of `initialize`, as the client got it.
    pub(super) initialized: RawJson,
    /// The notifications of the client that are not forwarded yet.
    pub(super) gate: Arc<NotificationGate>,
    /// Whether messages outside of requests have a channel to the client.
    attached: Arc<AtomicBool>,
    /// The state of the client's connection. While it is held, its address names the connection.
    state: Arc<ConnectionState>,
}

impl RelaySession {
    pub(super) fn new(
        upstream: UpstreamConnection,
        client: Option<Arc<LegacyClient>>,
        initialized: RawJson,
        state: Arc<ConnectionState>,
    ) -> Self {
        Self {
            upstream,
            client,
            initialized,
            gate: Arc::default(),
            attached: Arc::default(),
            state,
        }
    }

    /// Returns `true` if messages outside of requests have a channel to the client.
    pub(super) fn is_attached(&self) -> bool {
        self.attached.load(Ordering::Acquire)
    }

    /// Records that messages have a channel. Returns `false` if that was recorded before.
    pub(super) fn set_attached(&self) -> bool {
        !self.attached.swap(true, Ordering::AcqRel)
    }
}

impl RelaySession {
    /// Closes the upstream session, unless clients share it.
    pub(super) async fn close(&self) {
        if self.client.is_none() {
            self.upstream.client.close().await;
        }
    }
}

/// Names the session of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ClientKey {
    /// The id of an HTTP session.
    Token(String),
    /// The address of the state of a connection, or of an HTTP session that has no id yet.
    Connection(usize),
}

impl ClientKey {
    /// Returns the key of the session that a request belongs to. Returns `None` for requests without a session.
    pub(super) fn of(client: &dyn TransportContext) -> Option<Self> {
        match client.connection_token() {
            Some(token) => Some(Self::Token(token.to_owned())),
            None => connection_number(client).map(Self::Connection),
        }
    }
}

/// Returns a number that the requests of one connection have in common.
pub(super) fn connection_number(client: &dyn TransportContext) -> Option<usize> {
    let state = client.connection_state()?;
    Some(number_of(state))
}

fn number_of(state: &Arc<ConnectionState>) -> usize {
    Arc::as_ptr(state).addr()
}

/// The sessions of all legacy clients.
#[derive(Debug, Default)]
pub(super) struct RelaySessions(Mutex<HashMap<ClientKey, RelaySession>>);

impl RelaySessions {
    pub(super) fn get(&self, key: &ClientKey) -> Option<RelaySession> {
        lock(&self.0).get(key).cloned()
    }

    /// Adds a session. Returns sessions whose client never used them.
    pub(super) fn insert(&self, key: ClientKey, session: RelaySession) -> Vec<RelaySession> {
        let mut sessions = lock(&self.0);
        // Only this table still refers to the connection, so `initialize` did not lead to a session.
        let abandoned: Vec<ClientKey> = sessions
            .iter()
            .filter(|(key, session)| {
                matches!(key, ClientKey::Connection(_)) && Arc::strong_count(&session.state) == 1
            })
            .map(|(key, _)| key.clone())
            .collect();
        let mut removed: Vec<RelaySession> = abandoned
            .iter()
            .filter_map(|key| sessions.remove(key))
            .collect();
        removed.extend(sessions.insert(key, session));
        removed
    }

    /// Gives the session of a connection the id of its HTTP session.
    pub(super) fn name(&self, state: &Arc<ConnectionState>, id: &str) {
        let mut sessions = lock(&self.0);
        if let Some(session) = sessions.remove(&ClientKey::Connection(number_of(state))) {
            sessions.insert(ClientKey::Token(id.to_owned()), session);
        }
    }

    pub(super) fn remove(&self, key: &ClientKey) -> Option<RelaySession> {
        lock(&self.0).remove(key)
    }

    /// Removes all sessions.
    pub(super) fn take_all(&self) -> Vec<RelaySession> {
        lock(&self.0).drain().map(|(_, session)| session).collect()
    }
}
