//! Opens the upstream sessions of legacy clients, attaches them to their clients, and opens lost ones again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::relay::convert::{Conversion, initialize_result};
use toolwire_types::{ErrorObject, InitializeRequestParams, RawJson};

use crate::engine::{Principal, TransportContext};
use crate::error::Error;
use crate::relay::client_key::ClientKey;
use crate::relay::connection::{UpstreamConnection, unreachable};
use crate::relay::connector::{is_other_era, may_be_modern};
use crate::relay::inner::RelayInner;
use crate::relay::legacy_client::LegacyClient;
use crate::relay::messages::UpstreamMessages;
use crate::relay::notification_gate::NotificationGate;
use crate::relay::sessions::{Handshake, RelaySession};
use crate::relay::shared_upstream::SharedUpstream;
use crate::server::dispatch::check_initialize_size;
use crate::server::request::Exchange;

impl RelayInner {
    /// Opens the upstream session of a legacy client, and returns the result that the upstream server sent. `gate` has the
    /// notifications that the client sent meanwhile.
    pub(super) async fn initialize(
        self: &Arc<Self>,
        exchange: &Exchange,
        gate: Arc<NotificationGate>,
    ) -> Result<RawJson, ErrorObject> {
        check_initialize_size(exchange)?;
        let request: InitializeRequestParams = exchange.decode_params()?;
        let client = &exchange.context.scope().transport;
        let (Some(state), Some(key)) = (client.connection_state(), ClientKey::of(&**client)) else {
            return Err(ErrorObject::invalid_request(
                "this transport has no connection to initialize",
            ));
        };
        if let Some(session) = self.sessions.get(&key) {
            return Ok(session.initialized.clone());
        }
        let supported = &exchange.snapshot().supported;
        let params = exchange.params().cloned();
        let params = params.unwrap_or_else(RawJson::empty_object);
        let owner = Principal::of(exchange.context.auth());
        let upstream = self.open_legacy_or_modern(&params, &owner).await;
        let upstream = upstream.map_err(|error| unreachable(&error))?;
        let details = upstream.client.server();
        let stored = details.and_then(|details| details.raw.clone());
        let stored = stored.unwrap_or_else(RawJson::empty_object);
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
        let session = Arc::new(RelaySession::new(
            upstream,
            legacy_client,
            owner,
            params,
            initialized.clone(),
            gate,
            Arc::clone(state),
        ));
        // The session is in the table before its end can be observed.
        if let Some(replaced) = self.sessions.insert(key.clone(), Arc::clone(&session)) {
            close_in_task(replaced);
        }
        self.attach(&session, &key, client);
        Ok(initialized)
    }

    /// Opens a session with the upstream server for a legacy client. If the server is modern, returns the shared
    /// connection.
    async fn open_legacy_or_modern(
        &self,
        params: &RawJson,
        owner: &Principal,
    ) -> Result<UpstreamConnection, Error> {
        let deadline = self.connector.deadline();
        if self.rejects_sessions.load(Ordering::Acquire)
            && let SharedUpstream::Modern(upstream) = self.shared(owner.clone(), deadline).await?
        {
            return Ok(upstream);
        }
        let is_shared = self.shared.is_open(&self.connector.owner(owner.clone()));
        let opened = if is_shared {
            self.connector.try_legacy(owner, params.clone()).await
        } else {
            let opening = self.connector.try_legacy_or_modern(owner, params.clone());
            opening.await
        };
        let error = match opened {
            Ok(upstream) if upstream.version().is_modern() => {
                self.rejects_sessions.store(true, Ordering::Release);
                return self.share(owner, upstream).await;
            }
            Ok(upstream) => return Ok(upstream),
            Err(error) => error,
        };
        if !may_be_modern(&error) {
            return Err(error);
        }
        let deadline = self.connector.deadline();
        match self.shared(owner.clone(), deadline).await {
            Ok(SharedUpstream::Modern(upstream)) => {
                if is_other_era(&error) {
                    self.rejects_sessions.store(true, Ordering::Release);
                }
                Ok(upstream)
            }
            Ok(SharedUpstream::Legacy(_)) | Err(_) => Err(error),
        }
    }

    /// Returns the shared connection of a legacy client with a modern server. It is `opened`, unless there is one.
    async fn share(
        &self,
        owner: &Principal,
        opened: UpstreamConnection,
    ) -> Result<UpstreamConnection, Error> {
        let principal = self.connector.owner(owner.clone());
        let shared = match self.shared.adopt(principal, opened, &self.connector) {
            Some(shared) => shared,
            None => {
                self.shared(owner.clone(), self.connector.deadline())
                    .await?
            }
        };
        match shared {
            SharedUpstream::Modern(upstream) => Ok(upstream),
            SharedUpstream::Legacy(_) => Err(Error::protocol(
                "the upstream server does not support the revisions of its open session any more",
            )),
        }
    }

    /// Uses the client's channel for messages outside of its requests, and closes the upstream session with the client's.
    pub(super) fn attach(
        self: &Arc<Self>,
        session: &Arc<RelaySession>,
        key: &ClientKey,
        client: &Arc<dyn TransportContext>,
    ) {
        if session.is_attached() {
            return;
        }
        let (Some(channel), Some(ended)) = (client.client_channel(), client.ended()) else {
            return;
        };
        if !session.attach(channel) {
            return;
        }
        let (relay, key) = (Arc::downgrade(self), key.clone());
        tokio::spawn(async move {
            ended.cancelled().await;
            if let Some(relay) = relay.upgrade() {
                relay.end_session(&key);
            }
        });
    }

    /// Closes the upstream session of a client whose session has ended.
    pub(super) fn end_session(&self, key: &ClientKey) {
        if let Some(session) = self.sessions.remove(key) {
            close_in_task(session);
        }
    }

    /// Returns the upstream connection of a session. Opens it again if it is lost.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, also during the pause after a failure.
    pub(super) async fn upstream_of(
        &self,
        session: &Arc<RelaySession>,
    ) -> Result<UpstreamConnection, Error> {
        let open = |session: &RelaySession| {
            let upstream = session.upstream();
            let is_open = !upstream.is_closed() && !session.is_suspended();
            is_open.then_some(upstream)
        };
        if let Some(upstream) = open(session) {
            return Ok(upstream);
        }
        let _reopening = session.reopening.lock().await;
        if let Some(upstream) = open(session) {
            return Ok(upstream);
        }
        let attempt = session.other_revision.start()?;
        let lost = session.upstream();
        self.connector.record_loss(&lost);
        let lost_version = lost.version();
        drop(lost);
        session.release_permit();
        let upstream = match &session.client {
            Some(client) => self.shared_again(session, client).await?,
            None => self.legacy_again(session).await?,
        };
        if !Conversion::new(lost_version, upstream.version()).is_same_revision() {
            let error = Error::protocol(format!(
                "the upstream server changed its protocol version from {lost_version} to {}; initialize again",
                upstream.version()
            ));
            attempt.fail(&error);
            return Err(error);
        }
        attempt.succeed();
        session.set_upstream(upstream.clone());
        session.announce_lists();
        Ok(upstream)
    }

    /// Returns the shared connection for a legacy client of a modern server, and subscribes to changes again.
    async fn shared_again(
        &self,
        session: &RelaySession,
        client: &Arc<LegacyClient>,
    ) -> Result<UpstreamConnection, Error> {
        let deadline = self.connector.deadline();
        match self.shared(session.owner.clone(), deadline).await? {
            SharedUpstream::Modern(upstream) => {
                if let Handshake::Initialized(_) = session.handshake() {
                    client.listen(&upstream);
                }
                Ok(upstream)
            }
            SharedUpstream::Legacy(_) => Err(Error::protocol(
                "the upstream server does not support the modern revisions any more; initialize again",
            )),
        }
    }

    /// Opens a legacy session like the lost one.
    async fn legacy_again(&self, session: &Arc<RelaySession>) -> Result<UpstreamConnection, Error> {
        let messages = Arc::new(UpstreamMessages::default());
        if let Some(channel) = session.channel() {
            session.receive_messages(&messages, channel);
        }
        let (owner, initialize) = (&session.owner, session.initialize.clone());
        let opening = self.connector.open_legacy(owner, initialize, messages);
        let upstream = opening.await?;
        if let Handshake::Initialized(params) = session.handshake() {
            upstream.end_initialization(params).await?;
            session.requests.repeat(&upstream).await;
        }
        Ok(upstream)
    }
}

/// Closes the upstream session of a client in a task.
pub(super) fn close_in_task(session: Arc<RelaySession>) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { session.close().await });
    }
}
