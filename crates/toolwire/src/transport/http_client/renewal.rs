//! A legacy session that the server has forgotten, opened anew.
//!
//! Runs as a task of its own: everybody who lost the session waits for it, and it comes to its end though the call that
//! noticed first may be gone meanwhile.

use std::sync::Arc;

use toolwire_proto::negotiate::confirms;
use toolwire_types::{InitializeResult, ProtocolVersion, RawJson, RequestId};

use crate::client::message_router::MessageRouter;
use crate::client::send::{SendMessage, encode_notification};
use crate::client::transport::OutgoingRequest;
use crate::error::Error;
use crate::transport::http_client::session::LegacySession;

/// Opens the session anew, once for everybody who lost this generation of it.
pub(super) async fn renew(
    session: &Arc<LegacySession>,
    lost: u64,
    intake: &MessageRouter,
) -> Result<(), Error> {
    let renewal = SessionRenewal {
        session: Arc::clone(session),
        intake: intake.clone(),
        lost,
    };
    let task = tokio::spawn(renewal.run());
    task.await.unwrap_or_else(|_| Err(Error::closed()))
}

struct SessionRenewal {
    session: Arc<LegacySession>,
    intake: MessageRouter,
    lost: u64,
}

impl SessionRenewal {
    async fn run(self) -> Result<(), Error> {
        let _one = self.session.renewing.lock().await;
        let (id, version, params) = {
            let state = self.session.state();
            if state.generation != self.lost {
                return Ok(());
            }
            (state.id.clone(), state.version, state.initialize.clone())
        };
        let (Some(version), Some(params)) = (version, params) else {
            return Err(Error::closed());
        };
        let opened = self.open(version, params).await;
        match opened {
            Ok(()) => self.session.inbox.session_renewed(),
            // Nobody uses a session that was opened only half; the next call finds the old one lost and tries again.
            Err(_) => self.session.state().id = id,
        }
        opened
    }

    async fn open(&self, version: ProtocolVersion, params: RawJson) -> Result<(), Error> {
        let result: InitializeResult = self
            .ask("initialize", version, params)
            .await?
            .parse()
            .map_err(|error| Error::decode("result of initialize", error))?;
        if !confirms(&result.protocol_version, version) {
            return Err(Error::protocol(format!(
                "the server now speaks {}, and spoke {version} before; connect again",
                result.protocol_version
            )));
        }
        let initialized = encode_notification("notifications/initialized", None);
        let sending = SendMessage::send(&self.session, initialized);
        let sent = tokio::time::timeout(self.session.limits.connect_timeout, sending);
        sent.await.map_err(|_| Error::timeout())??;
        self.session.open_server_stream(&self.intake);
        let log_level = self.session.state().log_level.clone();
        if let Some(level) = log_level
            && let Err(error) = self.ask("logging/setLevel", version, level).await
        {
            tracing::debug!(%error, "the log level could not be set again");
        }
        Ok(())
    }

    async fn ask(
        &self,
        method: &'static str,
        version: ProtocolVersion,
        params: RawJson,
    ) -> Result<RawJson, Error> {
        let request = OutgoingRequest {
            // Ids of calls are numbers, so these meet none of them.
            id: RequestId::from(format!("{method}-{}", self.lost)),
            method: method.into(),
            params: Some(params),
            version,
            mirrored: Vec::new(),
        };
        let asking = self.session.attempt(&request, &self.intake);
        let answer = tokio::time::timeout(self.session.limits.connect_timeout, asking);
        let answer = answer.await.map_err(|_| Error::timeout())??;
        answer.map_err(Error::from)
    }
}
