//! The relay: a server whose requests go to the upstream server.

use std::sync::{Arc, Mutex};

use toolwire_proto::envelope::NotificationEnvelope;
use toolwire_proto::features::VersionFeatures;
use toolwire_types::{ErrorObject, InitializeRequestParams, RawJson};

use crate::engine::{
    BoxFuture, CatchPanic, ConnectionState, EncodedResult, Outcome, PeerText, TransportContext,
};
use crate::error::Error;
use crate::relay::connection::{UpstreamConnection, unreachable};
use crate::relay::messages::UpstreamMessages;
use crate::relay::sessions::{RelaySession, RelaySessions, SessionKey};
use crate::relay::upstream::Upstream;
use crate::server::Server;
use crate::server::forward::Forwarder;
use crate::server::request::Exchange;
use crate::sync::lock;

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
    /// The connection for modern requests.
    modern: Mutex<Option<UpstreamConnection>>,
    /// Held while a connection for modern requests is opened, so that one is opened for all that wait.
    opening: tokio::sync::Mutex<()>,
}

impl Relay {
    pub(super) fn new(upstream: Upstream) -> Self {
        let shared = Arc::new(RelayInner {
            upstream,
            sessions: RelaySessions::default(),
            modern: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
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

    /// Closes all connections to the upstream server and waits until their resources are released. Child processes have
    /// ended then.
    pub async fn close(&self) {
        let sessions = self.shared.sessions.take_all();
        let mut closing: Vec<UpstreamConnection> = sessions
            .into_iter()
            .map(|session| session.upstream)
            .collect();
        closing.extend(lock(&self.shared.modern).take());
        let closing = closing
            .into_iter()
            .map(|connection| tokio::spawn(async move { connection.client.close().await }));
        for task in closing.collect::<Vec<_>>() {
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
        Box::pin(async move {
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
        Box::pin(async move {
            if let Err(error) = relay.forward_notification(&method, params, client).await {
                tracing::warn!(method = %PeerText::new(&method), %error, "a notification could not be forwarded");
            }
        })
    }

    fn session_opened(&self, state: &Arc<ConnectionState>, session: &str) {
        self.0.sessions.name(state, session);
    }
}

impl RelayInner {
    async fn serve(self: &Arc<Self>, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        if exchange.context.version().is_modern() {
            let upstream = self.modern().await.map_err(|error| unreachable(&error))?;
            return upstream.forward(exchange).await;
        }
        if exchange.route().name() == "initialize" {
            return self.initialize(exchange).await;
        }
        let session = self.session(exchange)?;
        session.upstream.forward(exchange).await
    }

    /// Opens the upstream session of a legacy client, and returns the result that the upstream server sent.
    async fn initialize(self: &Arc<Self>, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        let request: InitializeRequestParams = exchange.decode_params()?;
        let client = &exchange.context.scope().transport;
        let (Some(state), Some(key)) = (client.connection_state(), SessionKey::of(&**client))
        else {
            return Err(ErrorObject::invalid_request(
                "this transport has no connection to initialize",
            ));
        };
        if let Some(session) = self.sessions.get(&key) {
            return Ok(session.initialized);
        }
        let params = exchange.params().cloned();
        let params = params.unwrap_or_else(RawJson::empty_object);
        let messages = Arc::new(UpstreamMessages::default());
        let opening = self.upstream.open_legacy(params, messages);
        let upstream = opening.await.map_err(|error| unreachable(&error))?;
        let details = upstream.client.server();
        let initialized = details.and_then(|details| details.raw.clone());
        let initialized = initialized.unwrap_or_else(RawJson::empty_object);
        let version = upstream.client.version();
        let snapshot = exchange.snapshot();
        state.initialize(
            version.as_str(),
            &snapshot.supported,
            request.capabilities,
            Some(request.client_info),
        )?;
        let session = RelaySession::new(upstream, initialized.clone(), Arc::clone(state));
        self.attach(&session, &key, client);
        for abandoned in self.sessions.insert(key, session) {
            close_later(abandoned);
        }
        Ok(initialized)
    }

    /// Uses the client's channel for messages outside of its requests, and closes the upstream session with the client's.
    fn attach(
        self: &Arc<Self>,
        session: &RelaySession,
        key: &SessionKey,
        client: &Arc<dyn TransportContext>,
    ) {
        let messages = &session.upstream.messages;
        if !messages.is_shared() {
            return;
        }
        let (Some(channel), Some(ended)) = (client.client_channel(), client.ended()) else {
            return;
        };
        messages.set_channel(channel);
        let (relay, key) = (Arc::downgrade(self), key.clone());
        tokio::spawn(async move {
            ended.cancelled().await;
            if let Some(relay) = relay.upgrade()
                && let Some(session) = relay.sessions.remove(&key)
            {
                session.upstream.client.close().await;
            }
        });
    }

    /// Returns the session that a request belongs to.
    fn session(self: &Arc<Self>, exchange: &Exchange) -> Result<RelaySession, ErrorObject> {
        let client = &exchange.context.scope().transport;
        let key = SessionKey::of(&**client);
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
        let session = SessionKey::of(&*client).and_then(|key| {
            let session = self.sessions.get(&key)?;
            self.attach(&session, &key, &client);
            Some(session)
        });
        let Some(session) = session else {
            let upstream = self.modern().await?;
            return upstream.client.forward_notification(method, params).await;
        };
        let upstream = &session.upstream.client;
        if method == "notifications/initialized" {
            upstream.forward_initialized(params).await
        } else {
            upstream.forward_notification(method, params).await
        }
    }

    /// Returns the connection for modern requests. Opens it if there is none, or if it is closed.
    async fn modern(&self) -> Result<UpstreamConnection, Error> {
        if let Some(open) = self.open_modern() {
            return Ok(open);
        }
        let _opening = self.opening.lock().await;
        if let Some(open) = self.open_modern() {
            return Ok(open);
        }
        let opened = self.upstream.open_modern(Arc::default()).await?;
        *lock(&self.modern) = Some(opened.clone());
        Ok(opened)
    }

    fn open_modern(&self) -> Option<UpstreamConnection> {
        let modern = lock(&self.modern);
        let open = modern.as_ref().filter(|connection| !connection.is_closed());
        open.cloned()
    }
}

/// Closes the upstream session of a client that is gone.
fn close_later(session: RelaySession) {
    tokio::spawn(async move { session.upstream.client.close().await });
}
