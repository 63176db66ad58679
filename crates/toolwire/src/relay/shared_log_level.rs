//! The log level of a session with a legacy upstream server that several requests share.

use std::sync::Mutex;

use serde_json::json;
use toolwire_types::{LoggingLevel, RawJson};

use crate::relay::connection::{LogFilter, UpstreamConnection};
use crate::server::request::Exchange;
use crate::sync::lock;

/// The most verbose level that a request of the session has asked for. Each request gets only the messages from its own
/// level on.
#[derive(Debug, Default)]
pub(super) struct SharedLogLevel {
    level: Mutex<Option<LoggingLevel>>,
    /// Held while the level is sent.
    sending: tokio::sync::Mutex<()>,
}

impl SharedLogLevel {
    /// Sets the level that a request asks for at the upstream server, unless it sends such messages already. A server
    /// without log messages is no failure.
    pub(super) async fn request(&self, session: &UpstreamConnection, exchange: &Exchange) {
        let LogFilter::From(Some(level)) = LogFilter::of_modern(exchange) else {
            return;
        };
        if self.includes(level) {
            return;
        }
        let _sending = self.sending.lock().await;
        // After a failure, the next request tries again.
        if !self.includes(level) && set_log_level(session, level).await {
            *lock(&self.level) = Some(level);
        }
    }

    /// Records that a new session replaced the lost one, which has no level yet.
    pub(super) fn reset(&self) {
        *lock(&self.level) = None;
    }

    fn includes(&self, level: LoggingLevel) -> bool {
        lock(&self.level).is_some_and(|current| current <= level)
    }
}

/// Sets the log level of a session. Returns `false` if the server did not accept it. A server without log messages is no
/// failure.
pub(super) async fn set_log_level(session: &UpstreamConnection, level: LoggingLevel) -> bool {
    let declares = session.client.server();
    if declares.is_none_or(|server| server.capabilities.logging.is_none()) {
        return true;
    }
    let params = RawJson::from(json!({ "level": level }));
    let outcome = session.request("logging/setLevel", params).await;
    if let Err(error) = &outcome {
        tracing::debug!(%error, "the upstream server did not accept the log level");
    }
    outcome.is_ok()
}
