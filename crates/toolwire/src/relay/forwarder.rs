//! The relay: a server whose requests go to the upstream server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwire_proto::envelope::NotificationEnvelope;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::relay::convert::{Conversion, initialize_result};
use toolwire_proto::relay::mapping::{Action, Sender, action};
use toolwire_types::{ErrorObject, InitializeRequestParams, RawJson};

use crate::engine::{
    BoxFuture, CatchPanic, ConnectionState, EncodedResult, Outcome, PeerText, TransportContext,
};
use crate::error::Error;
use crate::relay::backoff::UpstreamBackoff;
use crate::relay::connection::{UpstreamConnection, unreachable};
use crate::relay::legacy_client::LegacyClient;
use crate::relay::messages::UpstreamMessages;
use crate::relay::modern_client::LegacyUpstream;
use crate::relay::notification_gate::NotificationGate;
use crate::relay::sessions::{ClientKey, RelaySession, RelaySessions};
use crate::relay::upstream::Upstream;
use crate::server::Server;
use crate::server::forward::Forwarder;
use crate::server::request::Exchange;
use crate::sync::lock;

/// How long the upstream server may take to accept a notification. Later requests of the same client wait for it.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(30);

/// A server that forwards everything to an upstream server.
#[derive(Debug, Clone)]
pub struct Relay {
    shared: Arc<RelayInner>,
    server: Server,
}

#[derive(Debug)]
struct RelayInner {
    upstream: Upstream,
    sessions: RelaySessions,
    shared: Mutex<Option<SharedUpstream>>,
    /// Held while the shared connection is opened, so that one is opened for all that wait.
    opening: tokio::sync::Mutex<()>,
    backoff: UpstreamBackoff,
    /// Set if the upstream server is modern and accepts no sessions.
    rejects_sessions: AtomicBool,
}

/// The connection that requests without a session share.
#[derive(Debug, Clone)]
enum SharedUpstream {
    Modern(UpstreamConnection),
    Legacy(Arc<LegacyUpstream>),
}

impl SharedUpstream {
    fn is_closed(&self) -> bool {
        match self {
            Self::Modern(upstream) => upstream.is_closed(),
            Self::Legacy(upstream) => upstream.is_closed(),
        }
    }
}

impl Relay {
    pub(super) fn new(upstream: Upstream) -> Self {
        let shared = Arc::new(RelayInner {
            upstream,
            sessions: RelaySessions::default(),
            shared: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            backoff: UpstreamBackoff::default(),
            rejects_sessions: AtomicBool::new(false),
        });
        let server = Server::new("toolwire-relay", env!("CARGO_PKG_VERSION"));
        let forwarder = RelayForwarder(Arc::clone(&shared));
        Self {
            server: server.with_forwarder(Arc::new(forwarder)),
            shared,
        }
    }

    /// Returns the server, to be served on any transport.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Connects to the upstream server now, and not with the first request.
    ///
    /// Modern clients use this connection. Each legacy client gets a session of its own later, so a connection to a legacy
    /// server is closed again.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached.
    pub async fn connect(&self) -> Result<(), Error> {
        if let SharedUpstream::Legacy(upstream) = self.shared.shared().await? {
            lock(&self.shared.shared).take();
            for session in upstream.take_all() {
                session.client.close().await;
            }
        }
        Ok(())
    }

    /// Closes all connections to the upstream server and waits until their resources are released. Connections of calls
    /// that run or wait for input are closed without waiting.
    pub async fn close(&self) {
        let sessions = self.shared.sessions.take_all().into_iter();
        let mut closing: Vec<UpstreamConnection> =
            sessions.map(|session| session.upstream).collect();
        match lock(&self.shared.shared).take() {
            Some(SharedUpstream::Modern(upstream)) => closing.push(upstream),
            Some(SharedUpstream::Legacy(upstream)) => closing.extend(upstream.take_all()),
            None => {}
        }
        let closing: Vec<_> = closing
            .into_iter()
            .map(|connection| tokio::spawn(async move { connection.client.close().await }))
            .collect();
        for task in closing {
            // A panic in one task must not keep the others open.
            drop(task.await);
        }
    }
}

#[derive(Debug)]
struct RelayForwarder(Arc<RelayInner>);

impl Forwarder for RelayForwarder {
    fn serve(&self, exchange: Exchange) -> BoxFuture<'static, Outcome> {
        let relay = Arc::clone(&self.0);
        let gate = relay.gate_of(&*exchange.context.scope().transport);
        let earlier = gate.map(|gate| gate.earlier());
        Box::pin(async move {
            if let Some(earlier) = earlier {
                earlier.forwarded().await;
            }
            let serving = CatchPanic::new(relay.serve(&exchange));
            let outcome = serving
                .await
                .unwrap_or_else(|_| Err(ErrorObject::internal("the relay failed unexpectedly")));
            outcome.map(EncodedResult::Json)
        })
    }

    fn notification(
        &self,
        notification: &NotificationEnvelope<'_>,
        client: Arc<dyn TransportContext>,
    ) -> BoxFuture<'static, ()> {
        let method = notification.method.clone().into_owned();
        let params = notification.params.map(RawJson::from);
        let relay = Arc::clone(&self.0);
        // Requests that are read later wait until the entry is dropped.
        let entry = relay.gate_of(&*client).map(|gate| gate.enter());
        Box::pin(async move {
            let forwarding = relay.forward_notification(&method, params, client);
            let forwarded = tokio::time::timeout(NOTIFICATION_TIMEOUT, forwarding).await;
            if let Err(error) = forwarded.unwrap_or_else(|_| Err(Error::timeout())) {
                tracing::warn!(method = %PeerText::new(&method), %error, "a notification could not be forwarded");
            }
            drop(entry);
        })
    }

    fn session_opened(&self, state: &Arc<ConnectionState>, session: &str) {
        self.0.sessions.name(state, session);
    }

    fn session_closed(&self, session: &str) {
        let key = ClientKey::Token(session.to_owned());
        if let Some(session) = self.0.sessions.remove(&key) {
            tokio::spawn(async move { session.close().await });
        }
    }
}

impl RelayInner {
    /// Returns the notifications of a client that are not forwarded yet.
    fn gate_of(&self, client: &dyn TransportContext) -> Option<Arc<NotificationGate>> {
        let session = self.sessions.get(&ClientKey::of(client)?)?;
        Some(session.gate)
    }

    async fn serve(self: &Arc<Self>, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        if exchange.context.version().is_modern() {
            let shared = self.shared().await.map_err(|error| unreachable(&error))?;
            return match shared {
                SharedUpstream::Modern(upstream) => upstream.forward(exchange).await,
                SharedUpstream::Legacy(upstream) => upstream.serve(exchange).await,
            };
        }
        if exchange.route().name() == "initialize" {
            return self.initialize(exchange).await;
        }
        let session = self.session(exchange)?;
        match &session.client {
            Some(client) => client.serve(&session.upstream, exchange).await,
            None => session.upstream.forward(exchange).await,
        }
    }

    /// Opens the upstream session of a legacy client, and returns the result that the upstream server sent.
    async fn initialize(self: &Arc<Self>, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        let request: InitializeRequestParams = exchange.decode_params()?;
        let client = &exchange.context.scope().transport;
        let (Some(state), Some(key)) = (client.connection_state(), ClientKey::of(&**client)) else {
            return Err(ErrorObject::invalid_request(
                "this transport has no connection to initialize",
            ));
        };
        if let Some(session) = self.sessions.get(&key) {
            return Ok(session.initialized);
        }
        let supported = &exchange.snapshot().supported;
        let params = exchange.params().cloned();
        let params = params.unwrap_or_else(RawJson::empty_object);
        let (upstream, stored) = self.open_session(&params).await?;
        let offered = upstream.version();
        let requested = if offered.is_modern() {
            &*request.protocol_version
        } else {
            offered.as_str()
        };
        let info = Some(request.client_info);
        let version = state.initialize(requested, supported, request.capabilities, info)?;
        let initialized = if Conversion::new(offered, version).is_same_revision() {
            stored
        } else {
            let converted = initialize_result(stored.as_raw_value(), offered, version);
            converted.ok_or_else(|| ErrorObject::internal("the upstream server sent no details"))?
        };
        let legacy_client = offered
            .is_modern()
            .then(|| Arc::new(LegacyClient::new(version, offered, &params)));
        let state = Arc::clone(state);
        let session = RelaySession::new(upstream, legacy_client, initialized.clone(), state);
        self.attach(&session, &key, client);
        for abandoned in self.sessions.insert(key, session) {
            tokio::spawn(async move { abandoned.close().await });
        }
        Ok(initialized)
    }

    /// Opens a session with the upstream server for a legacy client. If the server is modern, returns the shared
    /// connection. Also returns what the server sent about itself.
    async fn open_session(
        &self,
        params: &RawJson,
    ) -> Result<(UpstreamConnection, RawJson), ErrorObject> {
        let upstream = self.open_legacy_or_modern(params).await;
        let upstream = upstream.map_err(|error| unreachable(&error))?;
        let details = upstream.client.server();
        let stored = details.and_then(|details| details.raw.clone());
        Ok((upstream, stored.unwrap_or_else(RawJson::empty_object)))
    }

    async fn open_legacy_or_modern(&self, params: &RawJson) -> Result<UpstreamConnection, Error> {
        if self.rejects_sessions.load(Ordering::Acquire)
            && let SharedUpstream::Modern(upstream) = self.shared().await?
        {
            return Ok(upstream);
        }
        self.backoff.check()?;
        let messages = Arc::new(UpstreamMessages::default());
        let opened = self.upstream.open_legacy(params.clone(), messages).await;
        let error = match opened {
            Ok(upstream) => return Ok(upstream),
            Err(error) => error,
        };
        match self.shared().await {
            Ok(SharedUpstream::Modern(upstream)) => {
                self.rejects_sessions.store(true, Ordering::Release);
                Ok(upstream)
            }
            Ok(SharedUpstream::Legacy(_)) | Err(_) => Err(error),
        }
    }

    /// Uses the client's channel for messages outside of its requests, and closes the upstream session with the client's.
    fn attach(
        self: &Arc<Self>,
        session: &RelaySession,
        key: &ClientKey,
        client: &Arc<dyn TransportContext>,
    ) {
        if session.is_attached() {
            return;
        }
        let (Some(channel), Some(ended)) = (client.client_channel(), client.ended()) else {
            return;
        };
        if !session.set_attached() {
            return;
        }
        match &session.client {
            Some(legacy_client) => legacy_client.changes.set_channel(channel),
            None => session.upstream.messages.set_client(channel),
        }
        let (relay, key) = (Arc::downgrade(self), key.clone());
        tokio::spawn(async move {
            ended.cancelled().await;
            if let Some(relay) = relay.upgrade()
                && let Some(session) = relay.sessions.remove(&key)
            {
                session.close().await;
            }
        });
    }

    /// Returns the session that a request belongs to.
    fn session(self: &Arc<Self>, exchange: &Exchange) -> Result<RelaySession, ErrorObject> {
        let client = &exchange.context.scope().transport;
        let key = ClientKey::of(&**client);
        let session = key.as_ref().and_then(|key| self.sessions.get(key));
        let (Some(key), Some(session)) = (key, session) else {
            return Err(ErrorObject::invalid_request(
                "the session is not connected to the upstream server; initialize again",
            ));
        };
        self.attach(&session, &key, client);
        Ok(session)
    }

    async fn forward_notification(
        self: &Arc<Self>,
        method: &str,
        params: Option<RawJson>,
        client: Arc<dyn TransportContext>,
    ) -> Result<(), Error> {
        let session = ClientKey::of(&*client).and_then(|key| {
            let session = self.sessions.get(&key)?;
            self.attach(&session, &key, &client);
            Some(session)
        });
        let Some(session) = session else {
            return match self.shared().await? {
                SharedUpstream::Modern(upstream) => {
                    upstream.client.forward_notification(method, params).await
                }
                SharedUpstream::Legacy(upstream) => upstream.notify(method, params).await,
            };
        };
        let upstream = &session.upstream;
        match &session.client {
            Some(legacy_client) => {
                if method == "notifications/initialized" {
                    legacy_client.listen(upstream);
                    return Ok(());
                }
                let version = legacy_client.version();
                match action(method, Sender::Client, version, upstream.version()) {
                    Action::Forward | Action::Convert => {
                        upstream.client.forward_notification(method, params).await
                    }
                    _ => Ok(()),
                }
            }
            None if method == "notifications/initialized" => {
                upstream.client.forward_initialized(params).await
            }
            None => upstream.client.forward_notification(method, params).await,
        }
    }

    /// Returns the connection that requests without a session share. Opens it if it does not exist or is closed.
    async fn shared(&self) -> Result<SharedUpstream, Error> {
        if let Some(open) = self.open_shared() {
            return Ok(open);
        }
        let _opening = self.opening.lock().await;
        if let Some(open) = self.open_shared() {
            return Ok(open);
        }
        self.backoff.check()?;
        let opened = self.upstream.open_shared(Arc::default()).await;
        self.backoff.record(&opened);
        let upstream = opened?;
        let opened = if upstream.version().is_modern() {
            SharedUpstream::Modern(upstream)
        } else {
            let legacy = LegacyUpstream::start(self.upstream.clone(), upstream).await?;
            SharedUpstream::Legacy(Arc::new(legacy))
        };
        *lock(&self.shared) = Some(opened.clone());
        Ok(opened)
    }

    fn open_shared(&self) -> Option<SharedUpstream> {
        let shared = lock(&self.shared);
        let open = shared.as_ref().filter(|shared| !shared.is_closed());
        open.cloned()
    }
}
