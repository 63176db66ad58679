//! A client that the server can reach outside of a request.

#[cfg(feature = "input")]
mod requests;

use std::sync::Arc;

use serde::Serialize;
use toolwire_proto::logging;
use toolwire_proto::methods;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::{
    ClientCapabilities, ErrorObject, Implementation, LoggingLevel,
    LoggingMessageNotificationParams, ProtocolVersion, RawJson,
};

use crate::engine::transport::no_channel;
use crate::engine::{
    ConnectionState, DEFAULT_LOG_LEVEL, OutgoingNotification, TokenInfo, TransportContext,
};
use crate::error::Error;

/// A client with a connection or a session, outside of its requests. Cloning it is cheap.
///
/// A server gets it from [`Server::connected_clients`](crate::Server::connected_clients), from [`RequestContext::client`](crate::RequestContext::client),
/// and in the handlers of [`Server::on_notification`](crate::Server::on_notification). Only revisions up to 2025-11-25 have messages outside of
/// requests: to a client of 2026-07-28, sending fails.
#[derive(Debug, Clone)]
pub struct ConnectedClient {
    channel: Arc<dyn TransportContext>,
}

impl ConnectedClient {
    pub(crate) fn new(channel: Arc<dyn TransportContext>) -> Self {
        Self { channel }
    }

    /// Returns the negotiated version, or `None` if the client has not sent `initialize`.
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.connection_state()?.version()
    }

    /// Returns the client's description of itself. It is unverified: do not base decisions on it.
    #[must_use]
    pub fn client_info(&self) -> Option<Arc<Implementation>> {
        self.connection_state()?.client_info()
    }

    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn client_capabilities(&self) -> Arc<ClientCapabilities> {
        match self.connection_state() {
            Some(state) => state.client_capabilities(),
            None => Arc::default(),
        }
    }

    /// Returns the state of the connection or session, if there is one.
    #[must_use]
    pub fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        self.channel.connection_state()
    }

    /// Returns a stable name of the connection or session, if there is one.
    #[must_use]
    pub fn connection_token(&self) -> Option<&str> {
        self.channel.connection_token()
    }

    /// Returns what the transport verified about the token of the message that this handle comes from. For a client of
    /// [`Server::connected_clients`](crate::Server::connected_clients), `valid` is `false`.
    #[must_use]
    pub fn auth(&self) -> &TokenInfo {
        self.channel.auth()
    }

    /// Returns `true` if messages can reach the client now: its connection is open, or its session has an open GET
    /// stream on this node.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        self.check_reachable("").is_ok()
    }

    /// Sends a notification that the protocol does not define. `params` is a JSON object.
    ///
    /// # Errors
    /// Returns an error if the protocol defines the method, if `params` is not an object, and if the client is not
    /// [reachable](Self::is_reachable).
    pub fn notify(&self, method: &str, params: impl Serialize) -> Result<(), Error> {
        let notification = custom_notification(method, &params)?;
        self.check_reachable(method)?;
        self.channel.notify(notification);
        Ok(())
    }

    /// Sends `notifications/message` outside of a request, with the name of a logger. A message below the level that the
    /// client set, by default `info`, is dropped. The server should declare
    /// [`with_logging`](crate::Server::with_logging).
    ///
    /// # Errors
    /// Returns an error if `data` cannot be written as JSON, and if the client is not
    /// [reachable](Self::is_reachable).
    #[deprecated(
        note = "MCP deprecates logging (SEP-2577), and a revision of 28 July 2027 or later may remove it"
    )]
    pub fn log_as(
        &self,
        logger: &str,
        level: LoggingLevel,
        data: impl Serialize,
    ) -> Result<(), Error> {
        let method = "notifications/message";
        self.check_reachable(method)?;
        let state = self.connection_state();
        let minimum = state.and_then(|state| state.minimum_log_level());
        if !logging::passes(level, minimum.unwrap_or(DEFAULT_LOG_LEVEL)) {
            return Ok(());
        }
        let data = RawJson::from_serialize(&data).map_err(|error| {
            ErrorObject::internal(format!("the log message is not valid JSON: {error}"))
        })?;
        let mut params = LoggingMessageNotificationParams::new(level, data);
        params.logger = Some(logger.to_owned());
        let params =
            RawJson::from_serialize(&params).expect("the parameters consist of text and raw JSON");
        let message = OutgoingNotification::new(method, params, OutgoingKind::Log);
        self.channel.notify(message);
        Ok(())
    }

    fn check_reachable(&self, method: &str) -> Result<ProtocolVersion, Error> {
        let state = self.connection_state();
        if state.is_some_and(|state| state.is_closed()) {
            return Err(Error::closed());
        }
        let Some(version) = state.and_then(|state| state.version()) else {
            return Err(ErrorObject::invalid_request(format!(
                "`{method}` cannot be sent outside of a request: the client has not opened a session with `initialize`"
            ))
            .into());
        };
        if self.channel.can_request() {
            Ok(version)
        } else {
            Err(no_channel(method))
        }
    }
}

/// Encodes a notification that the protocol does not define.
pub(crate) fn custom_notification(
    method: &str,
    params: &impl Serialize,
) -> Result<OutgoingNotification, Error> {
    let params = custom_params(method, params)?;
    Ok(OutgoingNotification::new(
        method,
        params,
        OutgoingKind::Other,
    ))
}

/// Checks the name of a notification that the protocol does not define, and encodes its parameters.
pub(crate) fn custom_params(method: &str, params: &impl Serialize) -> Result<RawJson, Error> {
    if method.is_empty() || methods::find(method).is_some() {
        return Err(ErrorObject::invalid_request(format!(
            "`{method}` is not a notification of your own: toolwire sends those of the protocol itself"
        ))
        .into());
    }
    object_params(method, params)
}

/// Encodes parameters, which must be a JSON object.
fn object_params(method: &str, params: &impl Serialize) -> Result<RawJson, Error> {
    let params = RawJson::from_serialize(params)
        .map_err(|error| Error::decode(format!("parameters of `{method}`"), error))?;
    if !params.is_object() {
        return Err(ErrorObject::invalid_request(format!(
            "the parameters of `{method}` are not a JSON object"
        ))
        .into());
    }
    Ok(params)
}
