//! The relay: a server whose requests go to the upstream server.

use std::sync::{Arc, Once};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::envelope::NotificationEnvelope;
use toolwire_proto::features::VersionFeatures;
#[cfg(feature = "http-server")]
use toolwire_proto::param_headers::ParamHeader;
use toolwire_proto::relay::mapping::{Action, Sender, action};
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::{
    BoxFuture, CatchPanic, ConnectionState, EncodedResult, Outcome, PeerText, Principal,
    TransportContext,
};
use crate::error::Error;
use crate::relay::client_key::ClientKey;
use crate::relay::connection::{unreachable, with_upstream_name};
use crate::relay::inner::RelayInner;
use crate::relay::maintenance;
use crate::relay::notification_gate::NotificationGate;
use crate::relay::opening_sessions::{OpeningGuard, OpeningSession};
use crate::relay::session_requests::record_subscription;
use crate::relay::sessions::RelaySession;
use crate::relay::shared_upstream::SharedUpstream;
use crate::relay::upstream::{Sharing, Upstream};
use crate::server::Server;
use crate::server::forward::Forwarder;
use crate::server::request::Exchange;

/// How long the upstream server may take to accept a notification. Later requests of the same client wait for it.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(30);

/// A server that forwards everything to an upstream server.
#[derive(Debug, Clone)]
#[doc(alias = "proxy", alias = "create_proxy")]
pub struct Relay {
    shared: Arc<RelayInner>,
    forwarder: Arc<RelayForwarder>,
    server: Server,
}

impl Upstream {
    /// Creates a transparent relay to this server.
    #[must_use]
    pub fn relay(self) -> Relay {
        Relay::new(self)
    }
}

impl Relay {
    fn new(upstream: Upstream) -> Self {
        if upstream.sharing == Sharing::Shared && !upstream.has_credentials_per_caller() {
            let name = &*upstream.name;
            tracing::info!(
                name,
                "all principals share connections to the upstream server"
            );
        }
        let shared = Arc::new(RelayInner::new(upstream));
        let server = Server::new("toolwire-relay", env!("CARGO_PKG_VERSION"));
        let forwarder = Arc::new(RelayForwarder {
            relay: Arc::clone(&shared),
            maintenance: Once::new(),
        });
        Self {
            server: server.with_forwarder(Arc::clone(&forwarder) as _),
            forwarder,
            shared,
        }
    }

    /// Returns the server, to be served on any transport.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the state of the relay.
    pub(super) fn inner(&self) -> &Arc<RelayInner> {
        &self.shared
    }

    /// Opens the connection of callers without authorization, if it is not open, and returns it.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached.
    pub(super) async fn open(&self) -> Result<SharedUpstream, Error> {
        let deadline = self.shared.connector.deadline();
        self.shared.shared(Principal::anonymous(), deadline).await
    }

    /// Returns the connection for the modern requests of a caller, which it opens if necessary.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached.
    pub(super) async fn connection_of(
        &self,
        caller: Principal,
    ) -> Result<ModernConnection, ErrorObject> {
        self.forwarder.start_maintenance();
        let connection = self.shared.modern_connection(caller).await;
        connection.map_err(|error| with_upstream_name(error, self.shared.connector.name()))
    }

    /// Forwards a modern request of a source over a connection.
    pub(super) async fn forward_modern(
        &self,
        connection: &ModernConnection,
        exchange: &Exchange,
    ) -> Result<RawJson, ErrorObject> {
        let forwarding = CatchPanic::new(connection.forward(exchange)).await;
        let outcome = forwarding.unwrap_or_else(|_| Err(panic_error()));
        outcome.map_err(|error| with_upstream_name(error, self.shared.connector.name()))
    }

    /// Forwards a request of a source.
    pub(super) async fn forward(&self, exchange: Exchange) -> Outcome {
        self.forwarder.serve(exchange).await
    }

    /// Forwards a notification of a source.
    pub(super) async fn forward_notification(
        &self,
        notification: &NotificationEnvelope<'_>,
        client: Arc<dyn TransportContext>,
    ) {
        self.forwarder.notification(notification, client).await;
    }

    /// Returns the session of a legacy client, if it has one.
    pub(super) fn session_of(&self, key: &ClientKey) -> Option<Arc<RelaySession>> {
        self.shared.sessions.get(key)
    }

    /// Connects to the upstream server now, and not with the first request.
    ///
    /// Modern clients without authorization use this connection. Each legacy client gets a session of its own later, so a
    /// connection to a legacy server is closed again.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached.
    pub async fn connect(&self) -> Result<(), Error> {
        let (anonymous, deadline) = (Principal::anonymous(), self.shared.connector.deadline());
        if let SharedUpstream::Legacy(_) = self.shared.shared(anonymous.clone(), deadline).await?
            && let Some(session) = self.shared.shared.take(&anonymous)
        {
            session.close().await;
        }
        Ok(())
    }

    /// Closes all connections to the upstream server and waits until their resources are released. Calls that run or wait
    /// for input end, and later requests fail.
    pub async fn close(&self) {
        self.shared.close().await;
    }
}

/// The connection that serves a modern request.
#[derive(Debug)]
pub(super) struct ModernConnection {
    shared: SharedUpstream,
    /// Until when the request waits for a session of its own.
    deadline: Instant,
}

impl ModernConnection {
    /// Returns `true` if the upstream server is modern.
    pub(super) fn is_modern(&self) -> bool {
        matches!(self.shared, SharedUpstream::Modern(_))
    }

    async fn forward(&self, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        match &self.shared {
            SharedUpstream::Modern(upstream) => upstream.forward(exchange).await,
            SharedUpstream::Legacy(upstream) => upstream.serve(exchange, self.deadline).await,
        }
    }
}

fn panic_error() -> ErrorObject {
    ErrorObject::internal("the relay failed unexpectedly")
}

#[derive(Debug)]
struct RelayForwarder {
    relay: Arc<RelayInner>,
    /// Starts the maintenance with the first message, because a relay may be created outside of a runtime.
    maintenance: Once,
}

impl RelayForwarder {
    fn start_maintenance(&self) {
        self.maintenance.call_once(|| {
            tokio::spawn(maintenance::run(Arc::downgrade(&self.relay)));
        });
    }
}

impl Forwarder for RelayForwarder {
    fn serve(&self, exchange: Exchange) -> BoxFuture<'static, Outcome> {
        self.start_maintenance();
        let relay = Arc::clone(&self.relay);
        let session = relay.session_of(&exchange.context.scope().transport);
        let earlier = session.as_ref().map(|session| session.gate.earlier());
        let opening = relay.start_opening(&exchange);
        Box::pin(async move {
            if let Some(earlier) = earlier {
                earlier.forwarded().await;
            }
            let serving = CatchPanic::new(relay.serve(&exchange, session, opening));
            let outcome = serving.await.unwrap_or_else(|_| Err(panic_error()));
            outcome
                .map(EncodedResult::Json)
                .map_err(|error| with_upstream_name(error, relay.connector.name()))
        })
    }

    fn notification(
        &self,
        notification: &NotificationEnvelope<'_>,
        client: Arc<dyn TransportContext>,
    ) -> BoxFuture<'static, ()> {
        self.start_maintenance();
        let method = notification.method.clone().into_owned();
        let params = notification.params.map(RawJson::from);
        let relay = Arc::clone(&self.relay);
        let session = relay.session_of(&client);
        let opening = match session {
            Some(_) => None,
            None => relay.opening_session_of(&*client),
        };
        // Requests that are read later wait until the entry is dropped.
        let gate = session.as_ref().map(|session| &session.gate);
        let gate = gate.or(opening.as_ref().map(|opening| &opening.gate));
        let entry = gate.map(NotificationGate::enter);
        Box::pin(async move {
            if let Some(opening) = opening {
                opening.ended.cancelled().await;
            }
            let forwarding = relay.forward_notification(&method, params, session, &client);
            let forwarded = tokio::time::timeout(NOTIFICATION_TIMEOUT, forwarding).await;
            if let Err(error) = forwarded.unwrap_or_else(|_| Err(Error::timeout())) {
                tracing::warn!(method = %PeerText::new(&method), %error, "a notification could not be forwarded");
            }
            drop(entry);
        })
    }

    #[cfg(feature = "http-server")]
    fn param_headers(&self, tool: &str, principal: Principal) -> Vec<ParamHeader> {
        let owner = self.relay.connector.owner(principal);
        match self.relay.shared.open(&owner) {
            Some(SharedUpstream::Modern(upstream)) => upstream.client.param_headers(tool),
            // Older revisions have no such headers.
            Some(SharedUpstream::Legacy(_)) | None => Vec::new(),
        }
    }

    fn session_opened(&self, state: &Arc<ConnectionState>, session: &str) {
        self.relay.sessions.name(state, session);
    }

    fn session_closed(&self, session: &str) {
        let key = ClientKey::Token(session.to_owned());
        self.relay.end_session(&key);
    }
}

impl RelayInner {
    /// Returns the session of a legacy client.
    fn session_of(
        self: &Arc<Self>,
        client: &Arc<dyn TransportContext>,
    ) -> Option<Arc<RelaySession>> {
        let key = ClientKey::of(&**client)?;
        let session = self.sessions.get(&key)?;
        session.set_used();
        self.attach(&session, &key, client);
        Some(session)
    }

    /// Records that an `initialize` is in flight.
    fn start_opening(&self, exchange: &Exchange) -> Option<OpeningGuard> {
        let client = &exchange.context.scope().transport;
        let is_opening = exchange.route().name() == "initialize";
        let key = is_opening.then(|| ClientKey::of(&**client)).flatten()?;
        Some(self.opening.start(key))
    }

    /// Returns the session of a client whose `initialize` is in flight.
    fn opening_session_of(&self, client: &dyn TransportContext) -> Option<Arc<OpeningSession>> {
        self.opening.get(&ClientKey::of(client)?)
    }

    /// Returns the connection for the modern requests of a caller.
    async fn modern_connection(&self, caller: Principal) -> Result<ModernConnection, ErrorObject> {
        let open = async {
            self.connector.check_open()?;
            let deadline = self.connector.deadline();
            let shared = self.shared(caller, deadline).await?;
            Ok(ModernConnection { shared, deadline })
        };
        open.await.map_err(|error: Error| unreachable(&error))
    }

    async fn serve(
        self: &Arc<Self>,
        exchange: &Exchange,
        session: Option<Arc<RelaySession>>,
        opening: Option<OpeningGuard>,
    ) -> Result<RawJson, ErrorObject> {
        if exchange.context.version().is_modern() {
            let principal = Principal::of(exchange.context.auth());
            let connection = self.modern_connection(principal).await?;
            return connection.forward(exchange).await;
        }
        let unreachable = |error: Error| unreachable(&error);
        self.connector.check_open().map_err(unreachable)?;
        if exchange.route().name() == "initialize" {
            let gate = opening.as_ref().map(OpeningGuard::gate);
            return self.initialize(exchange, gate.unwrap_or_default()).await;
        }
        let session = session.ok_or_else(|| {
            ErrorObject::invalid_request(
                "the session is not connected to the upstream server; initialize again",
            )
        })?;
        let upstream = self.upstream_of(&session).await.map_err(unreachable)?;
        let result = match &session.client {
            Some(client) => client.serve(&upstream, exchange).await?,
            None => {
                let result = upstream.forward(exchange).await?;
                session.requests.record(exchange);
                result
            }
        };
        record_subscription(exchange);
        Ok(result)
    }

    async fn forward_notification(
        self: &Arc<Self>,
        method: &str,
        params: Option<RawJson>,
        session: Option<Arc<RelaySession>>,
        client: &Arc<dyn TransportContext>,
    ) -> Result<(), Error> {
        let is_initialized = method == "notifications/initialized";
        // The session may have been opened after the notification was read.
        let Some(session) = session.or_else(|| self.session_of(client)) else {
            if is_initialized {
                // The `initialize` of the client failed.
                return Ok(());
            }
            let (principal, deadline) = (Principal::of(client.auth()), self.connector.deadline());
            return match self.shared(principal, deadline).await? {
                SharedUpstream::Modern(upstream) => {
                    upstream.client.forward_notification(method, params).await
                }
                SharedUpstream::Legacy(upstream) => upstream.notify(method, params).await,
            };
        };
        let upstream = self.upstream_of(&session).await?;
        if is_initialized {
            if let Some(state) = client.connection_state() {
                state.initialized();
            }
            session.set_initialized(params.clone());
        }
        match &session.client {
            Some(legacy_client) => {
                if is_initialized {
                    legacy_client.listen(&upstream);
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
            None if is_initialized => upstream.end_initialization(params).await,
            None => upstream.client.forward_notification(method, params).await,
        }
    }
}
