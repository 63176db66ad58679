//! The sessions of legacy clients, each with an upstream session of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_types::{RawJson, ServerCapabilities};

use crate::engine::{ConnectionState, Principal, TransportContext};
use crate::relay::backoff::UpstreamBackoff;
use crate::relay::client_key::{ClientKey, number_of};
use crate::relay::connection::UpstreamConnection;
use crate::relay::connector::UnusedConnections;
use crate::relay::legacy_client::LegacyClient;
use crate::relay::messages::{RenewableSession, UpstreamMessages, send};
use crate::relay::notification_gate::NotificationGate;
use crate::relay::session_requests::{MAX_REPEATED_BYTES, SessionRequests};
use crate::sync::lock;

/// How long a client that reads no stream must send nothing before its connection is closed for another client.
const MIN_SILENCE: Duration = Duration::from_secs(30);

/// The session of a legacy client.
#[derive(Debug)]
pub(super) struct RelaySession {
    /// The connection of the session. It is replaced if it is lost.
    upstream: Mutex<UpstreamConnection>,
    /// Held while a lost connection is opened again.
    pub(super) reopening: tokio::sync::Mutex<()>,
    /// The pauses while the upstream server has another revision than the session.
    pub(super) other_revision: UpstreamBackoff,
    /// The state of the client, if the upstream server is modern and does not store it.
    pub(super) client: Option<Arc<LegacyClient>>,
    /// The principal whose connections the session uses.
    pub(super) owner: Principal,
    /// The parameters of the client's `initialize`.
    pub(super) initialize: RawJson,
    /// The result of `initialize`, as the client got it.
    pub(super) initialized: RawJson,
    /// The notifications of the client that are not forwarded yet.
    pub(super) gate: Arc<NotificationGate>,
    handshake: Mutex<Handshake>,
    /// What the client requested for the whole session.
    pub(super) requests: SessionRequests,
    /// The channel to the client outside of its requests.
    channel: Mutex<Option<Arc<dyn TransportContext>>>,
    /// The state of the client's connection. While it is held, its address names the connection.
    state: Arc<ConnectionState>,
    /// When the client last sent a message.
    used: Mutex<Instant>,
    /// Whether the connection was closed for another client. The next message of the client opens it again.
    is_suspended: AtomicBool,
}

/// How far the initialization has come.
#[derive(Debug, Clone, Default)]
pub(super) enum Handshake {
    /// The client has not sent `notifications/initialized`.
    #[default]
    Initializing,
    /// The client has sent it, with these parameters. `None` without parameters, and for large ones.
    Initialized(Option<RawJson>),
}

impl RelaySession {
    /// Creates the session of a client whose `initialize` succeeded.
    pub(super) fn new(
        upstream: UpstreamConnection,
        client: Option<Arc<LegacyClient>>,
        owner: Principal,
        initialize: RawJson,
        initialized: RawJson,
        gate: Arc<NotificationGate>,
        state: Arc<ConnectionState>,
    ) -> Self {
        Self {
            upstream: Mutex::new(upstream),
            reopening: tokio::sync::Mutex::default(),
            other_revision: UpstreamBackoff::default(),
            client,
            owner,
            initialize,
            initialized,
            gate,
            handshake: Mutex::default(),
            requests: SessionRequests::default(),
            channel: Mutex::default(),
            state,
            used: Mutex::new(Instant::now()),
            is_suspended: AtomicBool::new(false),
        }
    }

    /// Returns the connection, which may be lost.
    pub(super) fn upstream(&self) -> UpstreamConnection {
        lock(&self.upstream).clone()
    }

    /// Replaces a lost connection.
    pub(super) fn set_upstream(&self, upstream: UpstreamConnection) {
        let lost = std::mem::replace(&mut *lock(&self.upstream), upstream);
        self.is_suspended.store(false, Ordering::Release);
        drop(lost);
    }

    /// Records a message of the client.
    pub(super) fn set_used(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// Returns `true` if the connection was closed for another client.
    pub(super) fn is_suspended(&self) -> bool {
        self.is_suspended.load(Ordering::Acquire)
    }

    /// Returns when the client last sent a message, if that is long ago and the client reads no stream.
    fn silent_since(&self) -> Option<Instant> {
        let used = *lock(&self.used);
        let is_read = || {
            let channel = self.channel();
            channel.is_some_and(|channel| channel.can_request())
        };
        let is_silent = self.client.is_none() && used.elapsed() >= MIN_SILENCE && !is_read();
        is_silent.then_some(used)
    }

    /// Returns `true` if the session has a connection that no request uses.
    fn is_unused(&self) -> bool {
        lock(&self.upstream).is_unused()
    }

    /// Takes the connection, unless a request uses it. It is closed when the returned value is dropped.
    fn suspend(&self) -> Option<UpstreamConnection> {
        let mut upstream = lock(&self.upstream);
        if !upstream.is_unused() {
            return None;
        }
        let permit = upstream.permit.take();
        let taken = UpstreamConnection {
            permit,
            ..upstream.clone()
        };
        self.is_suspended.store(true, Ordering::Release);
        Some(taken)
    }

    /// Releases the permit of a lost connection, so that it does not count beside the one that replaces it.
    pub(super) fn release_permit(&self) {
        let permit = lock(&self.upstream).permit.take();
        drop(permit);
    }

    pub(super) fn handshake(&self) -> Handshake {
        lock(&self.handshake).clone()
    }

    /// Records that the client has sent `notifications/initialized`. Large parameters are not sent again.
    pub(super) fn set_initialized(&self, params: Option<RawJson>) {
        let params = params.filter(|params| params.get().len() <= MAX_REPEATED_BYTES);
        *lock(&self.handshake) = Handshake::Initialized(params);
    }

    /// Returns `true` if messages outside of requests have a channel to the client.
    pub(super) fn is_attached(&self) -> bool {
        lock(&self.channel).is_some()
    }

    /// Sets the channel for messages outside of requests. Returns `false` if it was set before.
    pub(super) fn attach(self: &Arc<Self>, channel: Arc<dyn TransportContext>) -> bool {
        let mut current = lock(&self.channel);
        if current.is_some() {
            return false;
        }
        *current = Some(Arc::clone(&channel));
        drop(current);
        match &self.client {
            Some(client) => client.changes.set_channel(channel),
            None => self.receive_messages(&self.upstream().messages, channel),
        }
        true
    }

    /// Sends the messages of an upstream session to the client.
    pub(super) fn receive_messages(
        self: &Arc<Self>,
        messages: &UpstreamMessages,
        channel: Arc<dyn TransportContext>,
    ) {
        let session: Weak<Self> = Arc::downgrade(self);
        messages.set_client(channel, session);
    }

    /// Returns the channel for messages outside of requests.
    pub(super) fn channel(&self) -> Option<Arc<dyn TransportContext>> {
        lock(&self.channel).clone()
    }

    /// Announces each list whose changes the server announces, because the lists of a new upstream session may differ
    /// from those of the lost one.
    pub(super) fn announce_lists(&self) {
        let Some(channel) = self.channel() else {
            return;
        };
        for method in announced_lists(&self.initialized) {
            send(&*channel, method, None);
        }
    }

    /// Closes the upstream session, unless clients share it.
    pub(super) async fn close(&self) {
        if self.client.is_none() {
            self.upstream().close().await;
        }
    }
}

impl RenewableSession for RelaySession {
    fn on_session_renewed(self: Arc<Self>) {
        self.announce_lists();
        tokio::spawn(async move { self.requests.repeat(&self.upstream()).await });
    }
}

/// Returns the notifications about lists that a result of `initialize` announces.
fn announced_lists(initialized: &RawJson) -> Vec<&'static str> {
    #[derive(serde::Deserialize)]
    struct Initialized {
        capabilities: ServerCapabilities,
    }

    let Ok(Initialized { capabilities }) = initialized.parse() else {
        return Vec::new();
    };
    let tools = capabilities.tools.and_then(|tools| tools.list_changed);
    let prompts = capabilities
        .prompts
        .and_then(|prompts| prompts.list_changed);
    let resources = capabilities
        .resources
        .and_then(|resources| resources.list_changed);
    [
        (tools, "notifications/tools/list_changed"),
        (prompts, "notifications/prompts/list_changed"),
        (resources, "notifications/resources/list_changed"),
    ]
    .into_iter()
    .filter_map(|(announced, method)| (announced == Some(true)).then_some(method))
    .collect()
}

/// The sessions of all legacy clients.
#[derive(Debug, Default)]
pub(super) struct RelaySessions(Mutex<HashMap<ClientKey, Arc<RelaySession>>>);

impl RelaySessions {
    pub(super) fn get(&self, key: &ClientKey) -> Option<Arc<RelaySession>> {
        lock(&self.0).get(key).cloned()
    }

    /// Returns the number of sessions.
    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// Adds a session. Returns the one that it replaces.
    pub(super) fn insert(
        &self,
        key: ClientKey,
        session: Arc<RelaySession>,
    ) -> Option<Arc<RelaySession>> {
        lock(&self.0).insert(key, session)
    }

    /// Removes the sessions whose `initialize` did not lead to a session of the server, and returns them.
    pub(super) fn take_abandoned(&self) -> Vec<Arc<RelaySession>> {
        let mut sessions = lock(&self.0);
        // Only this table still refers to the connection.
        let abandoned = sessions.extract_if(|key, session| {
            matches!(key, ClientKey::Connection(_)) && Arc::strong_count(&session.state) == 1
        });
        abandoned.map(|(_, session)| session).collect()
    }

    /// Returns the sessions whose connection is lost.
    pub(super) fn lost(&self) -> Vec<Arc<RelaySession>> {
        let sessions = lock(&self.0);
        let lost = sessions.values().filter(|session| {
            let upstream = lock(&session.upstream);
            upstream.is_closed() && !session.is_suspended()
        });
        lost.cloned().collect()
    }

    /// Gives the session of a connection the id of its HTTP session.
    pub(super) fn name(&self, state: &Arc<ConnectionState>, id: &str) {
        let mut sessions = lock(&self.0);
        if let Some(session) = sessions.remove(&ClientKey::Connection(number_of(state))) {
            sessions.insert(ClientKey::Token(id.to_owned()), session);
        }
    }

    pub(super) fn remove(&self, key: &ClientKey) -> Option<Arc<RelaySession>> {
        lock(&self.0).remove(key)
    }

    /// Removes all sessions.
    pub(super) fn take_all(&self) -> Vec<Arc<RelaySession>> {
        lock(&self.0).drain().map(|(_, session)| session).collect()
    }
}

impl UnusedConnections for RelaySessions {
    fn take_unused(&self) -> Option<UpstreamConnection> {
        let sessions = lock(&self.0);
        let unused = sessions.values().filter(|session| session.is_unused());
        let silent = unused.filter_map(|session| Some((session, session.silent_since()?)));
        let (longest, _) = silent.min_by_key(|(_, since)| *since)?;
        longest.suspend()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_announced_lists_are_announced_again() {
        let check = |initialized: &str, expected: &[&str]| {
            let initialized: RawJson = serde_json::from_str(initialized).unwrap();
            assert_eq!(announced_lists(&initialized), expected);
        };
        check("{}", &[]);
        check(r#"{"capabilities":{"tools":{}}}"#, &[]);
        check(
            r#"{"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{"listChanged":true}}}"#,
            &[
                "notifications/tools/list_changed",
                "notifications/resources/list_changed",
            ],
        );
    }
}
