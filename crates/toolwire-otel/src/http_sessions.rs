//! The HTTP sessions of a server that are open, for the metric of their durations.
//!
//! Ids of sessions are credentials, so only their digests are stored.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use sha2::{Digest as _, Sha256};
use toolwire::ProtocolVersion;

use crate::attributes::connection_attributes;
use crate::conventions::{attribute, value};
use crate::telemetry::{Telemetry, TelemetryMode};

/// The maximum number of open sessions that are measured. The oldest are not recorded.
const MAX_SESSIONS: usize = 10_000;

/// The open sessions by the digests of their ids.
#[derive(Debug, Default)]
pub(crate) struct HttpSessions {
    open: Mutex<HashMap<[u8; 32], OpenSession>>,
}

/// A session that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenSession {
    start: Instant,
    version: ProtocolVersion,
}

impl HttpSessions {
    fn insert(&self, session: &str, opened: OpenSession) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MAX_SESSIONS {
            let oldest = open.iter().min_by_key(|(_, session)| session.start);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                open.remove(&oldest);
            }
        }
        open.insert(Sha256::digest(session).into(), opened);
    }

    /// Returns a session once.
    fn take(&self, session: &str) -> Option<OpenSession> {
        let digest: [u8; 32] = Sha256::digest(session).into();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&digest)
    }
}

impl Telemetry {
    /// Starts to measure a session.
    pub(crate) fn http_session_opened(&self, session: &str, version: ProtocolVersion) {
        if self.settings.mode == TelemetryMode::SpansAndMetrics && !self.instruments.is_inactive() {
            let start = Instant::now();
            let opened = OpenSession { start, version };
            self.instruments.http_sessions.insert(session, opened);
        }
    }

    /// Records the duration of a session that this node has opened.
    pub(crate) fn http_session_closed(&self, session: &str) {
        let Some(opened) = self.instruments.http_sessions.take(session) else {
            return;
        };
        let mut attributes = connection_attributes(&self.settings, None, opened.version);
        attributes.push(KeyValue::new(attribute::NETWORK_TRANSPORT, value::TCP));
        attributes.push(KeyValue::new(attribute::NETWORK_PROTOCOL_NAME, value::HTTP));
        let duration: Duration = opened.start.elapsed();
        let sessions = &self.instruments.metrics().server_session;
        sessions.record(duration.as_secs_f64(), &attributes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_session_is_not_recorded_at_the_limit() {
        let sessions = HttpSessions::default();
        let start = Instant::now();
        for number in 0..=MAX_SESSIONS {
            let opened = OpenSession {
                start: start + Duration::from_micros(number as u64),
                version: ProtocolVersion::V2025_11_25,
            };
            sessions.insert(&number.to_string(), opened);
        }
        assert_eq!(sessions.take("0"), None);
        assert!(sessions.take("1").is_some());
        // A session ends once.
        assert_eq!(sessions.take("1"), None);
    }
}
