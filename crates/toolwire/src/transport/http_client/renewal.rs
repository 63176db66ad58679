//! Opens a legacy session again after the server has lost it.
//!
//! The renewal runs in its own task, so that it completes even if the call that started it is dropped. All calls of the
//! lost session wait for it.

use std::sync::Arc;

use toolwire_proto::negotiate::is_same_version;
use toolwire_types::{InitializeResult, ProtocolVersion, RawJson, RequestId};

use crate::client::message_router::MessageRouter;
use crate::client::send::encode_notification;
use crate::client::transport::OutgoingRequest;
use crate::error::Error;
use crate::transport::http_client::session::LegacySession;

/// Opens the session again. Calls with the same lost generation share one renewal.
pub(super) async fn renew(
    session: &Arc<LegacySession>,
    lost_generation: u64,
    router: &MessageRouter,
) -> Result<(), Error> {
    let renewal = SessionRenewal {
        session: Arc::clone(session),
        router: router.clone(),
        lost_generation,
    };
    let task = tokio::spawn(renewal.run());
    task.await.unwrap_or_else(|_| Err(Error::closed()))
}

struct SessionRenewal {
    session: Arc<LegacySession>,
    router: MessageRouter,
    lost_generation: u64,
}

impl SessionRenewal {
    async fn run(self) -> Result<(), Error> {
        let _guard = self.session.renewing.lock().await;
        let (id, version, params) = {
            let state = self.session.state();
            if state.generation != self.lost_generation {
                return Ok(());
            }
            (state.id.clone(), state.version, state.initialize.clone())
        };
        let (Some(version), Some(params)) = (version, params) else {
            return Err(Error::closed());
        };
        let opened = self.open(version, params).await;
        match opened {
            Ok(()) => self.session.incoming.session_renewed(),
            // The new session is not usable before it is initialized. With the old id the next call starts a new
            // renewal.
            Err(_) => self.session.state().id = id,
        }
        opened
    }

    async fn open(&self, version: ProtocolVersion, params: RawJson) -> Result<(), Error> {
        let result: InitializeResult =
            self.request("initialize", version, params)
                .await?
                .parse()
                .map_err(|error| Error::decode("result of initialize", error))?;
        if !is_same_version(&result.protocol_version, version) {
            return Err(Error::protocol(format!(
                "the server changed its protocol version from {version} to {}; connect again",
                result.protocol_version
            )));
        }
        let method = "notifications/initialized";
        let sending = self
            .session
            .notify(method, encode_notification(method, None));
        let sent = tokio::time::timeout(self.session.limits.connect_timeout, sending);
        sent.await.map_err(|_| Error::timeout())??;
        self.session.open_server_stream(&self.router);
        let log_level = self.session.state().log_level.clone();
        if let Some(level) = log_level
            && let Err(error) = self.request("logging/setLevel", version, level).await
        {
            tracing::debug!(%error, "the log level could not be set again");
        }
        Ok(())
    }

    /// Sends a request and returns its result.
    async fn request(
        &self,
        method: &'static str,
        version: ProtocolVersion,
        params: RawJson,
    ) -> Result<RawJson, Error> {
        let request = OutgoingRequest {
            // Ids of calls are numbers, so this id is unique.
            id: RequestId::from(format!("{method}-{}", self.lost_generation)),
            method: method.into(),
            params: Some(params),
            version,
            mirrored: Vec::new(),
            forwarded: None,
        };
        let exchange = self.session.attempt(&request, &self.router);
        let response = tokio::time::timeout(self.session.limits.connect_timeout, exchange);
        let response = response.await.map_err(|_| Error::timeout())??;
        response.map_err(Error::from)
    }
}
