//! The log level of the relay's sessions with a legacy upstream server.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use toolwire_types::{LoggingLevel, RawJson};

use crate::relay::connection::UpstreamConnection;
use crate::relay::log_filter::LogFilter;
use crate::server::request::Exchange;
use crate::sync::lock;

/// How long a request waits for the response to `logging/setLevel`, which is sent before it.
pub(super) const LOG_LEVEL_WAIT: Duration = Duration::from_secs(2);

/// How long a server gets no level after it did not respond to one in time. Otherwise each request would wait.
const LOG_LEVEL_PAUSE: Duration = Duration::from_secs(60);

/// The most verbose level that a request of the shared session has asked for. Each request gets only the messages from its
/// own level on.
#[derive(Debug, Default)]
pub(super) struct SharedLogLevel {
    level: Mutex<Option<LoggingLevel>>,
    /// Held while the level is sent.
    sending: tokio::sync::Mutex<()>,
    pause: LogLevelPause,
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
        if !self.includes(level) && self.set(session, level).await {
            *lock(&self.level) = Some(level);
        }
    }

    /// Sets the level that a request asks for on a session of its own.
    pub(super) async fn request_alone(&self, session: &UpstreamConnection, exchange: &Exchange) {
        if let LogFilter::From(Some(level)) = LogFilter::of_modern(exchange) {
            self.set(session, level).await;
        }
    }

    /// Records that a new session replaced the lost one, which has no level yet.
    pub(super) fn reset(&self) {
        *lock(&self.level) = None;
        self.pause.end();
    }

    fn includes(&self, level: LoggingLevel) -> bool {
        lock(&self.level).is_some_and(|current| current <= level)
    }

    /// Sets the log level of a session. Returns `false` if the server did not accept it. A server without log messages is
    /// no failure.
    async fn set(&self, session: &UpstreamConnection, level: LoggingLevel) -> bool {
        let declares = session.client.server();
        if declares.is_none_or(|server| server.capabilities.logging.is_none()) {
            return true;
        }
        if self.pause.is_active() {
            return false;
        }
        let params = RawJson::from(json!({ "level": level }));
        let response = session.request("logging/setLevel", params);
        let Ok(outcome) = tokio::time::timeout(LOG_LEVEL_WAIT, response).await else {
            self.pause.start();
            tracing::warn!(
                "the upstream server does not respond to logging/setLevel; it sends log messages of its own level"
            );
            return false;
        };
        if let Err(error) = &outcome {
            tracing::debug!(%error, "the upstream server did not accept the log level");
        }
        outcome.is_ok()
    }
}

/// The time in which a server gets no log level, because it did not respond to one in time.
#[derive(Debug, Default)]
pub(super) struct LogLevelPause {
    until: Mutex<Option<Instant>>,
}

impl LogLevelPause {
    pub(super) fn is_active(&self) -> bool {
        lock(&self.until).is_some_and(|until| Instant::now() < until)
    }

    pub(super) fn start(&self) {
        *lock(&self.until) = Some(Instant::now() + LOG_LEVEL_PAUSE);
    }

    fn end(&self) {
        *lock(&self.until) = None;
    }
}
